//! Invariants of the engine: if one is violated, the engine panics instead of continuing. The broker takes the panic for a bug in the work
//! of one instance and bans it (`crates/broker/src/partition/thread/panics.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use skep_engine::EngineConfig;
use skep_engine::state::State;
use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_protocol::command::Command;
use skep_testkit::rig::*;

/// Calls `break_rule` during the completion of a job. Returns the panic's message, the instance that the engine worked for, and the
/// instance of the job.
fn panic_of(break_rule: fn(&mut State, Key)) -> (String, Option<Key>, Key) {
    let mut rig = Rig::with_configs(1, |partition| EngineConfig {
        on_work: Some(break_rule),
        ..config(partition, 1)
    });
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .service_task("task", "work")
            .end("e"),
    );
    let instance = rig.create("p", "{}");
    // Read without activation, which would call the hook as well.
    let jobs = &rig.engine(1).state.jobs;
    let job = jobs
        .activatable("work", &skep_protocol::TenantId::default())
        .next()
        .expect("a job waits");
    let complete = Command::CompleteJob {
        job_key: job,
        variables: Default::default(),
        result: None,
    };
    let failed = catch_unwind(AssertUnwindSafe(|| rig.send(complete)));
    let panic = failed.expect_err("the engine must not go on");
    let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
    (text, rig.engine(1).working_for(), instance)
}

#[test]
fn a_scope_losing_more_children_than_it_has_is_a_fault() {
    let (text, working_for, instance) = panic_of(|state, instance| {
        state.damage(instance, |process| process.active_children = 0);
    });
    assert!(text.contains("a scope has 0 children"), "{text}");
    assert_eq!(working_for, Some(instance));
}

#[test]
fn an_element_without_its_definition_is_a_fault() {
    let (text, working_for, instance) = panic_of(|state, instance| {
        let child = state.elements.child_after(instance, Key::NONE);
        state.damage(child, |task| task.process_definition_key = Key(17));
    });
    assert!(
        text.contains("process definition 17 is not known"),
        "{text}"
    );
    assert_eq!(working_for, Some(instance));
}
