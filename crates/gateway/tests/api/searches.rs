//! Random searches through the gateway, of every operation answered by secondary storage, over each back end: valid requests are answered,
//! all others are refused with their cause, nothing fails, and all back ends give the same answer.
//!
//! `SKEP_SEEDS=100 cargo test -p skep-gateway --test api searches` tries more; `SKEP_SEED=7` only this one.

mod bodies;
mod pulse;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skep_query::{Answer, BoxFuture, Consistency, Pulse, Query, QueryError, Storage};
use tokio::sync::oneshot;

use self::bodies::Bodies;
use crate::fake::{Running, start_over};
use crate::http::{self, JSON, OPENAPI};
use crate::schema::differences;
use skep_testkit::stores::Backend;
use skep_testkit::stores::Filled;
use skep_testkit::story::{STEPS, Story};

pub const BACKENDS: [Backend; 4] = [
    Backend::Embedded,
    Backend::Postgres,
    Backend::OpenSearch,
    Backend::Elasticsearch,
];
/// Number of bodies for each operation and seed.
const BODIES: usize = 6;

/// Unknown and invalid keys.
const NO_KEYS: [&str; 6] = [
    "1",
    "9223372036854775807",
    "-5",
    "a",
    "%",
    "9223372036854775808",
];

/// A store that answers the gateway's queries.
pub struct Stored(pub Filled);

impl Storage for Stored {
    fn query(
        &self,
        query: Query,
        consistency: Consistency,
    ) -> BoxFuture<'_, Result<(Answer, u64), QueryError>> {
        let (done, answer) = oneshot::channel();
        self.0.query(query, consistency, move |answered| {
            let _ = done.send(answered);
        });
        Box::pin(async move { answer.await.expect("the store answers") })
    }

    fn pulse(&self) -> BoxFuture<'_, Pulse> {
        let pulse = Pulse::of(&mut [(0, self.0.pulse())]);
        Box::pin(async move { pulse })
    }
}

/// An operation answered by secondary storage.
struct Operation {
    method: String,
    path: &'static str,
    body: Option<&'static Value>,
}

fn operations() -> Vec<Operation> {
    let mut found = Vec::new();
    for (path, methods) in OPENAPI["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let mut names = parameters.map(|parameter| &parameter["name"]);
            if names.any(|name| name == "skep-consistency") {
                found.push(Operation {
                    method: method.to_uppercase(),
                    path,
                    body: operation["requestBody"]["content"][JSON].get("schema"),
                });
            }
        }
    }
    found
}

/// A gateway in front of each back end, all with the same data.
async fn gateways(seed: u64) -> Vec<Running> {
    let stores = BACKENDS.map(|backend| {
        let location = backend.config().location;
        Filled::at(location, 1, Duration::from_millis(seed % 3 * 5))
    });
    let mut story = Story::new(seed);
    for _ in 0..STEPS {
        story.step();
    }
    let batches = std::mem::take(&mut story.rig.batches);
    let mut gateways = Vec::new();
    for store in stores {
        store.follow(&batches);
        gateways.push(start_over(Arc::new(Stored(store)), |_| {}).await);
    }
    gateways
}

/// The common answer of all back ends: status and body.
async fn ask(gateways: &[Running], method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let mut first: Option<(u16, String)> = None;
    for (gateway, backend) in gateways.iter().zip(BACKENDS) {
        let text = body.map(Value::to_string).unwrap_or_default();
        let content_type = body.map(|_| JSON);
        // The client checks the answer against the description.
        let answer = http::send(gateway.rest, method, path, content_type, text).await;
        let status = answer.status.as_u16();
        let about = || {
            format!(
                "{method} {path} {}: {backend:?}",
                body.unwrap_or(&Value::Null)
            )
        };
        assert!(status < 500, "{}: {answer:?}", about());
        match &first {
            None => first = Some((status, answer.text)),
            Some((own, text)) => {
                assert_eq!((status, &answer.text), (*own, text), "{}", about());
            }
        }
    }
    let (status, text) = first.expect("there are back ends");
    let answer = serde_json::from_str(&text).unwrap_or_default();
    (status, answer)
}

