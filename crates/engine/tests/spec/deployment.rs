//! Deploying and deleting definitions: versions, duplicates, refusals.

use skep_model::builder::Bpmn;
use skep_protocol::Response;
use skep_protocol::value::DeploymentValue;
use skep_testkit::rig::*;

fn process(id: &str, job: &str) -> Bpmn {
    Bpmn::process(id)
        .start("s")
        .service_task("task", job)
        .end("e")
}

fn deploy(rig: &mut Rig, files: Vec<(&str, String)>) -> DeploymentValue {
    match rig.deploy_files(files) {
        Ok(Response::Deployed(deployed)) => deployed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_change_is_a_new_version() {
    let mut rig = Rig::new();
    let first = deploy(&mut rig, vec![("p.bpmn", process("p", "a").xml())]);
    let second = deploy(&mut rig, vec![("p.bpmn", process("p", "b").xml())]);
    assert_eq!(
        (first.processes[0].version, second.processes[0].version),
        (1, 2)
    );
    assert_ne!(first.processes[0].key, second.processes[0].key);
    assert_eq!(&*second.processes[0].resource_name, "p.bpmn");
}

#[test]
fn an_unchanged_resource_is_no_new_version() {
    let mut rig = Rig::new();
    let first = deploy(&mut rig, vec![("p.bpmn", process("p", "a").xml())]);
    let again = deploy(&mut rig, vec![("p.bpmn", process("p", "a").xml())]);
    let keys = |d: &DeploymentValue| (d.processes[0].key, d.processes[0].version);
    assert_eq!(keys(&first), keys(&again));
    assert!(again.processes[0].duplicate && !first.processes[0].duplicate);
    assert_eq!(again.processes[0].deployment_key, first.deployment_key);
    assert_ne!(first.deployment_key, again.deployment_key);
    assert_eq!(rig.intents("PROCESS").len(), 1);
    let renamed = deploy(&mut rig, vec![("q.bpmn", process("p", "a").xml())]);
    assert_eq!(
        renamed.processes[0].version, 2,
        "the name belongs to the resource"
    );
    let older = deploy(&mut rig, vec![("p.bpmn", process("p", "a").xml())]);
    assert_eq!(
        older.processes[0].version, 3,
        "only the latest version counts"
    );
}

#[test]
fn one_changed_resource_makes_all_of_its_deployment_new() {
    let versions = |deployed: &DeploymentValue| -> Vec<i32> {
        deployed.processes.iter().map(|p| p.version).collect()
    };
    let files = |job| {
        let (a, b) = (process("a", "a").xml(), process("b", job).xml());
        vec![("a.bpmn", a), ("b.bpmn", b)]
    };
    let mut rig = Rig::new();
    assert_eq!(versions(&deploy(&mut rig, files("b"))), [1, 1]);
    assert_eq!(versions(&deploy(&mut rig, files("c"))), [2, 2]);
    assert_eq!(versions(&deploy(&mut rig, files("c"))), [2, 2]);
    let alone = deploy(&mut rig, vec![("a.bpmn", process("a", "a").xml())]);
    assert_eq!(versions(&alone), [2]);
}

/// Each process record contains the whole resource: a file of 1 MB with 100 processes would write 100 MB.
#[test]
fn a_resource_with_too_many_processes_for_its_size_is_refused() {
    let file = |count: usize, padding: usize| {
        let one = |i| {
            let id = |kind: &str| format!("{kind}{i}");
            let start = Bpmn::process(id("p")).start(id("s"));
            start.service_task(id("task"), "work").end(id("e"))
        };
        let xml = Bpmn::file((0..count).map(one));
        xml + &format!("<!--{}-->", "x".repeat(padding))
    };
    for partitions in [1, 2] {
        let mut rig = Rig::with_partitions(partitions);
        let refused = rig.deploy_files(vec![("p.bpmn", file(100, 1 << 20))]);
        let (kind, reason) = rejected(refused);
        assert_eq!(kind, "EXCEEDED_BATCH_RECORD_SIZE");
        assert!(reason.contains("Split resources"), "{reason}");
        assert_eq!(rig.events("PROCESS").count(), 0);
        rig.deploy_files(vec![("p.bpmn", file(10, 1 << 20))])
            .unwrap();
        rig.deploy_files(vec![("p.bpmn", file(100, 0))]).unwrap();
    }
}

#[test]
fn the_record_names_what_was_deployed() {
    let mut rig = Rig::new();
    let deployed = deploy(&mut rig, vec![("p.bpmn", process("p", "a").xml())]);
    let record = rig
        .events("DEPLOYMENT")
        .find(|r| r.intent == "CREATED")
        .unwrap();
    let metadata = &record.field("processesMetadata")[0];
    assert_eq!(
        metadata["processDefinitionKey"],
        deployed.processes[0].key.0
    );
    assert_eq!(
        (&metadata["bpmnProcessId"], &metadata["version"]),
        (&"p".into(), &1.into())
    );
}

#[test]
fn one_file_may_hold_several_processes() {
    let mut rig = Rig::new();
    let other = Bpmn::process("q").start("qs").service_task("t", "b");
    let xml = Bpmn::file([process("p", "a"), other.end("qe")]);
    let deployed = deploy(&mut rig, vec![("both.bpmn", xml)]);
    let ids: Vec<_> = deployed.processes.iter().map(|p| &*p.id).collect();
    assert_eq!(ids, ["p", "q"]);
    rig.create("q", "{}");
    assert_eq!(rig.jobs("b").len(), 1);
}

#[test]
fn one_bad_resource_refuses_all_and_changes_nothing() {
    let mut rig = Rig::new();
    let broken = Bpmn::process("bad")
        .start("s")
        .element("serviceTask", "task")
        .end("e")
        .xml();
    for (name, content) in [
        ("bad.bpmn", broken.as_str()),
        ("bad.bpmn", "no xml"),
        ("bad.txt", "text"),
        ("bad.dmn", "<x/>"),
    ] {
        let files = vec![
            ("good.bpmn", process("p", "a").xml()),
            (name, content.to_string()),
        ];
        let (kind, reason) = rejected(rig.deploy_files(files));
        assert_eq!(kind, "INVALID_ARGUMENT");
        assert!(
            reason.contains(name) && !reason.contains("good.bpmn"),
            "{reason}"
        );
    }
    assert_eq!(rejected(rig.deploy_files(vec![])).0, "INVALID_ARGUMENT");
    assert!(rig.seen.iter().all(|r| !r.is_event()));
    assert!(rig.engine(1).state.processes.is_empty());
}

#[test]
fn process_ids_are_unique_within_a_deployment() {
    let mut rig = Rig::new();
    let files = vec![
        ("a.bpmn", process("p", "a").xml()),
        ("b.bpmn", process("p", "b").xml()),
    ];
    assert_eq!(rejected(rig.deploy_files(files)).0, "INVALID_ARGUMENT");
}

#[test]
fn running_instances_keep_their_version() {
    let mut rig = Rig::with(process("p", "a"));
    let instance = rig.create("p", "{}");
    rig.deploy(process("p", "b"));
    rig.work("a", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_decision_that_is_bound_to_the_deployment_is_part_of_it() {
    let called =
        "<zeebe:calledDecision decisionId='d' resultVariable='r' bindingType='deployment'/>";
    let bpmn = Bpmn::process("p")
        .start("s")
        .element("businessRuleTask", "rule");
    let xml = bpmn.extension(called).end("e").xml();
    let mut rig = Rig::new();
    let (kind, reason) = rejected(rig.deploy_files(vec![("p.bpmn", xml)]));
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert!(reason.contains("Element: rule"), "{reason}");
    assert!(
        reason.contains("'d' is not part of this deployment"),
        "{reason}"
    );
}

/// Models are compiled before their deployment reaches the partition; the outcome does not depend on that.
#[test]
fn models_compiled_ahead_lead_to_the_same_records() {
    let broken = process("b", "=(").xml();
    let decision = decision("d.dmn", "decide", "1 + 1");
    let calls = Bpmn::process("calls")
        .start("s")
        .call_activity("c", "p")
        .end("e");
    let deployments = [
        vec![("p.bpmn", process("p", "a").xml())],
        vec![("p.bpmn", process("p", "a").xml())],
        vec![("q.bpmn", calls.xml()), ("d.dmn", decision)],
        vec![("p.bpmn", process("p", "b").xml()), ("b.bpmn", broken)],
    ];
    let run = |prepares: bool| {
        let mut rig = Rig::with_partitions(3);
        rig.prepares = prepares;
        let mut answers = Vec::new();
        for files in &deployments {
            answers.push(format!("{:?}", rig.deploy_files(files.clone())));
        }
        let instance = rig.create_on(2, "calls", "{}");
        rig.work("a", "{}");
        rig.assert_completed(instance);
        (answers, format!("{:?}", rig.seen))
    };
    assert_eq!(run(true), run(false));
}
