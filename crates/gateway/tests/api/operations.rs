//! Checks the table of operations against its documentation: the API's description, and docs/rest-api.md. Also against the behaviour: each
//! operation sends the command named in its row.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skep_gateway::operations::path::Kind;
use skep_gateway::operations::{Does, Needs, OPERATIONS, Operation, Takes};
use skep_protocol::command::{Need, RecordName};

use crate::described::{filled_in, smallest};
use crate::fake::{FakeBroker, start_with};
use crate::http::{JSON, OPENAPI, open};
use crate::login::{ask, basic, protected};

/// The files of the description by their names, without the ending.
fn files() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi");
    let files = fs::read_dir(folder).expect("the folder is there");
    let file = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy();
        let text = fs::read_to_string(&path).expect("the file is text");
        let value = serde_json::from_str(&text).expect("the file is JSON");
        (name.into_owned(), value)
    };
    files
        .map(|entry| file(entry.expect("an entry").path()))
        .collect()
}

fn file_of(tag: &str) -> String {
    tag.to_lowercase().replace(' ', "-")
}

/// The path in the description: the complete one for operations on the whole cluster and for Skep's own ones.
fn described_path(row: &Operation) -> &'static str {
    row.path.strip_prefix("/v2").unwrap_or(row.path)
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

#[test]
fn each_operation_is_described_in_the_file_of_its_tag_with_the_parameters_of_its_row() {
    let files = files();
    let mut described = BTreeSet::new();
    for (name, file) in &files {
        for (path, methods) in object(&file["paths"]) {
            for (method, _) in object(methods) {
                if method != "servers" {
                    described.insert((name.clone(), method.to_uppercase(), path.clone()));
                }
            }
        }
    }
    for row in OPERATIONS.iter().filter(|row| row.is_there()) {
        let name = file_of(row.tag);
        let path = described_path(row);
        let at = (name.clone(), row.method.to_string(), path.to_string());
        assert!(described.remove(&at), "{at:?} is not described");
        let written = &files[&name]["paths"][path][row.method.to_lowercase()];
        assert_eq!(written["operationId"], row.id);
        assert_eq!(written["tags"], json!([row.tag]), "{}", row.id);
        let parameters = written["parameters"].as_array().into_iter().flatten();
        let parameters: Vec<(&str, Kind)> = parameters
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| (parameter["name"].as_str().expect("a name"), kind(parameter)))
            .collect();
        let of_row = row.parameters.iter().map(|own| (own.name, own.kind));
        assert_eq!(parameters, of_row.collect::<Vec<_>>(), "{}", row.id);
    }
    assert_eq!(described, BTreeSet::new(), "no row has these");
}

/// The kind of a parameter, by its schema.
fn kind(parameter: &Value) -> Kind {
    let schema = &parameter["schema"];
    match (schema["$ref"].as_str(), schema["pattern"].as_str()) {
        (Some("#/components/schemas/Key"), None) => Kind::Key,
        (None, Some("^[0-9]+-[0-9]+$")) => Kind::EvaluationKey,
        (None, Some("^[a-zA-Z0-9_~@.+-]+$")) => Kind::Name,
        (None, None) if schema["type"] == "integer" => Kind::Number,
        (None, None) if schema["type"] == "string" => Kind::Text,
        _ => panic!("no type of a row is like {parameter}"),
    }
}

/// Collects the names of referenced schemas.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            let reference = object.get("$ref").and_then(Value::as_str);
            let name = reference.and_then(|text| text.rsplit('/').next());
            found.extend(name.map(str::to_string));
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn a_file_of_the_description_needs_no_other_but_what_is_shared() {
    let files = files();
    let names = |file: &Value| -> BTreeSet<String> {
        object(&file["components"]["schemas"])
            .map(|(name, _)| name.clone())
            .collect()
    };
    let shared = names(&files["shared"]);
    let mut users: BTreeMap<String, usize> = BTreeMap::new();
    for (name, file) in files.iter().filter(|(name, _)| *name != "shared") {
        let mut used = BTreeSet::new();
        references(file, &mut used);
        let own = names(file);
        let foreign = used.iter().filter(|used| !own.contains(*used));
        for schema in foreign {
            assert!(
                shared.contains(schema),
                "{name}.json: {schema} is not shared"
            );
            *users.entry(schema.clone()).or_default() += 1;
        }
    }
    let mut within = BTreeSet::new();
    references(&files["shared"], &mut within);
    let alone = shared.iter().filter(|name| !within.contains(*name));
    let alone: Vec<&String> = alone.filter(|name| users.get(*name) <= Some(&1)).collect();
    assert!(alone.is_empty(), "one file alone uses {alone:?}");
}

