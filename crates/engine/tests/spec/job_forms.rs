//! Elements other than service tasks that are implemented by jobs.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

#[test]
fn send_script_and_business_rule_tasks_and_message_events_are_jobs() {
    let kinds: [fn(Bpmn) -> Bpmn; 5] = [
        |p| p.send_task("x", "work").header("k", "v").end("e"),
        |p| {
            p.job_task("scriptTask", "x", "work")
                .header("k", "v")
                .end("e")
        },
        |p| {
            p.job_task("businessRuleTask", "x", "work")
                .header("k", "v")
                .end("e")
        },
        |p| p.throw_message("x", "work").header("k", "v").end("e"),
        |p| p.end_message("x", "work").header("k", "v"),
    ];
    for make in kinds {
        let bpmn = make(Bpmn::process("p").start("s"));
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", "{}");
        let job = rig.job("work");
        assert_eq!(
            (&*job.element_id, &*job.custom_headers),
            ("x", r#"{"k":"v"}"#)
        );
        assert_eq!(job.retries, 3);
        rig.complete(&job, r#"{"r":1}"#);
        rig.assert_completed(instance);
        assert_eq!(rig.variable(instance, "r").unwrap(), "1");
    }
}

#[test]
fn mappings_of_message_events_stand_around_the_job() {
    let mut rig = Rig::with(
        Bpmn::process("p")
            .start("s")
            .throw_message("x", "work")
            .input("=1", "i")
            .output("=i + r", "o")
            .end_message("y", "work")
            .input("=2", "i")
            .output("=i + r", "o2"),
    );
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    assert_eq!(&*job.variables, r#"{"i":1}"#);
    rig.complete(&job, r#"{"r":10}"#);
    rig.work("work", r#"{"r":20}"#);
    rig.assert_completed(instance);
    assert_eq!(rig.variable(instance, "o").unwrap(), "11");
    assert_eq!(rig.variable(instance, "o2").unwrap(), "22");
}

#[test]
fn boundary_events_listen_while_a_worker_sends() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .send_task("x", "work")
        .end("e");
    let bpmn = bpmn.boundary_duration("late", "x", "PT1M").end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.advance(2 * MINUTE);
    rig.run_due();
    rig.assert_completed(instance);
    assert!(rig.completed(instance).contains(&"e2".to_string()));
    rig.assert_nothing_left();
}

/// The reference engine has an internal error when the job of a message event throws an error. Here it is an ordinary error.
#[test]
fn an_error_of_a_message_event_is_caught_around_it() {
    let bpmn = Bpmn::process("p").start("s");
    let bpmn = bpmn.sub_process("sub", |sub| sub.start("s2").end_message("x", "work"));
    let bpmn = bpmn.end("e").boundary_error("oops", "sub", "E").end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.throw(&job, "E", "{}");
    rig.assert_completed(instance);
    assert!(rig.completed(instance).contains(&"e2".to_string()));
}

#[test]
fn a_task_that_only_publishes_a_message_raises_an_incident() {
    let publish = "<zeebe:publishMessage correlationKey='=k'/>";
    let message = "<bpmn:message id='m' name='go'/>";
    let bpmn = Bpmn::process("p").start("s").element("sendTask", "x");
    let bpmn = bpmn
        .attribute("messageRef", "m")
        .extension(publish)
        .end("e");
    let mut rig = Rig::with(bpmn.definition(message));
    let instance = rig.create("p", "{}");
    let incident = rig.incident();
    assert_eq!((&*incident.kind, &*incident.element), ("UNKNOWN", "x"));
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.incidents().len(), 1, "again");
    rig.cancel(instance).unwrap();
    rig.assert_nothing_left();
}
