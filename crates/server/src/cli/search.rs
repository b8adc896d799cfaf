//! What the commands that search share.

use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::fetch;
use crate::errors::{Coded, known};

#[derive(Args)]
pub struct SearchArgs {
    /// How many of each kind to show.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10000))]
    pub limit: u32,
    /// Print JSON, with all fields.
    #[arg(long)]
    pub json: bool,
    /// Address of the server's REST interface.
    #[arg(
        long,
        env = "SKEP_ADDRESS",
        default_value = "http://localhost:8080",
        value_name = "URL"
    )]
    pub address: String,
}

const TIMEOUT: Duration = Duration::from_secs(15);

impl SearchArgs {
    pub async fn find(&self, what: &str, filter: Value, sort: Value) -> anyhow::Result<Value> {
        let body = json!({"filter": filter, "sort": sort, "page": {"limit": self.limit}});
        let path = format!("/v2/{what}/search");
        let answer = fetch::post(&self.address, &path, body.to_string(), TIMEOUT).await?;
        read(answer)
    }

    /// Sends a command that answers with nothing.
    pub async fn change(&self, what: &str) -> anyhow::Result<()> {
        let path = format!("/v2/{what}");
        let (status, body) = fetch::post(&self.address, &path, "{}".into(), TIMEOUT).await?;
        match status.is_success() {
            true => Ok(()),
            false => read((status, body)).map(drop),
        }
    }

    pub async fn get(&self, what: &str) -> anyhow::Result<Value> {
        let path = format!("/v2/{what}");
        read(fetch::get(&self.address, &path, TIMEOUT).await?)
    }
}

pub fn read((status, body): (http::StatusCode, bytes::Bytes)) -> anyhow::Result<Value> {
    let answer: Value = serde_json::from_slice(&body)
        .with_context(|| format!("the server answered {status} with something that is no JSON"))?;
    if status.is_success() {
        return Ok(answer);
    }
    let text = |field| answer.get(field).and_then(Value::as_str);
    let code = text("title").and_then(known).unwrap_or("UNKNOWN");
    let detail = match text("detail") {
        Some(detail) => detail.to_string(),
        None => format!("the server answered {status}: {answer}"),
    };
    Err(Coded::new(code, detail).into())
}

/// How many there are of what a page shows, as far as they are counted.
pub fn total(answer: &Value) -> u64 {
    let total = answer.pointer("/page/totalItems");
    total.and_then(Value::as_u64).unwrap_or_default()
}

/// The items of a page.
pub fn items(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["items"].as_array().into_iter().flatten()
}

/// A field as text; a dash where there is none.
pub fn word(item: &Value, name: &str) -> String {
    match &item[name] {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_string(),
        other => other.to_string(),
    }
}
