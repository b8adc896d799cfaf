//! Shared by the commands that search.

use clap::Args;
use serde_json::{Value, json};

use super::rest::{Body, RestArgs};

#[derive(Args)]
pub struct SearchArgs {
    /// Maximum number of items of each kind to show.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10000))]
    pub limit: u32,
    #[command(flatten)]
    pub rest: RestArgs,
}

impl SearchArgs {
    pub async fn find(&self, what: &str, filter: Value, sort: Value) -> anyhow::Result<Value> {
        let page = json!({"limit": self.limit});
        let body = Body::default()
            .with("filter", filter)
            .with("sort", sort)
            .with("page", page);
        self.rest.post(&format!("{what}/search"), body).await
    }
}

/// The total number of items behind a page, as far as they are counted.
pub fn total(answer: &Value) -> u64 {
    let total = answer.pointer("/page/totalItems");
    total.and_then(Value::as_u64).unwrap_or_default()
}

/// The items of a page.
pub fn items(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["items"].as_array().into_iter().flatten()
}

/// A note for when a page does not show everything.
pub fn more(answer: &Value) -> String {
    let (shown, total) = (items(answer).count() as u64, total(answer));
    if total <= shown {
        return String::new();
    }
    let than = match answer.pointer("/page/hasMoreTotalItems") {
        Some(Value::Bool(true)) => "more than ",
        _ => "",
    };
    format!("\n{shown} of {than}{total}; see --limit.\n")
}

/// A field as text; a dash if it is missing.
pub fn word(item: &Value, name: &str) -> String {
    match &item[name] {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_string(),
        other => other.to_string(),
    }
}
