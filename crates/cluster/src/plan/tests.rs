//! Plans for requests of operators, and requests that are refused.

use super::*;
use crate::testing::cluster;
use crate::{Entry, NodeState};

fn scale(add: &[u32], remove: &[u32], copies: Option<u32>) -> Request {
    Request::Scale {
        add: add.to_vec(),
        remove: remove.to_vec(),
        count: None,
        partitions: None,
        replication_factor: copies,
    }
}

fn names(state: &State, request: &Request) -> Vec<String> {
    let planned = state.plan(request, 0).unwrap();
    let show = |operation: &Operation| match operation {
        Operation::BrokerAdd { broker_id } => format!("add {broker_id}"),
        Operation::BrokerRemove { broker_id } => format!("remove {broker_id}"),
        Operation::BrokerForceRemove { broker_id } => format!("force {broker_id}"),
        Operation::PartitionJoin {
            broker_id,
            partition_id,
            priority,
        } => format!("{broker_id} joins {partition_id} with {priority}"),
        Operation::PartitionLeave {
            broker_id,
            partition_id,
            purge: false,
        } => format!("{broker_id} leaves {partition_id}"),
        Operation::PartitionReconfigurePriority {
            broker_id,
            partition_id,
            priority,
        } => format!("{broker_id} has {priority} in {partition_id}"),
        Operation::PartitionBootstrap {
            broker_id,
            partition_id,
            priority,
        } => format!("{partition_id} begins on {broker_id} with {priority}"),
        Operation::PartitionForceReconfigure {
            partition_id,
            brokers,
        } => format!("{partition_id} on {brokers:?}"),
        other => format!("{other:?}"),
    };
    planned.operations.iter().map(show).collect()
}

fn refused(state: &State, request: &Request) -> Refusal {
    state.plan(request, 0).unwrap_err()
}

#[test]
fn one_node_becomes_three() {
    let request = scale(&[1, 2], &[], Some(3));
    assert_eq!(
        names(&cluster(&[0], 1, 1), &request),
        [
            "add 1",
            "add 2",
            "1 joins 1 with 2",
            "2 joins 1 with 1",
            "0 has 3 in 1"
        ]
    );
}

#[test]
fn a_broker_is_removed_after_others_have_its_partitions() {
    let four = cluster(&[0, 1, 2, 3], 3, 4);
    let operations = names(&four, &scale(&[], &[3], None));
    assert_eq!(operations.last().unwrap(), "remove 3");
    let position = |text: &str| operations.iter().position(|o| o.starts_with(text)).unwrap();
    assert!(
        position("1 joins 3") < position("3 leaves 3"),
        "{operations:?}"
    );
    let planned = four.plan(&scale(&[], &[3], None), 0).unwrap();
    for partition in 1..=4 {
        assert_eq!(planned.expected.replicas(partition).len(), 3);
    }
}

#[test]
fn fewer_copies_are_taken_from_the_last_nodes() {
    let operations = names(&cluster(&[0, 1, 2], 3, 1), &scale(&[], &[], Some(1)));
    assert_eq!(operations, ["1 leaves 1", "2 leaves 1", "0 has 1 in 1"]);
}

#[test]
fn a_count_stands_for_the_brokers_from_0() {
    let request = |add: &[u32]| Request::Scale {
        add: add.to_vec(),
        remove: vec![],
        count: Some(2),
        partitions: None,
        replication_factor: Some(1),
    };
    assert_eq!(names(&cluster(&[0], 1, 1), &request(&[])), ["add 1"]);
    let both = refused(&cluster(&[0], 1, 1), &request(&[1]));
    assert!(both.to_string().contains("together"), "{both}");
}

#[test]
fn a_lost_broker_is_taken_out_of_all_groups() {
    assert_eq!(
        names(
            &cluster(&[0, 1, 2], 3, 2),
            &Request::ForceRemove { brokers: vec![1] }
        ),
        ["1 on [0, 2]", "2 on [2, 0]", "force 1"]
    );
}

#[test]
fn a_forced_removal_is_limited_to_lost_brokers() {
    let both = Request::ForceRemove {
        brokers: vec![1, 2],
    };
    let reason = refused(&cluster(&[0, 1, 2], 3, 1), &both);
    assert!(
        matches!(&reason, Refusal::Invalid(text) if text.contains("only brokers that are lost for good")),
        "{reason}"
    );
}

