//! Compensation: completed activities are undone by their handlers.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

/// A service task of this name, compensated by a job `undo-NAME`.
fn compensable(bpmn: Bpmn, id: &str) -> Bpmn {
    let (event, undo) = (format!("comp-{id}"), format!("undo-{id}"));
    let bpmn = bpmn
        .service_task(id, id)
        .boundary_compensation(event, id, &undo);
    bpmn.service_task(&undo, &undo).for_compensation().from(id)
}

fn two() -> Bpmn {
    compensable(compensable(Bpmn::process("p").start("s"), "a"), "b")
}

#[test]
fn all_handlers_run_at_once_in_the_order_of_completion() {
    let mut rig = Rig::with(two().end_compensation("undo", None));
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.work("b", "{}");
    let activated = rig.elements(instance, "ELEMENT_ACTIVATED");
    assert_eq!(
        activated[3..],
        ["b", "undo", "comp-a", "comp-b", "undo-a", "undo-b"]
    );
    rig.work("undo-b", "{}");
    assert!(rig.is_running(instance));
    rig.work("undo-a", "{}");
    rig.assert_completed(instance);
    let intents = [
        "CREATED",
        "CREATED",
        "TRIGGERED",
        "TRIGGERED",
        "COMPLETED",
        "COMPLETED",
    ];
    assert_eq!(rig.intents("COMPENSATION_SUBSCRIPTION"), intents);
    rig.assert_nothing_left();
}

#[test]
fn a_throw_event_completes_after_its_handlers() {
    let mut rig = Rig::with(
        two()
            .throw_compensation("undo", None)
            .service_task("c", "c")
            .end("e"),
    );
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.work("b", "{}");
    rig.work("undo-a", r#"{"undone":true}"#);
    assert!(rig.jobs("c").is_empty());
    rig.work("undo-b", "{}");
    rig.work("c", "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "undone").unwrap(), "true");
}

#[test]
fn one_activity_can_be_named() {
    let mut rig = Rig::with(two().throw_compensation("undo", "b").end("e"));
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.work("b", "{}");
    assert!(rig.jobs("undo-a").is_empty());
    rig.work("undo-b", "{}");
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}

#[test]
fn with_nothing_to_compensate_the_event_only_happens() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .throw_compensation("throw", None);
    let mut rig = Rig::with(compensable(bpmn, "a").end("e"));
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.assert_completed(instance);
    assert_eq!(
        rig.intents("COMPENSATION_SUBSCRIPTION"),
        ["CREATED", "DELETED"]
    );
}

fn nested(inner: impl FnOnce(Bpmn) -> Bpmn) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| inner(compensable(sub.start("s2"), "a")))
}

#[test]
fn a_scope_is_compensated_by_its_inner_handlers() {
    let mut rig = Rig::with(
        nested(|sub| sub.end("e2"))
            .throw_compensation("undo", None)
            .end("e"),
    );
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    let job = rig.job("undo-a");
    assert_eq!(job.element_instance_key, rig.element_key("undo-a"));
    rig.complete(&job, "{}");
    rig.assert_completed(instance);
    let intents = [
        "CREATED",
        "CREATED",
        "TRIGGERED",
        "TRIGGERED",
        "COMPLETED",
        "COMPLETED",
    ];
    assert_eq!(rig.intents("COMPENSATION_SUBSCRIPTION"), intents);
    rig.assert_nothing_left();
}

#[test]
fn an_event_compensates_its_own_scope_alone() {
    let bpmn = compensable(Bpmn::process("p").start("s"), "before");
    let bpmn = bpmn.sub_process("sub", |sub| {
        compensable(sub.start("s2"), "a").end_compensation("undo", None)
    });
    let mut rig = Rig::with(bpmn.end("e"));
    let instance = rig.create("p", "{}");
    rig.work("before", "{}");
    rig.work("a", "{}");
    assert!(rig.jobs("undo-before").is_empty());
    rig.work("undo-a", "{}");
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}

