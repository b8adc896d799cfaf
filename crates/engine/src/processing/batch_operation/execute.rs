//! BATCH_OPERATION_EXECUTION: carries out items, as many at a time as fit into a turn.

use std::sync::Arc;

use skep_protocol::command::{
    BatchCommand, Command, HistoryOf, MigrateProcessInstance, ModifyProcessInstance, UpdateJobKind,
};
use skep_protocol::intent::{
    BatchOperationChunkIntent, BatchOperationExecutionIntent as Intent, BatchOperationItemIntent,
};
use skep_protocol::value::{
    BatchOperationChunkValue, BatchOperationCreationValue, BatchOperationExecutionValue,
    BatchOperationItem, BatchOperationItemValue, BatchOperationType, BatchPlan,
    HistoryDeletionType, HistoryDeletionValue, ItemResources, MappingInstruction, MoveAncestor,
    MoveInstruction,
};
use skep_protocol::{Key, ValueType};

use super::{origin_of, parts};
use crate::dispatch::carry_out;
use crate::processing::bpmn::step;
use crate::processing::{Context, Outcome};
use crate::state::{BatchChunk, BatchPhase};

/// Amount of deferred work of earlier commands at which no further item begins: each large instance would add to it.
pub(crate) const MAX_PUT_OFF: usize = 16;

/// Runs one turn of an operation that has something to do.
pub(crate) fn run(cx: &mut Context<'_>, key: Key) {
    let Some(row) = cx.state.batch_operations.table.get(key) else {
        return;
    };
    let (phase, value) = (row.phase, row.value.clone());
    cx.origin = origin_of(key, &value);
    let (value_type, intent) = (ValueType::BatchOperationExecution, Intent::Execute as u8);
    cx.out.command(key, value_type, intent, &cx.origin);
    match phase {
        BatchPhase::Executing => while !cx.is_spent() && next_item(cx, key, &value) {},
        BatchPhase::Failed | BatchPhase::Ended => {
            while !cx.is_spent() && put_away(cx, key, value.kind) {}
        }
        BatchPhase::Choosing | BatchPhase::Done => {}
    }
}

/// Carries out the next item. False when the turn ends for the operation.
fn next_item(cx: &mut Context<'_>, key: Key, value: &BatchOperationCreationValue) -> bool {
    let Some(chunk_key) = cx.state.batch_operations.first_chunk(key) else {
        executed(cx, key, Key::NONE, Vec::new());
        parts::report(cx, key);
        return false;
    };
    let Some(chunk) = cx.state.batch_operations.chunks.get(chunk_key) else {
        return false;
    };
    let place = chunk.done;
    let Some(item) = chunk.items.get(place as usize).copied() else {
        cx.broken(format_args!(
            "chunk {chunk_key} of batch operation {key} has no item left"
        ));
        return false;
    };
    let resource = chunk.resources.at(place).cloned();
    announce(cx, key, chunk_key);
    cx.budget.take_step();
    let outcome = one(cx, value, &item, resource);
    item_ends(cx, key, (chunk_key, place), &item, &outcome);
    step::run(cx);
    if cx.state.batch_operations.first_chunk(key) != Some(chunk_key) {
        parts::report(cx, key);
    }
    true
}

/// Announces once that all items of a chunk are being carried out.
fn announce(cx: &mut Context<'_>, key: Key, chunk_key: Key) {
    let row = cx.state.batch_operations.table.get(key);
    if row.is_none_or(|row| row.announced == chunk_key) {
        return;
    }
    let chunk = cx.state.batch_operations.chunks.get(chunk_key);
    let keys = |chunk: &BatchChunk| chunk.items.iter().map(|item| item.item_key).collect();
    let item_keys: Vec<Key> = chunk.map(keys).unwrap_or_default();
    let value = BatchOperationExecutionValue {
        batch_operation_key: key,
        chunk_key,
        item_keys: item_keys.clone(),
    };
    cx.event(key, Intent::Executing, &value);
    executed(cx, key, chunk_key, item_keys);
}

fn executed(cx: &mut Context<'_>, key: Key, chunk_key: Key, item_keys: Vec<Key>) {
    let value = BatchOperationExecutionValue {
        batch_operation_key: key,
        chunk_key,
        item_keys,
    };
    cx.event(key, Intent::Executed, &value);
}

