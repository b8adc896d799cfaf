//! Which survivor continues from what when most are lost, and which one may not decide.

use super::*;
use crate::testing::cluster;
use crate::{Entry, Request, member};

/// The node with its copies, whose logs end with the entry of this term and index.
fn survivor(state: &State, node: u32, term: u64, index: u64) -> Survivor {
    let partitions = state.nodes[&node].partitions.keys();
    let copies = partitions.map(|partition| SurvivingCopy {
        partition: *partition,
        member: state.replica_of(node, *partition).unwrap(),
        members_index: 0,
        voters: state.replicas(*partition).iter().map(|it| it.1).collect(),
        term,
        index,
        last_key: 100,
    });
    Survivor {
        node,
        state: state.clone(),
        reaches: Vec::new(),
        is_led: false,
        copies: copies.collect(),
    }
}

fn done(state: &mut State) -> Operation {
    let (change, operation) = state.next_operation().unwrap();
    let operation = operation.clone();
    assert!(state.apply(Entry::Done {
        change,
        operation: operation.clone(),
        now: 3,
    }));
    operation
}

fn text(refused: Result<(State, Planned), Refusal>) -> String {
    refused.unwrap_err().to_string()
}

#[test]
fn one_of_three_recovers_alone_as_a_new_member_everywhere() {
    let old = cluster(&[0, 1, 2], 3, 2);
    let (state, planned) =
        plan_unsafe_recovery(&[0, 1], 2, &[survivor(&old, 2, 4, 70)], 9).unwrap();
    assert_eq!((state.epoch, state.revision), (1, old.revision + LEAP));
    assert_eq!(state.nodes.keys().collect::<Vec<_>>(), [&2]);
    assert_eq!(state.member(2), Some(member(2, state.revision)));
    for partition in [1, 2] {
        assert_eq!(
            state.replica_of(2, partition),
            Some(member(2, state.revision))
        );
        assert_eq!(state.goes_on_from(2, partition), Some(member(2, 0)));
        assert!(!state.has_given_up(member(2, 0), partition));
        assert_eq!(state.least_keys[&partition], 100 + KEYS);
    }
    assert_eq!(state.running, None, "nothing is left to do");
    assert_eq!(state.last_change().unwrap().change.id, planned.change);
    let unsafe_recovery = planned.unsafe_recovery.unwrap();
    assert_eq!(
        (unsafe_recovery.from.len(), unsafe_recovery.lost),
        (2, vec![])
    );
    assert_eq!(unsafe_recovery.from[&1].broker_id, 2);
    assert_eq!(State::decode(&state.encode()), Ok(state));
}

#[test]
fn the_longest_log_of_the_latest_term_is_kept_and_copied_to_other_survivors() {
    let old = cluster(&[0, 1, 2, 3, 4], 5, 1);
    // Node 0 has more entries, but of an earlier term.
    let survivors = [survivor(&old, 0, 3, 90), survivor(&old, 4, 4, 70)];
    let (mut state, planned) = plan_unsafe_recovery(&[1, 2, 3], 0, &survivors, 9).unwrap();
    assert_eq!(
        planned.unsafe_recovery.as_ref().unwrap().from[&1].broker_id,
        4
    );
    assert_eq!(state.replicas(1), [(4, member(4, state.revision))]);
    assert!(state.has_given_up(member(0, 0), 1));
    assert_eq!(state.nodes[&0].state, NodeState::Active);
    assert_eq!(state.awaited, BTreeSet::from([4]));
    assert_eq!(done(&mut state), Operation::BrokerAdd { broker_id: 4 });
    assert_eq!(state.awaited, BTreeSet::new());
    assert!(matches!(
        done(&mut state),
        Operation::PartitionJoin { broker_id: 0, .. }
    ));
    assert_eq!(state.running, None);
    let nodes = |state: &State| state.replicas(1).iter().map(|it| it.0).collect::<Vec<_>>();
    assert_eq!(nodes(&state), [0, 4]);
    assert_eq!(nodes(&planned.expected), [0, 4]);
    assert!(state.replica_of(0, 1) > state.replica_of(4, 1));
}

#[test]
fn a_recovery_takes_the_newest_state_and_cancels_its_running_change() {
    let old = cluster(&[0, 1, 2, 3], 1, 1);
    let mut newer = old.clone();
    let planned = old.plan(&Request::AddBroker(4), 2).unwrap();
    assert!(newer.apply(Entry::Begin {
        revision: planned.revision,
        operations: planned.operations,
        now: 2,
    }));
    let survivors = [survivor(&old, 0, 1, 1), survivor(&newer, 1, 1, 1)];
    let (state, _) = plan_unsafe_recovery(&[2, 3, 4], 0, &survivors, 9).unwrap();
    assert_eq!(state.revision, newer.revision + LEAP);
    assert_eq!(state.finished[0].outcome, Outcome::Cancelled);
    assert_eq!(state.running.unwrap().id, 2);
}

