//! Usual durations of elements, and waits that exceed them.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

const DAY: i64 = 86_400_000;

/// A rig that starts two days ago: only the last weeks count.
fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.record_batches();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    rig.now = now.as_millis() as i64 - 2 * DAY;
    rig.deploy(
        Bpmn::process("order")
            .start("placed")
            .service_task("charge", "pay")
            .end("done"),
    );
    rig
}

/// Completes this many instances, whose task takes this long.
fn completed(rig: &mut Rig, count: usize, ms: i64) {
    for _ in 0..count {
        rig.create("order", "{}");
    }
    rig.advance(ms);
    for job in rig.jobs("pay") {
        rig.complete(&job, "{}");
    }
}

async fn over(rig: &mut Rig, change: impl FnOnce(&mut GatewayConfig)) -> Running {
    let store = Filled::new(Backend::Embedded, 1, Duration::from_millis(5));
    store.follow(&std::mem::take(&mut rig.batches));
    start_over(Arc::new(Stored(store)), change).await
}

fn definition(rig: &Rig) -> Key {
    rig.events("PROCESS").last().expect("a definition").key
}

fn path(definition: Key) -> &'static str {
    format!("/skep/v1/process-definitions/{definition}/durations").leak()
}

async fn elements(gateway: &Running, definition: Key) -> Vec<Value> {
    let answer = send(gateway.rest, "GET", path(definition), None, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["elements"]
        .as_array()
        .expect("elements")
        .clone()
}

#[tokio::test]
async fn elements_have_percentiles_over_all_days() {
    let mut rig = rig();
    completed(&mut rig, 10, 2_000);
    rig.advance(DAY);
    completed(&mut rig, 10, 2_000);
    // This instance has not ended.
    rig.create("order", "{}");
    let definition = definition(&rig);
    let gateway = over(&mut rig, |_| {}).await;
    assert_eq!(
        elements(&gateway, definition).await,
        [
            json!({"elementId": "charge", "count": 20, "p50Ms": 2_000, "p95Ms": 2_000}),
            json!({"elementId": "done", "count": 20, "p50Ms": 0, "p95Ms": 0}),
            json!({"elementId": "placed", "count": 21, "p50Ms": 0, "p95Ms": 0}),
        ]
    );
}

#[tokio::test]
async fn durations_of_long_ago_do_not_count() {
    let mut rig = rig();
    rig.now -= 40 * DAY;
    completed(&mut rig, 3, 2_000);
    rig.now += 40 * DAY;
    completed(&mut rig, 1, 500);
    let definition = definition(&rig);
    let gateway = over(&mut rig, |_| {}).await;
    let charge = &elements(&gateway, definition).await[0];
    assert_eq!(
        (&charge["count"], &charge["p95Ms"]),
        (&json!(1), &json!(500))
    );
}

async fn diagnosed(rig: &mut Rig, instance: Key) -> Value {
    let gateway = over(rig, |_| {}).await;
    let path = format!("/skep/v1/process-instances/{instance}/diagnosis");
    let answer = send(gateway.rest, "GET", &path, None, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["items"][0].clone()
}

#[tokio::test]
async fn a_diagnosis_contains_the_usual_duration_once_there_are_enough_samples() {
    for (known, expected) in [(19, json!(null)), (20, json!(60_000))] {
        let mut rig = rig();
        completed(&mut rig, known, 60_000);
        let instance = rig.create("order", "{}");
        let started = skep_query::render_time(rig.now);
        let item = diagnosed(&mut rig, instance).await;
        assert_eq!(
            (&item["elementId"], &item["usualMs"]),
            (&json!("charge"), &expected)
        );
        assert_eq!(item["started"], json!(started));
    }
}

#[tokio::test]
async fn a_definition_that_is_not_there_is_not_found() {
    let mut rig = rig();
    let definition = definition(&rig);
    let gateway = over(&mut rig, |_| {}).await;
    assert_eq!(elements(&gateway, definition).await, Vec::<Value>::new());
    let none = send(gateway.rest, "GET", path(Key(5)), None, "").await;
    assert_eq!(none.problem().0, 404, "{}", none.text);
    let wrong = "/skep/v1/process-definitions/x/durations";
    let wrong = send(gateway.rest, "GET", wrong, None, "").await;
    assert_eq!(wrong.problem().0, 400, "{}", wrong.text);
}

fn granting(process: &str) -> Entry {
    Entry::Authorization(AuthorizationValue {
        authorization_key: Key::new(1, 40),
        owner_type: OwnerType::User,
        owner_id: "anna".into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher: ResourceMatcher::Id(process.into()),
        permissions: vec![PermissionType::ReadProcessInstance],
    })
}

#[tokio::test]
async fn a_refusal_names_the_permission_to_read_instances() {
    let mut rig = rig();
    completed(&mut rig, 1, 1_000);
    let definition = definition(&rig);
    let gateway = over(&mut rig, protect).await;
    let shown = basic("anna", "right");
    for (process, status) in [("another", 403), ("order", 200)] {
        let mut granted = directory().await;
        granted.add(Key::new(1, 40), &granting(process));
        *gateway.broker.directory.lock() = Arc::new(granted);
        let headers = [("authorization", &*shown)];
        let answer = ask(&gateway, ("GET", path(definition)), &headers, "").await;
        assert_eq!(answer.status, status, "{}", answer.text);
        assert_eq!(answer.text.contains("charge"), status == 200);
        assert_eq!(answer.text.contains("READ_PROCESS_INSTANCE"), status == 403);
    }
}
