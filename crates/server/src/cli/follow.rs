//! Follows a running process instance: prints a line for each element that begins or ends.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::instance::waits;
use super::rest::{Body, RestArgs, read};
use super::search::{items, word};

/// The pause between two polls grows from the first to the second while nothing happens.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Maximum number of elements shown.
const MOST: u64 = 10_000;

/// How following the instance ended.
pub enum End {
    Completed,
    Terminated,
    /// An incident, with its error type and message.
    Incident(String, String),
    /// Nothing has happened for a while, and nothing will without outside action: the reasons for waiting.
    Waits(String),
    /// The time is over.
    Late(String),
}

/// When to stop following.
pub struct Until {
    /// An incident ends it, and so does inactivity for this long while nobody works on it; `None`: neither does.
    pub patience: Option<Duration>,
    pub timeout: Option<Duration>,
}

/// Prints events on standard error until the instance ends or, if requested, is stuck.
pub async fn follow(rest: &RestArgs, key: i64, until: &Until) -> anyhow::Result<End> {
    let began = Instant::now();
    let mut last = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut seen = Seen::default();
    loop {
        let found = rest.look(&format!("process-instances/{key}")).await?;
        // If secondary storage lags behind, the instance is not found yet.
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

/// Whether outside action is needed, and which.
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

/// Describes what an instance waits for, and whether it continues unaided: a worker has its job, or a timer is due.
async fn what_it_waits_for(rest: &RestArgs, key: i64) -> anyhow::Result<(bool, String)> {
    let waiting = rest
        .get_own(&format!("process-instances/{key}/diagnosis"))
        .await?;
    let goes_on = |item: &Value| item["cause"] == "JOB_AT_WORK" || item["cause"] == "TIMER";
    let moves = items(&waiting).any(goes_on);
    Ok((moves, waits(&waiting, &rest.flag())))
}

/// Element states of an instance already shown, by key.
#[derive(Default)]
struct Seen(BTreeMap<String, String>);

impl Seen {
    /// Prints new events; returns whether there were any.
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
            complain!(
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
