//! The plan of a purge, and its effect step by step.

use super::*;
use crate::testing::cluster;
use crate::{Entry, Outcome, ReplicaState, member};

fn show(operation: &Operation) -> String {
    match operation {
        Operation::PartitionLeave {
            broker_id,
            partition_id,
            purge: true,
        } => format!("{broker_id} leaves {partition_id}"),
        Operation::PartitionBootstrap {
            broker_id,
            partition_id,
            priority,
        } => format!("{broker_id} begins {partition_id} with {priority}"),
        Operation::PartitionJoin {
            broker_id,
            partition_id,
            priority,
        } => format!("{broker_id} joins {partition_id} with {priority}"),
        Operation::BrokerForceRemove { broker_id } => format!("{broker_id} is lost"),
        other => other.name().to_string(),
    }
}

fn begin(state: &mut State, request: &Request) -> Vec<String> {
    let planned = state.plan(request, 1).unwrap();
    assert!(state.apply(Entry::Begin {
        revision: planned.revision,
        operations: planned.operations.clone(),
        now: 1,
    }));
    planned.operations.iter().map(show).collect()
}

/// Completes the next operation; the copy's last key was this one.
fn step(state: &mut State, last_key: u64) -> String {
    let (change, operation) = state.next_operation().unwrap();
    let operation = operation.clone();
    let shown = show(&operation);
    let entry = match operation {
        Operation::PartitionLeave { .. } => Entry::Left {
            change,
            operation,
            left: Left {
                last_key,
                exporting: None,
            },
            now: 2,
        },
        _ => Entry::Done {
            change,
            operation,
            now: 2,
        },
    };
    let twice = entry.clone();
    let written = Entry::decode(&entry.encode()).unwrap();
    assert!(state.apply(written));
    assert!(!state.apply(twice), "what is said again changes nothing");
    shown
}

fn finish(state: &mut State) {
    while state.running.is_some() {
        step(state, 1000);
    }
}

fn copies(state: &State) -> Vec<Vec<u32>> {
    let nodes = |partition| {
        let replicas = state.replicas(partition).into_iter();
        replicas.map(|(node, _)| node).collect()
    };
    (1..=state.partitions).map(nodes).collect()
}

#[test]
fn a_purge_removes_all_copies_then_shared_data_and_then_recreates_all() {
    let mut state = cluster(&[0, 1, 2], 2, 2);
    let before = state.clone();
    let planned = begin(&mut state, &Request::Purge);
    assert_eq!(
        planned,
        [
            "1 leaves 1",
            "0 leaves 1",
            "2 leaves 2",
            "1 leaves 2",
            "DELETE_HISTORY",
            "UPDATE_INCARNATION_NUMBER",
            "0 begins 1 with 2",
            "1 begins 2 with 2",
            "1 joins 1 with 1",
            "2 joins 2 with 1",
        ]
    );
    for key in [7, 9, 3, 5] {
        assert!(step(&mut state, key).contains("leaves"));
    }
    assert_eq!(copies(&state), [vec![0; 0], vec![]]);
    assert_eq!(step(&mut state, 0), "DELETE_HISTORY");
    assert_eq!(state.incarnation, 1);
    assert_eq!(state.least_keys, [(1, 9 + KEYS), (2, 5 + KEYS)].into());
    assert_eq!(state.purged_keys, state.least_keys);
    assert!(state.purge.is_some());
    step(&mut state, 0);
    step(&mut state, 0);
    assert_eq!(state.purge, None, "all work again");
    assert_eq!(copies(&state), [vec![0, 1], vec![1]], "the first joins");
    finish(&mut state);
    assert_eq!(copies(&state), copies(&before));
    for (id, node) in &state.nodes {
        for (partition, replica) in &node.partitions {
            let old = before.nodes[id].partitions[partition].clone();
            assert_eq!(replica.priority, old.priority);
            assert_eq!(replica.state, ReplicaState::Active);
            assert!(state.has_given_up(member(*id, old.generation), *partition));
        }
    }
}

#[test]
fn a_planned_purge_shows_the_expected_cluster() {
    let state = cluster(&[0], 1, 3);
    let planned = state.plan(&Request::Purge, 0).unwrap();
    assert_eq!(copies(&planned.expected), [[0], [0], [0]]);
    assert_eq!(
        (planned.expected.purge, planned.expected.incarnation),
        (None, 1)
    );
    assert_eq!(planned.current, state);
}

#[test]
fn repeated_purges_raise_the_least_key_even_without_new_keys() {
    let mut state = cluster(&[0], 1, 1);
    let mut least = 0;
    for _ in 0..3 {
        begin(&mut state, &Request::Purge);
        while state.running.is_some() {
            step(&mut state, 0);
        }
        assert_eq!(state.least_keys[&1], least + KEYS);
        least += KEYS;
    }
    assert_eq!(state.incarnation, 3);
}

#[test]
fn a_cancelled_purge_must_be_repeated_before_any_other_change() {
    for steps in 0..8 {
        let mut state = cluster(&[0, 1, 2], 2, 2);
        let before = copies(&state);
        begin(&mut state, &Request::Purge);
        (0..steps).for_each(|_| drop(step(&mut state, 50)));
        assert!(state.plan(&Request::Purge, 1).is_err(), "one at a time");
        assert!(state.apply(Entry::Cancel { change: 1, now: 3 }));
        assert_eq!(state.last_change().unwrap().outcome, Outcome::Cancelled);
        if state.purge.is_some() {
            let other = Request::AddBroker(4);
            let refused = state.plan(&other, 4).unwrap_err();
            assert!(matches!(refused, Refusal::Invalid(_)), "{refused}");
            begin(&mut state, &Request::Purge);
            finish(&mut state);
            assert_eq!(copies(&state), before, "given up after {steps}");
        } else {
            assert_eq!(steps, 7, "all partitions are there again");
        }
        assert_eq!(state.purge, None);
        assert!(state.plan(&Request::AddBroker(4), 4).is_ok());
    }
}

#[test]
fn a_node_that_is_lost_in_between_is_removed_first() {
    let mut state = cluster(&[0, 1, 2], 2, 3);
    begin(&mut state, &Request::Purge);
    // Its copies of the first two partitions are gone, that of the third is not.
    for _ in 0..4 {
        step(&mut state, 1);
    }
    assert!(state.apply(Entry::Cancel { change: 1, now: 3 }));
    let lost = Request::ForceRemove { brokers: vec![2] };
    assert!(!state.splits_from(&[2]));
    assert_eq!(begin(&mut state, &lost), ["2 is lost"]);
    finish(&mut state);
    begin(&mut state, &Request::Purge);
    finish(&mut state);
    assert_eq!(copies(&state), [vec![0, 1], vec![1], vec![0]]);
    assert_eq!(state.purge, None);
}

#[test]
fn a_partition_that_is_lost_stays_so() {
    let mut state = cluster(&[0, 1], 1, 2);
    for node in state.nodes.values_mut() {
        node.partitions.remove(&2);
    }
    begin(&mut state, &Request::Purge);
    finish(&mut state);
    assert_eq!(copies(&state), [vec![0], vec![]]);
    for node in state.nodes.values_mut() {
        node.partitions.clear();
    }
    assert!(state.plan(&Request::Purge, 0).is_err());
}
