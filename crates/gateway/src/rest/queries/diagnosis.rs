//! Why each element of a process instance waits, and what would let it continue. An addition of our own.
//!
//! The waits are those of [`waiting`](super::waiting). A job waits for a worker, so all nodes are asked whether a worker asks for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value as Json, json};
use skep_protocol::{Key, TenantId};
use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{Row, Value, parse_time, render_time};
use skep_service::Work;
use skep_service::work::noted;

use super::Ask;
use super::durations::{ByElement, usual};
use super::waiting::{Waiting, Waits};
use crate::rest::problem::Problem;

/// A waiting poll is noted every ten seconds; other workers pause between two polls.
const ASKS: i64 = 60_000;

/// The reason why an element waits.
struct Finding {
    cause: &'static str,
    remedy: Option<String>,
    /// Findings that require action come first.
    rank: u8,
}

/// Somebody must act; something else must happen; time is enough.
const NEEDS_SOMEBODY: u8 = 0;
const WAITS: u8 = 1;
const NEEDS_TIME: u8 = 2;

/// When a worker asked last for jobs of a type, by type.
struct LastPolls {
    last: BTreeMap<Arc<str>, i64>,
    /// Start of that knowledge.
    since: Option<i64>,
    now: i64,
}

impl LastPolls {
    fn of(work: &Work, tenant: &TenantId) -> LastPolls {
        let mut last: BTreeMap<Arc<str>, i64> = BTreeMap::new();
        for asker in work.nodes.iter().flat_map(|node| &node.askers) {
            if asker.tenants.as_ref().is_none_or(|it| it.contains(tenant)) {
                let seen = last
                    .entry(Arc::clone(&asker.job_type))
                    .or_insert(asker.seen);
                *seen = asker.seen.max(*seen);
            }
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_millis();
        LastPolls {
            last,
            since: work.nodes.iter().map(|node| node.since).max(),
            now: i64::try_from(now).unwrap_or(i64::MAX),
        }
    }

    fn is_asked_for(&self, job_type: &str) -> bool {
        let last = self.last.get(noted(job_type));
        last.is_some_and(|last| self.now - last < ASKS)
    }
}

impl Ask<'_> {
    pub(super) async fn diagnosis(&mut self, instance: Key) -> Result<String, Problem> {
        let Waits {
            process,
            mut elements,
            active,
            has_more,
        } = self.waits(instance).await?;
        elements.extend(self.waiting_joins(&process, &active).await?);
        let tenant = process.get(const { PROCESS_INSTANCE.column("tenantId") });
        let tenant = tenant.and_then(Value::as_text).unwrap_or_default();
        let work = self.front.broker.work().await;
        let asked = LastPolls::of(&work, &TenantId::new(tenant));
        let usually = self.usually(&process, &elements).await?;
        let mut items: Vec<(u8, Json)> = Vec::new();
        for Waiting { who, waits_for } in elements {
            let of_element = findings(&who, waits_for, &asked).into_iter();
            let usual_ms = usual_ms(&who, &usually);
            let started = who.get("since").cloned().unwrap_or_default();
            items.extend(of_element.map(|(rank, mut item)| {
                if let Some(item) = item.as_object_mut() {
                    item.insert("started".into(), started.clone());
                    item.insert("usualMs".into(), json!(usual_ms));
                }
                (rank, item)
            }));
        }
        items.sort_by(|(a, one), (b, other)| {
            let since = |item: &Json| item["since"].as_str().map(str::to_string);
            a.cmp(b).then_with(|| since(one).cmp(&since(other)))
        });
        let items: Vec<Json> = items.into_iter().map(|(_, item)| item).collect();
        Ok(json!({"items": items, "hasMore": has_more}).to_string())
    }

    /// How long the elements took in other instances of this version of the process.
    async fn usually(&mut self, process: &Row, elements: &[Waiting]) -> Result<ByElement, Problem> {
        let definition = process.get(const { PROCESS_INSTANCE.column("processDefinitionKey") });
        let definition = definition.and_then(Value::as_int).map(Key);
        let ids: BTreeSet<&str> = elements.iter().filter_map(|it| element(&it.who)).collect();
        match definition {
            Some(definition) if !ids.is_empty() => {
                let ids = ids.into_iter().map(Value::text).collect();
                self.durations_of(definition, Some(ids)).await
            }
            _ => Ok(ByElement::new()),
        }
    }
}

