//! Event sub-processes: triggered by an event in their scope.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

/// `work` beside an event sub-process with `handle`.
fn with_start(start: impl FnOnce(Bpmn) -> Bpmn) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .event_sub_process("esp", |esp| {
            start(esp).service_task("handle", "handle").end("handled")
        })
        .service_task("work", "work")
        .end("e")
}

#[test]
fn an_interrupting_start_event_replaces_the_running_activities() {
    let mut rig = Rig::with(with_start(|p| p.start_message_for("go", "stop", "=key")));
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.publish("stop", "k", 0, r#"{"why":"late"}"#);
    assert_eq!(rig.terminated(instance), ["work"]);
    assert_eq!(rig.variable(instance, "why").unwrap(), r#""late""#);
    rig.work("handle", "{}");
    rig.assert_completed(instance);
    assert_eq!(
        rig.completed(instance),
        ["s", "go", "handle", "handled", "esp", "p"]
    );
}

#[test]
fn a_non_interrupting_one_runs_beside_the_rest_each_time() {
    let mut rig = Rig::with(with_start(|p| {
        p.start_cycle("tick", "R2/PT1M").non_interrupting()
    }));
    let instance = rig.create("p", "{}");
    rig.advance(60_000);
    rig.advance(60_000);
    rig.work("work", "{}");
    assert!(
        rig.is_running(instance),
        "it waits for its event sub-processes"
    );
    let jobs = rig.jobs("handle");
    assert_eq!(jobs.len(), 2);
    for job in &jobs {
        rig.complete(job, "{}");
    }
    rig.assert_completed(instance);
}

#[test]
fn its_subscriptions_end_with_the_scope() {
    let mut rig = Rig::with(with_start(|p| {
        p.start_message_for("go", "stop", "=key").non_interrupting()
    }));
    let done = rig.create("p", r#"{"key":"k"}"#);
    rig.work("work", "{}");
    rig.assert_completed(done);
    let cancelled = rig.create("p", r#"{"key":"k"}"#);
    rig.cancel(cancelled).unwrap();
    rig.assert_terminated(cancelled);
}

#[test]
fn an_expression_that_fails_holds_up_the_start_event() {
    let mut rig = Rig::with(with_start(|p| p.start_message_for("go", "stop", "=key")));
    let instance = rig.create("p", "{}");
    let incident = rig.incident();
    assert_eq!(incident.element, "s");
    rig.set_variables(instance, r#"{"key":"k"}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.publish("stop", "k", 0, "{}");
    rig.work("handle", "{}");
    rig.assert_completed(instance);
}

#[test]
fn it_belongs_to_the_scope_that_it_is_in() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .sub_process("inner", |sub| {
            sub.start("s2")
                .event_sub_process("esp", |esp| {
                    esp.start_duration("late", "PT1M")
                        .service_task("handle", "handle")
                        .end("handled")
                })
                .service_task("work", "work")
                .end("e2")
        })
        .end("e")
        .from("fork")
        .service_task("outside", "outside")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.advance(60_000);
    assert_eq!(rig.terminated(instance), ["work"]);
    rig.work("handle", "{}");
    rig.work("outside", "{}");
    rig.assert_completed(instance);
}

/// Tokens at joins, tokens in transit and nested scopes are all terminated.
#[test]
fn everything_in_the_scope_ends_first() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .event_sub_process("esp", |esp| {
            esp.start_duration("late", "PT1M")
                .service_task("handle", "handle")
                .end("handled")
        })
        .parallel("fork")
        .task("quick")
        .parallel("join")
        .end("e")
        .from("fork")
        .sub_process("inner", |sub| {
            sub.start("s2")
                .call_activity("call", "called")
                .boundary_cycle("tick", "call", "R/PT1H")
                .end("ticked")
                .from("call")
                .end("e2")
        })
        .to("join");
    let mut rig = Rig::with(bpmn);
    rig.deploy(
        Bpmn::process("called")
            .start("cs")
            .service_task("cw", "cw")
            .end("ce"),
    );
    let instance = rig.create("p", "{}");
    rig.advance(60_000);
    assert_eq!(rig.jobs("cw").len(), 0);
    rig.work("handle", "{}");
    rig.assert_completed(instance);
}

/// However the work is deferred, even step by step, the sub-process starts once, after everything it interrupts has ended.
#[test]
fn interruption_takes_turns() {
    let mut bpmn = Bpmn::process("p")
        .start("s")
        .event_sub_process("esp", |esp| {
            esp.start_message_for("go", "stop", "=key")
                .service_task("handle", "handle")
                .end("handled")
        })
        .parallel("fork");
    for number in 0..30 {
        bpmn = bpmn
            .from("fork")
            .service_task(format!("t{number}"), "work")
            .end(format!("e{number}"));
    }
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"key":"k"}"#);
    let jobs = rig.jobs("work");
    rig.turn_steps(1);
    rig.interrupted = true;
    rig.publish("stop", "k", 0, "{}");
    // Meanwhile workers complete jobs that are about to be terminated.
    for job in jobs.iter().rev().take(15) {
        rig.run_work();
        let _ = rig.send(skep_protocol::command::Command::CompleteJob {
            job_key: job.key,
            variables: skep_protocol::Document::new(),
            result: None,
        });
    }
    rig.interrupted = false;
    rig.settle(1);
    rig.work("handle", "{}");
    rig.assert_completed(instance);
    let begun = rig.elements(instance, "ELEMENT_ACTIVATED");
    assert_eq!(begun.iter().filter(|element| **element == "esp").count(), 1);
}

#[test]
fn once_interrupted_no_other_one_of_the_scope_starts() {
    let bpmn = with_start(|p| p.start_message_for("go", "stop", "=key")).event_sub_process(
        "other",
        |esp| {
            esp.start_message_for("note", "note", "=key")
                .non_interrupting()
                .service_task("noted", "noted")
                .end("e3")
        },
    );
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.publish("note", "k", 0, "{}");
    rig.publish("stop", "k", 0, "{}");
    rig.publish("note", "k", 0, "{}");
    assert_eq!(rig.jobs("noted").len(), 0, "the one that ran has ended");
    rig.work("handle", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_boundary_event_still_ends_a_scope_that_was_interrupted() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("inner", |sub| {
            sub.start("s2")
                .event_sub_process("esp", |esp| {
                    esp.start_message_for("go", "stop", "=key")
                        .service_task("handle", "handle")
                        .end("handled")
                })
                .service_task("work", "work")
                .end("e2")
        })
        .end("e")
        .boundary_duration("late", "inner", "PT1H")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.publish("stop", "k", 0, "{}");
    rig.advance(3_600_000);
    rig.assert_completed(instance);
    assert_eq!(rig.terminated(instance), ["work", "handle", "esp", "inner"]);
}

#[test]
fn an_error_is_caught_in_the_scope_before_its_boundary_event() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("inner", |sub| {
            sub.start("s2")
                .event_sub_process("esp", |esp| {
                    esp.start_error("caught", None)
                        .service_task("handle", "handle")
                        .end("handled")
                })
                .service_task("work", "work")
                .end("e2")
        })
        .end("e")
        .boundary_error("outside", "inner", "E")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.throw(&job, "E", r#"{"why":"x"}"#);
    assert_eq!(rig.variable(instance, "why").unwrap(), r#""x""#);
    rig.work("handle", "{}");
    rig.assert_completed(instance);
    assert!(!rig.completed(instance).contains(&"outside".to_string()));
}

#[test]
fn one_inside_of_another_starts_too() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .event_sub_process("outer", |esp| {
            esp.start_message_for("go", "stop", "=key")
                .event_sub_process("nested", |nested| {
                    nested
                        .start_duration("late", "PT1M")
                        .non_interrupting()
                        .service_task("remind", "remind")
                        .end("reminded")
                })
                .service_task("handle", "handle")
                .end("handled")
        })
        .service_task("work", "work")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.publish("stop", "k", 0, "{}");
    rig.advance(60_000);
    rig.work("handle", "{}");
    rig.work("remind", "{}");
    rig.assert_completed(instance);
}

#[test]
fn chosen_start_elements_leave_it_listening() {
    let mut rig = Rig::with(with_start(|p| p.start_message_for("go", "stop", "=key")));
    let mut creation = Rig::creation("p", r#"{"key":"k"}"#);
    creation.start_instructions = vec!["work".into()];
    rig.send(creation.into_command()).unwrap();
    let instance = rig.instance_of("p");
    rig.publish("stop", "k", 0, "{}");
    rig.work("handle", "{}");
    rig.assert_completed(instance);
}

#[test]
fn chosen_start_elements_wait_until_it_can_listen() {
    let mut rig = Rig::with(with_start(|p| p.start_message_for("go", "stop", "=key")));
    let mut creation = Rig::creation("p", "{}");
    creation.start_instructions = vec!["work".into()];
    rig.send(creation.into_command()).unwrap();
    let instance = rig.instance_of("p");
    let incident = rig.incident();
    assert_eq!(incident.element, "p");
    rig.set_variables(instance, r#"{"key":"k"}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.work("work", "{}");
    rig.assert_completed(instance);
}