#[test]
fn impossible_changes_are_refused_with_the_reason() {
    let state = cluster(&[0, 1, 2], 2, 3);
    let join = |broker, partition| Request::Join {
        broker,
        partition,
        priority: 1,
    };
    let leave = |broker, partition| Request::Leave { broker, partition };
    let eight: Vec<u32> = (3..8).collect();
    for (request, reason) in [
        (scale(&[], &[7], None), "broker 7 cannot be removed"),
        (scale(&[], &[], Some(4)), "would be 4 with 3 brokers"),
        (scale(&[], &[], Some(0)), "would be 0"),
        (scale(&[], &[0, 1], None), "would be 2 with 1 brokers"),
        (scale(&eight, &[], None), "it can have 1 to 7"),
        (Request::AddBroker(32), "ids range from 0 to 31"),
        (Request::RemoveBroker(0), "still has the partitions"),
        (join(7, 1), "add it first"),
        (join(0, 4), "partition 4 does not exist"),
        (leave(2, 1), "has no copy of partition 1"),
        (Request::ForceRemove { brokers: vec![9] }, "broker 9 is not"),
    ] {
        let refusal = refused(&state, &request);
        assert!(
            matches!(&refusal, Refusal::Invalid(text) if text.contains(reason)),
            "{refusal}"
        );
    }
    let last = refused(&cluster(&[0, 1], 1, 1), &leave(0, 1));
    assert!(last.to_string().contains("the only whole copy"), "{last}");
}

#[test]
fn nothing_is_planned_while_a_change_is_under_way() {
    let mut state = cluster(&[0], 1, 1);
    let planned = state.plan(&Request::AddBroker(1), 0).unwrap();
    state.apply(Entry::Begin {
        revision: planned.revision,
        operations: planned.operations,
        now: 0,
    });
    let busy = refused(&state, &Request::AddBroker(2));
    assert!(
        matches!(&busy, Refusal::Busy(text) if text.contains("change 1 is in progress")),
        "{busy}"
    );
}

#[test]
fn a_change_to_the_current_state_needs_no_operations() {
    let state = cluster(&[0, 1, 2], 3, 3);
    assert_eq!(names(&state, &scale(&[1], &[], None)), [""; 0]);
    assert_eq!(names(&state, &Request::RemoveBroker(5)), [""; 0]);
    assert_eq!(names(&state, &Request::AddBroker(2)), [""; 0]);
    assert_eq!(state.nodes[&0].state, NodeState::Active);
}

fn given_up(state: &mut State, operations: Vec<Operation>) {
    let revision = state.revision;
    let begin = Entry::Begin {
        revision,
        operations,
        now: 0,
    };
    assert!(state.apply(begin));
    let change = state.changes;
    assert!(state.apply(Entry::Cancel { change, now: 0 }));
}

#[test]
fn a_broker_whose_addition_was_cancelled_gets_no_copies_until_it_is_added_again() {
    let mut state = cluster(&[0, 1], 2, 1);
    given_up(&mut state, vec![Operation::BrokerAdd { broker_id: 2 }]);
    let join = Request::Join {
        broker: 2,
        partition: 1,
        priority: 1,
    };
    let reason = refused(&state, &join).to_string();
    assert!(reason.contains("Add it again first"), "{reason}");
    assert_eq!(names(&state, &Request::AddBroker(2)), ["add 2"]);
}

#[test]
fn the_only_complete_copy_cannot_leave() {
    let mut state = cluster(&[0, 1], 1, 1);
    let join = Operation::PartitionJoin {
        broker_id: 1,
        partition_id: 1,
        priority: 2,
    };
    given_up(&mut state, vec![join]);
    let leave = |broker| Request::Leave {
        broker,
        partition: 1,
    };
    let reason = refused(&state, &leave(0)).to_string();
    assert!(reason.contains("the only whole copy"), "{reason}");
    assert_eq!(names(&state, &leave(1)), ["1 leaves 1"]);
}

fn partitions(count: u32) -> Request {
    Request::Scale {
        add: Vec::new(),
        remove: Vec::new(),
        count: None,
        partitions: Some(count),
        replication_factor: None,
    }
}

#[test]
fn new_partitions_take_part_once_they_have_all_copies_and_the_global_state() {
    let mut state = cluster(&[0, 1], 2, 2);
    assert_eq!(
        names(&state, &partitions(3)),
        [
            "StartPartitionScaleUp { partition_count: 3 }",
            "3 begins on 0 with 2",
            "1 joins 3 with 1",
            "AwaitRedistribution { partition_count: 3 }",
            "UpdateRoutingState { partition_count: 3 }",
            "AwaitRelocation { partition_count: 3 }",
        ]
    );
    let planned = state.plan(&partitions(3), 0).unwrap();
    assert_eq!(
        planned.expected.routing(),
        skep_protocol::Routing::scaled(2, 3, 3)
            .spread_over(&[3])
            .at_version(5)
    );
    state.apply(Entry::Begin {
        revision: state.revision,
        operations: planned.operations,
        now: 0,
    });
    let routing = |state: &State| {
        let routing = state.routing();
        (routing.initial(), routing.count(), state.partitions)
    };
    assert_eq!(routing(&state), (2, 2, 2), "the others are not told yet");
    done(&mut state);
    assert_eq!(routing(&state), (2, 2, 3));
    done(&mut state);
    done(&mut state);
    assert_eq!(
        routing(&state),
        (2, 2, 3),
        "it does not have what every partition has"
    );
    done(&mut state);
    assert_eq!(routing(&state), (2, 3, 3));
    assert!(state.routing().targets().is_some(), "slots move");
    done(&mut state);
    assert!(state.running.is_none());
    assert!(!state.routing().is_by_remainder());
}

