//! Service tasks: an element instance and its job.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("start")
        .service_task("task", "work")
        .retries("5")
        .header("currency", "EUR")
        .end("end")
}

#[test]
fn lives_from_start_to_end_around_its_job() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"a":1}"#);
    rig.work("work", r#"{"b":2}"#);
    rig.assert_completed(instance);
    let life = rig.life(instance);
    let expected = [
        "ACTIVATING p",
        "ACTIVATED p",
        "ACTIVATING start",
        "ACTIVATED start",
        "COMPLETING start",
        "COMPLETED start",
        "SEQUENCE_FLOW_TAKEN start-task",
        "ACTIVATING task",
        "ACTIVATED task",
        "COMPLETING task",
        "COMPLETED task",
        "SEQUENCE_FLOW_TAKEN task-end",
        "ACTIVATING end",
        "ACTIVATED end",
        "COMPLETING end",
        "COMPLETED end",
        "COMPLETING p",
        "COMPLETED p",
    ];
    assert_eq!(life, expected);
    assert_eq!(rig.intents("JOB"), ["CREATED", "COMPLETED"]);
    assert_eq!(rig.variable(instance, "b").unwrap(), "2");
}

#[test]
fn gives_the_worker_all_it_needs() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"a":1.50,"text":"x"}"#);
    let job = rig.job("work");
    assert_eq!(&*job.job_type, "work");
    assert_eq!(job.process_instance_key, instance);
    assert_eq!(job.root_process_instance_key, instance);
    assert_eq!(&*job.bpmn_process_id, "p");
    assert_eq!(job.process_definition_version, 1);
    assert_eq!(&*job.element_id, "task");
    assert_eq!(job.element_instance_key, rig.element_key("task"));
    assert_eq!(&*job.custom_headers, r#"{"currency":"EUR"}"#);
    assert_eq!(job.retries, 5);
    assert_eq!(&*job.worker, "tester");
    assert_eq!(job.deadline, START + 10 * MINUTE);
    assert_eq!(job.variables, r#"{"a":1.50,"text":"x"}"#);
}

#[test]
fn type_and_retries_may_be_expressions() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .service_task("task", "=\"work-\" + kind")
        .retries("=tries + 1")
        .end("end");
    let mut rig = Rig::with(bpmn);
    rig.create("p", r#"{"kind":"a","tries":1}"#);
    assert_eq!(rig.job("work-a").retries, 2);
}

#[test]
fn retries_that_are_no_number_of_tries_are_an_incident() {
    for (tries, said) in [
        ("-1", "from 0 to"),
        ("99999999999", "from 0 to"),
        ("1e40", "whole number"),
    ] {
        let bpmn = Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .retries("=tries")
            .end("end");
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", &format!(r#"{{"tries":{tries}}}"#));
        let incident = rig.incident();
        assert_eq!(incident.kind, "EXTRACT_VALUE_ERROR");
        assert!(incident.message.contains(said), "{}", incident.message);
        rig.set_variables(instance, r#"{"tries":2}"#, false);
        rig.resolve(incident.key).unwrap();
        assert_eq!(rig.job("work").retries, 2);
    }
}

#[test]
fn a_fraction_of_a_try_is_cut_off() {
    for (tries, retries) in [
        ("=2.5", 2),
        ("=2.99", 2),
        ("=0.5", 0),
        ("=4.0", 4),
        ("1.5", 1),
    ] {
        let bpmn = Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .retries(tries)
            .end("end");
        let mut rig = Rig::with(bpmn);
        rig.create("p", "{}");
        assert_eq!(rig.job("work").retries, retries, "{tries}");
    }
}

#[test]
fn empty_retries_are_the_default() {
    for text in ["", " "] {
        let bpmn = Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .retries(text)
            .end("end");
        let mut rig = Rig::with(bpmn);
        rig.create("p", "{}");
        assert_eq!(rig.job("work").retries, 3);
    }
}

/// The deployment accepts any text, as the task may never be reached.
#[test]
fn retries_that_are_no_number_are_an_incident() {
    for text in ["many", "-1", "3000000000", "1e40"] {
        let bpmn = Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .retries(text)
            .end("end");
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", "{}");
        let incident = rig.incident();
        assert_eq!(incident.kind, "EXTRACT_VALUE_ERROR");
        assert!(incident.message.contains(text), "{}", incident.message);
        rig.cancel(instance).unwrap();
        rig.assert_terminated(instance);
    }
}

#[test]
fn a_task_without_successor_ends_the_process() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .service_task("task", "work");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn two_outgoing_flows_are_both_taken() {
    let bpmn = Bpmn::process("p")
        .start("start")
        .service_task("task", "work")
        .service_task("a", "a")
        .end("end-a")
        .from("task")
        .service_task("b", "b")
        .end("end-b");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("work", "{}");
    rig.work("a", "{}");
    assert!(rig.is_running(instance));
    rig.work("b", "{}");
    rig.assert_completed(instance);
}

#[test]
fn manual_and_undefined_tasks_pass_through() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .task("t")
        .manual_task("m")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    assert_eq!(rig.completed(instance), ["s", "t", "m", "e", "p"]);
    rig.assert_completed(instance);
}

/// Indices keep it in memory.
#[test]
fn a_job_type_that_is_too_long_is_an_incident_that_variables_mend() {
    let longest = "ä".repeat(32_768);
    let bpmn = Bpmn::process("p")
        .start("start")
        .service_task("task", "=kind")
        .end("end");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", &format!(r#"{{"kind":"{longest}ä"}}"#));
    let incident = rig.incident();
    assert_eq!(incident.kind, "EXTRACT_VALUE_ERROR");
    let said = "The job type that its expression yields has 32769 characters, but at most 32768 are allowed.";
    assert!(incident.message.contains(said), "{}", incident.message);
    rig.set_variables(instance, &format!(r#"{{"kind":"{longest}"}}"#), false);
    rig.resolve(incident.key).unwrap();
    rig.work(&longest, "{}");
    rig.assert_completed(instance);
}
