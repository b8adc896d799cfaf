//! Waits, by key, for the end of an instance that was started with `--await`.
//!
//! A creation that waits for the result is answered with a mere "too late" when its time is over, and the key is lost. Here the key is
//! known and shown from the start, and incidents are noticed while the command waits.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::cli::fetch;
use crate::cli::rest::read;
use crate::cli::search::{items, word};
use crate::errors::Coded;

/// The pause between two polls grows from the first to the second.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Time limit of one request.
const ANSWER: Duration = Duration::from_secs(15);
/// Variables per page.
const PAGE: usize = 1000;

/// Whether this server can be asked for instances: it speaks REST here, and has a secondary storage.
pub async fn is_visible(address: &str) -> bool {
    let body = json!({"page": {"limit": 1}}).to_string();
    let answer = fetch::post(address, "/v2/process-definitions/search", body, ANSWER).await;
    answer.is_ok_and(|(status, _)| status.is_success())
}

/// Waits for the end of an instance and returns its variables.
pub async fn of(address: &str, key: i64, timeout: Duration) -> anyhow::Result<String> {
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut incident_shown = false;
    loop {
        let path = format!("/v2/process-instances/{key}");
        let (status, body) = fetch::look(address, &path, ANSWER).await?;
        // If secondary storage lags behind, the instance is not found yet.
        if status != StatusCode::NOT_FOUND {
            let instance = read((status, body))?;
            match &*word(&instance, "state") {
                "COMPLETED" => return variables(address, key).await,
                "TERMINATED" => return Err(terminated(key)),
                _ => {}
            }
            if word(&instance, "hasIncident") == "true" && !incident_shown {
                incident_shown = true;
                complain!("It has an incident: `skep instance {key}` shows what it waits for.");
            }
        }
        if began.elapsed() + pause > timeout {
            return Err(too_late(key, timeout));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn terminated(key: i64) -> anyhow::Error {
    let text =
        format!("process instance {key} was terminated before it completed: it has no result");
    Coded::new("NOT_FOUND", text).into()
}

fn too_late(key: i64, timeout: Duration) -> anyhow::Error {
    let text = format!(
        "process instance {key} was started and has not ended within {} s; it keeps running. `skep instance {key}` shows what it waits \
         for; --timeout waits longer",
        timeout.as_secs()
    );
    Coded::new("DEADLINE_EXCEEDED", text).into()
}

/// The variables of the instance itself, as one JSON object.
pub async fn variables(address: &str, key: i64) -> anyhow::Result<String> {
    // Kept as stored text: parsing and writing a number again might round it.
    let mut found: BTreeMap<String, Box<RawValue>> = BTreeMap::new();
    let mut after = Value::Null;
    loop {
        let key = key.to_string();
        let page = match after {
            Value::String(_) => json!({"limit": PAGE, "after": after}),
            _ => json!({"limit": PAGE}),
        };
        let body = json!({
            "filter": {"processInstanceKey": key, "scopeKey": key},
            "sort": [{"field": "name"}],
            "page": page,
        });
        let path = "/v2/variables/search?truncateValues=false";
        let page = read(fetch::post(address, path, body.to_string(), ANSWER).await?)?;
        let before = found.len();
        for item in items(&page) {
            if let (Some(name), Some(value)) = (item["name"].as_str(), item["value"].as_str()) {
                found.insert(name.to_string(), RawValue::from_string(value.to_string())?);
            }
        }
        if found.len() < before + PAGE {
            return Ok(serde_json::to_string(&found)?);
        }
        after = page.pointer("/page/endCursor").cloned().unwrap_or_default();
    }
}
