//! Migration: a running instance changes to another definition and continues there. The recorded scenarios (`tests/oracle/migration`) cover
//! more cases.

use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_protocol::command::{BroadcastSignal, Command};
use skep_testkit::rig::*;

fn one_task(process: &str, task: &str) -> Bpmn {
    Bpmn::process(process)
        .start("s")
        .service_task(task, "work")
        .end("e")
}

/// A task with this attached event, whose path leads to the end event `late`.
fn with_events(process: &str, task: &str, attach: impl FnOnce(Bpmn) -> Bpmn) -> Bpmn {
    attach(one_task(process, task)).end("late")
}

/// Deploys both, and creates an instance of the first, `p`.
fn rig(source: Bpmn, target: Bpmn) -> (Rig, Key) {
    let mut rig = Rig::with(source);
    rig.deploy(target);
    let instance = rig.create("p", r#"{"key":"k","items":[1,2,3]}"#);
    (rig, instance)
}

#[track_caller]
fn refused(result: Result<skep_protocol::Response, skep_protocol::Rejection>, part: &str) {
    let (kind, reason) = rejected(result);
    assert_eq!(kind, "INVALID_STATE", "{reason}");
    assert!(reason.contains(part), "{reason}");
}

#[test]
fn a_mapped_boundary_event_keeps_waiting_for_the_original_trigger() {
    let (mut rig, instance) = rig(
        with_events("p", "a", |b| b.boundary_duration("timer", "a", "PT1M")),
        with_events("q", "b", |b| b.boundary_duration("timer2", "b", "PT9M")),
    );
    rig.migrate(instance, "q", &[("a", "b"), ("timer", "timer2")])
        .unwrap();
    assert_eq!(rig.intents("TIMER"), ["CREATED", "MIGRATED"]);
    rig.advance(MINUTE);
    assert_eq!(rig.terminated(instance), ["b"]);
    rig.assert_completed(instance);
    assert_eq!(rig.completed(instance)[1..], ["timer2", "late", "q"]);
}

#[test]
fn a_boundary_event_that_is_not_mapped_is_closed_and_that_of_the_target_opened() {
    let (mut rig, instance) = rig(
        with_events("p", "a", |b| b.boundary_duration("timer", "a", "PT1M")),
        with_events("q", "b", |b| b.boundary_message("m", "b", "paid", "=key")),
    );
    rig.migrate(instance, "q", &[("a", "b")]).unwrap();
    assert_eq!(rig.intents("TIMER"), ["CREATED", "CANCELED"]);
    rig.advance(MINUTE);
    assert!(rig.is_running(instance));
    rig.publish("paid", "k", 0, "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.completed(instance)[1..], ["m", "late", "q"]);
}

#[test]
fn a_subscription_that_cannot_be_opened_is_refused_before_anything_changes() {
    let attach = |b: Bpmn| b.boundary_message("m", "b", "paid", "=nothing");
    let (mut rig, instance) = rig(one_task("p", "a"), with_events("q", "b", attach));
    let seen = rig.seen.len();
    refused(
        rig.migrate(instance, "q", &[("a", "b")]),
        "cannot be opened",
    );
    let changed = rig.seen[seen..].iter().filter(|r| r.is_event());
    assert_eq!(changed.count(), 0);
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn two_events_of_one_message_have_to_be_mapped() {
    let with = |process, task, event| {
        with_events(process, task, |b| {
            b.boundary_message(event, task, "paid", "=key")
        })
    };
    let (mut rig, instance) = rig(with("p", "a", "m"), with("q", "b", "m2"));
    refused(
        rig.migrate(instance, "q", &[("a", "b")]),
        "same message 'paid'",
    );
    rig.migrate(instance, "q", &[("a", "b"), ("m", "m2")])
        .unwrap();
    rig.publish("paid", "k", 0, "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_boundary_event_stays_at_its_activity_and_of_its_type() {
    let target = one_task("q", "b")
        .boundary_duration("timer2", "b", "PT1M")
        .service_task("c", "other")
        .end("e2")
        .boundary_duration("of_other", "c", "PT1M")
        .end("e3")
        .boundary_message("m", "b", "paid", "=key")
        .end("e4");
    let source = with_events("p", "a", |b| b.boundary_duration("timer", "a", "PT1M"));
    let (mut rig, instance) = rig(source, target);
    let mut map_to = |event| rig.migrate(instance, "q", &[("a", "b"), ("timer", event)]);
    refused(map_to("of_other"), "does not belong to the element 'b'");
    refused(map_to("m"), "of the same type");
    map_to("timer2").unwrap();
}

#[test]
fn a_boundary_event_may_cease_to_interrupt() {
    let with = |process, task: &'static str, event: &'static str| {
        with_events(process, task, move |b| {
            b.boundary_message(event, task, "paid", "=key")
        })
    };
    let attach = |b: Bpmn| {
        b.boundary_message("m2", "b", "paid", "=key")
            .non_interrupting()
    };
    let (mut rig, instance) = rig(with("p", "a", "m"), with_events("q", "b", attach));
    rig.migrate(instance, "q", &[("a", "b"), ("m", "m2")])
        .unwrap();
    for _ in 0..2 {
        rig.publish("paid", "k", 0, "{}");
    }
    rig.work("work", "{}");
    rig.assert_completed(instance);
    let late = rig
        .completed(instance)
        .iter()
        .filter(|id| *id == "late")
        .count();
    assert_eq!(late, 2);
}

#[test]
fn events_in_front_of_which_a_gateway_waits_are_mapped_or_replaced() {
    let model = |process, gateway: &str, timer: &str| {
        Bpmn::process(process)
            .start("s")
            .event_based(gateway)
            .catch_duration(timer, "PT1M")
            .end("e1")
    };
    let source = model("p", "g", "t")
        .from("g")
        .catch_signal("old", "ring")
        .end("e2");
    let target = model("q", "g2", "t2")
        .from("g2")
        .catch_message("new", "paid", "=key")
        .end("e2");
    let (mut rig, instance) = rig(source, target);
    rig.migrate(instance, "q", &[("g", "g2"), ("t", "t2")])
        .unwrap();
    assert_eq!(rig.intents("SIGNAL_SUBSCRIPTION"), ["CREATED", "DELETED"]);
    rig.publish("paid", "k", 0, "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.intents("TIMER"), ["CREATED", "MIGRATED", "CANCELED"]);
    assert_eq!(rig.completed(instance)[1..], ["g2", "new", "e2", "q"]);
}

#[test]
fn an_active_event_sub_process_continues_in_the_target() {
    let model = |process, sub: &str, start: &str, task: &str| {
        let (start, handle) = (start.to_string(), task.to_string());
        Bpmn::process(process)
            .start("s")
            .event_sub_process(sub, move |esp| {
                esp.start_signal(start, "ring")
                    .non_interrupting()
                    .service_task(handle, "handle")
                    .end("handled")
            })
            .service_task("work", "work")
            .end("e")
    };
    let source = model("p", "esp", "rung", "handle");
    let (mut rig, instance) = rig(source, model("q", "esp2", "rung2", "handle2"));
    let ring = || {
        Command::BroadcastSignal(BroadcastSignal {
            signal_name: "ring".into(),
            variables: skep_protocol::Document::new(),
        })
    };
    rig.send(ring()).unwrap();
    let pairs = [
        ("work", "work"),
        ("esp", "esp2"),
        ("rung", "rung2"),
        ("handle", "handle2"),
    ];
    rig.migrate(instance, "q", &pairs).unwrap();
    rig.send(ring()).unwrap();
    for job in rig.jobs("handle") {
        rig.complete(&job, "{}");
    }
    rig.work("work", "{}");
    rig.assert_completed(instance);
    let handled = rig
        .completed(instance)
        .iter()
        .filter(|id| *id == "handle2")
        .count();
    assert_eq!(handled, 2);
}

#[test]
fn messages_on_other_partitions_reach_the_instance_however_often_it_is_migrated() {
    let model = |process, catch: &str, after: &str| {
        Bpmn::process(process)
            .start("s")
            .catch_message(catch, "paid", "=key")
            .service_task(after, "work")
            .end("e")
    };
    for lost in [false, true] {
        let mut rig = Rig::with_partitions(3);
        rig.deploy(model("p", "a", "x"));
        rig.deploy(model("q", "b", "y"));
        let instance = rig.create("p", r#"{"key":"k"}"#);
        if lost {
            rig.fate = Box::new(|_| Fate::Lost);
        }
        rig.migrate(instance, "q", &[("a", "b")]).unwrap();
        rig.migrate(instance, "p", &[("b", "a")]).unwrap();
        rig.migrate(instance, "q", &[("a", "b")]).unwrap();
        rig.fate = Box::new(|_| Fate::Arrives);
        // Lost commands are repeated.
        rig.advance(10_000);
        let migrated = rig.events("MESSAGE_SUBSCRIPTION");
        let last = migrated.filter(|r| r.intent == "MIGRATED").last().unwrap();
        assert_eq!(last.text("bpmnProcessId"), "q");
        rig.publish("paid", "k", 0, "{}");
        rig.work("work", "{}");
        rig.assert_completed(instance);
        assert_eq!(rig.completed(instance)[1..], ["b", "y", "e", "q"]);
    }
}

#[test]
fn an_opening_that_comes_late_does_not_bring_the_old_definition_back() {
    let model = |process, catch: &str| {
        Bpmn::process(process)
            .start("s")
            .catch_message(catch, "paid", "=key")
            .end("e")
    };
    let mut rig = Rig::with_partitions(3);
    rig.deploy(model("p", "a"));
    rig.deploy(model("q", "b"));
    // Every command arrives twice.
    rig.fate = Box::new(|_| Fate::Twice);
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.migrate(instance, "q", &[("a", "b")]).unwrap();
    let migrated = rig.events("MESSAGE_SUBSCRIPTION");
    assert_eq!(migrated.filter(|r| r.intent == "MIGRATED").count(), 1);
    rig.publish("paid", "k", 0, "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.completed(instance)[1..], ["b", "e", "q"]);
}

#[test]
fn a_called_instance_is_migrated_on_its_own() {
    let caller = |process, call: &str| {
        Bpmn::process(process)
            .start("s")
            .call_activity(call, "child")
            .end("e")
    };
    let mut rig = Rig::with(one_task("child", "a"));
    rig.deploy(one_task("child2", "b"));
    rig.deploy(caller("p", "call"));
    rig.deploy(caller("q", "call2"));
    let instance = rig.create("p", "{}");
    let child = rig.instance_of("child");
    rig.migrate(child, "child2", &[("a", "b")]).unwrap();
    rig.migrate(instance, "q", &[("call", "call2")]).unwrap();
    rig.work("work", "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.completed(child)[1..], ["b", "e", "child2"]);
    assert_eq!(rig.completed(instance)[1..], ["call2", "e", "q"]);
}

#[test]
fn a_multi_instance_activity_continues_with_its_existing_items() {
    let repeated = |process: &str, task: &str, sequential| {
        let bpmn = Bpmn::process(process).start("s").service_task(task, "work");
        let bpmn = bpmn.for_each("=items", "item");
        if sequential {
            bpmn.sequential().end("e")
        } else {
            bpmn.end("e")
        }
    };
    for sequential in [false, true] {
        let (mut rig, instance) = rig(
            repeated("p", "a", sequential),
            repeated("q", "b", sequential),
        );
        rig.migrate(instance, "q", &[("a", "b")]).unwrap();
        for _ in 0..3 {
            for job in rig.jobs("work") {
                rig.complete(&job, "{}");
            }
        }
        rig.assert_completed(instance);
        let done = rig
            .completed(instance)
            .iter()
            .filter(|id| *id == "b")
            .count();
        assert_eq!(done, 4, "three instances and their body");
    }
    let (mut rig, instance) = rig(repeated("p", "a", true), one_task("q", "b"));
    refused(
        rig.migrate(instance, "q", &[("a", "b")]),
        "MULTI_INSTANCE_BODY",
    );
}

#[test]
fn an_ad_hoc_sub_process_continues_with_its_running_activities() {
    let model = |process, hoc: &str, task: &str| {
        let task = task.to_string();
        Bpmn::process(process)
            .start("s")
            .ad_hoc(hoc, |b| b.service_task(task, "work"))
            .active_elements("=[first]")
            .end("e")
    };
    let mut rig = Rig::with(model("p", "hoc", "a"));
    rig.deploy(model("q", "hoc2", "b"));
    let instance = rig.create("p", r#"{"first":"a"}"#);
    rig.migrate(instance, "q", &[("hoc", "hoc2"), ("a", "b")])
        .unwrap();
    rig.work("work", "{}");
    rig.assert_completed(instance);
    let expected = ["b", "hoc2#innerInstance", "hoc2", "e", "q"];
    assert_eq!(rig.completed(instance)[1..], expected);
}

#[test]
fn a_job_based_user_task_becomes_a_camunda_user_task_with_its_attributes() {
    let assigned = r#"<zeebe:assignmentDefinition assignee="anna" candidateGroups="clerks"/>"#;
    let source = Bpmn::process("p")
        .start("s")
        .user_task_job("ask")
        .extension(assigned)
        .end("e");
    let target = Bpmn::process("q").start("s").user_task("ask2").end("e");
    let (mut rig, instance) = rig(source, target);
    let job = rig.job("io.camunda.zeebe:userTask");
    rig.fail(&job, 0, 0);
    refused(
        rig.migrate(instance, "q", &[("ask", "ask2")]),
        "but active element with id 'ask' is a job worker user task with an active incident.",
    );
    rig.set_retries(job.key, 1).unwrap();
    rig.resolve(rig.incident().key).unwrap();
    rig.migrate(instance, "q", &[("ask", "ask2")]).unwrap();
    let tasks = rig.events("USER_TASK");
    let task = tasks.filter(|r| r.intent == "MIGRATED").last().unwrap();
    assert_eq!(task.text("assignee"), "anna");
    assert_eq!(
        task.field("candidateGroupsList"),
        &serde_json::json!(["clerks"])
    );
    let task = task.key;
    rig.send(Rig::completion(task, "{}")).unwrap();
    rig.assert_completed(instance);
}

#[test]
fn a_job_keeps_type_and_headers() {
    let task = |process, id: &str, job: &str, header: &str| {
        Bpmn::process(process)
            .start("s")
            .service_task(id, job)
            .header("h", header)
            .end("e")
    };
    let (mut rig, instance) = rig(task("p", "a", "work", "old"), task("q", "b", "new", "new"));
    rig.migrate(instance, "q", &[("a", "b")]).unwrap();
    let job = rig.job("work");
    assert_eq!(&*job.custom_headers, r#"{"h":"old"}"#);
    assert_eq!(&*job.element_id, "b");
    rig.complete(&job, "{}");
    rig.assert_completed(instance);
}

#[test]
fn completed_activities_are_compensated_by_the_handlers_of_the_target() {
    let model = |process, [task, event, undo]: [&str; 3]| {
        Bpmn::process(process)
            .start("s")
            .service_task(task, "do")
            .boundary_compensation(event, task, undo)
            .service_task(undo, undo)
            .for_compensation()
            .from(task)
            .service_task("wait", "wait")
            .end_compensation("end", None)
    };
    for mapped in [true, false] {
        let (mut rig, instance) = rig(
            model("p", ["a", "comp", "undo"]),
            model("q", ["a2", "comp2", "undo2"]),
        );
        rig.work("do", "{}");
        let pairs = [("wait", "wait"), ("comp", "comp2")];
        let pairs = if mapped { &pairs[..] } else { &pairs[..1] };
        rig.migrate(instance, "q", pairs).unwrap();
        rig.work("wait", "{}");
        if mapped {
            rig.work("undo2", "{}");
        }
        rig.assert_completed(instance);
        let last = rig.intents("COMPENSATION_SUBSCRIPTION").pop();
        assert_eq!(last, Some(if mapped { "COMPLETED" } else { "DELETED" }));
    }
}

#[test]
fn a_cycle_continues_with_the_interval_of_the_target() {
    let with = |process, task: &'static str, event: &'static str, cycle: &'static str| {
        with_events(process, task, move |b| b.boundary_cycle(event, task, cycle))
    };
    let (mut rig, instance) = rig(
        with("p", "a", "tick", "R/PT1M"),
        with("q", "b", "tock", "R/PT5M"),
    );
    rig.migrate(instance, "q", &[("a", "b"), ("tick", "tock")])
        .unwrap();
    let tocks = |rig: &Rig| {
        let completed = rig.completed(instance);
        completed.iter().filter(|id| *id == "tock").count()
    };
    rig.advance(MINUTE);
    assert_eq!(tocks(&rig), 1);
    rig.advance(4 * MINUTE);
    assert_eq!(tocks(&rig), 1);
    rig.advance(MINUTE);
    assert_eq!(tocks(&rig), 2);
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_definition_that_is_deleted_goes_when_its_last_instance_is_migrated_away() {
    let (mut rig, instance) = rig(one_task("p", "a"), one_task("q", "b"));
    let (old, new) = (rig.definition("p"), rig.definition("q"));
    rig.delete_resource(old).unwrap();
    assert_eq!(rig.intents("PROCESS").last(), Some(&"DELETING"));
    let running = |rig: &mut Rig, definition| {
        let elements = &mut rig.engine(1).state.elements;
        elements.running_of(definition)
    };
    assert_eq!((running(&mut rig, old), running(&mut rig, new)), (1, 0));
    rig.migrate(instance, "q", &[("a", "b")]).unwrap();
    assert_eq!(rig.intents("PROCESS").last(), Some(&"DELETED"));
    assert_eq!((running(&mut rig, old), running(&mut rig, new)), (0, 1));
    rig.work("work", "{}");
    rig.assert_completed(instance);
    assert_eq!(running(&mut rig, new), 0);
}

#[test]
fn instances_cannot_be_migrated_to_a_deleted_definition() {
    let (mut rig, instance) = rig(one_task("p", "a"), one_task("q", "b"));
    let other = rig.create("q", "{}");
    let target = rig.definition("q");
    rig.delete_resource(target).unwrap();
    let (kind, _) = rejected(rig.migrate(instance, "q", &[("a", "b")]));
    assert_eq!(kind, "NOT_FOUND");
    rig.cancel(instance).unwrap();
    rig.cancel(other).unwrap();
}

#[test]
fn a_token_at_an_inclusive_gateway_continues_if_no_other_can_arrive_after_a_migration() {
    let source = Bpmn::process("p")
        .start("s")
        .inclusive("fork")
        .when("=true")
        .service_task("a", "a")
        .inclusive("join")
        .end("e")
        .from("fork")
        .when("=true")
        .service_task("b", "b")
        .to("join");
    // Here `b` leads elsewhere.
    let target = Bpmn::process("q")
        .start("s")
        .inclusive("fork")
        .when("=true")
        .service_task("a", "a")
        .inclusive("join")
        .service_task("after", "after")
        .end("e")
        .from("fork")
        .when("=true")
        .task("other")
        .to("join")
        .from("fork")
        .when("=true")
        .service_task("b", "b")
        .end("e2");
    let (mut rig, instance) = rig(source, target);
    rig.work("a", "{}");
    let pairs = [("b", "b"), ("join", "join"), ("a-join", "a-join")];
    rig.migrate(instance, "q", &pairs).unwrap();
    rig.work("after", "{}");
    rig.work("b", "{}");
    rig.assert_completed(instance);
}
