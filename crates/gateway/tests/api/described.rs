//! The description and the server agree: bodies made from the schemas, with values at and beyond their bounds, are sent to the real router,
//! and both accept the same bodies.

use std::collections::BTreeSet;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http2::SendRequest;
use serde_json::{Map, Value, json};
use skep_protocol::value::BatchOperationType::*;

use crate::fake::{KEY, start_with};
use crate::http::{JSON, OPENAPI, http2, request};
use crate::schema::{A_CURSOR, differences, resolved};

/// An operation with a JSON body.
struct Operation {
    method: String,
    path: String,
    schema: &'static Value,
    required: bool,
}

fn operations() -> Vec<Operation> {
    let paths = OPENAPI["paths"].as_object().expect("paths");
    let mut found = Vec::new();
    // Who keeps something is logged in: `kept` asks for it. The server's management carries out what operators ask for: its tests do.
    let elsewhere = ["/skep/v1/kept/", "/skep/v1/management/"];
    let paths = paths
        .iter()
        .filter(|(path, _)| !elsewhere.iter().any(|root| path.starts_with(root)));
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().expect("methods") {
            let body = &operation["requestBody"];
            let Some(schema) = body["content"][JSON].get("schema") else {
                continue;
            };
            found.push(Operation {
                method: method.to_uppercase(),
                path: filled_in(path),
                schema,
                required: body["required"] == true,
            });
        }
    }
    found
}

/// The path with a key for each parameter, and the default tenant.
pub fn filled_in(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "{tenantId}" => "%3Cdefault%3E".to_string(),
        "{kind}" => "views".to_string(),
        part if part.starts_with('{') => KEY.to_string(),
        part => part.to_string(),
    });
    format!("{}{}", root(path), parts.collect::<Vec<_>>().join("/"))
}

/// The prefix of a path in the description: Skep's own paths are complete.
pub fn root(path: &str) -> &'static str {
    if path.starts_with("/skep/") {
        ""
    } else {
        "/v2"
    }
}

/// All parts of a schema combined.
pub fn merged(schema: &Value) -> Map<String, Value> {
    let mut all = resolved(&OPENAPI, schema)
        .as_object()
        .expect("a schema")
        .clone();
    for part in schema_list(&all, "allOf") {
        for (name, value) in merged(&part) {
            all.entry(name).or_insert(value);
        }
    }
    all
}

pub fn schema_list(schema: &Map<String, Value>, name: &str) -> Vec<Value> {
    let list = schema.get(name).and_then(Value::as_array);
    list.cloned().unwrap_or_default()
}

pub fn properties(schema: &Map<String, Value>) -> Map<String, Value> {
    let found = schema.get("properties").and_then(Value::as_object);
    found.cloned().unwrap_or_default()
}

/// A valid value with required members only.
pub fn smallest(schema: &Value) -> Value {
    let all = merged(schema);
    match type_of(&all) {
        Some("object") => {
            let properties = properties(&all);
            let first = schema_list(&all, "anyOf").into_iter().next();
            let chosen = first.and_then(|part| part.get("required").cloned());
            let names = schema_list(&all, "required")
                .into_iter()
                .chain(chosen.iter().filter_map(Value::as_array).flatten().cloned());
            let mut object = Map::new();
            for name in names {
                let name = name.as_str().expect("a name");
                object.insert(name.to_string(), some(&properties[name]));
            }
            object.into()
        }
        _ => some(schema),
    }
}

pub fn type_of(schema: &Map<String, Value>) -> Option<&str> {
    schema.get("type").and_then(Value::as_str)
}

/// A valid value other than null.
fn some(schema: &Value) -> Value {
    if let Some(first) = schema_list(&merged(schema), "enum").into_iter().next() {
        return first;
    }
    let fits = |value: &Value| !value.is_null() && differences(&OPENAPI, schema, value).is_empty();
    let object = || type_of(&merged(schema)) == Some("object");
    let candidates = values().into_iter().filter(fits);
    let found = candidates.into_iter().find(|value| !value.is_object());
    found.unwrap_or_else(|| {
        if object() {
            smallest(schema)
        } else {
            panic!("no value fits {schema}")
        }
    })
}

/// Numbers at and beyond the bounds of their formats.
fn numbers() -> [Value; 13] {
    [
        json!(0),
        json!(1),
        json!(-1),
        json!(-2),
        json!(i32::MAX),
        json!(i64::from(i32::MAX) + 1),
        json!(i32::MIN),
        json!(i64::from(i32::MIN) - 1),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1.5),
        json!(1.0),
    ]
}

