//! `/actuator/loggers`: log levels, read and changed while the server runs.

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use tracing_subscriber::filter::LevelFilter;

use super::reply::{self, Handled, Incoming, allow, bad_request, no_content, ok};
use crate::logs::{self, Levels, Logs, ROOT};

const LEVELS: [&str; 6] = ["OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"];
/// Loggers that are always listed: the sources of Skep's own lines.
const KNOWN: [&str; 9] = [
    "skep",
    "skep_broker",
    "skep_client",
    "skep_engine",
    "skep_gateway",
    "skep_load",
    "skep_replication",
    "skep_storage",
    "skep_feel",
];
const MAX_NAME: usize = 256;

pub async fn handle(logs: &Logs, method: &Method, name: Option<&str>, body: Incoming) -> Handled {
    let Some(name) = name else {
        allow(method, &[Method::GET])?;
        return Ok(ok(&all(&logs.levels())));
    };
    allow(method, &[Method::GET, Method::POST])?;
    if name.len() > MAX_NAME || name.is_empty() {
        return Err(bad_request(format!(
            "a logger's name has 1 to {MAX_NAME} characters"
        )));
    }
    if *method == Method::GET {
        return Ok(ok(&one(&logs.levels(), name)));
    }
    let body = reply::body(body).await?;
    if let Some(unknown) = body.keys().find(|key| *key != "configuredLevel") {
        return Err(bad_request(format!(
            "the field {unknown:?} is not known; send {{\"configuredLevel\": LEVEL}}, or null for LEVEL to inherit again"
        )));
    }
    let level = match body.get("configuredLevel") {
        None | Some(Value::Null) => None,
        Some(Value::String(level)) => Some(logs::level(level).map_err(bad_request)?),
        Some(_) => return Err(bad_request("configuredLevel must be a text or null")),
    };
    logs.set(name, level)
        .map_err(|reason| reply::message(StatusCode::INTERNAL_SERVER_ERROR, reason))?;
    Ok(no_content())
}

fn all(levels: &Levels) -> Value {
    let mut loggers = Map::new();
    loggers.insert(ROOT.to_string(), one(levels, ROOT));
    let names = KNOWN
        .iter()
        .copied()
        .chain(levels.modules.keys().map(String::as_str));
    for name in names {
        loggers.insert(name.to_string(), one(levels, name));
    }
    json!({ "levels": LEVELS, "loggers": loggers })
}

fn one(levels: &Levels, name: &str) -> Value {
    let (configured, effective) = if name.eq_ignore_ascii_case(ROOT) {
        (Some(levels.root), levels.root)
    } else {
        let module = logs::module_of(name);
        (
            levels.modules.get(&module).copied(),
            levels.effective(&module),
        )
    };
    json!({
        "configuredLevel": configured.map(upper),
        "effectiveLevel": upper(effective),
    })
}

fn upper(level: LevelFilter) -> String {
    level.to_string().to_ascii_uppercase()
}
