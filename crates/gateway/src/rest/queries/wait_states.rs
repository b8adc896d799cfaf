//! Wait states of element instances, over all process instances: jobs, user tasks, messages and other events.
//!
//! Each kind has rows of its own. As many rows as a page may need are searched of each kind and merged into one page. All
//! keys are of one sequence, so a cursor marks the same place in each kind.

use serde_json::{Map, Value as Json, json};
use skep_identity::Grants;
use skep_query::access::{self, Narrowed};
use skep_query::entities::{ELEMENT_TYPES, EVENT_WAIT, JOB, MESSAGE_SUBSCRIPTION, USER_TASK};
use skep_query::{
    Condition, Conditions, Entity, Field, Kind, Leaves, Op, Ops, ResultPage, Row, Search, Sort,
    Value, answer, merge,
};

use super::waiting::{is, members};
use super::{Ask, invalid};
use crate::rest::problem::Problem;

const TYPES: &[&str] = &[
    "JOB",
    "MESSAGE",
    "USER_TASK",
    "TIMER",
    "SIGNAL",
    "CONDITION",
];

/// A wait as the API defines it; no store holds it in this form.
pub static WAIT_STATE: Entity = Entity {
    title: "Wait State",
    table: "",
    fields: &[
        // Of the job, task, subscription or event.
        Field::new("key", Kind::Key, Ops::NONE).hidden(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("processInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("elementInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("elementId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("elementType", Kind::Enum(ELEMENT_TYPES), Ops::ENUM),
        Field::new("waitStateType", Kind::Enum(TYPES), Ops::ENUM).hidden(),
        Field::new("tenantId", Kind::Text, Ops::NONE),
        Field::new("bpmnProcessId", Kind::Text, Ops::NONE),
        Field::new("details", Kind::Json, Ops::NONE),
    ],
    related: &[],
    items: &[],
    indices: &[],
    everywhere: false,
    leaves: Leaves::Never,
};

/// Fields that are not derived from others.
const COLUMNS: usize = WAIT_STATE.column("details");

/// Where a field of a wait comes from.
#[derive(Clone, Copy)]
enum Origin {
    Column(usize),
    /// It is the same for all of the kind.
    Always(&'static str),
}

/// Waits that are rows of an entity.
struct Source {
    entity: &'static Entity,
    open: fn() -> Condition,
    /// In the order of the fields of [`WAIT_STATE`].
    fields: [Origin; COLUMNS],
}

/// Most fields have the same name everywhere.
macro_rules! source {
    ($entity:ident, $open:path, $element_type:expr, $wait_state_type:expr) => {
        Source {
            entity: &$entity,
            open: $open,
            fields: [
                Origin::Column(0),
                Origin::Column(const { $entity.column("rootProcessInstanceKey") }),
                Origin::Column(const { $entity.column("processInstanceKey") }),
                Origin::Column(const { $entity.column("elementInstanceKey") }),
                Origin::Column(const { $entity.column("elementId") }),
                $element_type,
                $wait_state_type,
                Origin::Column(const { $entity.column("tenantId") }),
                Origin::Column(const { $entity.column("processDefinitionId") }),
            ],
        }
    };
}

static SOURCES: [Source; 4] = [
    source!(
        JOB,
        open_jobs,
        Origin::Column(JOB.column("elementType")),
        Origin::Always("JOB")
    ),
    source!(
        USER_TASK,
        open_user_tasks,
        Origin::Always("USER_TASK"),
        Origin::Always("USER_TASK")
    ),
    source!(
        MESSAGE_SUBSCRIPTION,
        open_messages,
        Origin::Column(MESSAGE_SUBSCRIPTION.column("elementType")),
        Origin::Always("MESSAGE")
    ),
    source!(
        EVENT_WAIT,
        open_events,
        Origin::Column(EVENT_WAIT.column("elementType")),
        Origin::Column(EVENT_WAIT.column("kind"))
    ),
];

pub fn open_jobs() -> Condition {
    is(const { JOB.column("endTime") }, Op::Exists(false))
}

pub fn open_user_tasks() -> Condition {
    let ended = const { USER_TASK.column("completionDate") };
    is(ended, Op::Exists(false))
}

pub fn open_messages() -> Condition {
    let open = const { MESSAGE_SUBSCRIPTION.column("isOpen") };
    is(open, Op::Eq(Value::from(true)))
}

pub fn open_events() -> Condition {
    let open = const { EVENT_WAIT.column("isOpen") };
    is(open, Op::Eq(Value::from(true)))
}

impl Source {
    fn of(&self, field: usize) -> Origin {
        let of = self.fields.get(field).copied();
        // Details are neither filtered nor sorted by.
        of.unwrap_or(Origin::Always(""))
    }

    /// The search for rows of this kind. `None`: none can match.
    fn search(&self, wanted: &Search) -> Option<Search> {
        let mut filter: Conditions = vec![(self.open)()];
        for condition in &wanted.filter {
            let Condition::Field { field, op } = condition else {
                continue;
            };
            match self.of(*field) {
                Origin::Column(column) => filter.push(is(column, op.clone())),
                Origin::Always(value) if op.holds_for(&Value::text(value)) => {}
                Origin::Always(_) => return None,
            }
        }
        let mut search = Search::all(self.entity, filter, wanted.page.limit);
        let sorts = wanted
            .sort
            .iter()
            .filter_map(|sort| match self.of(sort.field) {
                Origin::Column(field) => Some(Sort { field, ..*sort }),
                Origin::Always(_) => None,
            });
        search.sort = sorts.collect();
        search.page = wanted.page.clone();
        // Fields that are hidden elsewhere are shown here.
        search.details = true;
        Some(search)
    }

    /// Converts a row to one of [`WAIT_STATE`].
    fn wait(&self, row: &Row) -> Row {
        let fields = self.fields.iter().map(|from| match from {
            Origin::Column(column) => row.get(*column).cloned().unwrap_or_default(),
            Origin::Always(value) => Value::text(value),
        });
        let mut wait: Row = fields.collect();
        let of_type = wait.get(const { WAIT_STATE.column("waitStateType") });
        let of_type = of_type.and_then(Value::as_text).unwrap_or_default();
        let details = details(self.entity, of_type, row).to_string();
        wait.push(Value::text(&details));
        wait
    }
}

/// The fields of a wait of this type: fields of other answers, under other names.
fn details(entity: &Entity, of_type: &str, row: &Row) -> Json {
    let fields: &[(&str, &str)] = match of_type {
        "JOB" => &[
            ("jobKey", "jobKey"),
            ("type", "jobType"),
            ("kind", "jobKind"),
            ("listenerEventType", "listenerEventType"),
            ("retries", "retries"),
        ],
        "USER_TASK" => &[("userTaskKey", "taskKey"), ("dueDate", "dueDate")],
        "MESSAGE" => &[
            ("messageName", "messageName"),
            ("correlationKey", "correlationKey"),
        ],
        "TIMER" => &[("repetitions", "repetitions")],
        "SIGNAL" => &[("signalName", "signalName")],
        _ => &[("condition", "expression"), ("conditionEvents", "events")],
    };
    let mut all = members(entity, row);
    let mut details = Map::new();
    details.insert("waitStateType".to_string(), json!(of_type));
    for (name, shown) in fields {
        let value = all.remove(*name).unwrap_or_default();
        details.insert((*shown).to_string(), value);
    }
    if of_type == "TIMER" {
        // Here it is a number.
        let due = row.get(const { EVENT_WAIT.column("dueDate") });
        let due = due.and_then(Value::as_int);
        details.insert("dueDate".to_string(), json!(due));
    }
    Json::Object(details)
}

/// A wait belongs to its process instance: a caller who may read the instance sees all its waits, and nobody else sees any.
/// Narrows a search to it; `false`: nothing is left.
pub(super) fn is_readable(search: &mut Search, grants: Option<&Grants>) -> Result<bool, Problem> {
    let Some(grants) = grants else {
        return Ok(true);
    };
    let narrowed = access::narrow_to_instances(search, grants);
    let narrowed = narrowed.map_err(|error| invalid(error.to_string()))?;
    Ok(!matches!(narrowed, Narrowed::Nothing))
}

impl Ask<'_> {
    pub(super) async fn wait_states(&mut self, wanted: &Search) -> Result<String, Problem> {
        let part = merge::for_partition(wanted);
        let grants = self.sight.grants.take();
        let mut parts = Vec::with_capacity(SOURCES.len());
        for source in &SOURCES {
            let Some(mut search) = source.search(&part) else {
                continue;
            };
            if !is_readable(&mut search, grants.as_deref())? {
                continue;
            }
            let found = self.counted(search).await?;
            parts.push(ResultPage {
                rows: found.rows.iter().map(|row| source.wait(row)).collect(),
                ..found
            });
        }
        Ok(answer::page(wanted, &merge::join(wanted, parts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_no_row_can_be_of_is_not_searched() {
        let searched = |filter: &str| {
            let body = format!(r#"{{"filter": {filter}}}"#);
            let wanted = skep_query::search(&WAIT_STATE, &body).expect("a search");
            let sources = SOURCES.iter().filter_map(|source| source.search(&wanted));
            sources
                .map(|search| search.entity.title)
                .collect::<Vec<_>>()
        };
        let all = ["Job", "User Task", "Message Subscription", "Event"];
        assert_eq!(searched("{}"), all);
        assert_eq!(searched(r#"{"waitStateType": "JOB"}"#), ["Job", "Event"]);
        assert_eq!(
            searched(r#"{"waitStateType": {"$in": ["user_task", "TIMER"]}}"#),
            ["User Task", "Event"]
        );
        assert_eq!(
            searched(r#"{"elementType": {"$neq": "USER_TASK"}}"#).len(),
            3
        );
        assert_eq!(searched(r#"{"elementType": {"$like": "USER*"}}"#), all);
    }

    #[test]
    fn filters_and_sorts_are_those_of_the_rows() {
        let body =
            r#"{"filter": {"elementId": "a"}, "sort": [{"field": "elementId", "order": "DESC"}]}"#;
        let wanted = skep_query::search(&WAIT_STATE, body).expect("a search");
        for source in &SOURCES {
            let search = source.search(&wanted).expect("it is searched");
            let element = source.entity.index_of("elementId").expect("a field");
            assert_eq!(search.filter[1], is(element, Op::Eq(Value::text("a"))));
            assert_eq!(search.sort[0].field, element);
        }
    }
}
