//! Reasons why a process instance waits, and actions that would let it continue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use skep_gateway::GatewayConfig;
use skep_model::builder::Bpmn;
use skep_protocol::{Key, TenantId};
use skep_service::Work;
use skep_service::work::{Asker, NodeWork, Way};
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

use crate::fake::{Running, start_over};
use crate::http::send;
use crate::login::{ask, basic, directory, protect};
use crate::searches::Stored;

/// An instance with one wait of every kind.
fn waiting() -> (Rig, Key) {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(
        Bpmn::process("called")
            .start("cs")
            .catch_signal("signal", "go")
            .end("ce"),
    );
    rig.deploy(
        Bpmn::process("waits")
            .start("s")
            .parallel("fork")
            .service_task("alone", "nobody")
            .end("e1")
            .from("fork")
            .service_task("asked", "pay")
            .end("e2")
            .from("fork")
            .service_task("broken", "breaks")
            .end("e3")
            .from("fork")
            .user_task("ask")
            .end("e4")
            .from("fork")
            .catch_duration("later", "PT1M")
            .end("e5")
            .from("fork")
            .catch_condition("once", "=late = true")
            .variable_filter("late", "update")
            .end("e6")
            .from("fork")
            .call_activity("call", "called")
            .end("e7")
            .from("fork")
            .catch_message("news", "told", "=order")
            .end("e8"),
    );
    let instance = rig.create("waits", r#"{"order": "o-1"}"#);
    let broken = rig.job("breaks");
    rig.fail(&broken, 0, 0);
    (rig, instance)
}

async fn gateway(rig: &mut Rig, change: impl FnOnce(&mut GatewayConfig)) -> Running {
    let store = Filled::new(Backend::Embedded, 1, Duration::from_millis(5));
    store.follow(&std::mem::take(&mut rig.batches));
    start_over(Arc::new(Stored(store)), change).await
}

fn path(instance: Key) -> String {
    format!("/skep/v1/process-instances/{instance}/diagnosis")
}

fn asker(job_type: &str, tenant: &str) -> Asker {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Asker {
        job_type: job_type.into(),
        worker: "w".into(),
        node: "0".into(),
        way: Way::Poll,
        tenants: Some(vec![TenantId::new(tenant)]),
        seen: now.as_millis() as i64,
    }
}

fn asked_by(askers: Vec<Asker>) -> Arc<Work> {
    let node = NodeWork {
        askers,
        ..NodeWork::default()
    };
    Arc::new(Work {
        nodes: vec![node],
        is_incomplete: false,
    })
}

async fn diagnosis(gateway: &Running, instance: Key) -> Vec<Value> {
    let answer = send(gateway.rest, "GET", &path(instance), None, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.json();
    assert_eq!(body["hasMore"], false);
    body["items"].as_array().expect("items").clone()
}

#[tokio::test]
async fn each_wait_has_its_cause_and_its_remedy() {
    let (mut rig, instance) = waiting();
    let gateway = gateway(&mut rig, |_| {}).await;
    // A worker of another tenant does not count.
    *gateway.broker.reports.work.lock() =
        asked_by(vec![asker("pay", "<default>"), asker("nobody", "acme")]);
    let items = diagnosis(&gateway, instance).await;
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or("null").to_string();
    let causes: BTreeMap<String, String> = items
        .iter()
        .map(|item| (text(item, "elementId"), text(item, "cause")))
        .collect();
    let expected = [
        ("alone", "JOB_WITHOUT_WORKER"),
        ("ask", "USER_TASK"),
        ("asked", "JOB_WAITS"),
        ("broken", "INCIDENT"),
        ("call", "CALLED_INSTANCE"),
        ("later", "TIMER"),
        ("news", "MESSAGE"),
        ("once", "CONDITION"),
    ];
    let expected = expected.map(|(id, cause)| (id.to_string(), cause.to_string()));
    assert_eq!(causes, BTreeMap::from(expected));
    assert_eq!(items.len(), 8);
    // Waits that need an action come first, and those that end by themselves last.
    let mut first: Vec<String> = items[..2]
        .iter()
        .map(|item| text(item, "elementId"))
        .collect();
    first.sort();
    assert_eq!(first, ["alone", "broken"]);
    assert_eq!(items[7]["elementId"], "later");
    let of = |id: &str| items.iter().find(|item| item["elementId"] == id).unwrap();
    assert_eq!(
        of("news")["remedy"],
        "Publish the message 'told' with the correlation key 'o-1'."
    );
    assert_eq!(of("later")["remedy"], Value::Null);
    assert_eq!(of("alone")["facts"]["type"], "nobody");
    assert_eq!(of("alone")["facts"]["lastAsked"], Value::Null);
    assert!(of("asked")["facts"]["lastAsked"].is_string());
    assert_eq!(of("broken")["facts"]["errorType"], "JOB_NO_RETRIES");
    assert_eq!(of("call")["facts"]["processDefinitionId"], "called");
    assert_eq!(of("alone")["since"], "2026-01-01T00:00:00.000Z");
}

#[tokio::test]
async fn a_failed_job_counts_as_retried_as_long_as_workers_ask() {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .service_task("t", "pay")
            .end("e"),
    );
    let instance = rig.create("p", "{}");
    let job = rig.job("pay");
    rig.fail(&job, 2, 60_000);
    let gateway = gateway(&mut rig, |_| {}).await;
    let alone = diagnosis(&gateway, instance).await;
    assert_eq!(alone[0]["cause"], "JOB_WITHOUT_WORKER", "{alone:?}");
    *gateway.broker.reports.work.lock() = asked_by(vec![asker("pay", "<default>")]);
    let retried = diagnosis(&gateway, instance).await;
    assert_eq!(retried[0]["cause"], "JOB_RETRIED", "{retried:?}");
    assert_eq!(retried[0]["facts"]["retries"], 2);
}

#[tokio::test]
async fn a_caller_that_may_not_read_the_instance_learns_nothing() {
    let (mut rig, instance) = waiting();
    let gateway = gateway(&mut rig, protect).await;
    *gateway.broker.directory.lock() = Arc::new(directory().await);
    let path: &'static str = path(instance).leak();
    let shown = basic("anna", "right");
    let answer = ask(&gateway, ("GET", path), &[("authorization", &shown)], "").await;
    assert_eq!(answer.status, 403, "{}", answer.text);
    assert!(!answer.text.contains("alone"));
}

#[tokio::test]
async fn an_instance_that_ended_waits_for_nothing_and_one_that_is_not_there_is_not_found() {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(Bpmn::process("p").start("s").end("e"));
    let instance = rig.create("p", "{}");
    let gateway = gateway(&mut rig, |_| {}).await;
    assert_eq!(diagnosis(&gateway, instance).await, Vec::<Value>::new());
    let none = send(gateway.rest, "GET", &path(Key(5)), None, "").await;
    assert_eq!(none.problem().0, 404);
    let wrong = send(
        gateway.rest,
        "GET",
        "/skep/v1/process-instances/x/diagnosis",
        None,
        "",
    )
    .await;
    assert_eq!(wrong.problem().0, 400, "{}", json!(wrong.text));
}