/// Carries out an item. An instance whose history is deleted is not in the state: its resource is passed in, to check the creator's right.
fn one(
    cx: &mut Context<'_>,
    value: &BatchOperationCreationValue,
    item: &BatchOperationItem,
    resource: Option<Arc<str>>,
) -> Outcome {
    let key = item.item_key;
    let history = |kind| {
        let deletion = HistoryDeletionValue {
            resource_key: key,
            kind,
        };
        Command::Batch(match resource {
            Some(id) => BatchCommand::DeleteHistoryOf(HistoryOf {
                deletion,
                resources: vec![id],
                tenant: None,
            }),
            None => BatchCommand::DeleteHistory(deletion),
        })
    };
    let command = match value.kind {
        BatchOperationType::CancelProcessInstance => Command::CancelProcessInstance {
            process_instance_key: key,
        },
        BatchOperationType::ResolveIncident => return resolve(cx, key),
        BatchOperationType::DeleteProcessInstance => history(HistoryDeletionType::ProcessInstance),
        BatchOperationType::DeleteDecisionInstance => {
            history(HistoryDeletionType::DecisionInstance)
        }
        BatchOperationType::ModifyProcessInstance => {
            Command::ModifyProcessInstance(modification(key, &value.plan))
        }
        BatchOperationType::MigrateProcessInstance => {
            Command::MigrateProcessInstance(migration(key, &value.plan))
        }
    };
    carry_out(cx, &command)
}

/// The modification of one item. Tokens move within the scope that both elements share.
fn modification(process_instance_key: Key, plan: &BatchPlan) -> ModifyProcessInstance {
    let moves: &[_] = match plan {
        BatchPlan::Modify { moves } => moves,
        BatchPlan::None | BatchPlan::Migrate { .. } => &[],
    };
    let instruction = |(source, target): &(Arc<str>, Arc<str>)| MoveInstruction {
        source_element_id: source.clone(),
        target_element_id: target.clone(),
        ancestor: MoveAncestor::Inferred,
        ..MoveInstruction::default()
    };
    ModifyProcessInstance {
        process_instance_key,
        move_instructions: moves.iter().map(instruction).collect(),
        ..ModifyProcessInstance::default()
    }
}

fn migration(process_instance_key: Key, plan: &BatchPlan) -> MigrateProcessInstance {
    let (target, mapping): (Key, &[_]) = match plan {
        BatchPlan::Migrate {
            target_process_definition_key,
            mapping,
        } => (*target_process_definition_key, mapping),
        BatchPlan::None | BatchPlan::Modify { .. } => (Key::NONE, &[]),
    };
    let instruction = |(source, target): &(Arc<str>, Arc<str>)| MappingInstruction {
        source_element_id: source.clone(),
        target_element_id: target.clone(),
    };
    MigrateProcessInstance {
        process_instance_key,
        target_process_definition_key: target,
        mapping_instructions: mapping.iter().map(instruction).collect(),
    }
}

/// Resolves an incident. A job without retries gets one, because its incident waits for that.
fn resolve(cx: &mut Context<'_>, incident_key: Key) -> Outcome {
    let incident = cx.state.incidents.get(incident_key);
    let job_key = incident.and_then(|incident| incident.job_key.some());
    if let Some(job_key) = job_key
        && cx
            .state
            .jobs
            .get(job_key)
            .is_some_and(|job| job.retries <= 0)
    {
        let retry = Command::UpdateJob {
            job_key,
            retries: Some(1),
            timeout: None,
            kind: UpdateJobKind::Retries,
        };
        carry_out(cx, &retry)?;
    }
    carry_out(cx, &Command::ResolveIncident { incident_key })
}

fn item_ends(
    cx: &mut Context<'_>,
    key: Key,
    (chunk_key, place): (Key, u32),
    item: &BatchOperationItem,
    outcome: &Outcome,
) {
    let error_message: Arc<str> = match outcome {
        Ok(_) => Arc::default(),
        Err(rejection) => rejection.to_string().into(),
    };
    let event = match outcome {
        Ok(_) => BatchOperationItemIntent::Executed,
        Err(_) => BatchOperationItemIntent::Failed,
    };
    let value = BatchOperationItemValue {
        batch_operation_key: key,
        chunk_key,
        item_key: item.item_key,
        error_message,
    };
    let item_key = BatchOperationChunkValue::key_of(chunk_key, place);
    cx.event(item_key, event, &value);
}

/// Drops a chunk of an operation that has ended, without carrying out its items. False when there is none.
fn put_away(cx: &mut Context<'_>, key: Key, kind: BatchOperationType) -> bool {
    let Some(chunk_key) = cx.state.batch_operations.first_chunk(key) else {
        return false;
    };
    let Some(chunk) = cx.state.batch_operations.chunks.get(chunk_key) else {
        return false;
    };
    let value = BatchOperationChunkValue {
        batch_operation_key: key,
        kind,
        items: chunk
            .items
            .iter()
            .skip(chunk.done as usize)
            .copied()
            .collect(),
        first: chunk.done,
        chosen_up_to: Key::NONE,
        resources: ItemResources::default(),
    };
    cx.budget.take_step();
    cx.event(chunk_key, BatchOperationChunkIntent::Deleted, &value);
    true
}
