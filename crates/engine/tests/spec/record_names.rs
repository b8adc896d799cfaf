//! Names in rendered records, as readers of a log see them.

use serde_json::Value;
use skep_engine::RecordNames;
use skep_model::builder::Bpmn;
use skep_protocol::batch::BatchReader;
use skep_protocol::command::{Command, Resource};
use skep_protocol::json::render;

use skep_testkit::rig::*;

/// All records of the rig, as a reader of the log sees them.
fn read(rig: &mut Rig) -> Vec<Value> {
    let mut names = RecordNames::new(1);
    let mut out = Vec::new();
    for (_, batch) in std::mem::take(&mut rig.batches) {
        let records: Vec<_> = BatchReader::new(&batch)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        records.iter().for_each(|record| names.learn(record));
        out.extend(records.iter().map(|record| render(record, &names).unwrap()));
        names.batch_ends();
    }
    out
}

fn last<'a>(records: &'a [Value], value_type: &str, intent: &str) -> &'a Value {
    let mut found = records.iter().rev();
    let found = found.find(|r| r["valueType"] == value_type && r["intent"] == intent);
    &found.expect("there is such a record")["value"]
}

fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .service_task("a", "work")
            .end("e"),
    );
    rig
}

#[test]
fn elements_of_a_deleted_definition_keep_their_names() {
    let mut rig = rig();
    rig.create("p", "{}");
    let key = rig
        .events("PROCESS")
        .next()
        .unwrap()
        .field("processDefinitionKey")
        .as_i64();
    rig.send(Command::DeleteResource {
        resource_key: skep_protocol::Key(key.unwrap()),
        delete_history: false,
    })
    .unwrap();
    rig.work("work", "{}");
    let records = read(&mut rig);
    let end = last(&records, "PROCESS_INSTANCE", "ELEMENT_COMPLETED");
    assert_eq!(
        (&end["elementId"], &end["bpmnProcessId"], &end["version"]),
        (&"p".into(), &"p".into(), &1.into())
    );
    let job = last(&records, "JOB", "COMPLETED");
    assert_eq!(
        (&job["elementId"], &job["bpmnProcessId"]),
        (&"a".into(), &"p".into())
    );
    for intent in ["DELETING", "DELETED"] {
        let process = last(&records, "PROCESS", intent);
        assert_eq!(process["bpmnProcessId"], "p");
        assert!(!process["checksum"].as_str().unwrap().is_empty());
    }
}

#[test]
fn a_creation_shows_the_variables_that_stand_before_it() {
    let mut rig = rig();
    rig.create("p", r#"{"a":1,"b":[2]}"#);
    rig.create("p", "{}");
    let records = read(&mut rig);
    let mut creations = records
        .iter()
        .filter(|r| r["valueType"] == "PROCESS_INSTANCE_CREATION" && r["intent"] == "CREATED");
    let mut next = || &creations.next().unwrap()["value"]["variables"];
    assert_eq!(*next(), serde_json::json!({"a": 1, "b": [2]}));
    assert_eq!(*next(), serde_json::json!({}));
}

#[test]
fn an_activation_shows_its_jobs() {
    let mut rig = rig();
    rig.create("p", "{}");
    let job = rig.job("work");
    let records = read(&mut rig);
    let batch = last(&records, "JOB_BATCH", "ACTIVATED");
    let shown = &batch["jobs"][0];
    assert_eq!(batch["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&shown["elementId"], &shown["worker"], &shown["type"]),
        (&"a".into(), &"tester".into(), &"work".into())
    );
    assert_eq!(shown["deadline"], job.deadline);
}

#[test]
fn a_duplicate_belongs_to_the_deployment_that_brought_it() {
    let mut rig = Rig::new();
    rig.record_batches();
    let xml = Bpmn::process("p").start("s").end("e").xml();
    let deploy = || {
        Command::Deploy(skep_protocol::command::Deploy {
            resources: vec![Resource {
                name: "p.bpmn".into(),
                content: xml.clone().into(),
            }],
        })
    };
    rig.send(deploy()).unwrap();
    rig.send(deploy()).unwrap();
    let records = read(&mut rig);
    let process = last(&records, "PROCESS", "CREATED").clone();
    let second = last(&records, "DEPLOYMENT", "CREATED");
    let listed = &second["processesMetadata"][0];
    assert_eq!(listed["duplicate"], true);
    assert_ne!(second["deploymentKey"], listed["deploymentKey"]);
    assert_eq!(listed["deploymentKey"], process["deploymentKey"]);
    assert_eq!(listed["checksum"], process["checksum"]);
}

#[test]
fn an_error_that_nothing_catches_says_so() {
    let mut rig = rig();
    rig.create("p", "{}");
    let job = rig.job("work");
    rig.throw(&job, "E", "{}");
    let records = read(&mut rig);
    let thrown = last(&records, "JOB", "ERROR_THROWN");
    assert_eq!(
        (&thrown["elementId"], &thrown["bpmnProcessId"]),
        (&"NO_CATCH_EVENT_FOUND".into(), &"p".into())
    );
    let incident = last(&records, "INCIDENT", "CREATED");
    assert_eq!(incident["elementId"], "a");
}
