//! Timer boundary events and their effect on the attached activity.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn interrupting() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_duration("late", "task", "PT1M")
        .service_task("escalate", "escalate")
        .end("e2")
}

#[test]
fn an_interrupting_one_ends_its_activity() {
    let mut rig = Rig::with(interrupting());
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.advance(MINUTE);
    assert_eq!(rig.terminated(instance), ["task"]);
    assert_eq!(rig.intents("JOB"), ["CREATED", "CANCELED", "CREATED"]);
    let late = rig.send(skep_protocol::Command::CompleteJob {
        job_key: job.key,
        variables: Default::default(),
        result: None,
    });
    assert_eq!(rejected(late).0, "NOT_FOUND");
    rig.work("escalate", "{}");
    assert_eq!(
        rig.completed(instance),
        ["s", "late", "escalate", "e2", "p"]
    );
    rig.assert_completed(instance);
}

#[test]
fn it_is_canceled_when_the_activity_completes() {
    let mut rig = Rig::with(interrupting());
    let instance = rig.create("p", "{}");
    rig.work("work", "{}");
    rig.assert_completed(instance);
    assert_eq!(rig.intents("TIMER"), ["CREATED", "CANCELED"]);
    rig.advance(MINUTE);
    assert_eq!(rig.intents("TIMER").len(), 2);
}

#[test]
fn a_non_interrupting_one_leaves_its_activity_running() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_duration("late", "task", "PT1M")
        .non_interrupting()
        .service_task("remind", "remind")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.advance(10 * MINUTE);
    assert_eq!(rig.jobs("remind").len(), 1, "it fires once");
    rig.work("work", "{}");
    assert!(rig.is_running(instance), "the reminder is still open");
    let reminder = rig.element_key("remind");
    let job = rig.engine(1).state.elements.get(reminder).unwrap().job_key;
    rig.send(skep_protocol::Command::CompleteJob {
        job_key: job,
        variables: Default::default(),
        result: None,
    })
    .unwrap();
    rig.assert_completed(instance);
}

/// As in the reference engine: the last one in the document goes first.
#[test]
fn of_two_timers_due_together_the_later_in_the_document_fires() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_duration("one", "task", "PT1M")
        .end("e1")
        .boundary_duration("two", "task", "PT60S")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.advance(MINUTE);
    assert_eq!(rig.completed(instance), ["s", "two", "e2", "p"]);
    rig.assert_completed(instance);
}

#[test]
fn a_reminder_of_the_same_moment_comes_before_the_end_if_it_is_later_in_the_document() {
    for reminder_last in [true, false] {
        let bpmn = Bpmn::process("p")
            .start("s")
            .service_task("task", "work")
            .end("e");
        let remind = |p: Bpmn| {
            p.boundary_duration("remind", "task", "PT1M")
                .non_interrupting()
                .end("e1")
        };
        let late = |p: Bpmn| p.boundary_duration("late", "task", "PT1M").end("e2");
        let bpmn = if reminder_last {
            remind(late(bpmn))
        } else {
            late(remind(bpmn))
        };
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", "{}");
        rig.advance(MINUTE);
        let reminded = rig.completed(instance).contains(&"remind".to_string());
        assert_eq!(reminded, reminder_last);
        rig.assert_completed(instance);
    }
}

#[test]
fn at_a_sub_process_it_ends_everything_inside() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("s2")
                .parallel("fork")
                .service_task("a", "a")
                .parallel("join")
                .end("e2")
                .from("fork")
                .task("b")
                .to("join")
        })
        .end("e")
        .boundary_duration("late", "sub", "PT1M")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.advance(MINUTE);
    assert_eq!(rig.terminated(instance), ["a", "sub"]);
    assert!(rig.completed(instance).contains(&"e3".to_string()));
    rig.assert_completed(instance);
}

#[test]
fn a_timer_that_cannot_be_read_stops_the_activity_before_anything_is_opened() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_message("message", "task", "m", "=\"k\"")
        .end("e2")
        .boundary_duration("late", "task", "=wait")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("EXTRACT_VALUE_ERROR", "task")
    );
    assert!(rig.jobs("work").is_empty());
    assert_eq!(rig.intents("PROCESS_MESSAGE_SUBSCRIPTION").len(), 0);
    rig.set_variables(instance, r#"{"wait":"PT1M"}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.advance(MINUTE);
    rig.assert_completed(instance);
}
