//! Which things a batch operation is about: a search on one partition, page by page in the order of keys.

use skep_protocol::Key;
use skep_protocol::value::{BatchOperationItem, BatchOperationType};

use crate::entities::{DECISION_INSTANCE, INCIDENT, PROCESS_INSTANCE};
use crate::entity::Entity;
use crate::parse::{BadRequest, search};
use crate::search::{Condition, Conditions, Op, Related, Search, Sort};
use crate::storage::Row;
use crate::value::Value;

/// The items of this partition whose keys lie between the two, the lowest ones first.
///
/// # Errors
/// The filter is none, as with a search.
pub fn items(
    kind: BatchOperationType,
    filter: &str,
    (after, before): (Key, Key),
    limit: u32,
) -> Result<Search, BadRequest> {
    let filter = format!(r#"{{"filter":{filter}}}"#);
    let mut found = match kind {
        BatchOperationType::DeleteDecisionInstance => search(&DECISION_INSTANCE, &filter)?,
        _ => {
            let mut instances = search(&PROCESS_INSTANCE, &filter)?;
            settle(kind, &mut instances);
            match kind {
                BatchOperationType::ResolveIncident => incidents_of(instances),
                _ => instances,
            }
        }
    };
    let (entity, name) = key_of(kind);
    for op in [Op::Gt(Value::Int(after.0)), Op::Lt(Value::Int(before.0))] {
        found.filter.extend(field(entity, name, op));
    }
    let by_key = |field| Sort {
        field,
        descending: false,
    };
    found.sort = entity.index_of(name).map(by_key).into_iter().collect();
    found.page.limit = limit;
    Ok(found)
}

/// What is looked for, and the field with the keys of items. An evaluation has a row for each decision that it went through.
fn key_of(kind: BatchOperationType) -> (&'static Entity, &'static str) {
    match kind {
        BatchOperationType::ResolveIncident => (&INCIDENT, "incidentKey"),
        BatchOperationType::DeleteDecisionInstance => (&DECISION_INSTANCE, "decisionEvaluationKey"),
        _ => (&PROCESS_INSTANCE, "processInstanceKey"),
    }
}

/// The items that rows stand for, which are in the order of their keys: none comes twice.
pub fn items_of(kind: BatchOperationType, rows: &[Row]) -> Vec<BatchOperationItem> {
    let mut items: Vec<_> = rows.iter().filter_map(|row| item(kind, row)).collect();
    items.dedup_by_key(|item| item.item_key);
    items
}

fn item(kind: BatchOperationType, row: &Row) -> Option<BatchOperationItem> {
    let (entity, own) = key_of(kind);
    let key = |name: &str| {
        let value = row.get(entity.index_of(name)?)?;
        value.as_int().map(Key)
    };
    Some(BatchOperationItem {
        item_key: key(own)?,
        process_instance_key: key("processInstanceKey").unwrap_or_default(),
        root_process_instance_key: key("rootProcessInstanceKey").unwrap_or_default(),
    })
}

/// Some things are decided by what is done, whatever the filter says of them.
fn settle(kind: BatchOperationType, search: &mut Search) {
    let mut decide = |name: &str, op: Op| {
        let Some(field) = PROCESS_INSTANCE.index_of(name) else {
            return;
        };
        let other = |condition: &Condition| !matches!(condition, Condition::Field { field: f, .. } if *f == field);
        search.filter.retain(other);
        for alternative in &mut search.any_of {
            alternative.retain(other);
        }
        search.filter.push(Condition::Field { field, op });
    };
    let state = |state: &str| Value::text(state);
    match kind {
        BatchOperationType::DeleteProcessInstance => {
            let ended = vec![state("COMPLETED"), state("TERMINATED")];
            decide("state", Op::In(ended));
        }
        BatchOperationType::CancelProcessInstance => {
            decide("state", Op::Eq(state("ACTIVE")));
            // What was called ends with what called it.
            decide("parentProcessInstanceKey", Op::Exists(false));
        }
        _ => decide("state", Op::Eq(state("ACTIVE"))),
    }
}

/// The open incidents of process instances.
fn incidents_of(instances: Search) -> Search {
    let mut conditions = instances.filter;
    if !instances.any_of.is_empty() {
        conditions.push(Condition::Any(instances.any_of));
    }
    let related = Related {
        entity: &PROCESS_INSTANCE,
        own: "processInstanceKey",
        link: "processInstanceKey",
        conditions,
    };
    let mut filter: Conditions = vec![Condition::Related(Box::new(related))];
    filter.extend(field(&INCIDENT, "state", Op::Eq(Value::text("ACTIVE"))));
    Search::all(&INCIDENT, filter, 0)
}

fn field(entity: &Entity, name: &str, op: Op) -> Option<Condition> {
    let field = entity.index_of(name)?;
    Some(Condition::Field { field, op })
}