/// A body that the operation accepts, according to its description.
fn body(row: &Operation) -> (Option<&'static str>, String) {
    if row.takes() == Takes::Files {
        let part =
            "content-disposition: form-data; name=\"resources\"; filename=\"a.bpmn\"\r\n\r\n<a/>";
        let body = format!("--b\r\n{part}\r\n--b--\r\n");
        return (Some("multipart/form-data; boundary=b"), body);
    }
    let path = described_path(row);
    let written = &OPENAPI["paths"][path][row.method.to_lowercase()]["requestBody"];
    match written["content"][JSON].get("schema") {
        Some(schema) => {
            let mut body = smallest(schema);
            if body["filter"].is_object() {
                crate::described::ask_for_some(&filled_in(path), &mut body);
            }
            (Some(JSON), body.to_string())
        }
        None => (None, String::new()),
    }
}

/// The record of the command that a request becomes, and the required permission.
async fn carried_out(row: &Operation) -> (RecordName, String) {
    let gateway = start_with(|config| config.long_polling.enabled = false).await;
    let path = described_path(row);
    let (kind, body) = body(row);
    if row.tag == "Kept" {
        return kept(row, &filled_in(path), &body).await;
    }
    let answer = open(gateway.rest, row.method, &filled_in(path), kind, body).await;
    assert!(
        answer.status().is_success(),
        "{}: {}",
        row.id,
        answer.status()
    );
    asked(&gateway.broker)
}

/// Likewise, of who is logged in and names a revision.
async fn kept(row: &Operation, path: &str, body: &str) -> (RecordName, String) {
    let gateway = protected().await;
    let headers = [
        ("authorization", &*basic("anna", "right")),
        ("content-type", JSON),
        ("if-match", "\"77\""),
    ];
    let answer = ask(&gateway, (row.method, path), &headers, body).await;
    assert!((200..300).contains(&answer.status), "{}", answer.text);
    asked(&gateway.broker)
}

fn asked(broker: &FakeBroker) -> (RecordName, String) {
    let described =
        |command: &skep_protocol::Command| (command.record().name(), command.needs().to_string());
    if let Some(request) = broker.requests.lock().last() {
        return described(&request.command);
    }
    let polled = broker
        .activations
        .lock()
        .last()
        .map(|(command, _)| command.clone());
    let streamed = || {
        broker
            .streams
            .lock()
            .last()
            .map(|stream| stream.spec.clone())
    };
    let activate = polled.or_else(streamed).expect("the broker was asked");
    described(&skep_protocol::Command::ActivateJobs(activate))
}

/// The permission required by each command, by operation id.
async fn needs_of_commands() -> BTreeMap<&'static str, String> {
    let mut found = BTreeMap::new();
    for row in &OPERATIONS {
        let Does::Command { row: command, .. } = row.does else {
            continue;
        };
        let (record, needs) = carried_out(row).await;
        assert!(
            command.records.contains(&record),
            "{} says that it becomes {}, and became {record}",
            row.id,
            command.name
        );
        assert_ne!(needs, Need::Internal.to_string(), "{}", row.id);
        found.insert(row.id, needs);
    }
    found
}

const INTRODUCTION: &str = "# Operations of the REST API

Generated from the table of operations (`crates/gateway/src/rest/operations.rs`). The running server describes bodies and answers at
`/v2/openapi.json`.

*Becomes* is the record of the command that the operation becomes, or the entity that it queries. *Needs* lists permissions: the caller must
have one of them if permissions are checked ([security](security.md)). `(filter)` means that nothing is refused, and that whatever the caller
may not see is left out. Operations marked with ● finish work: they are refused neither under load nor on a nearly full disk.
";

