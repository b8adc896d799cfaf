//! Commands that reach an instance while its work is deferred: each turn takes one step here, with other commands in between.

use skep_engine::Ban;
use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_testkit::rig::*;

/// One step per turn; deferred work waits for [`Rig::run_work`].
fn slow(rig: &mut Rig) {
    rig.turn_steps(1);
    rig.interrupted = true;
}

/// Finishes all deferred work.
fn settle(rig: &mut Rig) {
    rig.interrupted = false;
    rig.settle(1);
}

/// Continues until an event with this intent was written for the element.
#[track_caller]
fn until(rig: &mut Rig, intent: &str, element: &str) {
    let seen = |rig: &Rig| {
        let mut events = rig.events("PROCESS_INSTANCE");
        events.any(|r| r.intent == intent && r.element() == element)
    };
    while !seen(rig) {
        assert!(rig.run_work(), "{intent} {element} never comes");
    }
}

/// Two tasks and a third path to a terminate end event; the tasks are joined.
fn terminating() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("i")
                .parallel("fork")
                .service_task("a", "a")
                .parallel("join")
                .end("joined")
                .from("fork")
                .service_task("b", "b")
                .to("join")
                .from("fork")
                .service_task("stop", "stop")
                .end_terminate("terminate")
        })
        .end("e")
}

#[test]
fn a_token_that_reaches_a_join_of_an_ending_scope_ends_there() {
    for tasks in [&["a"][..], &["b"], &["a", "b"]] {
        let mut rig = Rig::with(terminating());
        let instance = rig.create("p", "{}");
        let (a, b) = (rig.job("a"), rig.job("b"));
        let stop = rig.job("stop");
        slow(&mut rig);
        rig.complete(&stop, "{}");
        until(&mut rig, "ELEMENT_COMPLETED", "terminate");
        for task in tasks {
            rig.complete(if *task == "a" { &a } else { &b }, "{}");
        }
        settle(&mut rig);
        assert_eq!(rig.intents("INCIDENT"), [""; 0], "{tasks:?}");
        assert!(!rig.completed(instance).contains(&"joined".to_string()));
        rig.assert_completed(instance);
    }
}

#[test]
fn the_last_element_of_a_cancelled_instance_may_be_one_to_terminate_after() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", "work")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let mut creation = Rig::creation("p", "{}");
    creation.terminate_after = vec!["t".into()];
    rig.send(creation.into_command()).unwrap();
    let instance = rig.instance_of("p");
    let job = rig.job("work");
    slow(&mut rig);
    rig.cancel(instance).unwrap();
    rig.complete(&job, "{}");
    settle(&mut rig);
    rig.assert_terminated(instance);
}

#[test]
fn start_instructions_that_wait_for_an_incident_go_with_their_instance() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("i").service_task("t", "work").end("ie")
        })
        .boundary_duration("timer", "sub", "=missing")
        .end("late")
        .from("sub")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let mut creation = Rig::creation("p", "{}");
    creation.start_instructions = vec!["t".into(), "t".into()];
    rig.send(creation.into_command()).unwrap();
    let instance = rig.instance_of("p");
    assert_eq!(rig.incident().element, "sub");
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

/// A task interrupted by a timer.
fn interrupted() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("t", "work")
        .boundary_duration("timer", "t", "PT1M")
        .end("late")
        .from("t")
        .end("e")
}

#[test]
fn the_trigger_of_a_banned_instance_goes_with_it() {
    let mut rig = Rig::with(interrupted());
    let instance = rig.create("p", "{}");
    slow(&mut rig);
    rig.advance(MINUTE);
    rig.ban(instance).unwrap();
    settle(&mut rig);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

fn fail(rig: &mut Rig, instance: Key) {
    let ban = Ban {
        process_instance_key: instance,
        message: "it failed".into(),
        stacktrace: String::new(),
    };
    let now = rig.now;
    assert!(rig.engine(1).ban(now, &ban));
    rig.settle(1);
}

#[test]
fn a_cancellation_that_failed_half_way_can_be_tried_again() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("i")
                .sub_process("inner", |inner| {
                    inner.start("ii").service_task("t", "work").end("iie")
                })
                .end("ie")
        })
        .end("e");
    for turns in 0..6 {
        let mut rig = Rig::with(bpmn.clone());
        let instance = rig.create("p", "{}");
        slow(&mut rig);
        rig.cancel(instance).unwrap();
        for _ in 0..turns {
            rig.run_work();
        }
        if !rig.is_running(instance) {
            continue;
        }
        fail(&mut rig, instance);
        fail(&mut rig, instance);
        settle(&mut rig);
        assert!(rig.is_running(instance), "nothing of it is tried");
        rig.ban(instance).unwrap();
        rig.cancel(instance).unwrap();
        rig.assert_terminated(instance);
    }
}

