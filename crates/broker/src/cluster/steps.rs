//! The next step of the running cluster change, for the leader of the group concerned. Leaders repeat a step until it has
//! succeeded, so it does not matter which node restarts when.

use skep_cluster::{Operation, State, node_of};
use skep_replication::{Change, Members};

/// The next action of a group's leader concerning its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The operation has taken effect.
    Done,
    Change(Change),
    /// Another member has to lead first.
    HandOver,
}

/// The next action for giving one member a vote.
fn joining(members: &Members, member: u64) -> Next {
    if members.voters.contains(&member) {
        Next::Done
    } else if members.learners.contains(&member) {
        Next::Change(Change::Promote(member))
    } else {
        Next::Change(Change::AddLearner(member))
    }
}

/// The next action for removing all members except those of these nodes.
fn leaving(members: &Members, own: u64, stays: impl Fn(u32) -> bool) -> Next {
    let mut all = members.voters.iter().chain(&members.learners);
    let goes = |member: &&u64| !node_of(**member).is_some_and(&stays);
    let gone: Vec<u64> = all.by_ref().filter(goes).copied().collect();
    match gone.iter().find(|member| **member != own) {
        Some(member) => Next::Change(Change::Remove(*member)),
        None if gone.is_empty() => Next::Done,
        None => Next::HandOver,
    }
}

/// The action that the group's leader must take for the operation, which is the next one of this state.
pub fn next(state: &State, operation: &Operation, members: &Members, own: u64) -> Next {
    match as_planned(state, operation, members, own) {
        // The next leader may know an older state: it must not undo this. And a member that is left alone must not need the removed ones
        // after a crash.
        Next::Done if members.confirmed < state.revision => Next::Change(Change::Confirm(own)),
        next => next,
    }
}

fn as_planned(state: &State, operation: &Operation, members: &Members, own: u64) -> Next {
    match operation {
        Operation::PartitionJoin {
            broker_id,
            partition_id,
            ..
        } => match state.replica_of(*broker_id, *partition_id) {
            Some(member) => joining(members, member),
            None => Next::Done,
        },
        Operation::PartitionLeave { broker_id, .. } => {
            leaving(members, own, |node| node != *broker_id)
        }
        Operation::PartitionForceReconfigure { brokers, .. } => {
            leaving(members, own, |node| brokers.contains(&node))
        }
        Operation::BrokerAdd { broker_id } => match state.member(*broker_id) {
            Some(member) => joining(members, member),
            None => Next::Done,
        },
        Operation::BrokerRemove { broker_id } | Operation::BrokerForceRemove { broker_id } => {
            leaving(members, own, |node| node != *broker_id)
        }
        // Nodes carry these out by themselves, or there is nothing to do.
        Operation::DeleteHistory { .. }
        | Operation::UpdateIncarnationNumber
        | Operation::PartitionBootstrap { .. }
        | Operation::StartPartitionScaleUp { .. }
        | Operation::AwaitRedistribution { .. }
        | Operation::AwaitRelocation { .. }
        | Operation::UpdateRoutingState { .. }
        | Operation::PartitionReconfigurePriority { .. } => Next::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Members, Next, Operation, State, joining, leaving, next};

    fn members(voters: &[u64], learners: &[u64]) -> Members {
        Members {
            index: 1,
            plan: 1,
            confirmed: 1,
            voters: voters.to_vec(),
            learners: learners.to_vec(),
        }
    }

    #[test]
    fn a_member_joins_as_learner_and_then_votes() {
        let step = |members| joining(&members, 9);
        assert_eq!(
            step(members(&[1, 2], &[])),
            Next::Change(Change::AddLearner(9))
        );
        assert_eq!(
            step(members(&[1, 2], &[9])),
            Next::Change(Change::Promote(9))
        );
        assert_eq!(step(members(&[1, 2, 9], &[])), Next::Done);
    }

    #[test]
    fn members_leave_one_after_the_other_and_the_leader_last() {
        let only_2 = |node| node == 2;
        // Member 3 is node 2.
        let step = |members| leaving(&members, 1, only_2);
        let remove = |member| Next::Change(Change::Remove(member));
        assert_eq!(step(members(&[1, 2, 3], &[4])), remove(2));
        assert_eq!(step(members(&[1, 3], &[4])), remove(4));
        assert_eq!(step(members(&[1, 3], &[])), Next::HandOver);
        assert_eq!(step(members(&[3], &[])), Next::Done);
    }

    #[test]
    fn an_operation_is_done_once_its_outcome_is_confirmed_in_the_group() {
        let mut state = State {
            revision: 7,
            ..State::default()
        };
        let leave = Operation::PartitionLeave {
            broker_id: 2,
            partition_id: 1,
            purge: false,
        };
        let mut there = members(&[1, 2], &[]);
        let confirm = Next::Change(Change::Confirm(1));
        assert_eq!(next(&state, &leave, &there, 1), confirm);
        there.plan = 7;
        assert_eq!(next(&state, &leave, &there, 1), confirm);
        there.confirmed = 7;
        assert_eq!(next(&state, &leave, &there, 1), Next::Done);
        state.revision = 8;
        assert_eq!(next(&state, &leave, &there, 1), confirm);
    }
}