/// Values of every type, at and beyond the bounds that schemas can set.
pub fn values() -> Vec<Value> {
    let texts = [
        "a",
        "",
        " ",
        "\t\u{2003}",
        "0",
        "-1",
        "+1",
        "1.0",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "0000000000000000000000001",
        "00000000000000000000000001",
        "<default>",
        "acme",
        "PROVIDED",
        "ASSIGNED",
        "OTHER",
        "userTask",
        "adhocsubprocess",
        "byId",
        "BYKEY",
        "inferred",
        "SourceParent",
        "direct",
        "TERMINATE_PROCESS_INSTANCE",
        "terminate_process_instance",
        "Region:eu-1.x_y",
        "*",
        "AUDIT_LOG",
        "MAPPING_RULE",
        "anna@example.org",
        "anna@example",
        "1a",
        "ä",
        "a b",
        "null",
        "2026-01-31T13:05:00Z",
        A_CURSOR,
    ];
    let long = [100, 101, 256, 257].map(|n| "a".repeat(n));
    let tags = |n: usize| -> Value { (0..n).map(|i| format!("t{i}")).collect() };
    let mut all = vec![
        Value::Null,
        json!(true),
        json!(false),
        json!([]),
        json!(["a"]),
        json!(["a", "a"]),
        json!(["all"]),
        json!(["READ"]),
        json!(["READ", "READ"]),
        json!([null]),
        json!([1]),
        json!(["<default>"]),
        json!(["", "<default>"]),
        json!([{}]),
        json!({}),
        json!({"unknown": 1}),
        tags(10),
        tags(11),
    ];
    all.extend(texts.map(Value::from));
    all.extend(long.map(Value::from));
    all.extend(numbers());
    all
}

/// The names of schemas that were visited: many properties share one.
type Seen = BTreeSet<String>;

/// The name that this schema refers to.
fn name_of(schema: &Value) -> Option<&str> {
    let parts = schema["allOf"].as_array().filter(|parts| parts.len() == 1);
    let part = parts.map_or(schema, |parts| &parts[0]);
    part["$ref"].as_str()
}

/// Variations of a valid body: each property left out, and with each value; likewise in nested objects and lists, but only once for named
/// schemas.
fn bodies(schema: &Value, seen: &mut Seen) -> Vec<Value> {
    if let Some(name) = name_of(schema)
        && !seen.insert(name.to_string())
    {
        return values();
    }
    let all = merged(schema);
    match type_of(&all) {
        Some("object") => {
            let base = smallest(schema);
            let mut found = values();
            found.push(base.clone());
            found.push(with(&base, "unknown", json!(1)));
            for (name, property) in properties(&all) {
                found.push(without(&base, &name));
                found.extend(
                    bodies(&property, seen)
                        .into_iter()
                        .map(|v| with(&base, &name, v)),
                );
            }
            found.extend(alternatives(&all, &base));
            found
        }
        Some("array") => {
            let items = bodies(&all["items"], seen);
            let mut found = values();
            found.extend(long_lists(&all, &items));
            found.extend(items.into_iter().map(|item| json!([item])));
            found
        }
        _ => {
            let alternatives = schema_list(&all, "oneOf");
            let each = alternatives.iter().flat_map(|part| bodies(part, seen));
            each.chain(values()).collect()
        }
    }
}

/// More items than any list may have.
const VERY_MANY: u64 = 6_000;
/// Longer lists share their bound with other conditions of a filter.
const LONGEST_ALONE: u64 = 1_000;

/// As many items as a list may have at most, and one more; of a list without a bound so many that the server must not have one either.
fn long_lists(schema: &Map<String, Value>, items: &[Value]) -> Vec<Value> {
    let fits =
        |item: &&Value| !item.is_null() && differences(&OPENAPI, &schema["items"], item).is_empty();
    let Some(item) = items.iter().find(fits) else {
        return Vec::new();
    };
    // Lists whose items must differ are among the values.
    if schema.get("uniqueItems") == Some(&json!(true)) {
        return Vec::new();
    }
    let of = |length: u64| -> Value { (0..length).map(|_| item.clone()).collect() };
    match schema.get("maxItems").and_then(Value::as_u64) {
        None => vec![of(VERY_MANY)],
        Some(most) if most <= LONGEST_ALONE => vec![of(most), of(most + 1)],
        Some(most) => vec![of(most + 1)],
    }
}

