//! Deletion of process definitions: no new instances, running ones continue, and the definition is removed with the last instance.

use std::sync::Arc;

use skep_engine::state::State;
use skep_engine::{Engine, NoStreams};
use skep_model::builder::Bpmn;
use skep_protocol::command::{AddBatchItems, BatchCommand, Command, ProcessRef, Request};
use skep_protocol::{Document, Key};

use skep_testkit::rig::*;

fn process(job: &str) -> String {
    Bpmn::process("p")
        .start("s")
        .service_task("task", job)
        .end("e")
        .xml()
}

fn deploy(rig: &mut Rig, job: &str) -> Key {
    rig.deployed(vec![("p.bpmn", process(job))]).processes[0].key
}

fn by_key(key: Key) -> Command {
    let mut creation = Rig::creation("p", "{}");
    creation.process = ProcessRef::Key(key);
    creation.into_command()
}

#[test]
fn a_version_without_instances_is_gone_at_once() {
    let mut rig = Rig::new();
    let first = deploy(&mut rig, "a");
    let second = deploy(&mut rig, "b");
    rig.delete_resource(second).unwrap();
    assert_eq!(
        rig.intents("PROCESS"),
        ["CREATED", "CREATED", "DELETING", "DELETED"]
    );
    assert_eq!(rig.intents("RESOURCE_DELETION"), ["DELETING", "DELETED"]);
    assert_eq!(rejected(rig.delete_resource(second)).0, "NOT_FOUND");
    assert_eq!(rejected(rig.send(by_key(second))).0, "NOT_FOUND");
    assert_eq!(rig.engine(1).state.processes.len(), 1);

    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.assert_completed(instance);

    let third = rig.deployed(vec![("p.bpmn", process("b"))]);
    let version = third.processes[0].version;
    assert_eq!(version, 3, "numbers are not given twice");
    rig.delete_resource(third.processes[0].key).unwrap();
    rig.delete_resource(first).unwrap();
    let refused = rig.send(Rig::creation("p", "{}").into_command());
    assert_eq!(rejected(refused).0, "NOT_FOUND");
    assert!(rig.engine(1).state.processes.is_empty());
}

#[test]
fn a_version_with_instances_goes_with_the_last_of_them() {
    let mut rig = Rig::new();
    let key = deploy(&mut rig, "a");
    let completed = rig.create("p", "{}");
    let cancelled = rig.create("p", "{}");
    rig.delete_resource(key).unwrap();
    assert_eq!(rig.intents("PROCESS"), ["CREATED", "DELETING"]);
    assert_eq!(rejected(rig.send(by_key(key))).0, "NOT_FOUND");
    let (kind, reason) = rejected(rig.delete_resource(key));
    assert_eq!(kind, "INVALID_STATE");
    assert!(reason.contains("being deleted already"), "{reason}");

    let job = rig.jobs("a").remove(0);
    rig.complete(&job, "{}");
    assert!(!rig.is_running(completed) && rig.is_running(cancelled));
    assert!(rig.engine(1).state.processes.get(key).is_some());
    rig.cancel(cancelled).unwrap();
    assert_eq!(rig.intents("PROCESS"), ["CREATED", "DELETING", "DELETED"]);
    assert!(rig.engine(1).state.processes.get(key).is_none());
    assert_eq!(rejected(rig.delete_resource(key)).0, "NOT_FOUND");
    rig.assert_nothing_left();
}

#[test]
fn each_partition_drops_a_deleted_definition_on_its_own() {
    let mut rig = Rig::with_partitions(2);
    let key = deploy(&mut rig, "a");
    let instance = rig.create_on(2, "p", "{}");
    rig.delete_resource(key).unwrap();
    assert!(rig.engine(1).state.processes.get(key).is_none());
    assert!(rig.engine(2).state.processes.get(key).is_some());
    rig.work("a", "{}");
    rig.assert_completed(instance);
    assert!(rig.engine(2).state.processes.get(key).is_none());
}

