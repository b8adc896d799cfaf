//! How many instances stand at each element of a process, and when the process starts next by itself.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skep_gateway::GatewayConfig;
use skep_identity::Entry;
use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{AuthorizationValue, OwnerType, ResourceMatcher};
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

use crate::fake::{Running, start_over};
use crate::http::send;
use crate::login::{ask, basic, directory, protect};
use crate::searches::Stored;

/// Two instances at two elements each; one of the elements has an incident.
fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(
        Bpmn::process("order")
            .start("placed")
            .parallel("fork")
            .service_task("charge", "pay")
            .end("paid")
            .from("fork")
            .service_task("pack", "pack")
            .end("packed"),
    );
    rig.create("order", "{}");
    rig.create("order", "{}");
    let job = rig.jobs("pay").remove(0);
    rig.fail(&job, 0, 0);
    rig
}

async fn over(rig: &mut Rig, change: impl FnOnce(&mut GatewayConfig)) -> Running {
    let store = Filled::new(Backend::Embedded, 1, Duration::from_millis(5));
    store.follow(&std::mem::take(&mut rig.batches));
    start_over(Arc::new(Stored(store)), change).await
}

fn path(definition: Key, of: &str) -> &'static str {
    format!("/skep/v1/process-definitions/{definition}/{of}").leak()
}

async fn items(gateway: &Running, definition: Key, of: &str) -> Vec<Value> {
    let answer = send(gateway.rest, "GET", path(definition, of), None, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["items"].as_array().expect("items").clone()
}

fn item(id: &str, active: i64, incidents: i64) -> Value {
    json!({"elementId": id, "active": active, "incidents": incidents})
}

#[tokio::test]
async fn active_elements_are_counted_for_instances_with_and_without_incidents() {
    let mut rig = rig();
    let definition = rig.definition("order");
    let gateway = over(&mut rig, |_| {}).await;
    assert_eq!(
        items(&gateway, definition, "active-elements").await,
        [item("charge", 1, 1), item("pack", 2, 0)]
    );
    assert_eq!(
        items(&gateway, definition, "active-elements?hasIncident=false").await,
        [item("charge", 1, 0), item("pack", 1, 0)]
    );
    assert_eq!(
        items(&gateway, definition, "active-elements?hasIncident=true").await,
        [item("charge", 0, 1), item("pack", 1, 0)]
    );
}

#[tokio::test]
async fn what_is_asked_about_active_elements_must_be_there_and_valid() {
    let mut rig = rig();
    let definition = rig.definition("order");
    let gateway = over(&mut rig, |_| {}).await;
    for of in ["active-elements", "start-timers"] {
        let none = send(gateway.rest, "GET", path(Key(5), of), None, "").await;
        assert_eq!(none.problem().0, 404, "{}", none.text);
    }
    let wrong = path(definition, "active-elements?hasIncident=yes");
    let wrong = send(gateway.rest, "GET", wrong, None, "").await;
    assert_eq!(wrong.problem().0, 400, "{}", wrong.text);
    assert!(
        wrong.text.contains("'hasIncident' is 'yes'"),
        "{}",
        wrong.text
    );
}

fn granting(process: &str, permission: PermissionType) -> Entry {
    Entry::Authorization(AuthorizationValue {
        authorization_key: Key::new(1, 40),
        owner_type: OwnerType::User,
        owner_id: "anna".into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher: ResourceMatcher::Id(process.into()),
        permissions: vec![permission],
    })
}

#[tokio::test]
async fn active_elements_and_start_timers_need_a_permission_on_the_process() {
    let mut rig = rig();
    let definition = rig.definition("order");
    let gateway = over(&mut rig, protect).await;
    let shown = basic("anna", "right");
    for (of, permission, name) in [
        (
            "active-elements",
            PermissionType::ReadProcessInstance,
            "READ_PROCESS_INSTANCE",
        ),
        (
            "start-timers",
            PermissionType::ReadProcessDefinition,
            "READ_PROCESS_DEFINITION",
        ),
    ] {
        for (process, status) in [("another", 403), ("order", 200)] {
            let mut granted = directory().await;
            granted.add(Key::new(1, 40), &granting(process, permission));
            *gateway.broker.directory.lock() = Arc::new(granted);
            let headers = [("authorization", &*shown)];
            let answer = ask(&gateway, ("GET", path(definition, of)), &headers, "").await;
            assert_eq!(answer.status, status, "{}", answer.text);
            assert_eq!(answer.text.contains(name), status == 403);
            assert_eq!(answer.text.contains("items"), status == 200);
        }
    }
}

#[tokio::test]
async fn start_timers_say_when_the_latest_version_of_a_process_starts() {
    let mut rig = rig();
    rig.deploy(
        Bpmn::process("nightly")
            .start_cycle("midnight", "R/PT24H")
            .end("end"),
    );
    let before = rig.definition("nightly");
    rig.deploy(
        Bpmn::process("nightly")
            .start_cycle("midnight", "R3/PT2H")
            .end("end"),
    );
    let latest = rig.definition("nightly");
    rig.deploy(
        Bpmn::process("hourly")
            .start_cycle("hour", "R/PT1H")
            .end("end"),
    );
    let endless = rig.definition("hourly");
    let without = rig.definition("order");
    let gateway = over(&mut rig, |_| {}).await;
    let timer = |id: &str, due: &str, left: Value| json!({"elementId": id, "dueDate": due, "repetitions": left});
    assert_eq!(
        items(&gateway, latest, "start-timers").await,
        [timer("midnight", "2026-01-01T02:00:00.000Z", json!(3))]
    );
    assert_eq!(
        items(&gateway, endless, "start-timers").await,
        [timer("hour", "2026-01-01T01:00:00.000Z", json!(null))]
    );
    for definition in [before, without] {
        let none: [Value; 0] = [];
        assert_eq!(items(&gateway, definition, "start-timers").await, none);
    }
}
