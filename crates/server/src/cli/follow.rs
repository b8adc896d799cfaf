//! One process instance while it runs: each element that begins or ends is a line.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::instance::waits;
use super::rest::{Body, RestArgs, read};
use super::search::{items, word};

/// The pause between two looks grows from the first to the second while nothing happens.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Elements that are shown at most.
const MOST: u64 = 10_000;

/// How it ended, as far as it is followed.
pub enum End {
    Completed,
    Terminated,
    /// With an error type and what is said of the incident.
    Incident(String, String),
    /// Nothing has happened for a while, and nothing will unless somebody does something: what it waits for.
    Waits(String),
    /// The time is over.
    Late(String),
}

/// How long to follow.
pub struct Until {
    /// An incident is the end of it, and so is nothing for this long while nobody works on it; none: neither is.
    pub patience: Option<Duration>,
    pub timeout: Option<Duration>,
}

/// Prints what happens on standard error until the instance ends or, if so wanted, is stuck.
pub async fn follow(rest: &RestArgs, key: i64, until: &Until) -> anyhow::Result<End> {
    let began = Instant::now();
    let mut last = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut seen = Seen::default();
    loop {
        let found = rest.look(&format!("process-instances/{key}")).await?;
        // Where secondary storage is a moment behind, the instance is not found yet.
        if found.0 != StatusCode::NOT_FOUND || began.elapsed() > LONGEST_PAUSE * 4 {
            let instance = read(found)?;
            if seen.look(rest, key, &instance).await? {
                last = Instant::now();
                pause = FIRST_PAUSE;
            }
            match &*word(&instance, "state") {
                "COMPLETED" => return Ok(End::Completed),
                "TERMINATED" => return Ok(End::Terminated),
                _ => {}
            }
            if let Some(end) = stuck(rest, key, &instance, until, last).await? {
                return Ok(end);
            }
        }
        if until
            .timeout
            .is_some_and(|timeout| began.elapsed() + pause > timeout)
        {
            return Ok(End::Late(what_it_waits_for(rest, key).await?.1));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Whether somebody has to do something, and what.
async fn stuck(
    rest: &RestArgs,
    key: i64,
    instance: &Value,
    until: &Until,
    last: Instant,
) -> anyhow::Result<Option<End>> {
    let Some(patience) = until.patience else {
        return Ok(None);
    };
    if instance["hasIncident"] == true {
        let filter = json!({"processInstanceKey": key.to_string(), "state": "ACTIVE"});
        let body = Body::default().with("filter", filter);
        let found = rest.post("incidents/search", body).await?;
        if let Some(incident) = items(&found).next() {
            let text = what_it_waits_for(rest, key).await?.1;
            return Ok(Some(End::Incident(word(incident, "errorType"), text)));
        }
    }
    if last.elapsed() < patience {
        return Ok(None);
    }
    let (moves, text) = what_it_waits_for(rest, key).await?;
    Ok((!moves).then_some(End::Waits(text)))
}

/// What an instance waits for, and whether it goes on by itself: a worker has its job, or a timer is due.
async fn what_it_waits_for(rest: &RestArgs, key: i64) -> anyhow::Result<(bool, String)> {
    let waiting = rest
        .get_own(&format!("process-instances/{key}/diagnosis"))
        .await?;
    let goes_on = |item: &Value| item["cause"] == "JOB_AT_WORK" || item["cause"] == "TIMER";
    let moves = items(&waiting).any(goes_on);
    Ok((moves, waits(&waiting, &rest.flag())))
}

/// What was shown of the elements of an instance: their states, by key.
#[derive(Default)]
struct Seen(BTreeMap<String, String>);

impl Seen {
    /// Prints what is new; whether there is anything.
    async fn look(&mut self, rest: &RestArgs, key: i64, instance: &Value) -> anyhow::Result<bool> {
        let body = Body::default()
            .with("filter", json!({"processInstanceKey": key.to_string()}))
            .with(
                "sort",
                json!([{"field": "startDate"}, {"field": "elementInstanceKey"}]),
            )
            .with("page", json!({"limit": MOST}));
        let found = rest.post("element-instances/search", body).await?;
        let start = word(instance, "startDate");
        let mut lines = Vec::new();
        for element in items(&found) {
            let mut state = word(element, "state");
            if element["hasIncident"] == true && state == "ACTIVE" {
                state = "INCIDENT".into();
            }
            let before = self
                .0
                .insert(word(element, "elementInstanceKey"), state.clone());
            if before.as_ref() == Some(&state) {
                continue;
            }
            let (said, at) = match &*state {
                "COMPLETED" => ("completed", word(element, "endDate")),
                "TERMINATED" => ("terminated", word(element, "endDate")),
                "INCIDENT" => ("has an incident", word(element, "startDate")),
                _ => ("began", word(element, "startDate")),
            };
            lines.push((at, element, said));
        }
        lines.sort_by(|a, b| a.0.cmp(&b.0));
        for (at, element, said) in &lines {
            let kind = word(element, "type").to_lowercase().replace('_', " ");
            eprintln!(
                "{:>10}  {} ({kind}) {said}",
                elapsed(&start, at),
                word(element, "elementId")
            );
        }
        Ok(!lines.is_empty())
    }
}

/// The time between two times, as they are written.
fn elapsed(start: &str, at: &str) -> String {
    match (start.parse::<Timestamp>(), at.parse::<Timestamp>()) {
        (Ok(start), Ok(at)) => {
            let millis = at.duration_since(start).as_millis();
            format!("+{}.{:03} s", millis / 1000, millis % 1000)
        }
        _ => at.to_string(),
    }
}
