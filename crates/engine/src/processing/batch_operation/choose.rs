//! BATCH_OPERATION_CHUNK CREATE and BATCH_OPERATION_INITIALIZATION: the items that the broker has found for an operation.

use skep_protocol::command::AddBatchItems;
use skep_protocol::intent::{BatchOperationChunkIntent, BatchOperationIntent as Intent};
use skep_protocol::value::{
    BatchOperationChunkValue, BatchOperationError, BatchOperationErrorType,
    BatchOperationInitializationValue, BatchOperationItem, ItemResources,
};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::{not_found, parts};
use crate::processing::{Context, Outcome, reject};
use crate::state::{BatchOperation, BatchPhase, RESOURCES_SINCE};

/// Items in one chunk: they share one announcement and one row.
const CHUNK: usize = 100;

pub(crate) fn add(cx: &mut Context<'_>, command: &AddBatchItems) -> Outcome {
    let key = command.batch_operation_key;
    let row = choosing(cx, key, "CREATE")?;
    if command.after != row.chosen_up_to {
        // Two searches ran for the same items: only one counts.
        return Err(reject(
            RejectionType::InvalidState,
            "CREATE",
            format!(
                "Expected to add items behind '{}' to batch operation '{key}', but it has those up to '{}' already",
                command.after, row.chosen_up_to
            ),
        ));
    }
    let kind = row.value.kind;
    let asks_for_each = row.value.asks_for_each() && cx.config.identity.authorizations;
    let (ids, items) = (command.resources.len(), command.items.len());
    if ids != items && (asks_for_each || ids > 0) {
        // Without it an item would be deleted by the right to delete anything, and with another item's by the wrong right.
        let why = format!(
            "Each item must have the id of its resource, by which deleting it is permitted, but there are {ids} ids for {items} items"
        );
        return fail(cx, key, &why);
    }
    // Until the last node is upgraded nobody may write them, as an earlier one could not read them.
    let are_known = cx.config.oldest_node.version() >= RESOURCES_SINCE;
    let resources: &[_] = if are_known { &command.resources } else { &[] };
    let mut resources = resources.chunks(CHUNK);
    for items in command.items.chunks(CHUNK) {
        let chunk = BatchOperationChunkValue {
            batch_operation_key: key,
            kind,
            items: items.to_vec(),
            first: 0,
            chosen_up_to: items.last().map_or(command.after, BatchOperationItem::key),
            resources: ItemResources::of(resources.next().unwrap_or_default()),
        };
        let chunk_key = cx.next_key();
        cx.event(chunk_key, BatchOperationChunkIntent::Created, &chunk);
    }
    if command.last {
        let value = BatchOperationInitializationValue {
            batch_operation_key: key,
            error: None,
        };
        cx.event(key, Intent::Initialized, &value);
    }
    parts::report(cx, key);
    Ok(Some(Response::Empty))
}

/// Fails the operation on this partition: nothing is done if the items are not completely known.
pub(crate) fn fail(cx: &mut Context<'_>, key: Key, message: &str) -> Outcome {
    choosing(cx, key, "FAIL")?;
    let value = BatchOperationInitializationValue {
        batch_operation_key: key,
        error: Some(BatchOperationError {
            partition_id: cx.state.partition,
            kind: BatchOperationErrorType::QueryFailed,
            message: message.into(),
        }),
    };
    cx.event(key, Intent::Failed, &value);
    parts::report(cx, key);
    Ok(Some(Response::Empty))
}

fn choosing<'s>(
    cx: &'s mut Context<'_>,
    key: Key,
    intent: &'static str,
) -> Result<&'s BatchOperation, Rejection> {
    let row = cx.state.batch_operations.get(key);
    let row = row.ok_or_else(|| not_found(key, intent, "choose items for"))?;
    match row.phase {
        BatchPhase::Choosing => Ok(row),
        _ => Err(reject(
            RejectionType::InvalidState,
            intent,
            format!(
                "Expected to choose items for batch operation '{key}', but they have been chosen"
            ),
        )),
    }
}