#[test]
fn a_called_instance_whose_end_failed_can_be_ended_by_a_cancel_of_its_root() {
    let mut rig = Rig::new();
    rig.deploy(
        Bpmn::process("child")
            .start("cs")
            .service_task("t", "work")
            .end("ce"),
    );
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .call_activity("call", "child")
            .end("e"),
    );
    let instance = rig.create("p", "{}");
    let child = rig.instance_of("child");
    slow(&mut rig);
    rig.cancel(instance).unwrap();
    until(&mut rig, "ELEMENT_TERMINATING", "call");
    fail(&mut rig, child);
    fail(&mut rig, child);
    settle(&mut rig);
    assert!(rig.is_running(child));
    rig.ban(child).unwrap();
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn a_called_process_that_ends_does_not_move_its_banned_caller() {
    let mut rig = Rig::new();
    rig.deploy(
        Bpmn::process("child")
            .start("cs")
            .service_task("t", "work")
            .end("ce"),
    );
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .call_activity("call", "child")
            .end("e"),
    );
    let instance = rig.create("p", "{}");
    rig.ban(instance).unwrap();
    rig.work("work", r#"{"x":1}"#);
    assert!(!rig.completed(instance).contains(&"call".to_string()));
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

/// Two nested scopes, each with an error boundary event, one with a timer.
fn nested() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .sub_process("outer", |outer| {
            outer
                .start("os")
                .sub_process("inner", |inner| {
                    inner
                        .start("is")
                        .parallel("fork")
                        .service_task("a", "a")
                        .end("ae")
                        .from("fork")
                        .service_task("b", "b")
                        .end("be")
                })
                .boundary_error("inner-error", "inner", "inner")
                .service_task("after-inner", "after")
                .end("ie")
                .from("inner")
                .end("oe")
        })
        .boundary_error("outer-error", "outer", "outer")
        .service_task("after-outer", "after")
        .end("oee")
        .from("outer")
        .boundary_duration("timer", "outer", "PT1M")
        .end("te")
        .from("outer")
        .end("e")
}

#[test]
fn of_two_errors_the_outer_wins_wherever_the_second_comes() {
    for turns in 0..20 {
        for (first, second) in [("inner", "outer"), ("outer", "inner"), ("inner", "inner")] {
            let mut rig = Rig::with(nested());
            let instance = rig.create("p", "{}");
            let (a, b) = (rig.job("a"), rig.job("b"));
            slow(&mut rig);
            rig.throw(&a, first, "{}");
            for _ in 0..turns {
                rig.run_work();
            }
            if rig.engine(1).state.jobs.get(b.key).is_some() {
                rig.throw(&b, second, "{}");
            }
            if turns % 3 == 0 {
                let now = rig.now + MINUTE;
                rig.now = now;
                rig.partitions[0]
                    .engine
                    .run_due(now, false, &mut rig.streams);
                rig.settle(1);
            }
            settle(&mut rig);
            for job in rig.jobs("after") {
                rig.complete(&job, "{}");
            }
            rig.assert_completed(instance);
        }
    }
}

#[test]
fn many_forks_at_once_make_progress_and_new_commands_are_served() {
    const FORKS: usize = 6;
    let mut bpmn = Bpmn::process("wide").start("s").parallel("fork");
    for i in 0..80 {
        bpmn = bpmn.from("fork").service_task(format!("t{i}"), "work");
        bpmn = bpmn.end(format!("e{i}"));
    }
    let mut rig = Rig::with(bpmn);
    rig.deploy(Bpmn::process("small").start("s").end("e"));
    rig.turn_steps(10);
    rig.interrupted = true;
    let instances: Vec<Key> = (0..FORKS).map(|_| rig.create("wide", "{}")).collect();
    let mut least = 0;
    for _ in 0..3 {
        for _ in 0..FORKS {
            rig.run_work();
        }
        let other = rig.create("small", "{}");
        rig.run_work();
        assert!(!rig.completed(other).is_empty());
        let jobs = |instance: &Key| {
            let jobs = rig.events("JOB");
            jobs.filter(|job| job.instance() == *instance).count()
        };
        let now = instances.iter().map(jobs).min().unwrap();
        assert!(now > least, "{now} after {least}");
        least = now;
    }
    settle(&mut rig);
    for instance in instances {
        rig.cancel(instance).unwrap();
    }
    rig.assert_nothing_left();
}

/// The cancellation and the interrupted work are both deferred, each in its own turns: in either order, nothing is left behind.
#[test]
fn an_instance_is_cancelled_at_every_point_of_its_beginning() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("s2")
                .catch_condition("await", "=x = 1")
                .end_terminate("e2")
                .event_sub_process("esp", |esp| {
                    esp.start_duration("late", "PT1H").task("t").end("e3")
                })
        })
        .end("e")
        .boundary_duration("limit", "sub", "PT1H")
        .end("e4");
    for turns in 0..16 {
        let mut rig = Rig::with(bpmn.clone());
        rig.turn_steps(1);
        rig.interrupted = true;
        let instance = rig.create("p", r#"{"x":1}"#);
        for _ in 0..turns {
            rig.run_work();
        }
        let _ = rig.cancel(instance);
        rig.interrupted = false;
        while rig.run_work() {}
        rig.assert_nothing_left();
    }
}

#[test]
fn an_event_behind_a_gateway_happens_while_its_scope_ends() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .event_based("choice")
        .catch_duration("late", "PT1M")
        .end("e")
        .from("choice")
        .catch_signal("stop", "stop")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.turn_steps(1);
    rig.interrupted = true;
    rig.cancel(instance).unwrap();
    rig.advance(2 * MINUTE);
    rig.interrupted = false;
    while rig.run_work() {}
    rig.assert_terminated(instance);
    rig.assert_nothing_left();
}
