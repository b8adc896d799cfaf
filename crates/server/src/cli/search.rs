//! Shared by the commands that search.

use std::io::{IsTerminal, stdout};

use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::login;
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

/// A sentence for when there is nothing of this kind.
pub fn none(what: &str) -> String {
    format!("No {what}{}.\n", login::to_this_user())
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

/// A field with a time; on a terminal as short as it can be told in a table: of today without the date, of another year without the time of
/// day. Programs that read a table get it as the server returned it.
pub fn time(item: &Value, name: &str) -> String {
    shown(word(item, name), stdout().is_terminal(), Timestamp::now())
}

fn shown(text: String, on_terminal: bool, now: Timestamp) -> String {
    if on_terminal { short(&text, now) } else { text }
}

fn short(text: &str, now: Timestamp) -> String {
    let Ok(time) = text.parse::<Timestamp>() else {
        return text.to_string();
    };
    let written = |time: Timestamp, format: &str| time.strftime(format).to_string();
    let same = |format: &str| written(time, format) == written(now, format);
    written(
        time,
        if same("%Y-%m-%d") {
            "%H:%M:%SZ"
        } else if same("%Y") {
            "%m-%d %H:%MZ"
        } else {
            "%Y-%m-%d"
        },
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_time_is_short_on_a_terminal_and_whole_in_a_pipe() {
        let now = "2026-11-29T10:05:04.251Z".parse().unwrap();
        for (time, shown) in [
            ("2026-11-29T00:00:00.190Z", "00:00:00Z"),
            ("2026-11-29T11:05:04+01:00", "10:05:04Z"),
            ("2026-11-30T10:05:04.190Z", "11-30 10:05Z"),
            ("2026-11-28T23:59:59.999Z", "11-28 23:59Z"),
            ("2025-11-29T10:05:04.251Z", "2025-11-29"),
            ("-", "-"),
        ] {
            assert_eq!(super::shown(time.into(), true, now), shown, "{time}");
            assert_eq!(super::shown(time.into(), false, now), time);
        }
    }
}
