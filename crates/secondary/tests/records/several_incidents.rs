//! Element instances with several open incidents.

use serde_json::{Value as Json, json};
use skep_model::builder::Bpmn;
use skep_protocol::command::Command;
use skep_protocol::value::{ActivateElement, JobResult, JobResultType};
use skep_protocol::{Document, Key};
use skep_query::entities::ELEMENT_INSTANCE;

use skep_testkit::rig::Rig;
use skep_testkit::stores::{Filled, follow, rig};

/// The job of the sub-process activates the task twice.
fn activate_two(rig: &mut Rig) {
    let task = ActivateElement {
        element_id: "task".into(),
        variables: Document::new().into_entries().collect(),
    };
    let result = JobResult {
        kind: JobResultType::AdHocSubProcess,
        activate_elements: vec![task.clone(), task],
        ..JobResult::default()
    };
    let job_key = rig.job("agent").key;
    rig.send(Command::CompleteJob {
        job_key,
        variables: Document::new(),
        result: Some(Box::new(result)),
    })
    .unwrap();
}

/// `hasIncident` and `incidentKey` of the sub-process.
fn shown(store: &Filled) -> (Json, Json) {
    let row = store.one(&ELEMENT_INSTANCE, r#"{"elementId": "hoc"}"#);
    (row["hasIncident"].clone(), row["incidentKey"].clone())
}

#[test]
fn an_element_shows_an_incident_as_long_as_one_is_open() {
    let (mut rig, store) = rig(super::BACKEND);
    let job = r#"<zeebe:taskDefinition type="=kind"/>"#;
    let inside = |inside: Bpmn| inside.service_task("task", "work");
    let bpmn = Bpmn::process("p").start("start").ad_hoc("hoc", inside);
    rig.deploy(bpmn.extension(job).end("end"));
    let instance = rig.create("p", r#"{"kind": "agent"}"#);
    activate_two(&mut rig);
    let tasks = rig.jobs("work");
    // One incident is of the job, the other one of its successor, whose type cannot be evaluated.
    rig.complete(&tasks[0], "{}");
    let agent = rig.job("agent");
    rig.fail(&agent, 0, 0);
    follow(&mut rig, &store);
    rig.set_variables(instance, r#"{"kind": 1}"#, false);
    rig.complete(&tasks[1], "{}");
    follow(&mut rig, &store);
    let open: Vec<Key> = rig.incidents().iter().map(|it| it.key).collect();
    let [first, second] = open[..] else {
        panic!("two incidents are open: {open:?}");
    };
    assert_eq!(shown(&store), (json!(true), json!(second.to_string())));
    rig.set_retries(agent.key, 1).unwrap();
    rig.resolve(first).unwrap();
    follow(&mut rig, &store);
    assert_eq!(shown(&store), (json!(true), json!(second.to_string())));
    rig.set_variables(instance, r#"{"kind": "agent"}"#, false);
    rig.resolve(second).unwrap();
    follow(&mut rig, &store);
    assert_eq!(shown(&store), (json!(false), Json::Null));
}
