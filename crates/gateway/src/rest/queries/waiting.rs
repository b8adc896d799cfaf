//! Why a process instance is waiting: each waiting element instance, with what it waits for and since when. An addition of our own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};
use skep_protocol::Key;
use skep_query::entities::{
    ELEMENT_INSTANCE, EVENT_WAIT, INCIDENT, JOB, MESSAGE_SUBSCRIPTION, PROCESS_INSTANCE, USER_TASK,
};
use skep_query::{Condition, Entity, Groups, Measure, Op, Query, Row, Search, Value, answer};

use super::Ask;
use super::wait_states::{is_readable, open_events, open_jobs, open_messages, open_user_tasks};
use crate::rest::problem::Problem;

/// The largest number of entities of each kind in one answer.
const MAX_FOUND: u32 = 1_000;

/// How a kind of entity is found, and which of its fields are reported.
struct Kind {
    /// The name in answers; if the rows have a kind of their own, that one is used.
    name: Option<&'static str>,
    entity: &'static Entity,
    /// The column that holds the process instance, and the one that holds the element instance.
    instance: usize,
    element: usize,
    open: fn() -> Condition,
    /// The field that says since when.
    since: &'static str,
    /// Further reported fields.
    fields: &'static [&'static str],
}

pub(super) fn is(field: usize, op: Op) -> Condition {
    Condition::Field { field, op }
}

/// The waits of an instance.
pub(super) struct Waits {
    pub process: Row,
    /// The waiting elements; `has_more`: there are more than were searched.
    pub elements: Vec<Waiting>,
    /// All active element instances.
    pub active: Vec<Row>,
    pub has_more: bool,
}

/// An element instance that waits, or the process instance itself.
pub(super) struct Waiting {
    /// The element or process instance, as answers show it.
    pub who: Map<String, Json>,
    pub waits_for: Vec<Json>,
}

/// The first of these is the reason why something else is waiting longer, and the last waits itself.
const KINDS: [Kind; 6] = [
    Kind {
        name: Some("INCIDENT"),
        entity: &INCIDENT,
        instance: INCIDENT.column("processInstanceKey"),
        element: INCIDENT.column("elementInstanceKey"),
        open: || {
            is(
                const { INCIDENT.column("state") },
                Op::Eq(Value::text("ACTIVE")),
            )
        },
        since: "creationTime",
        fields: &["incidentKey", "errorType", "errorMessage", "jobKey"],
    },
    Kind {
        name: Some("JOB"),
        entity: &JOB,
        instance: JOB.column("processInstanceKey"),
        element: JOB.column("elementInstanceKey"),
        open: open_jobs,
        since: "creationTime",
        fields: &[
            "jobKey",
            "type",
            "kind",
            "state",
            "retries",
            "worker",
            "deadline",
            "errorMessage",
        ],
    },
    Kind {
        name: Some("USER_TASK"),
        entity: &USER_TASK,
        instance: USER_TASK.column("processInstanceKey"),
        element: USER_TASK.column("elementInstanceKey"),
        open: open_user_tasks,
        since: "creationDate",
        fields: &[
            "userTaskKey",
            "state",
            "assignee",
            "candidateGroups",
            "candidateUsers",
            "dueDate",
        ],
    },
    Kind {
        name: Some("MESSAGE"),
        entity: &MESSAGE_SUBSCRIPTION,
        instance: MESSAGE_SUBSCRIPTION.column("processInstanceKey"),
        element: MESSAGE_SUBSCRIPTION.column("elementInstanceKey"),
        open: open_messages,
        since: "lastUpdatedDate",
        fields: &[
            "messageSubscriptionKey",
            "elementId",
            "messageName",
            "correlationKey",
        ],
    },
    Kind {
        name: None,
        entity: &EVENT_WAIT,
        instance: EVENT_WAIT.column("processInstanceKey"),
        element: EVENT_WAIT.column("elementInstanceKey"),
        open: open_events,
        since: "creationTime",
        fields: &["key", "elementId", "dueDate", "signalName", "condition"],
    },
    Kind {
        name: Some("CALLED_INSTANCE"),
        entity: &PROCESS_INSTANCE,
        instance: PROCESS_INSTANCE.column("parentProcessInstanceKey"),
        element: PROCESS_INSTANCE.column("parentElementInstanceKey"),
        open: || {
            let state = const { PROCESS_INSTANCE.column("state") };
            is(state, Op::Eq(Value::text("ACTIVE")))
        },
        since: "startDate",
        fields: &["processInstanceKey", "processDefinitionId", "hasIncident"],
    },
];

/// One entity that an element waits for, as answers show it.
fn shown(kind: &Kind, row: &Row) -> Json {
    let mut all = members(kind.entity, row);
    let mut of_all = |name: &str| all.remove(name).unwrap_or_default();
    let mut found = Map::new();
    // A job has a kind of its own, which is reported separately.
    let name = kind.name.map_or_else(|| of_all("kind"), |name| json!(name));
    found.insert("for".to_string(), name);
    found.insert("since".to_string(), of_all(kind.since));
    for name in kind.fields {
        let value = of_all(name);
        if !value.is_null() {
            found.insert((*name).to_string(), value);
        }
    }
    Json::Object(found)
}

