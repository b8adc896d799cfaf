//! Selects the items of a batch operation: a search on one partition, page by page in key order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use skep_protocol::Key;
use skep_protocol::value::{BatchOperationItem, BatchOperationType};

use crate::entities::{DECISION_INSTANCE, INCIDENT, PROCESS_INSTANCE};
use crate::entity::Entity;
use crate::parse::{BadRequest, search};
use crate::search::{Condition, Conditions, Op, Related, Search, Sort};
use crate::storage::Row;
use crate::value::Value;

/// Checks the filter of an operation requested by a client.
///
/// # Errors
/// The filter is invalid, as with a search. Or it excludes nothing: a mistake must not affect everything.
pub fn check(kind: BatchOperationType, filter: &str) -> Result<(), BadRequest> {
    let chosen = chosen(kind, filter)?;
    if !chosen.means_everything() {
        return Ok(());
    }
    let all = match kind {
        BatchOperationType::DeleteDecisionInstance => {
            r#"{"state": {"$in": ["EVALUATED", "FAILED"]}}"#
        }
        BatchOperationType::DeleteProcessInstance => {
            r#"{"state": {"$in": ["COMPLETED", "TERMINATED"]}}"#
        }
        _ => r#"{"state": "ACTIVE"}"#,
    };
    Err(BadRequest(format!(
        "The field 'filter' has no condition that leaves anything out: every {} would be meant. Give it one, such as a key or an \
         id with a value; what the operation itself decides is none. If all are meant, say so: {all}.",
        chosen.entity.title
    )))
}