/// Content of docs/rest-api.md.
fn page(needs_of_commands: &BTreeMap<&str, String>) -> String {
    let mut text = INTRODUCTION.to_string();
    let mut tag = "";
    for row in OPERATIONS.iter().filter(|row| row.is_there()) {
        if row.tag != tag {
            tag = row.tag;
            write!(text, "\n## {tag}\n\n| Operation | Request | Becomes | Needs | rpc |\n|---|---|---|---|---|\n").unwrap();
        }
        let becomes = match row.does {
            Does::Command { row, .. } => {
                let names: Vec<String> = row.records.iter().map(|r| format!("`{r}`")).collect();
                names.join(" ")
            }
            Does::Query { entity, .. } => entity.title.to_string(),
            Does::Pulse => "what secondary storage has counted".to_string(),
            Does::AskNodes(_) => "what all nodes know".to_string(),
            Does::Manage => "an endpoint of the management port".to_string(),
            Does::Document(_) => "the stores of documents".to_string(),
            Does::Answer(_) | Does::AnswerCaller(_) | Does::NotYet => {
                "what the gateway knows".to_string()
            }
        };
        let needs = match row.needs {
            Needs::Stated(need) => need.to_string(),
            Needs::OfCommand | Needs::NotYet => needs_of_commands[row.id].clone(),
        };
        let finishing = if row.purpose().is_finishing() {
            " ●"
        } else {
            ""
        };
        let rpcs = row.rpcs.join(" ");
        writeln!(
            text,
            "| {}{finishing} | `{} {}` | {becomes} | {needs} | {rpcs} |",
            row.id, row.method, row.path
        )
        .unwrap();
    }
    let missing = || OPERATIONS.iter().filter(|row| !row.is_there());
    write!(
        text,
        "\n## Not there yet\n\nThese {} operations of the API answer 501.\n\n| Part | Operations |\n|---|---|\n",
        missing().count()
    )
    .unwrap();
    let mut tags: Vec<&str> = missing().map(|row| row.tag).collect();
    tags.dedup();
    for tag in tags {
        let ids: Vec<&str> = missing()
            .filter(|row| row.tag == tag)
            .map(|row| row.id)
            .collect();
        writeln!(text, "| {tag} | {} |", ids.join(", ")).unwrap();
    }
    text
}

/// `SKEP_GOLDEN=write cargo test -p skep-gateway --test api operations` writes the file.
#[tokio::test]
async fn each_operation_becomes_the_command_of_its_row_and_the_documentation_is_the_table() {
    let page = page(&needs_of_commands().await);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rest-api.md");
    if std::env::var("SKEP_GOLDEN").as_deref() == Ok("write") {
        fs::write(path, &page).unwrap();
    }
    let written = fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page,
        "docs/rest-api.md is out of date; SKEP_GOLDEN=write cargo test -p skep-gateway --test api operations writes it"
    );
}

/// Missing operations answer 501, whatever the request.
#[tokio::test]
async fn every_missing_operation_is_answered_with_501() {
    let gateway = start_with(|_| {}).await;
    let mut missing = 0;
    for row in OPERATIONS.iter().filter(|row| !row.is_there()) {
        let parts = row
            .path
            .split('/')
            .map(|part| if part.starts_with('{') { "7" } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        let answer = open(gateway.rest, row.method, &path, None, "").await;
        assert_eq!(answer.status(), 501, "{} {path}", row.method);
        missing += 1;
    }
    assert_eq!(missing, OPERATIONS.len() - 224);
}

#[test]
fn the_page_on_security_names_what_needs_no_login() {
    let page = include_str!("../../../../docs/security.md");
    let (_, rest) = page.split_once("\nNo login needed: ").unwrap();
    let (line, _) = rest.split_once(".\n").unwrap();
    let named: BTreeSet<String> = line.split(", ").map(str::to_string).collect();
    let open = OPERATIONS.iter().filter(|row| row.is_open());
    let open = open.map(|row| format!("`{} {}`", row.method, row.path));
    assert_eq!(open.collect::<BTreeSet<_>>(), named);
}