/// A multi-instance body has the id of the activity it repeats, and a gateway that waits has not begun.
const UNCOUNTED: [&str; 4] = [
    "PROCESS",
    "MULTI_INSTANCE_BODY",
    "PARALLEL_GATEWAY",
    "INCLUSIVE_GATEWAY",
];

/// The element under whose id durations are counted.
fn element(who: &Map<String, Json>) -> Option<&str> {
    let kind = who.get("type")?.as_str()?;
    let is_counted = !UNCOUNTED.contains(&kind);
    who.get("elementId")?.as_str().filter(|_| is_counted)
}

fn usual_ms(who: &Map<String, Json>, usually: &ByElement) -> Option<i64> {
    usually.get(element(who)?).and_then(usual)
}

/// The reasons why one element waits. An incident covers the reason of its job.
fn findings(who: &Map<String, Json>, waits_for: Vec<Json>, asked: &LastPolls) -> Vec<(u8, Json)> {
    let is_incident = |thing: &Json| thing["for"] == "INCIDENT";
    let stuck = waits_for.iter().any(is_incident);
    let things = waits_for.into_iter();
    let things = things.filter(|thing| !(stuck && thing["for"] == "JOB"));
    let mut found: Vec<(u8, Json)> = things.map(|thing| item(who, thing, asked)).collect();
    if found.is_empty() {
        let nothing = json!({"for": "", "since": who.get("since")});
        found.push(item(who, nothing, asked));
    }
    found
}

fn item(who: &Map<String, Json>, thing: Json, asked: &LastPolls) -> (u8, Json) {
    let Json::Object(mut facts) = thing else {
        return (WAITS, Json::Null);
    };
    let kind = facts.remove("for").unwrap_or_default();
    let since = facts.remove("since").unwrap_or_default();
    let kind = kind.as_str().unwrap_or_default();
    let finding = finding(kind, &mut facts, asked);
    let mut item = who.clone();
    item.insert("since".to_string(), since);
    item.insert("cause".to_string(), json!(finding.cause));
    item.insert("facts".to_string(), Json::Object(facts));
    item.insert("remedy".to_string(), json!(finding.remedy));
    (finding.rank, Json::Object(item))
}

fn finding(kind: &str, facts: &mut Map<String, Json>, asked: &LastPolls) -> Finding {
    let text = |name: &str| facts.get(name).and_then(Json::as_str).unwrap_or_default();
    let (cause, remedy, rank) = match kind {
        "INCIDENT" => (
            "INCIDENT",
            "Fix the cause, then resolve the incident to retry.".to_string(),
            NEEDS_SOMEBODY,
        ),
        "USER_TASK" => (
            "USER_TASK",
            match text("assignee") {
                "" => "A user must claim the task and complete it.".to_string(),
                user => format!("'{user}' must complete the task, or give it back."),
            },
            WAITS,
        ),
        "MESSAGE" => (
            "MESSAGE",
            format!(
                "Publish the message '{}' with the correlation key '{}'.",
                text("messageName"),
                text("correlationKey")
            ),
            WAITS,
        ),
        "SIGNAL" => (
            "SIGNAL",
            format!("Broadcast the signal '{}'.", text("signalName")),
            WAITS,
        ),
        "CONDITION" => (
            "CONDITION",
            "Set the variables so that the condition holds.".to_string(),
            WAITS,
        ),
        "CALLED_INSTANCE" => (
            "CALLED_INSTANCE",
            "See why the called process instance does not end.".to_string(),
            WAITS,
        ),
        "JOIN" => (
            "JOIN",
            format!(
                "See what holds up the tokens that come from {}.",
                sources(facts)
            ),
            WAITS,
        ),
        "TIMER" => ("TIMER", String::new(), NEEDS_TIME),
        "JOB" => return of_job(facts, asked),
        _ => ("UNKNOWN", String::new(), WAITS),
    };
    Finding {
        cause,
        remedy: (!remedy.is_empty()).then_some(remedy),
        rank,
    }
}

/// The elements from which a gateway lacks tokens.
fn sources(facts: &Map<String, Json>) -> String {
    let missing = facts.get("missing").and_then(Json::as_array);
    let names = missing.into_iter().flatten().map(|it| &it["elementName"]);
    let names: Vec<String> = names
        .map(|name| format!("'{}'", name.as_str().unwrap_or_default()))
        .collect();
    names.join(" and ")
}

