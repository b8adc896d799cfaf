//! Changes of the state, entry by entry.

use super::*;
use crate::{Layout, Request, member};

pub(crate) fn three() -> State {
    let layout = Layout {
        nodes: vec![0, 1, 2],
        copies: 3,
        partitions: 2,
    };
    State::bootstrapped("it".to_string(), &layout, 1)
}

/// A state in which a change has begun.
fn changing(state: &State, request: &Request) -> State {
    let planned = state.plan(request, 2).unwrap();
    let mut state = state.clone();
    assert!(state.apply(Entry::Begin {
        revision: planned.revision,
        operations: planned.operations,
        now: 2,
    }));
    state
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

fn finish(mut state: State) -> State {
    while state.running.is_some() {
        done(&mut state);
    }
    state
}

#[test]
fn a_cluster_is_founded_once() {
    let mut state = State::default();
    assert!(state.apply(Entry::Bootstrap(Box::new(three()))));
    assert_eq!(state, three());
    let mut other = three();
    other.cluster_id = "another".to_string();
    assert!(!state.apply(Entry::Bootstrap(Box::new(other))));
    assert_eq!(state, three());
}

#[test]
fn a_change_proceeds_operation_by_operation_to_the_planned_result() {
    let request = Request::Brokers {
        brokers: vec![0, 1, 2, 3],
        replication_factor: Some(2),
    };
    let planned = three().plan(&request, 9).unwrap();
    let mut state = changing(&three(), &request);
    assert_eq!(state.nodes[&3].state, NodeState::Joining);
    assert_eq!(done(&mut state), Operation::BrokerAdd { broker_id: 3 });
    assert_eq!(state.nodes[&3].state, NodeState::Active);
    assert_eq!(state.member(3), Some(member(3, 2)));
    let state = finish(state);
    let places = |state: &State| (1..=2).map(|p| state.replicas(p)).collect::<Vec<_>>();
    assert_eq!(places(&state), places(&planned.expected));
    assert_eq!(places(&state), [[(0, 1), (1, 2)], [(1, 2), (2, 3)]]);
    let last = state.last_change().unwrap();
    assert_eq!((last.change.id, last.outcome), (1, Outcome::Completed));
    assert_eq!(last.change.completed.len(), planned.operations.len());
    assert_eq!((state.version, state.replication_factor()), (2, 2));
}

#[test]
fn reports_about_other_operations_are_ignored() {
    let mut state = changing(&three(), &Request::AddBroker(3));
    let before = state.clone();
    let wrong = [
        (2, Operation::BrokerAdd { broker_id: 3 }),
        (1, Operation::BrokerAdd { broker_id: 4 }),
    ];
    for (change, operation) in wrong {
        assert!(!state.apply(Entry::Done {
            change,
            operation,
            now: 3
        }));
    }
    assert!(!state.apply(Entry::Cancel { change: 7, now: 3 }));
    assert_eq!(state, before);
    done(&mut state);
    let again = Entry::Done {
        change: 1,
        operation: Operation::BrokerAdd { broker_id: 3 },
        now: 3,
    };
    assert!(!state.apply(again), "it is done once");
}

#[test]
fn there_is_one_change_at_a_time_and_none_that_was_planned_for_an_older_state() {
    let planned = three().plan(&Request::AddBroker(3), 2).unwrap();
    let mut state = changing(&three(), &Request::AddBroker(4));
    let begin = Entry::Begin {
        revision: planned.revision,
        operations: planned.operations,
        now: 2,
    };
    assert!(!state.apply(begin.clone()));
    let mut state = finish(state);
    assert!(!state.apply(begin));
    assert!(!state.nodes.contains_key(&3));
}

#[test]
fn a_cancelled_change_stops_where_it_is_and_the_next_one_finishes_it() {
    let mut state = changing(&three(), &Request::AddBroker(3));
    assert!(state.apply(Entry::Cancel { change: 1, now: 5 }));
    assert_eq!(state.nodes[&3].state, NodeState::Joining);
    let last = state.last_change().unwrap();
    assert_eq!(last.outcome, Outcome::Cancelled);
    assert_eq!(last.change.pending.len(), 1);
    assert_eq!(state.running, None);
    let request = Request::Brokers {
        brokers: vec![0, 1, 2, 3],
        replication_factor: None,
    };
    let state = finish(changing(&state, &request));
    // It is still the same member: it may have started as that one.
    assert_eq!(state.member(3), Some(member(3, 2)));
    assert_eq!(state.nodes[&3].state, NodeState::Active);
}

#[test]
fn a_node_that_is_added_again_is_a_new_member_everywhere() {
    let state = changing(&three(), &Request::ForceRemove { brokers: vec![1] });
    let state = finish(state);
    assert_eq!(state.nodes.keys().copied().collect::<Vec<_>>(), [0, 2]);
    let request = Request::Brokers {
        brokers: vec![0, 1, 2],
        replication_factor: Some(3),
    };
    let state = finish(changing(&state, &request));
    assert!(state.member(1) > Some(member(1, 1)));
    assert!(state.replica_of(1, 1) > state.member(1));
    assert_eq!(state.replica_of(0, 1), Some(member(0, 0)));
}

#[test]
fn changed_priorities_need_no_operation() {
    let request = Request::Join {
        broker: 2,
        partition: 1,
        priority: 9,
    };
    let state = changing(&three(), &request);
    assert_eq!(state.running, None);
    assert_eq!(state.replicas(1)[0].0, 2);
    assert_eq!(state.last_change().unwrap().outcome, Outcome::Completed);
}

#[test]
fn a_limited_number_of_finished_changes_is_remembered() {
    let mut state = three();
    for priority in 10..100 {
        let request = Request::Join {
            broker: 2,
            partition: 1,
            priority,
        };
        state = changing(&state, &request);
    }
    assert_eq!(state.finished.len(), MAX_FINISHED);
    assert_eq!(state.last_change().unwrap().change.id, 90);
}

#[test]
fn states_and_entries_decode_to_the_same() {
    let state = finish(changing(
        &three(),
        &Request::ForceRemove { brokers: vec![2] },
    ));
    assert_eq!(State::decode(&state.encode()), Ok(state.clone()));
    let entry = Entry::Bootstrap(Box::new(state));
    assert_eq!(Entry::decode(&entry.encode()), Ok(entry));
    assert!(State::decode(b"{").is_err() && Entry::decode(b"[]").is_err());
}

#[test]
fn state_and_entries_of_a_later_version_are_refused_naming_the_unknown_part() {
    let state = three();
    let with = |member: &str| {
        let text = String::from_utf8(state.encode()).unwrap();
        text.replacen('{', &format!("{{\"{member}\":1,"), 1)
    };
    let error = State::decode(with("moons").as_bytes()).unwrap_err();
    assert!(
        error.contains("newer version of Skep") && error.contains("`moons`"),
        "{error}"
    );
    let entry = Entry::decode(br#"{"Teleport":{"now":1}}"#).unwrap_err();
    assert!(entry.contains("`Teleport`"), "{entry}");
    let node = String::from_utf8(state.encode()).unwrap();
    let node = node.replacen("\"generation\"", "\"moons\":1,\"generation\"", 1);
    assert!(
        State::decode(node.as_bytes())
            .unwrap_err()
            .contains("`moons`")
    );
}

/// Output of commit bc7885cd.
#[test]
fn a_state_of_an_earlier_version_is_read() {
    let text = include_str!("../../tests/golden/state-1.json");
    let state = State::decode(text.trim().as_bytes()).unwrap();
    assert_eq!((state.partitions, state.nodes.len()), (3, 3));
    assert!(state.is_bootstrapped() && state.scaled.is_none());
    let again: serde_json::Value = serde_json::from_slice(&state.encode()).unwrap();
    assert_eq!(
        again,
        serde_json::from_str::<serde_json::Value>(text).unwrap()
    );
}