/// Requests for the pages before and after this one.
fn beside(body: &Value, answer: &Value) -> Vec<Value> {
    let ends = [("after", "endCursor"), ("before", "startCursor")];
    let pages = ends.into_iter().filter_map(|(start, end)| {
        let cursor = answer["page"][end].as_str()?;
        let mut next = body.clone();
        next["page"] = json!({start: cursor, "limit": 3});
        Some(next)
    });
    pages.collect()
}

/// Number of accepted and refused bodies.
#[derive(Default)]
struct Tally {
    taken: usize,
    refused: usize,
    items: usize,
}

async fn search(
    gateways: &[Running],
    operation: &Operation,
    schema: &Value,
    bodies: &mut Bodies,
    tally: &mut Tally,
) {
    let path = bodies.path(operation.path, &NO_KEYS[..3]);
    let body = bodies.of(schema);
    let (status, answer) = ask(gateways, &operation.method, &path, Some(&body)).await;
    let mut wrong = differences(&OPENAPI, schema, &body);
    let time = |name: &str| skep_query::parse_time(body["filter"][name].as_str()?);
    if time("from") > time("to") {
        wrong.push("the span ends before it begins, which no schema says".to_string());
    }
    let is_refused = status == 400;
    assert_eq!(
        is_refused,
        !wrong.is_empty(),
        "{path}: {body}: {wrong:?}: {answer}"
    );
    *(if is_refused {
        &mut tally.refused
    } else {
        &mut tally.taken
    }) += 1;
    tally.items += answer["items"].as_array().map_or(0, Vec::len);
    bodies.learn(&answer);
    // Some statistics have no cursors.
    let page = &schema["$ref"].as_str().map_or(Value::Null, |_| {
        crate::schema::resolved(&OPENAPI, schema)["properties"]["page"].clone()
    });
    for next in beside(&body, &answer) {
        if has_cursor(page, &next["page"]) {
            let (status, answer) = ask(gateways, &operation.method, &path, Some(&next)).await;
            assert_eq!(status, 200, "{path}: {next}: {answer}");
        }
    }
}

/// Whether a page of this kind is valid, apart from its cursor, which only answers create.
fn has_cursor(schema: &Value, page: &Value) -> bool {
    let mut page = page.clone();
    for start in ["after", "before"] {
        if page.get(start).is_some() {
            page[start] = json!(crate::schema::A_CURSOR);
        }
    }
    differences(&OPENAPI, schema, &page).is_empty()
}

async fn fuzz(seed: u64) -> Tally {
    let gateways = gateways(seed).await;
    let mut bodies = Bodies::new(seed);
    let mut tally = Tally::default();
    let operations = operations();
    assert!(operations.len() > 50, "{}", operations.len());
    // Collects existing values for later requests.
    for operation in operations.iter().filter(|one| !one.path.contains('{')) {
        if operation.body.is_some() {
            let path = format!("/v2{}", operation.path);
            let (_, all) = ask(&gateways, &operation.method, &path, Some(&json!({}))).await;
            bodies.learn(&all);
        }
    }
    for _ in 0..BODIES {
        for operation in &operations {
            match operation.body {
                Some(schema) => search(&gateways, operation, schema, &mut bodies, &mut tally).await,
                None => {
                    let path = bodies.path(operation.path, &NO_KEYS);
                    ask(&gateways, &operation.method, &path, None).await;
                }
            }
        }
    }
    tally
}

#[test]
fn all_back_ends_give_the_same_answers_as_described() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (mut all, mut seeds) = (Tally::default(), 0);
    skep_sim::each(1, |seed| {
        let tally = runtime.block_on(fuzz(seed));
        all.taken += tally.taken;
        all.refused += tally.refused;
        all.items += tally.items;
        seeds += 1;
    });
    let Tally {
        taken,
        refused,
        items,
    } = all;
    // All of these must occur for the test to be meaningful.
    assert!(
        taken > 100 * seeds && refused > 5 * seeds && items > 50 * seeds,
        "{taken} taken, {refused} refused, {items} found"
    );
}