/// A job is with a worker, waits for one, or is tried again.
fn of_job(facts: &mut Map<String, Json>, asked: &LastPolls) -> Finding {
    let text = |name: &str| facts.get(name).and_then(Json::as_str).unwrap_or_default();
    let job_type = text("type").to_string();
    let is_asked_for = asked.is_asked_for(&job_type);
    let deadline = parse_time(text("deadline"));
    let is_with_worker = !text("worker").is_empty() && deadline.is_some_and(|it| it > asked.now);
    let finding = if is_with_worker && text("state") != "FAILED" {
        Finding {
            cause: "JOB_AT_WORK",
            remedy: None,
            rank: NEEDS_TIME,
        }
    } else if !is_asked_for {
        let remedy = format!(
            "Start a worker for jobs of the type '{job_type}', or check whether the worker asks for another type."
        );
        Finding {
            cause: "JOB_WITHOUT_WORKER",
            remedy: Some(remedy),
            rank: NEEDS_SOMEBODY,
        }
    } else if text("state") == "FAILED" {
        Finding {
            cause: "JOB_RETRIED",
            remedy: None,
            rank: WAITS,
        }
    } else {
        Finding {
            cause: "JOB_WAITS",
            remedy: Some(
                "Workers ask for this type but have not taken the job: they may be busy, or may not be allowed to have it.".to_string(),
            ),
            rank: WAITS,
        }
    };
    let time = |time: Option<i64>| time.map_or(Json::Null, |time| json!(render_time(time)));
    let last = asked.last.get(noted(&job_type)).copied();
    facts.insert("lastAsked".to_string(), time(last));
    facts.insert("workersNotedSince".to_string(), time(asked.since));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000_000;

    fn asked(seen: Option<i64>) -> LastPolls {
        LastPolls {
            last: seen
                .map(|seen| ("pay".into(), NOW - seen))
                .into_iter()
                .collect(),
            since: Some(NOW - 500_000),
            now: NOW,
        }
    }

    fn cause(thing: Json, seen: Option<i64>) -> (u8, Json) {
        let who = json!({"elementInstanceKey": "1"});
        let who = who.as_object().expect("an object");
        let mut found = findings(who, vec![thing], &asked(seen));
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    #[test]
    fn a_job_is_held_up_by_what_its_workers_do() {
        let job = |state: &str, worker: &str, deadline: i64| json!({"for": "JOB", "since": null, "type": "pay", "state": state, "worker": worker, "deadline": render_time(NOW + deadline)});
        for (thing, seen, expected) in [
            (job("CREATED", "", 0), None, "JOB_WITHOUT_WORKER"),
            (job("CREATED", "", 0), Some(ASKS), "JOB_WITHOUT_WORKER"),
            (job("CREATED", "", 0), Some(ASKS - 1), "JOB_WAITS"),
            (job("CREATED", "w", 1), None, "JOB_AT_WORK"),
            (job("CREATED", "w", 0), None, "JOB_WITHOUT_WORKER"),
            (job("TIMED_OUT", "w", 0), Some(0), "JOB_WAITS"),
            (job("FAILED", "w", 1), Some(0), "JOB_RETRIED"),
            (job("FAILED", "w", 1), None, "JOB_WITHOUT_WORKER"),
        ] {
            let (rank, item) = cause(thing, seen);
            assert_eq!(item["cause"], expected, "{item}");
            assert_eq!(rank == NEEDS_SOMEBODY, expected == "JOB_WITHOUT_WORKER");
            assert_eq!(
                item["remedy"].is_null(),
                rank == NEEDS_TIME || expected == "JOB_RETRIED"
            );
            let last = seen.map_or(Json::Null, |seen| json!(render_time(NOW - seen)));
            assert_eq!(item["facts"]["lastAsked"], last);
        }
    }

    #[test]
    fn an_incident_is_reported_instead_of_its_job() {
        let who = Map::new();
        let both = vec![
            json!({"for": "INCIDENT", "since": null}),
            json!({"for": "JOB", "since": null}),
        ];
        let found = findings(&who, both, &asked(None));
        let causes: Vec<&Json> = found.iter().map(|(_, item)| &item["cause"]).collect();
        assert_eq!(causes, ["INCIDENT"]);
        let nothing = findings(&who, Vec::new(), &asked(None));
        assert_eq!(nothing[0].1["cause"], "UNKNOWN");
    }
}