#[test]
fn called_instances_keep_their_definition() {
    let mut rig = Rig::new();
    let child = deploy(&mut rig, "a");
    rig.deploy(
        Bpmn::process("caller")
            .start("cs")
            .call_activity("call", "p")
            .end("ce"),
    );
    let instance = rig.create("caller", "{}");
    rig.delete_resource(child).unwrap();
    rig.work("a", "{}");
    rig.assert_completed(instance);
    assert!(rig.engine(1).state.processes.get(child).is_none());
    rig.create("caller", "{}");
    assert_eq!(rig.incident().kind, "CALLED_ELEMENT_ERROR");
}

/// The number of instances and the pending deletion survive a restart, and the row is deleted from the store as well.
#[test]
fn a_restart_in_between_changes_nothing() {
    let mut rig = Rig::new();
    let key = deploy(&mut rig, "a");
    let instance = rig.create("p", "{}");
    let job = rig.job("a");
    rig.delete_resource(key).unwrap();
    let store = MemoryStore::default();
    let mut pending = Pending::default();
    rig.engine(1).state.checkpoint(&mut pending);
    store.write(pending);

    let position = rig.engine(1).next_position();
    let state = State::open(1, Arc::new(store.clone())).unwrap();
    let mut engine = Engine::new(config(1, 1), state, position);
    let refused = by_key(key);
    engine.process(START, None, &Request::internal(refused), &mut NoStreams);
    assert!(engine.state.processes.get(key).is_some());
    assert_eq!(engine.state.elements.running_of(key), 1);
    let complete = Command::CompleteJob {
        job_key: job.key,
        variables: Document::new(),
        result: None,
    };
    engine.process(START, None, &Request::internal(complete), &mut NoStreams);
    assert!(engine.state.elements.get(instance).is_none());
    assert!(engine.state.processes.get(key).is_none());
    let mut pending = Pending::default();
    engine.state.checkpoint(&mut pending);
    store.write(pending);
    let state = State::open(1, Arc::new(store.clone())).unwrap();
    assert!(state.processes.is_empty());
    let left: Vec<u8> = store
        .0
        .lock()
        .unwrap()
        .keys()
        .map(|(table, _)| *table)
        .collect();
    assert_eq!(left, [0, 10], "numbers and the last version alone");
}

#[test]
fn memory_is_given_back() {
    let mut rig = Rig::new();
    let empty = rig.engine(1).state.resident_bytes();
    let padding = format!("<!--{}-->", "x".repeat(1 << 20));
    let mut keys = Vec::new();
    for job in ["a", "b", "c"] {
        let files = vec![("p.bpmn", process(job) + &padding)];
        keys.push(rig.deployed(files).processes[0].key);
    }
    let deployed = rig.engine(1).state.resident_bytes();
    assert!(deployed > empty + (3 << 20), "{deployed}");
    for key in keys {
        rig.delete_resource(key).unwrap();
    }
    let left = rig.engine(1).state.resident_bytes();
    assert!(left < empty + 10_000, "{left}");
}

/// Entities that exporters are to delete: type and key.
fn forgotten(rig: &Rig) -> Vec<(String, i64)> {
    let deleted = rig.events("HISTORY_DELETION");
    let one = |r: &Seen| {
        let key = r.field("resourceKey").as_i64().unwrap();
        (r.text("resourceType").to_string(), key)
    };
    deleted.map(one).collect()
}

/// Reports all items of an operation as found.
fn nothing_more(rig: &mut Rig, batch_operation_key: Key) {
    rig.send(Command::Batch(BatchCommand::Add(AddBatchItems {
        batch_operation_key,
        resources: Vec::new(),
        items: Vec::new(),
        after: Key::NONE,
        last: true,
    })))
    .unwrap();
}