#[test]
fn each_completion_is_compensated_exactly_once() {
    let bpmn = compensable(Bpmn::process("p").start("s").exclusive("again"), "a");
    let bpmn = bpmn
        .exclusive("choice")
        .when("=n < 3")
        .to("again")
        .from("choice")
        .otherwise();
    let bpmn = bpmn
        .throw_compensation("undo", None)
        .throw_compensation("undo2", None);
    let mut rig = Rig::with(bpmn.end("e"));
    let instance = rig.create("p", "{}");
    for n in 1..=3 {
        rig.work("a", &format!(r#"{{"n":{n}}}"#));
    }
    let jobs = rig.jobs("undo-a");
    assert_eq!(jobs.len(), 3);
    for job in &jobs {
        rig.complete(job, "{}");
    }
    rig.assert_completed(instance);
}

#[test]
fn concurrent_throw_events_share_the_subscriptions() {
    let bpmn = two()
        .parallel("fork")
        .throw_compensation("undo", None)
        .end("e1");
    let mut rig = Rig::with(
        bpmn.from("fork")
            .throw_compensation("undo2", None)
            .end("e2"),
    );
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.work("b", "{}");
    rig.work("undo-a", "{}");
    rig.work("undo-b", "{}");
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}

/// Each compensated activity is one step, and a restart in between continues.
#[test]
fn compensation_completes_with_a_pause_after_each_step() {
    let mut rig = Rig::new();
    rig.turn_steps(1);
    let bpmn = nested(|sub| compensable(sub, "b").end("e2"));
    rig.deploy(compensable(bpmn, "c").end_compensation("undo", None));
    let instance = rig.create("p", "{}");
    for job in ["a", "b", "c", "undo-c", "undo-a", "undo-b"] {
        rig.work(job, "{}");
    }
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}

#[test]
fn an_instance_that_is_cancelled_leaves_nothing_behind() {
    let mut rig = Rig::with(two().end_compensation("undo", None));
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.work("b", "{}");
    rig.work("undo-a", "{}");
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
    rig.assert_nothing_left();
}

#[test]
fn an_error_of_a_handler_is_caught_around_the_event() {
    let bpmn = nested(|sub| sub.end_compensation("undo", None)).end("e");
    let mut rig = Rig::with(bpmn.boundary_error("oops", "sub", "E").end("e3"));
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    let job = rig.job("undo-a");
    rig.throw(&job, "E", "{}");
    rig.assert_completed(instance);
    assert!(rig.completed(instance).contains(&"e3".to_string()));
    rig.assert_nothing_left();
}

#[test]
fn a_handler_with_an_incident_holds_the_event_up() {
    let bpmn = Bpmn::process("p").start("s").service_task("a", "a");
    let bpmn = bpmn
        .boundary_compensation("comp", "a", "undo-a")
        .service_task("undo-a", "=type");
    let bpmn = bpmn
        .for_compensation()
        .from("a")
        .end_compensation("undo", None);
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    let incident = rig.incident();
    assert_eq!(incident.element, "undo-a");
    rig.set_variables(instance, r#"{"type":"work"}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.work("work", "{}");
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}

#[test]
fn terminated_activities_are_not_compensated() {
    let bpmn = compensable(Bpmn::process("p").start("s"), "a").end("e");
    let bpmn = bpmn
        .boundary_duration("late", "a", "PT1M")
        .end_compensation("undo", None);
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.advance(2 * MINUTE);
    rig.run_due();
    rig.assert_completed(instance);
    assert!(rig.intents("COMPENSATION_SUBSCRIPTION").is_empty());
}

#[test]
fn records_name_the_compensated_activity_and_its_handler() {
    let mut rig = Rig::with(
        nested(|sub| sub.end("e2"))
            .throw_compensation("undo", None)
            .end("e"),
    );
    rig.create("p", "{}");
    rig.work("a", "{}");
    let events: Vec<_> = rig.events("COMPENSATION_SUBSCRIPTION").collect();
    let triggered = events
        .iter()
        .find(|e| e.text("compensationHandlerId") == "undo-a");
    let triggered = triggered.expect("one with a handler");
    assert_eq!(triggered.text("compensableActivityId"), "a");
    assert_eq!(events[1].text("compensableActivityId"), "sub");
    assert_eq!(events[1].text("compensationHandlerId"), "");
    assert_eq!(events[3].text("throwEventId"), "undo");
}

#[test]
fn a_repeated_activity_is_compensated_once_and_a_repeated_handler_repeats() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .for_each("=[1,2]", "i");
    let bpmn = bpmn
        .boundary_compensation("comp", "a", "undo")
        .service_task("undo", "undo");
    let bpmn = bpmn.for_compensation().for_each("=[1,2,3]", "i").from("a");
    let mut rig = Rig::with(bpmn.end_compensation("throw", None));
    let instance = rig.create("p", "{}");
    for job in rig.jobs("a") {
        rig.complete(&job, "{}");
    }
    let jobs = rig.jobs("undo");
    assert_eq!(jobs.len(), 3);
    for job in &jobs {
        assert!(rig.is_running(instance));
        rig.complete(job, "{}");
    }
    rig.assert_completed(instance);
    let intents = ["CREATED", "TRIGGERED", "COMPLETED"];
    assert_eq!(rig.intents("COMPENSATION_SUBSCRIPTION"), intents);
    rig.assert_nothing_left();
}

/// A loop that is interrupted again and again would collect them.
#[test]
fn subscriptions_inside_a_terminated_scope_end_with_it() {
    let inside = |sub: Bpmn| {
        let inner = sub.start("s2").sub_process("inner", |inner| {
            compensable(inner.start("s3"), "a").end("e3")
        });
        compensable(inner, "b")
            .service_task("waits", "waits")
            .end("e2")
    };
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", inside)
        .end("e")
        .boundary_duration("late", "sub", "PT1M")
        .service_task("after", "after")
        .throw_compensation("undo", None)
        .end("e4");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.work("b", "{}");
    assert_eq!(rig.intents("COMPENSATION_SUBSCRIPTION"), ["CREATED"; 3]);
    rig.advance(MINUTE);
    let intents = rig.intents("COMPENSATION_SUBSCRIPTION");
    assert_eq!(intents[3..], ["DELETED"; 3]);
    rig.work("after", "{}");
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}

/// Each inner instance keeps its own subscriptions, reachable from the outermost scope.
#[test]
fn each_inner_instance_is_compensated_separately() {
    let bpmn = nested(|sub| sub.end("e2")).for_each("=[1,2]", "i");
    let mut rig = Rig::with(bpmn.throw_compensation("throw", None).end("e"));
    let instance = rig.create("p", "{}");
    for job in rig.jobs("a") {
        rig.complete(&job, "{}");
    }
    let jobs = rig.jobs("undo-a");
    assert_eq!(jobs.len(), 2);
    for job in &jobs {
        rig.complete(job, "{}");
    }
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}

/// A case of compensation thrown in an event sub-process, with its trigger.
struct Undoing {
    how: &'static str,
    start: fn(Bpmn) -> Bpmn,
    /// The end event of the enclosing scope.
    end: fn(Bpmn) -> Bpmn,
    trigger: fn(&mut Rig),
}

const UNDOING: &[Undoing] = &[
    Undoing {
        how: "an error",
        start: |bpmn| bpmn.start_error("es", "broken"),
        end: |bpmn| bpmn.end_error("fails", "broken"),
        trigger: |_| {},
    },
    Undoing {
        how: "an escalation that interrupts",
        start: |bpmn| bpmn.start_escalation("es", "escalation"),
        end: |bpmn| bpmn.end_escalation("fails", "escalation"),
        trigger: |_| {},
    },
    Undoing {
        how: "an escalation beside the rest",
        start: |bpmn| bpmn.start_escalation("es", "escalation").non_interrupting(),
        end: |bpmn| bpmn.end_escalation("fails", "escalation"),
        trigger: |_| {},
    },
    Undoing {
        how: "a signal",
        start: |bpmn| bpmn.start_signal("es", "undo"),
        end: |bpmn| bpmn.service_task("waits", "waits").end("e"),
        trigger: |rig| rig.broadcast("undo", "{}"),
    },
    Undoing {
        how: "a message",
        start: |bpmn| bpmn.start_message_for("es", "undo", "=\"key\""),
        end: |bpmn| bpmn.service_task("waits", "waits").end("e"),
        trigger: |rig| {
            rig.publish("undo", "key", 0, "{}");
        },
    },
    Undoing {
        how: "a timer",
        start: |bpmn| bpmn.start_duration("es", "PT1M"),
        end: |bpmn| bpmn.service_task("waits", "waits").end("e"),
        trigger: |rig| rig.advance(MINUTE),
    },
];

#[test]
fn an_event_sub_process_compensates_its_enclosing_scope() {
    for undoing in UNDOING {
        for activity in [None, Some("a")] {
            let sub_process = |sub: Bpmn| {
                let sub = (undoing.start)(sub);
                sub.throw_compensation("undo", activity).end("undone")
            };
            let begin = compensable(Bpmn::process("p").start("s"), "a");
            let process = (undoing.end)(begin).event_sub_process("esp", sub_process);
            let mut rig = Rig::with(process);
            let instance = rig.create("p", "{}");
            rig.work("a", "{}");
            (undoing.trigger)(&mut rig);
            assert!(
                rig.is_running(instance),
                "{} waits for 'undo-a'",
                undoing.how
            );
            rig.work("undo-a", "{}");
            assert!(rig.completed(instance).contains(&"undone".to_string()));
            rig.assert_completed(instance);
        }
    }
}

/// In the process and in a sub-process. Completed sub-processes are compensated with their content, and so are completed activities of the
/// event sub-process itself.
#[test]
fn an_event_sub_process_compensates_its_whole_scope_in_the_order_of_completion() {
    let inside = |sub: Bpmn| {
        let done = sub.start("s2").sub_process("inner", |inner| {
            compensable(inner.start("s3"), "b").end("e3")
        });
        compensable(done, "a")
            .end_error("fails", "broken")
            .event_sub_process("esp", |event| {
                compensable(event.start_error("es", "broken"), "c")
                    .throw_compensation("undo", None)
                    .end("undone")
            })
    };
    let process = Bpmn::process("p").start("s").sub_process("sub", inside);
    let mut rig = Rig::with(process.end("e"));
    let instance = rig.create("p", "{}");
    for job in ["b", "a", "c", "undo-a", "undo-b", "undo-c"] {
        rig.work(job, "{}");
    }
    let activated = rig.elements(instance, "ELEMENT_ACTIVATED").into_iter();
    let handlers: Vec<String> = activated.filter(|id| id.starts_with("undo-")).collect();
    assert_eq!(handlers, ["undo-b", "undo-a", "undo-c"]);
    rig.assert_completed(instance);
}
