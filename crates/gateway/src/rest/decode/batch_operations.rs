//! Batch operations: creating them from a filter, suspending, resuming and cancelling them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use skep_protocol::command::{BatchCommand, Command, CreateBatchOperation, one_instance};
use skep_protocol::value::{
    BatchOperationType, BatchPlan, HistoryDeletionType, HistoryDeletionValue,
};
use skep_protocol::{Failure, Key};
use skep_query::Entity;
use skep_query::entities::{DECISION_INSTANCE, PROCESS_INSTANCE};
use skep_query::selection;

use super::fields::{KeyText, Object, Text, present, said};
use super::{Decoded, optional, referenced, required};
use crate::call::FrontEnd;
use crate::check::{self, invalid};

/// Elements that one operation may name.
const MAX_MOVES: usize = 1_000;

pub fn cancel(key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    lifecycle(
        BatchCommand::Cancel {
            batch_operation_key: key,
        },
        text,
        front,
    )
}

pub fn suspend(key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    lifecycle(
        BatchCommand::Suspend {
            batch_operation_key: key,
        },
        text,
        front,
    )
}

pub fn resume(key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    lifecycle(
        BatchCommand::Resume {
            batch_operation_key: key,
        },
        text,
        front,
    )
}

fn lifecycle(command: BatchCommand, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let Nothing {} = optional(text)?;
    Ok(referenced(Command::Batch(command), None, front))
}

pub fn delete_process_instance(
    resource_key: Key,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let body: Reference = optional(text)?;
    let deletion = BatchCommand::DeleteHistory(HistoryDeletionValue {
        resource_key,
        kind: HistoryDeletionType::ProcessInstance,
    });
    of_instance(resource_key, deletion, &body, front)
}

pub fn delete_decision_instance(
    resource_key: Key,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let body: Reference = optional(text)?;
    let deletion = BatchCommand::DeleteHistory(HistoryDeletionValue {
        resource_key,
        kind: HistoryDeletionType::DecisionInstance,
    });
    let by = "decisionEvaluationKey";
    about(
        (&DECISION_INSTANCE, by, resource_key),
        deletion,
        &body,
        front,
    )
}

/// The body of an operation that takes none.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Reference {
    operation_reference: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Filtered {
    filter: Option<Map<String, Value>>,
    operation_reference: Option<i64>,
}

pub fn filtered(
    kind: BatchOperationType,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let body: Filtered = required(text)?;
    let reference = Reference {
        operation_reference: body.operation_reference,
    };
    creation(kind, body.filter, BatchPlan::None, &reference, front)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Modification<'a> {
    filter: Option<Map<String, Value>>,
    #[serde(borrow)]
    move_instructions: Option<Vec<Object<Pair<'a>>>>,
    operation_reference: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Pair<'a> {
    #[serde(borrow)]
    source_element_id: Option<Text<'a>>,
    #[serde(borrow)]
    target_element_id: Option<Text<'a>>,
}

pub fn modification(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Modification = required(text)?;
    let what = "Name the source and the target element of each move.";
    let moves = present(body.move_instructions, "moveInstructions", what)?;
    has_room("moveInstructions", &moves)?;
    let plan = BatchPlan::Modify {
        moves: pairs("moveInstructions", moves)?,
    };
    let reference = Reference {
        operation_reference: body.operation_reference,
    };
    let kind = BatchOperationType::ModifyProcessInstance;
    creation(kind, body.filter, plan, &reference, front)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Migration<'a> {
    filter: Option<Map<String, Value>>,
    #[serde(borrow)]
    migration_plan: Option<Object<Plan<'a>>>,
    operation_reference: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Plan<'a> {
    target_process_definition_key: Option<KeyText>,
    #[serde(borrow)]
    mapping_instructions: Option<Vec<Object<Pair<'a>>>>,
}

pub fn migration(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Migration = required(text)?;
    let what = "Name the target process definition and the mapping of each element.";
    let Object(plan) = present(body.migration_plan, "migrationPlan", what)?;
    let target = "migrationPlan.targetProcessDefinitionKey";
    let KeyText(target) = present(plan.target_process_definition_key, target, what)?;
    let list = "migrationPlan.mappingInstructions";
    let mapping = present(plan.mapping_instructions, list, what)?;
    has_room(list, &mapping)?;
    let plan = BatchPlan::Migrate {
        target_process_definition_key: target,
        mapping: pairs(list, mapping)?,
    };
    let reference = Reference {
        operation_reference: body.operation_reference,
    };
    let kind = BatchOperationType::MigrateProcessInstance;
    creation(kind, body.filter, plan, &reference, front)
}

fn has_room<T>(list: &str, entries: &[T]) -> Result<(), Failure> {
    match entries.len() {
        0..=MAX_MOVES => Ok(()),
        count => invalid(format!(
            "The field '{list}' has {count} entries, more than {MAX_MOVES}. Leave some out."
        )),
    }
}

/// Ids of source and target elements.
type Pairs = Vec<(Arc<str>, Arc<str>)>;

fn pairs(list: &str, given: Vec<Object<Pair<'_>>>) -> Result<Pairs, Failure> {
    let pair = |(place, Object(pair)): (usize, Object<Pair<'_>>)| {
        let id = |text, field: &str| {
            let field = format!("{list}[{place}].{field}");
            said(text, &field, "Name the element.").map(|id| Arc::from(&*id))
        };
        Ok((
            id(pair.source_element_id, "sourceElementId")?,
            id(pair.target_element_id, "targetElementId")?,
        ))
    };
    given.into_iter().enumerate().map(pair).collect()
}

fn creation(
    kind: BatchOperationType,
    filter: Option<Map<String, Value>>,
    plan: BatchPlan,
    reference: &Reference,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let Some(filter) = filter else {
        return invalid("The field 'filter' is missing. Choose the items as in a search for them.");
    };
    let mut filter = Value::Object(filter).to_string();
    // The short spelling is that of the operation for one instance, which needs other permissions.
    if let Some(key) = one_instance(kind, &filter) {
        filter = format!(r#"{{"processInstanceKey":{{"$eq":"{key}"}}}}"#);
    }
    // Errors in the filter are reported now, and not when its items are looked up.
    selection::check(kind, &filter).or_else(|error| invalid(error.to_string()))?;
    let command = CreateBatchOperation {
        kind,
        filter: filter.into(),
        plan,
        follow_up: None,
    };
    let command = Command::Batch(BatchCommand::Create(Box::new(command)));
    let reference = check::operation_reference(reference.operation_reference)?;
    Ok(referenced(command, reference, front))
}

/// The incidents of one instance, by a batch operation too.
pub fn incidents_of(instance: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let Nothing {} = optional(text)?;
    let command = BatchCommand::Create(Box::new(CreateBatchOperation::incidents_of(instance)));
    of_instance(instance, command, &Reference::default(), front)
}

/// A command about a process instance that can be searched, running or not.
fn of_instance(
    key: Key,
    command: BatchCommand,
    body: &Reference,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    about(
        (&PROCESS_INSTANCE, "processInstanceKey", key),
        command,
        body,
        front,
    )
}

/// A command about the entity that has this key in a field of this name.
fn about(
    (entity, by, key): (&'static Entity, &'static str, Key),
    command: BatchCommand,
    body: &Reference,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let reference = check::operation_reference(body.operation_reference)?;
    Ok(Decoded::Of {
        entity,
        by,
        key,
        command: Box::new(referenced(Command::Batch(command), reference, front)),
    })
}