pub(super) fn members(entity: &Entity, row: &Row) -> Map<String, Json> {
    serde_json::from_str(&answer::row(entity, row)).unwrap_or_default()
}

impl Ask<'_> {
    async fn open(
        &mut self,
        kind: &Kind,
        instance: Key,
        more: &mut bool,
    ) -> Result<Vec<Row>, Problem> {
        let of_instance = is(kind.instance, Op::Eq(Value::Int(instance.0)));
        let filter = vec![of_instance, (kind.open)()];
        let mut search = Search::all(kind.entity, filter, MAX_FOUND);
        search.details = true;
        let rows = self.found(search).await?;
        *more |= rows.len() >= MAX_FOUND as usize;
        Ok(rows)
    }

    /// The number of waits at each element: jobs, user tasks, and events of all kinds.
    pub(super) async fn wait_state_statistics(&mut self, instance: Key) -> Result<String, Problem> {
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        let grants = self.sight.grants.take();
        let [_, waits @ .., _] = &KINDS;
        for kind in waits {
            let of_instance = is(kind.instance, Op::Eq(Value::Int(instance.0)));
            let mut search = Search::all(kind.entity, vec![of_instance, (kind.open)()], 0);
            if !is_readable(&mut search, grants.as_deref())? {
                continue;
            }
            let groups = Groups {
                search,
                by: kind.entity.index_of("elementId").into_iter().collect(),
                span: None,
                measures: vec![Measure::Rows],
            };
            for row in self.rows(Query::Groups(groups)).await? {
                if let [element, count] = &row[..] {
                    let element = element.as_text().unwrap_or_default().to_string();
                    *counts.entry(element).or_default() += count.as_int().unwrap_or_default();
                }
            }
        }
        let items = counts
            .iter()
            .map(|(element, count)| json!({"elementId": element, "waitingCount": count}));
        Ok(json!({"items": items.collect::<Vec<_>>()}).to_string())
    }

    pub(super) async fn waiting_states(&mut self, instance: Key) -> Result<String, Problem> {
        let waits = self.waits(instance).await?;
        let items = waits
            .elements
            .into_iter()
            .map(|Waiting { mut who, waits_for }| {
                who.insert("waitsFor".to_string(), json!(waits_for));
                who
            });
        let items: Vec<_> = items.collect();
        Ok(json!({"items": items, "hasMore": waits.has_more}).to_string())
    }

    pub(super) async fn waits(&mut self, instance: Key) -> Result<Waits, Problem> {
        const SCOPE: usize = ELEMENT_INSTANCE.column("elementInstanceScopeKey");
        let process = self.one(&PROCESS_INSTANCE, instance).await?;
        let mut has_more = false;
        let elements = Kind {
            name: None,
            entity: &ELEMENT_INSTANCE,
            instance: const { ELEMENT_INSTANCE.column("processInstanceKey") },
            element: 0,
            open: || {
                let state = const { ELEMENT_INSTANCE.column("state") };
                is(state, Op::Eq(Value::text("ACTIVE")))
            },
            since: "startDate",
            fields: &[],
        };
        let key_in = |row: &Row, at: usize| row.get(at).and_then(Value::as_int);
        let active = self.open(&elements, instance, &mut has_more).await?;
        let mut waits: BTreeMap<i64, Vec<Json>> = BTreeMap::new();
        for kind in &KINDS {
            for row in &self.open(kind, instance, &mut has_more).await? {
                if let Some(element) = key_in(row, kind.element) {
                    waits.entry(element).or_default().push(shown(kind, row));
                }
            }
        }
        // An element with active elements inside waits for those.
        let around: BTreeSet<i64> = active.iter().filter_map(|row| key_in(row, SCOPE)).collect();
        let mut waiting = Vec::new();
        let mut add = |entity: &Entity, row: &Row| {
            let key = key_in(row, 0).unwrap_or_default();
            let waits_for = waits.remove(&key).unwrap_or_default();
            let is_process = std::ptr::eq(entity, &PROCESS_INSTANCE);
            if !waits_for.is_empty() || !(is_process || around.contains(&key)) {
                let who = who(entity, row);
                waiting.push(Waiting { who, waits_for });
            }
        };
        add(&PROCESS_INSTANCE, &process);
        for row in &active {
            add(&ELEMENT_INSTANCE, row);
        }
        Ok(Waits {
            process,
            elements: waiting,
            active,
            has_more,
        })
    }
}

fn who(entity: &Entity, row: &Row) -> Map<String, Json> {
    let all = members(entity, row);
    let is_process = std::ptr::eq(entity, &PROCESS_INSTANCE);
    let of_all = |name: &str| all.get(name).cloned().unwrap_or_default();
    let named = |element, process| of_all(if is_process { process } else { element });
    let mut who = Map::new();
    for (name, value) in [
        (
            "elementInstanceKey",
            named("elementInstanceKey", "processInstanceKey"),
        ),
        ("elementId", named("elementId", "processDefinitionId")),
        ("elementName", named("elementName", "processDefinitionName")),
        (
            "type",
            if is_process {
                json!("PROCESS")
            } else {
                of_all("type")
            },
        ),
        ("since", of_all("startDate")),
    ] {
        who.insert(name.to_string(), value);
    }
    who
}