/// Each of the properties required by alternatives as valid, null or absent.
fn alternatives(schema: &Map<String, Value>, base: &Value) -> Vec<Value> {
    let parts = schema_list(schema, "anyOf");
    let required = parts.iter().filter_map(|part| part["required"].as_array());
    let names: BTreeSet<&str> = required.flatten().filter_map(Value::as_str).collect();
    let mut found = Vec::new();
    if !names.is_empty() {
        found.push(base.clone());
    }
    for name in names {
        let good = some(&properties(schema)[name]);
        let each = |body: &Value| {
            [
                without(body, name),
                with(body, name, Value::Null),
                with(body, name, good.clone()),
            ]
        };
        found = found.iter().flat_map(each).collect();
    }
    found
}

fn with(object: &Value, name: &str, value: Value) -> Value {
    let mut object = object.clone();
    object[name] = value;
    object
}

fn without(object: &Value, name: &str) -> Value {
    let mut object = object.clone();
    object.as_object_mut().expect("an object").remove(name);
    object
}

/// Adds a condition to a filter that matches everything, which no schema can forbid. Returns whether it did.
pub fn ask_for_some(path: &str, body: &mut Value) -> bool {
    let kind = match path {
        "/v2/process-instances/cancellation" => CancelProcessInstance,
        "/v2/process-instances/incident-resolution" => ResolveIncident,
        "/v2/process-instances/migration" => MigrateProcessInstance,
        "/v2/process-instances/modification" => ModifyProcessInstance,
        "/v2/process-instances/deletion" => DeleteProcessInstance,
        "/v2/decision-instances/deletion" => DeleteDecisionInstance,
        _ => return false,
    };
    let filter = body["filter"].to_string();
    let checked = skep_query::selection::check(kind, &filter);
    let is_empty = checked.is_err_and(|error| error.to_string().contains("leaves anything out"));
    if is_empty {
        let id = match kind {
            DeleteDecisionInstance => "decisionDefinitionId",
            _ => "processDefinitionId",
        };
        body["filter"][id] = json!("a");
    }
    is_empty
}

type Client = SendRequest<Full<Bytes>>;

async fn is_taken(
    client: &mut Client,
    at: std::net::SocketAddr,
    operation: &Operation,
    body: String,
) -> bool {
    let request = request(
        at,
        &operation.method,
        &operation.path,
        Some(JSON),
        body.into(),
    );
    client.ready().await.expect("the connection stays");
    let answer = client.send_request(request).await.expect("answers");
    let status = answer.status().as_u16();
    // Anonymous callers that ask about themselves get 401.
    assert!(matches!(status, 200 | 201 | 204 | 400 | 401), "{status}");
    status != 400
}

#[tokio::test]
async fn the_server_accepts_exactly_the_requests_that_its_description_allows() {
    let gateway = start_with(|config| config.long_polling.enabled = false).await;
    let mut client = http2(gateway.rest).await;
    let operations = operations();
    // The number grows with each release.
    assert!(operations.len() >= 26, "{}", operations.len());
    let (mut taken, mut refused, mut wrong) = (0, 0, Vec::new());
    let mut seen = Seen::new();
    for operation in &operations {
        let at = format!("{} {}", operation.method, operation.path);
        if is_taken(&mut client, gateway.rest, operation, String::new()).await == operation.required
        {
            wrong.push(format!("{at}: no body"));
        }
        for mut body in bodies(operation.schema, &mut seen) {
            let everything = body.to_string();
            if body["filter"].is_object() && ask_for_some(&operation.path, &mut body) {
                let taken = is_taken(&mut client, gateway.rest, operation, everything).await;
                assert!(!taken, "{at}: {body}");
            }
            // These operations use cursors of texts; statistics.rs and searches test them.
            let by_text = operation.path.starts_with("/v2/jobs/statistics/")
                || operation.path.ends_with("/variable-names/search");
            if by_text && body["page"]["after"] == A_CURSOR {
                continue;
            }
            // Always refused here: this server checks no tenants. tenants.rs tests one that does.
            let needs_tenants = body["tenantFilter"] == "ASSIGNED";
            let differences = differences(&OPENAPI, operation.schema, &body);
            let is_taken = is_taken(&mut client, gateway.rest, operation, body.to_string()).await;
            *(if is_taken { &mut taken } else { &mut refused }) += 1;
            if is_taken != (differences.is_empty() && !needs_tenants) {
                wrong.push(format!(
                    "{at}: taken: {is_taken}, described: {differences:?}: {body}"
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        taken + refused,
        wrong.join("\n")
    );
    // Both outcomes must occur for the test to be meaningful.
    assert!(
        taken > 500 && refused > 500,
        "{taken} taken, {refused} refused"
    );
}