/// The next operation is carried out.
fn done(state: &mut State) {
    let (change, operation) = state.next_operation().unwrap();
    let operation = operation.clone();
    assert!(state.apply(Entry::Done {
        change,
        operation,
        now: 0,
    }));
}

#[test]
fn cancelled_scaling_continues_with_the_next_change() {
    let mut state = cluster(&[0, 1], 1, 2);
    let operations = state.plan(&partitions(4), 0).unwrap().operations;
    let revision = state.revision;
    state.apply(Entry::Begin {
        revision,
        operations,
        now: 0,
    });
    done(&mut state);
    done(&mut state);
    state.apply(Entry::Cancel { change: 1, now: 0 });
    assert!(state.is_scaling_up());
    let expected = [
        "StartPartitionScaleUp { partition_count: 4 }",
        "4 begins on 1 with 1",
        "AwaitRedistribution { partition_count: 4 }",
        "UpdateRoutingState { partition_count: 4 }",
        "AwaitRelocation { partition_count: 4 }",
    ];
    assert_eq!(names(&state, &partitions(4)), expected);
    assert_eq!(names(&state, &scale(&[], &[], None)), expected);
    let Refusal::Invalid(reason) = refused(&state, &partitions(2)) else {
        panic!("not invalid");
    };
    assert!(reason.contains("request 4 partitions again"), "{reason}");
}

/// A cluster scaled from two partitions to four.
fn scaled() -> State {
    let mut state = cluster(&[0, 1], 1, 2);
    carried_out(&mut state, &partitions(4));
    state
}

/// Plans the request and completes all its operations.
fn carried_out(state: &mut State, request: &Request) {
    let planned = state.plan(request, 0).unwrap();
    state.apply(Entry::Begin {
        revision: state.revision,
        operations: planned.operations,
        now: 0,
    });
    while state.running.is_some() {
        done(state);
    }
    assert_eq!(state.routing(), planned.expected.routing());
    assert_eq!(state.nodes.len(), planned.expected.nodes.len());
}

fn routed(state: &State) -> (u32, u32, u32) {
    let routing = state.routing();
    (routing.initial(), routing.accepting(), routing.count())
}

#[test]
fn the_number_of_partitions_is_reduced_by_draining_them() {
    let mut state = scaled();
    assert_eq!(routed(&state), (2, 4, 4));
    assert_eq!(
        names(&state, &partitions(3)),
        [
            "UpdateRoutingState { partition_count: 3 }",
            "AwaitRelocation { partition_count: 3 }",
        ]
    );
    let version = state.routing_version;
    carried_out(&mut state, &partitions(3));
    assert_eq!(
        routed(&state),
        (2, 3, 4),
        "what runs on the fourth goes on there"
    );
    assert_eq!(state.routing_version, version + 3);
    assert_eq!(names(&state, &partitions(3)), [""; 0]);
    let decoded = State::decode(&state.encode()).unwrap();
    assert_eq!(decoded, state);
    // Changes about something else leave it as it is.
    carried_out(&mut state, &scale(&[2], &[], Some(2)));
    assert_eq!(routed(&state), (2, 3, 4));
    assert_eq!(state.replicas(4).len(), 2, "it has copies as all have");
}

#[test]
fn a_partition_that_is_drained_is_taken_back_before_new_ones_come() {
    let mut state = scaled();
    carried_out(&mut state, &partitions(2));
    assert_eq!(routed(&state), (2, 2, 4));
    assert_eq!(
        names(&state, &partitions(3)),
        [
            "UpdateRoutingState { partition_count: 3 }",
            "AwaitRelocation { partition_count: 3 }",
        ]
    );
    assert_eq!(
        names(&state, &partitions(5)),
        [
            "StartPartitionScaleUp { partition_count: 5 }",
            "5 begins on 0 with 1",
            "AwaitRedistribution { partition_count: 5 }",
            "UpdateRoutingState { partition_count: 5 }",
            "AwaitRelocation { partition_count: 5 }",
        ]
    );
    carried_out(&mut state, &partitions(5));
    assert_eq!(routed(&state), (2, 5, 5));
}

