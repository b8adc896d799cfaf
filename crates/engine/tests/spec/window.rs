//! Recovery skips whatever begins and ends within a window of the log: the state equals that of applying everything.

use skep_engine::state::State;
use skep_engine::state::table::EmptyStore;
use skep_engine::{Engine, EngineConfig};
use skep_model::builder::Bpmn;

use skep_testkit::rig::*;

/// Applies all written batches in one window; returns the number of instances skipped.
fn recover(rig: &mut Rig) -> usize {
    let batches: Vec<&[u8]> = rig.batches.iter().map(|(_, batch)| &batch[..]).collect();
    let state = State::open_to_replay(1, std::sync::Arc::new(EmptyStore)).unwrap();
    let mut engine = Engine::new(EngineConfig::default(), state, 1);
    let passed = engine.apply_window(&batches).unwrap();
    engine.promote().unwrap();
    let leader = &mut rig.partitions[0].engine;
    assert!(engine.state.dump() == leader.state.dump(), "another state");
    assert_eq!(engine.next_position(), leader.next_position());
    assert_eq!(engine.state.next_key(), leader.state.next_key());
    passed
}

fn recording(bpmn: Bpmn) -> Rig {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(bpmn);
    rig
}

fn one_task() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
}

#[test]
fn finished_instances_are_skipped_and_others_are_applied() {
    let mut rig = recording(one_task());
    let first = rig.create("p", r#"{"a":1}"#);
    rig.work("work", r#"{"b":2}"#);
    let waits = rig.create("p", r#"{"a":1}"#);
    let cancelled = rig.create("p", "{}");
    rig.cancel(cancelled).unwrap();
    rig.streams.open("work", 1);
    rig.create("p", "{}");
    let pushed = rig.streams.take().remove(0);
    assert_eq!(pushed.process_instance_key, waits, "the oldest goes first");
    assert!(!rig.is_running(first));
    assert_eq!(recover(&mut rig), 2);
    for job in rig.jobs("work") {
        rig.complete(&job, "{}");
    }
    rig.complete(&pushed, "{}");
    assert_eq!(recover(&mut rig), 4);
}

#[test]
fn a_definition_whose_instances_are_passed_over_counts_none_and_goes_when_it_is_deleted() {
    let mut rig = recording(one_task());
    let instance = rig.create("p", "{}");
    let row = rig.engine(1).state.elements.get(instance).unwrap();
    let definition = row.process_definition_key;
    rig.work("work", "{}");
    assert_eq!(recover(&mut rig), 1);
    rig.create("p", "{}");
    rig.send(skep_protocol::Command::DeleteResource {
        resource_key: definition,
        delete_history: false,
    })
    .unwrap();
    rig.work("work", "{}");
    assert_eq!(recover(&mut rig), 2);
    assert!(rig.engine(1).state.processes.get(definition).is_none());
}

#[test]
fn windows_that_leave_something_behind_are_applied() {
    // A timer, an incident, a called instance, a user task and a message.
    let timer = one_task()
        .boundary_cycle("b", "task", "R1/PT1H")
        .end("late");
    let calls = Bpmn::process("p").start("s").call_activity("call", "q");
    let called = Bpmn::process("q").start("s").end("e");
    let waits = Bpmn::process("p").start("s").catch_message("c", "m", "=k");
    let processes = [
        timer,
        one_task(),
        calls.end("e"),
        Bpmn::process("p").start("s").user_task("task").end("e"),
        waits.end("e"),
    ];
    for (number, bpmn) in processes.into_iter().enumerate() {
        let mut rig = recording(bpmn);
        rig.deploy(called.clone());
        rig.create("p", r#"{"k":"k"}"#);
        let instance = rig.create("p", r#"{"k":"k"}"#);
        if number == 1 {
            for job in rig.jobs("work") {
                rig.fail(&job, 0, 0);
            }
        }
        if rig.is_running(instance) {
            rig.cancel(instance).unwrap();
        }
        let left = match number {
            2 => 0,
            _ => 1,
        };
        assert_eq!(rig.open_instances().len(), left);
        assert_eq!(recover(&mut rig), 0, "process {number}");
    }
}

#[test]
fn a_window_that_cannot_be_read_says_which_batch_it_is() {
    let mut rig = recording(one_task());
    rig.create("p", "{}");
    let (good, batch) = (rig.batches[0].1.clone(), &rig.batches[1].1);
    let torn = &batch[..batch.len() - 1];
    let state = State::open_to_replay(1, std::sync::Arc::new(EmptyStore)).unwrap();
    let mut engine = Engine::new(EngineConfig::default(), state, 1);
    let (number, _) = engine.apply_window(&[&good, torn]).unwrap_err();
    assert_eq!(number, 1);
}