/// The search of a filter, without conditions that the operation overrides.
fn chosen(kind: BatchOperationType, filter: &str) -> Result<Search, BadRequest> {
    let entity = match kind {
        BatchOperationType::DeleteDecisionInstance => &DECISION_INSTANCE,
        _ => &PROCESS_INSTANCE,
    };
    let mut found = search(entity, &format!(r#"{{"filter":{filter}}}"#))?;
    override_by(&decided(kind), &mut found);
    Ok(found)
}

/// The items of this partition with keys between the two, in ascending order.
///
/// # Errors
/// The filter is invalid, as with a search.
pub fn items(
    kind: BatchOperationType,
    filter: &str,
    (after, before): (Key, Key),
    limit: u32,
) -> Result<Search, BadRequest> {
    let mut found = chosen(kind, filter)?;
    for (name, op) in decided(kind) {
        found.filter.extend(field(found.entity, name, op));
    }
    if kind == BatchOperationType::ResolveIncident {
        found = incidents_of(found);
    }
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

/// The entity to search, and its field with the keys of items. An evaluation has one row per evaluated decision.
fn key_of(kind: BatchOperationType) -> (&'static Entity, &'static str) {
    match kind {
        BatchOperationType::ResolveIncident => (&INCIDENT, "incidentKey"),
        BatchOperationType::DeleteDecisionInstance => (&DECISION_INSTANCE, "decisionEvaluationKey"),
        _ => (&PROCESS_INSTANCE, "processInstanceKey"),
    }
}

/// Whether a row names the resource of its item. An evaluation belongs to the requested decision, whatever other decisions it
/// evaluated.
pub fn names_its_resource(kind: BatchOperationType, row: &Row) -> bool {
    const OWN: usize = DECISION_INSTANCE.column("decisionDefinitionKey");
    const ASKED: usize = DECISION_INSTANCE.column("rootDecisionDefinitionKey");
    match kind {
        BatchOperationType::DeleteDecisionInstance => {
            row.get(OWN).is_some_and(|own| row.get(ASKED) == Some(own))
        }
        BatchOperationType::CancelProcessInstance
        | BatchOperationType::ResolveIncident
        | BatchOperationType::DeleteProcessInstance
        | BatchOperationType::ModifyProcessInstance
        | BatchOperationType::MigrateProcessInstance => true,
    }
}

/// The items of these rows, which are sorted by key. No item is repeated.
pub fn items_of(kind: BatchOperationType, rows: &[Row]) -> Vec<BatchOperationItem> {
    let mut items: Vec<_> = rows.iter().filter_map(|row| item(kind, row)).collect();
    items.dedup_by_key(|item| item.item_key);
    items
}

/// The id of the resource of each of these items, by which deleting it is permitted. It is empty where no row of the page names it, which
/// only a permission on all resources covers. `any_row`: then it is that of any of its rows.
pub fn resources_of(
    kind: BatchOperationType,
    rows: &[Row],
    items: &[BatchOperationItem],
    any_row: bool,
) -> Vec<Arc<str>> {
    const PROCESS: usize = PROCESS_INSTANCE.column("processDefinitionId");
    const DECISION: usize = DECISION_INSTANCE.column("decisionDefinitionId");
    let column = match kind {
        BatchOperationType::DeleteDecisionInstance => DECISION,
        _ => PROCESS,
    };
    let mut known: HashMap<Key, &str> = HashMap::new();
    let mut texts: HashSet<Arc<str>> = HashSet::new();
    for row in rows {
        let id = row.get(column).and_then(Value::as_text);
        let (Some(item), Some(id)) = (item(kind, row), id) else {
            continue;
        };
        if names_its_resource(kind, row) {
            known.insert(item.item_key, id);
        } else if any_row {
            known.entry(item.item_key).or_insert(id);
        }
    }
    let ids = items.iter().map(|item| {
        let id = known.get(&item.item_key).copied().unwrap_or_default();
        match texts.get(id) {
            Some(text) => text.clone(),
            None => {
                let text: Arc<str> = id.into();
                texts.insert(text.clone());
                text
            }
        }
    });
    ids.collect()
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

/// Conditions that follow from the operation, whatever the filter says.
fn decided(kind: BatchOperationType) -> Vec<(&'static str, Op)> {
    let state = |state: &str| Value::text(state);
    match kind {
        BatchOperationType::DeleteDecisionInstance => Vec::new(),
        BatchOperationType::DeleteProcessInstance => {
            let ended = vec![state("COMPLETED"), state("TERMINATED")];
            vec![("state", Op::In(ended))]
        }
        BatchOperationType::CancelProcessInstance => vec![
            ("state", Op::Eq(state("ACTIVE"))),
            // Called instances end with their callers.
            ("parentProcessInstanceKey", Op::Exists(false)),
        ],
        _ => vec![("state", Op::Eq(state("ACTIVE")))],
    }
}

/// Whether a condition of the filter is compatible with one of the operation. Compatible conditions are kept, others are
/// overridden.
fn agrees(said: &Op, decided: &Op) -> bool {
    match decided {
        Op::Eq(value) => said.holds_for(value),
        Op::In(values) => values.iter().any(|value| said.holds_for(value)),
        decided => said == decided,
    }
}

/// Removes overridden conditions from a search.
fn override_by(decided: &[(&'static str, Op)], search: &mut Search) {
    let entity = search.entity;
    let stays = |condition: &Condition| match condition {
        Condition::Field { field, op } => {
            let name = entity.field(*field).name;
            let mut decided = decided.iter().filter(|(decided, _)| *decided == name);
            decided.all(|(_, decided)| agrees(op, decided))
        }
        _ => true,
    };
    search.filter.retain(stays);
    for alternative in &mut search.any_of {
        alternative.retain(stays);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(entity: &Entity, fields: &[(&str, Value)]) -> Row {
        let mut row: Row = vec![Value::Null; entity.fields.len()];
        for (name, value) in fields {
            let column = entity.index_of(name).unwrap();
            row[column] = value.clone();
        }
        row
    }

    #[test]
    fn an_item_has_the_resource_that_permits_its_deletion() {
        let instance = |key: i64, process: &str| {
            row(
                &PROCESS_INSTANCE,
                &[
                    ("processInstanceKey", Value::Int(key)),
                    ("processDefinitionId", Value::text(process)),
                ],
            )
        };
        let kind = BatchOperationType::DeleteProcessInstance;
        let rows = [
            instance(1, "order"),
            instance(2, "refund"),
            instance(3, "order"),
        ];
        let items = items_of(kind, &rows);
        let ids = resources_of(kind, &rows, &items, false);
        assert_eq!(ids, ["order", "refund", "order"].map(Arc::from));
        assert!(Arc::ptr_eq(&ids[0], &ids[2]), "a text is kept once");
    }

    /// The first decision that an evaluation evaluates is one that the requested decision requires.
    #[test]
    fn an_evaluation_has_the_requested_decision_as_its_resource() {
        let decision = |evaluation: i64, own: i64, asked: i64, id: &str| {
            row(
                &DECISION_INSTANCE,
                &[
                    ("decisionEvaluationKey", Value::Int(evaluation)),
                    ("decisionDefinitionKey", Value::Int(own)),
                    ("rootDecisionDefinitionKey", Value::Int(asked)),
                    ("decisionDefinitionId", Value::text(id)),
                ],
            )
        };
        let kind = BatchOperationType::DeleteDecisionInstance;
        let rows = [
            decision(1, 10, 20, "required"),
            decision(1, 20, 20, "asked"),
            decision(2, 10, 20, "required"),
        ];
        let items = items_of(kind, &rows);
        let ids = resources_of(kind, &rows, &items, false);
        // That of the second evaluation is on the next page.
        assert_eq!(ids, ["asked", ""].map(Arc::from));
        let ids = resources_of(kind, &rows, &items, true);
        assert_eq!(ids, ["asked", "required"].map(Arc::from));
    }
}