#[test]
fn partitions_get_no_new_instances_before_their_nodes_go() {
    let mut state = cluster(&[0, 1], 1, 1);
    carried_out(&mut state, &partitions(2));
    let request = Request::Scale {
        add: Vec::new(),
        remove: vec![1],
        count: None,
        partitions: Some(1),
        replication_factor: None,
    };
    assert_eq!(
        names(&state, &request),
        [
            "UpdateRoutingState { partition_count: 1 }",
            "AwaitRelocation { partition_count: 1 }",
            "0 joins 2 with 1",
            "1 leaves 2",
            "remove 1",
        ]
    );
    carried_out(&mut state, &request);
    assert_eq!(routed(&state), (1, 1, 2));
}

#[test]
fn the_number_of_partitions_has_a_minimum_and_a_maximum() {
    let state = scaled();
    for (count, reason) in [
        (0, "began with 2"),
        (1, "began with 2"),
        (1025, "at most 1024"),
    ] {
        let refusal = refused(&state, &partitions(count));
        assert!(
            matches!(&refusal, Refusal::Invalid(text) if text.contains(reason)),
            "{refusal}"
        );
    }
    assert_eq!(names(&state, &partitions(4)), [""; 0]);
}

#[test]
fn a_relocation_that_is_cancelled_is_taken_up_by_the_next_request_for_partitions() {
    let mut state = cluster(&[0, 1], 1, 2);
    let operations = state.plan(&partitions(4), 0).unwrap().operations;
    let steps = operations.len();
    state.apply(Entry::Begin {
        revision: state.revision,
        operations,
        now: 0,
    });
    // The routing is updated without anybody's help, just before the relocation.
    for _ in 2..steps {
        assert!(state.routing().targets().is_none());
        done(&mut state);
    }
    let (moving, version) = (state.routing(), state.routing_version);
    assert!(moving.targets().is_some() && moving.is_by_remainder());
    state.apply(Entry::Cancel { change: 1, now: 0 });
    assert!(state.routing().targets().is_none());
    assert!(state.routing_version > version, "all hear of it");
    let relocation = ["AwaitRelocation { partition_count: 4 }"];
    assert_eq!(names(&state, &partitions(4)), relocation);
    assert_eq!(
        names(&state, &partitions(2))[1],
        "AwaitRelocation { partition_count: 2 }"
    );
    // Other changes leave the slots where they are.
    assert_eq!(names(&state, &scale(&[], &[], None)), [""; 0]);
    let decoded = State::decode(&state.encode()).unwrap();
    assert_eq!(decoded, state);
    carried_out(&mut state, &partitions(4));
    assert_eq!(names(&state, &partitions(4)), [""; 0]);
    assert!(!state.routing().is_by_remainder());
}

/// Its slots were never moved.
#[test]
fn a_cluster_that_an_earlier_version_has_scaled_moves_its_slots_when_it_is_asked_for_as_many_partitions()
 {
    let mut state = cluster(&[0, 1], 1, 4);
    state.scaled = Some(crate::Scaled {
        initial: 2,
        active: 4,
        ..crate::Scaled::default()
    });
    assert_eq!(names(&state, &scale(&[], &[], None)), [""; 0]);
    let relocation = ["AwaitRelocation { partition_count: 4 }"];
    assert_eq!(names(&state, &partitions(4)), relocation);
}

#[test]
fn brokers_and_partitions_can_be_added_in_one_change() {
    let state = cluster(&[0], 1, 1);
    let request = Request::Scale {
        add: vec![1],
        remove: Vec::new(),
        count: None,
        partitions: Some(2),
        replication_factor: Some(2),
    };
    assert_eq!(
        names(&state, &request),
        [
            "add 1",
            "StartPartitionScaleUp { partition_count: 2 }",
            "2 begins on 1 with 2",
            "0 joins 2 with 1",
            "AwaitRedistribution { partition_count: 2 }",
            "UpdateRoutingState { partition_count: 2 }",
            "AwaitRelocation { partition_count: 2 }",
            "1 joins 1 with 1",
            "0 has 2 in 1",
        ]
    );
}

#[test]
fn a_new_partition_whose_only_node_is_lost_begins_elsewhere() {
    let mut state = cluster(&[0, 1, 2], 1, 2);
    let operations = state.plan(&partitions(3), 0).unwrap().operations;
    let revision = state.revision;
    state.apply(Entry::Begin {
        revision,
        operations,
        now: 0,
    });
    done(&mut state);
    done(&mut state);
    state.apply(Entry::Cancel { change: 1, now: 0 });
    assert_eq!(state.replicas(3).len(), 1);
    let lost = Request::ForceRemove { brokers: vec![2] };
    assert_eq!(names(&state, &lost), ["force 2"]);
    let operations = state.plan(&lost, 0).unwrap().operations;
    let revision = state.revision;
    state.apply(Entry::Begin {
        revision,
        operations,
        now: 0,
    });
    done(&mut state);
    let planned = names(&state, &partitions(3));
    assert_eq!(planned[1], "3 begins on 0 with 1");
}
