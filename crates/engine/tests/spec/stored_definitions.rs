//! Accepted definitions load in all later releases, whatever their rules; an unusable one affects nothing but itself.

use std::sync::Arc;

use skep_engine::state::State;
use skep_engine::{Engine, NoStreams};
use skep_model::builder::Bpmn;
use skep_protocol::batch::BatchWriter;
use skep_protocol::command::{Command, Request};
use skep_protocol::intent::ProcessIntent;
use skep_protocol::record::{decode, encode};
use skep_protocol::value::{PinnedElement, ProcessValue};
use skep_protocol::{Document, Key, TenantId};

use skep_testkit::rig::*;

/// Writes a PROCESS record to the log, as an earlier release would have.
fn store(rig: &mut Rig, id: &str, xml: &str, elements: Vec<PinnedElement>) {
    let partition = &mut rig.partitions[0];
    let key = partition.engine.state.next_key();
    let value = ProcessValue {
        bpmn_process_id: id.into(),
        version: 1,
        version_tag: None,
        process_definition_key: key,
        deployment_key: key,
        resource_name: "p.bpmn".into(),
        checksum: Default::default(),
        resource: xml.as_bytes().to_vec().into(),
        elements,
        tenant: Default::default(),
    };
    let mut batch = BatchWriter::new(partition.engine.next_position());
    batch.begin(START);
    batch.event(key, ProcessIntent::Created, &value);
    let batch = batch.take().unwrap();
    partition.engine.apply(&batch).unwrap();
    partition.twin.apply(&batch).unwrap();
    assert_eq!(partition.engine.fault(), None);
}

fn healthy() -> Bpmn {
    Bpmn::process("healthy")
        .start("s")
        .service_task("task", "work")
        .end("e")
}

#[track_caller]
fn assert_healthy(rig: &mut Rig) {
    let instance = rig.create("healthy", "{}");
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn stored_models_run_even_if_a_deployment_would_refuse_them_today() {
    // Two flows without conditions behind an exclusive gateway.
    let bpmn = Bpmn::process("p").start("s").exclusive("g").end("e1");
    let bpmn = bpmn.from("g").end("e2");
    let xml = bpmn.clone().xml();
    let mut rig = Rig::new();
    let refused = rig.deploy_files(vec![("p.bpmn", xml.clone())]);
    assert!(rejected(refused).1.contains("without condition"));
    let elements = ["p", "s", "g", "e1", "e2", "s-g", "g-e1", "g-e2"];
    store(&mut rig, "p", &xml, bpmn.pin(&elements));
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
}

#[test]
fn an_element_that_cannot_be_compiled_has_an_incident_when_it_is_reached() {
    let long = vec!["a"; 300].join(".");
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("first", "work")
        .service_task("second", "work")
        .input("=1", &long)
        .end("e");
    let elements = [
        "p",
        "s",
        "first",
        "second",
        "e",
        "s-first",
        "first-second",
        "second-e",
    ];
    let mut rig = Rig::with(healthy());
    let elements = bpmn.pin(&elements);
    store(&mut rig, "p", &bpmn.xml(), elements);
    let instance = rig.create("p", "{}");
    rig.work("work", "{}");
    let incident = rig.incident();
    assert_eq!((&*incident.kind, &*incident.element), ("UNKNOWN", "second"));
    assert!(
        incident.message.contains("has 300 names"),
        "{}",
        incident.message
    );
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.incidents().len(), 1, "again");
    let process = rig
        .engine(1)
        .state
        .processes
        .latest(&TenantId::default(), "p")
        .unwrap()
        .clone();
    assert_eq!(process.problems().len(), 1);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
    assert_healthy(&mut rig);
}

#[test]
fn a_definition_that_cannot_be_read_is_refused_by_name_and_harms_no_other() {
    let mut rig = Rig::with(healthy());
    let elements = Bpmn::process("p").start("s").pin(&["p", "s"]);
    store(&mut rig, "p", "<damaged", elements);
    let elements = Bpmn::process("q").pin(&["q"]);
    store(&mut rig, "q", &healthy().xml(), elements);
    store(&mut rig, "r", "", Vec::new());
    for id in ["p", "q", "r"] {
        let (kind, reason) = rejected(rig.send(Rig::creation(id, "{}").into_command()));
        assert_eq!(kind, "INVALID_STATE");
        assert!(reason.contains(&format!("('{id}' version 1) cannot be compiled")));
        let process = rig
            .engine(1)
            .state
            .processes
            .latest(&TenantId::default(), id)
            .unwrap();
        assert_eq!(process.problems().len(), 1);
    }
    rig.deploy(
        Bpmn::process("caller")
            .start("s")
            .call_activity("call", "p")
            .end("e"),
    );
    let instance = rig.create("caller", "{}");
    assert_eq!(rig.incident().kind, "CALLED_ELEMENT_ERROR");
    rig.cancel(instance).unwrap();
    assert_healthy(&mut rig);
    // A new deployment creates another version.
    rig.deploy(Bpmn::process("p").start("s").end("e"));
    let instance = rig.create("p", "{}");
    rig.assert_completed(instance);
}

/// The definition becomes unreadable while an instance runs, and readable again.
#[test]
fn an_instance_waits_with_an_incident_until_its_definition_can_be_read() {
    let mut rig = Rig::with(healthy());
    let instance = rig.create("healthy", "{}");
    let job = rig.job("work");
    let store = MemoryStore::default();
    let position = rig.engine(1).next_position();
    let mut pending = Pending::default();
    rig.engine(1).state.checkpoint(&mut pending);
    store.write(pending);

    let resource = change_resource(&store, b"<damaged".to_vec());
    let mut engine = open(&store, position);
    let complete = Command::CompleteJob {
        job_key: job.key,
        variables: Document::new(),
        result: None,
    };
    engine.process(START, None, &Request::internal(complete), &mut NoStreams);
    let incidents: Vec<Key> = engine.state.incidents.after(Key::NONE).collect();
    let incident = engine.state.incidents.get(incidents[0]).unwrap();
    assert!(
        incident.error_message.contains("cannot run it"),
        "{}",
        incident.error_message
    );
    let mut pending = Pending::default();
    engine.state.checkpoint(&mut pending);
    store.write(pending);

    change_resource(&store, resource);
    let mut engine = open(&store, engine.next_position());
    assert!(engine.state.elements.get(instance).is_some());
    let resolve = Command::ResolveIncident {
        incident_key: incidents[0],
    };
    engine.process(START, None, &Request::internal(resolve), &mut NoStreams);
    assert!(
        engine.state.elements.get(instance).is_none(),
        "it went on to its end"
    );
}

fn open(store: &MemoryStore, next_position: u64) -> Engine {
    let state = State::open(1, Arc::new(store.clone())).unwrap();
    Engine::new(config(1, 1), state, next_position)
}

/// Changes the text of the only stored definition. Returns the previous one.
fn change_resource(store: &MemoryStore, resource: Vec<u8>) -> Vec<u8> {
    const DEFINITIONS: u8 = 1;
    let mut rows = store.0.lock().unwrap();
    let mut definitions = rows
        .iter_mut()
        .filter(|((table, _), _)| *table == DEFINITIONS);
    let (_, row) = definitions.next().unwrap();
    type Stored = (u8, ProcessValue, bool, bool);
    let (version, mut value, deleted, forgotten): Stored = decode(row).unwrap();
    let before = std::mem::replace(&mut value.resource, resource.into());
    *row = encode(&(version, value, deleted, forgotten));
    before.to_vec()
}