#[test]
fn the_history_of_a_definition_goes_by_a_batch_operation() {
    let mut rig = Rig::new();
    let key = deploy(&mut rig, "a");
    let batch = rig.delete_with_history(key).expect("a batch operation");
    let created = rig.events("BATCH_OPERATION_CREATION").last().unwrap();
    assert_eq!(
        created.text("batchOperationType"),
        "DELETE_PROCESS_INSTANCE"
    );
    let filter = format!(r#"{{"processDefinitionKey":"{key}"}}"#);
    assert_eq!(created.text("entityFilter"), filter);
    let deletion = rig.events("RESOURCE_DELETION").last().unwrap();
    assert_eq!(deletion.text("resourceId"), "p");
    assert_eq!(deletion.text("resourceType"), "PROCESS_DEFINITION");
    assert_eq!(*deletion.field("deleteHistory"), true);
    assert_eq!(*deletion.field("batchOperationKey"), batch.0);
    assert_eq!(forgotten(&rig), []);
    nothing_more(&mut rig, batch);
    assert_eq!(forgotten(&rig), [("PROCESS_DEFINITION".into(), key.0)]);
    rig.assert_nothing_left();
}

#[test]
fn running_instances_leave_the_history_when_they_end() {
    let mut rig = Rig::with_partitions(2);
    let key = deploy(&mut rig, "a");
    let completed = rig.create_on(2, "p", "{}");
    let cancelled = rig.create_on(2, "p", "{}");
    let batch = rig.delete_with_history(key).expect("a batch operation");
    for partition in [1, 2] {
        let add = AddBatchItems {
            batch_operation_key: batch,
            resources: Vec::new(),
            items: Vec::new(),
            after: Key::NONE,
            last: true,
        };
        rig.send_to(partition, Command::Batch(BatchCommand::Add(add)));
    }
    // The other partition has no instance: there the definition is deleted at once.
    let definition = ("PROCESS_DEFINITION".to_string(), key.0);
    assert_eq!(forgotten(&rig), std::slice::from_ref(&definition));
    let instance = |key: Key| ("PROCESS_INSTANCE".to_string(), key.0);
    let job = rig.jobs("a").remove(0);
    rig.complete(&job, "{}");
    assert_eq!(forgotten(&rig)[1..], [instance(completed)]);
    rig.cancel(cancelled).unwrap();
    let after = [instance(completed), instance(cancelled), definition];
    assert_eq!(forgotten(&rig)[1..], after);
    rig.assert_nothing_left();
}

#[test]
fn a_pending_deletion_of_history_survives_a_restart() {
    let mut rig = Rig::new();
    let key = deploy(&mut rig, "a");
    rig.create("p", "{}");
    rig.delete_with_history(key).expect("a batch operation");
    let store = MemoryStore::default();
    let mut pending = Pending::default();
    rig.engine(1).state.checkpoint(&mut pending);
    store.write(pending);
    let state = State::open(1, Arc::new(store)).unwrap();
    assert!(state.processes.is_forgotten(key));
}

#[test]
fn the_history_of_decisions_goes_and_forms_have_none() {
    let mut rig = Rig::new();
    let deployed = rig.deployed(vec![
        ("d.dmn", decision("drg", "d", "1 + 1")),
        ("f.form", r#"{"id":"f"}"#.to_string()),
    ]);
    let drg = deployed.decision_requirements[0].key;
    let batch = rig.delete_with_history(drg).expect("a batch operation");
    let created = rig.events("BATCH_OPERATION_CREATION").last().unwrap();
    assert_eq!(
        created.text("batchOperationType"),
        "DELETE_DECISION_INSTANCE"
    );
    nothing_more(&mut rig, batch);
    assert_eq!(forgotten(&rig), [("DECISION_REQUIREMENTS".into(), drg.0)]);
    assert_eq!(rig.delete_with_history(deployed.forms[0].key), None);
    rig.assert_nothing_left();
}
