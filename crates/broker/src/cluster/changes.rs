//! Carrying out the running change of the cluster: what the state says is next is done by whoever leads the group that it concerns, again
//! and again until it has come about. So it does not matter who is restarted when.

use skep_cluster::{Entry, Operation, State, node_of};
use skep_replication::{Change, Members};
use skep_service::PartitionRole;
use skep_transport::Class;

use super::Cluster;
use super::own_group::{Told, Worker};
use super::wire::{ClusterMessage, NodeMessage};
use crate::partition::Message;

/// What a group's leader is to make of the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Done,
    Change(Change),
    /// Somebody else has to lead before.
    HandOver,
}

/// One member is to get a vote.
fn joining(members: &Members, member: u64) -> Next {
    if members.voters.contains(&member) {
        Next::Done
    } else if members.learners.contains(&member) {
        Next::Change(Change::Promote(member))
    } else {
        Next::Change(Change::AddLearner(member))
    }
}

/// Only members of these nodes are to be left.
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

/// What the leader of a partition has to do for the operation.
pub(super) fn next(state: &State, operation: &Operation, members: &Members, own: u64) -> Next {
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
        Operation::PartitionReconfigurePriority { .. } => Next::Done,
    }
}

impl Worker {
    /// As leader of the cluster's own group.
    pub(super) fn carry_out(&mut self) {
        let Some((change, operation)) = self.state.next_operation() else {
            return;
        };
        if operation.partition().is_some() {
            return;
        }
        let operation = operation.clone();
        let own = self.group.config().node;
        match next(&self.state, &operation, self.group.members(), own) {
            Next::Done => {
                let now = now();
                self.propose(Entry::Done {
                    change,
                    operation,
                    now,
                });
            }
            Next::Change(Change::Promote(member)) if !self.group.has_caught_up(member) => {
                self.admit(member);
            }
            // Refused while an earlier one is on its way: it is tried again.
            Next::Change(change) => drop(self.group.change_members(change)),
            Next::HandOver => {
                if let Some(to) = self.group.successor() {
                    self.group.transfer_leadership(to);
                }
            }
        }
    }

    /// Tells a node that it is one of the cluster.
    fn admit(&self, member: u64) {
        let (Some(cluster), Some(node)) = (self.cluster.upgrade(), node_of(member)) else {
            return;
        };
        let mut members = Vec::new();
        self.group.members().encode_into(&mut members);
        let message = ClusterMessage::Admit {
            member,
            members,
            state: self.state.encode(),
        };
        cluster.send(node, &NodeMessage::Cluster(message));
    }
}

impl Cluster {
    /// As leader of the partition that the running change is about. To be called now and then.
    pub(super) fn go_on_with_change(&self) {
        let state = self.state();
        let Some((change, operation)) = state.next_operation() else {
            return;
        };
        let handle = operation
            .partition()
            .zip(self.broker())
            .and_then(|(partition, broker)| broker.partition(partition));
        let Some(handle) = handle.filter(|it| it.status.role() == PartitionRole::Leader) else {
            return;
        };
        let (partition, members) = (handle.status.partition, handle.status.members());
        match next(&state, operation, &members, handle.status.member()) {
            Next::Done => self.tell_own_group(Entry::Done {
                change,
                operation: operation.clone(),
                now: now(),
            }),
            Next::Change(change) => {
                if let (Change::Promote(member), Some(node)) = (change, node_of(change.member()))
                    && !self.members.has_replica(node, partition)
                {
                    self.tell_to_join(node, partition, member, &members);
                }
                handle.inbox.send(Message::ChangeMembers(change));
            }
            Next::HandOver => {
                let others = members.voters.iter().copied();
                let reached = |member: &u64| {
                    let node = node_of(*member).filter(|node| *node != self.node());
                    node.is_some_and(|node| self.is_connected(node, Class::Consensus))
                };
                handle
                    .inbox
                    .send(Message::HandOver(others.rev().filter(reached).collect()));
            }
        }
    }

    fn tell_to_join(&self, node: u32, partition: u32, member: u64, members: &Members) {
        let mut bytes = Vec::new();
        members.encode_into(&mut bytes);
        let message = ClusterMessage::JoinReplica {
            partition,
            member,
            members: bytes,
        };
        self.send(node, &NodeMessage::Cluster(message));
    }

    /// An entry for the cluster's own group, to whoever leads that. It may be lost.
    fn tell_own_group(&self, entry: Entry) {
        let Some((leader, own)) = self.own_leader() else {
            return;
        };
        if leader == own {
            self.own_group_told(Told::Propose(entry));
        } else if let Some(node) = node_of(leader) {
            let entry = entry.encode();
            self.send(
                node,
                &NodeMessage::Cluster(ClusterMessage::Propose { entry }),
            );
        }
    }
}

/// Milliseconds since 1970: what operators read, and nothing depends on it.
pub(super) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(voters: &[u64], learners: &[u64]) -> Members {
        Members {
            index: 1,
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
}
