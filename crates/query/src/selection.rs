//! Which things a batch operation is about: a search on one partition, page by page in the order of keys.

use skep_protocol::Key;
use skep_protocol::value::{BatchOperationItem, BatchOperationType};

use crate::entities::{INCIDENT, PROCESS_INSTANCE};
use crate::entity::Entity;
use crate::parse::{BadRequest, search};
use crate::search::{Condition, Conditions, Op, Related, Search};
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
    let mut instances = search(&PROCESS_INSTANCE, &format!(r#"{{"filter":{filter}}}"#))?;
    settle(kind, &mut instances);
    let mut found = match kind {
        BatchOperationType::ResolveIncident => incidents_of(instances),
        _ => instances,
    };
    let key = |op| Condition::Field { field: 0, op };
    found.filter.push(key(Op::Gt(Value::Int(after.0))));
    found.filter.push(key(Op::Lt(Value::Int(before.0))));
    found.page.limit = limit;
    Ok(found)
}

/// The item that a row stands for.
pub fn item(kind: BatchOperationType, row: &Row) -> Option<BatchOperationItem> {
    let entity = match kind {
        BatchOperationType::ResolveIncident => &INCIDENT,
        _ => &PROCESS_INSTANCE,
    };
    let key = |name: &str| {
        let value = row.get(entity.index_of(name)?)?;
        value.as_int().map(Key)
    };
    Some(BatchOperationItem {
        item_key: row.first()?.as_int().map(Key)?,
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
