//! Message boundary events and their effect on the attached activity.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn process(interrupting: bool) -> Bpmn {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_message("news", "task", "news", "=key");
    let bpmn = if interrupting {
        bpmn
    } else {
        bpmn.non_interrupting()
    };
    bpmn.service_task("read", "read").end("e2")
}

#[test]
fn an_interrupting_one_ends_its_activity() {
    let mut rig = Rig::with(process(true));
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.publish("news", "k", 0, r#"{"headline":"x"}"#);
    assert_eq!(rig.terminated(instance), ["task"]);
    assert_eq!(rig.variable(instance, "headline").unwrap(), "\"x\"");
    rig.work("read", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_non_interrupting_one_takes_every_message() {
    let mut rig = Rig::with(process(false));
    let instance = rig.create("p", r#"{"key":"k"}"#);
    for n in 1..=3 {
        rig.publish("news", "k", 0, &format!("{{\"n\":{n}}}"));
    }
    let reads = rig.jobs("read");
    assert_eq!(reads.len(), 3);
    rig.work("work", "{}");
    for job in &reads {
        rig.complete(job, "{}");
    }
    rig.assert_completed(instance);
}

#[test]
fn buffered_messages_come_one_after_the_other() {
    let mut rig = Rig::with(process(false));
    for n in 1..=3 {
        rig.publish("news", "k", MINUTE, &format!("{{\"n\":{n}}}"));
    }
    let instance = rig.create("p", r#"{"key":"k"}"#);
    assert_eq!(rig.jobs("read").len(), 3);
    let values: Vec<String> = rig
        .events("VARIABLE")
        .filter(|r| r.text("name") == "n" && r.field("scopeKey") == instance.0)
        .map(|r| r.text("value").to_string())
        .collect();
    assert_eq!(values, ["1", "2", "3"]);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn at_a_sub_process_it_interrupts_the_scope() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("s2").service_task("task", "work").end("e2")
        })
        .end("e")
        .boundary_message("news", "sub", "news", "=key")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"key":"k"}"#);
    rig.publish("news", "k", 0, "{}");
    assert_eq!(rig.terminated(instance), ["task", "sub"]);
    rig.assert_completed(instance);
}

#[test]
fn two_events_waiting_for_the_same_message_are_an_incident() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_message("one", "task", "=name1", "=\"k\"")
        .end("e1")
        .boundary_message("two", "task", "=name2", "=\"k\"")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"name1":"m","name2":"m"}"#);
    let incident = rig.incident();
    assert_eq!(incident.element, "task");
    rig.set_variables(instance, r#"{"name2":"n"}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.publish("n", "k", 0, "{}");
    assert!(rig.completed(instance).contains(&"two".to_string()));
    rig.assert_completed(instance);
}