#[test]
fn a_partition_without_a_surviving_copy_is_lost_and_gets_no_copies() {
    let old = cluster(&[0, 1, 2], 1, 3);
    let (state, planned) = plan_unsafe_recovery(&[1, 2], 0, &[survivor(&old, 0, 1, 5)], 9).unwrap();
    assert_eq!(planned.unsafe_recovery.unwrap().lost, [2, 3]);
    assert!(state.is_lost(2) && !state.is_lost(1));
    let more = Request::Scale {
        add: vec![1],
        remove: vec![],
        count: None,
        partitions: None,
        replication_factor: Some(2),
    };
    let planned = state.plan(&more, 10).unwrap();
    let joins = |it: &&Operation| matches!(it, Operation::PartitionJoin { .. });
    assert_eq!(planned.operations.iter().filter(joins).count(), 1);
    let join = Request::Join {
        broker: 0,
        partition: 2,
        priority: 1,
    };
    let refused = state.plan(&join, 10).unwrap_err().to_string();
    assert!(refused.contains("partition 2 is lost"), "{refused}");
}

#[test]
fn an_incomplete_copy_cannot_be_recovered_from() {
    let old = cluster(&[0, 1, 2], 3, 1);
    let mut learns = survivor(&old, 0, 9, 9);
    learns.copies[0].voters = vec![member(1, 0), member(2, 0)];
    let (_, planned) = plan_unsafe_recovery(&[1, 2], 0, &[learns], 9).unwrap();
    assert_eq!(planned.unsafe_recovery.unwrap().lost, [1]);
}

#[test]
fn a_partition_with_a_surviving_majority_keeps_its_members() {
    // Partition 1 is on the nodes 0, 1, 2; most of the nodes are lost all the same.
    let old = cluster(&[0, 1, 2, 3, 4], 3, 1);
    let survivors = [survivor(&old, 0, 1, 5), survivor(&old, 1, 1, 5)];
    let (state, planned) = plan_unsafe_recovery(&[2, 3, 4], 0, &survivors, 9).unwrap();
    assert_eq!(state.replicas(1), [(0, member(0, 0)), (1, member(1, 0))]);
    assert!(
        planned
            .operations
            .contains(&Operation::PartitionForceReconfigure {
                partition_id: 1,
                brokers: vec![0, 1]
            })
    );
    assert!(planned.unsafe_recovery.unwrap().from.is_empty());
}

#[test]
fn in_a_living_cluster_a_partition_recovers_from_one_copy() {
    let old = cluster(&[0, 1, 2], 2, 2);
    assert!(old.splits_from(&[1]) && !old.splits_from(&[]));
    let survivors = [survivor(&old, 0, 1, 5), survivor(&old, 2, 1, 6)];
    let (state, planned) = plan_unsafe_recovery(&[1], 0, &survivors, 9).unwrap();
    assert_eq!((state.epoch, state.revision), (0, old.revision + 1));
    assert_eq!(state.member(0), Some(member(0, 0)));
    assert_eq!(planned.revision, old.revision);
    let mut agreed = old.clone();
    assert!(agreed.apply(Entry::UnsafeRecovery {
        revision: old.revision,
        state: Box::new(state.clone()),
    }));
    assert_eq!(agreed.replicas(1), [(0, member(0, state.revision))]);
    assert_eq!(agreed.replicas(2), [(2, member(2, state.revision))]);
    assert_eq!(
        done(&mut agreed),
        Operation::BrokerForceRemove { broker_id: 1 }
    );
    let late = Entry::UnsafeRecovery {
        revision: old.revision,
        state: Box::new(state),
    };
    assert!(!agreed.apply(late), "it is for another state");
}

#[test]
fn a_recovery_is_refused_if_a_lost_node_is_reachable_or_a_survivor_is_not() {
    let old = cluster(&[0, 1, 2, 3], 1, 1);
    let one = survivor(&old, 0, 1, 1);
    let away = text(plan_unsafe_recovery(
        &[2, 3],
        0,
        std::slice::from_ref(&one),
        9,
    ));
    assert!(away.contains("broker 1 is to stay"), "{away}");
    let mut reaches = survivor(&old, 1, 1, 1);
    reaches.reaches = vec![0, 3];
    let there = text(plan_unsafe_recovery(&[2, 3], 0, &[one.clone(), reaches], 9));
    assert!(there.contains("broker 1 reaches it"), "{there}");
    let mut led = survivor(&old, 1, 1, 1);
    led.is_led = true;
    let led = text(plan_unsafe_recovery(&[2, 3], 0, &[one.clone(), led], 9));
    assert!(led.contains("a majority seems to be available"), "{led}");
    let unknown = text(plan_unsafe_recovery(&[7], 0, &[one], 9));
    assert!(unknown.contains("broker 7 is not"), "{unknown}");
}
