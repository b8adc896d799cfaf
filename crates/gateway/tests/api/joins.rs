//! Gateways at which a token waits for others, in the diagnosis of an instance.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

use crate::fake::start_over;
use crate::http::send;
use crate::searches::Stored;

/// Two tasks, one of which leads to the gateway only if the instance is `good`.
fn branches(bpmn: Bpmn, join: impl FnOnce(Bpmn) -> Bpmn) -> Bpmn {
    let bpmn = bpmn
        .start("placed")
        .parallel("fork")
        .service_task("pack", "packs");
    join(bpmn)
        .end("done")
        .from("fork")
        .service_task("check", "checks")
        .exclusive("choice")
        .when("=good")
        .to("join")
        .from("choice")
        .otherwise()
        .end("bad")
}

fn begun(bpmn: Bpmn, variables: &str) -> (Rig, Key) {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(bpmn);
    let instance = rig.create("p", variables);
    (rig, instance)
}

fn plain(variables: &str) -> (Rig, Key) {
    let bpmn = branches(Bpmn::process("p"), |it| it.parallel("join"));
    begun(bpmn, variables)
}

/// The complete diagnosis after everything that happened so far.
async fn diagnosis(rig: &Rig, instance: Key) -> Vec<Value> {
    let store = Filled::new(Backend::Embedded, 1, Duration::from_millis(5));
    store.follow(&rig.batches);
    let gateway = start_over(Arc::new(Stored(store)), |_| {}).await;
    let path = format!("/skep/v1/process-instances/{instance}/diagnosis");
    let answer = send(gateway.rest, "GET", &path, None, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["items"].as_array().expect("items").clone()
}

fn text<'v>(item: &'v Value, name: &str) -> &'v str {
    item[name].as_str().unwrap_or_default()
}

/// Cause and element, in order.
fn causes(items: &[Value]) -> Vec<(&str, &str)> {
    items
        .iter()
        .map(|it| (text(it, "cause"), text(it, "elementId")))
        .collect()
}

fn do_job(rig: &mut Rig, job_type: &str) {
    let job = rig.job(job_type);
    rig.complete(&job, "{}");
}

#[tokio::test]
async fn a_gateway_says_which_tokens_are_missing() {
    let (mut rig, instance) = plain(r#"{"good":true}"#);
    let none = diagnosis(&rig, instance).await;
    assert_eq!(causes(&none).len(), 2, "{none:?}");
    rig.advance(60_000);
    do_job(&mut rig, "packs");
    let packed = skep_query::render_time(rig.now);
    rig.advance(60_000);
    let items = diagnosis(&rig, instance).await;
    assert_eq!(
        causes(&items),
        [("JOB_WITHOUT_WORKER", "check"), ("JOIN", "join")]
    );
    let join = &items[1];
    let sources = |name: &str| {
        let list = join["facts"][name].as_array().expect("a list");
        let of = |it: &Value| it["elementId"].clone();
        list.iter().map(of).collect::<Vec<Value>>()
    };
    assert_eq!(
        (sources("arrived"), sources("missing")),
        (vec![json!("pack")], vec![json!("choice")])
    );
    assert_eq!(join["type"], "PARALLEL_GATEWAY");
    assert_eq!(join["elementInstanceKey"], json!(instance.to_string()));
    assert_eq!(
        (&join["since"], &join["started"]),
        (&json!(packed), &json!(null))
    );
    assert_eq!(join["usualMs"], json!(null));
    let remedy = "See what holds up the tokens that come from 'choice'.";
    assert_eq!(join["remedy"], remedy);
}

#[tokio::test]
async fn a_gateway_to_which_no_token_can_come_has_an_incident() {
    let (mut rig, instance) = plain(r#"{"good":false}"#);
    do_job(&mut rig, "packs");
    do_job(&mut rig, "checks");
    let items = diagnosis(&rig, instance).await;
    assert_eq!(causes(&items), [("INCIDENT", "p")]);
    let message = items[0]["facts"]["errorMessage"].as_str();
    assert!(message.is_some_and(|it| it.contains("'join'")), "{items:?}");
}

#[tokio::test]
async fn a_gateway_that_began_waits_for_nothing() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .service_task("pack", "packs")
        .parallel("join")
        .service_task("send", "sends")
        .end("done")
        .from("fork")
        .service_task("check", "checks")
        .to("join");
    let (mut rig, instance) = begun(bpmn, "{}");
    do_job(&mut rig, "packs");
    do_job(&mut rig, "checks");
    let items = diagnosis(&rig, instance).await;
    assert_eq!(causes(&items), [("JOB_WITHOUT_WORKER", "send")]);
    rig.cancel(instance).unwrap();
    assert_eq!(diagnosis(&rig, instance).await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_inclusive_gateway_waits_too() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .service_task("pack", "packs")
        .inclusive("join")
        .end("done")
        .from("fork")
        .service_task("check", "checks")
        .to("join");
    let (mut rig, instance) = begun(bpmn, "{}");
    do_job(&mut rig, "packs");
    let items = diagnosis(&rig, instance).await;
    assert_eq!(
        causes(&items),
        [("JOB_WITHOUT_WORKER", "check"), ("JOIN", "join")]
    );
    assert_eq!(items[1]["type"], "INCLUSIVE_GATEWAY");
}

#[tokio::test]
async fn a_gateway_in_a_sub_process_has_the_key_of_that() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("all", |all| branches(all, |it| it.parallel("join")))
        .end("e");
    let (mut rig, instance) = begun(bpmn, r#"{"good":true}"#);
    do_job(&mut rig, "packs");
    let items = diagnosis(&rig, instance).await;
    assert_eq!(
        causes(&items),
        [("JOB_WITHOUT_WORKER", "check"), ("JOIN", "join")]
    );
    assert_ne!(items[1]["elementInstanceKey"], json!(instance.to_string()));
}

/// Taken flows are known without the scope in which they were taken.
#[tokio::test]
async fn uncertain_causes_are_left_out() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("all", |all| branches(all, |it| it.parallel("join")))
        .for_each("=[1,2]", "item")
        .end("e");
    let (mut rig, instance) = begun(bpmn, r#"{"good":true}"#);
    let job = rig.jobs("packs").remove(0);
    rig.complete(&job, "{}");
    let items = diagnosis(&rig, instance).await;
    let causes = causes(&items);
    assert!(
        causes.iter().all(|(cause, _)| cause.starts_with("JOB_")),
        "{causes:?}"
    );
    assert_eq!(causes.len(), 3);
}
