//! HISTORY_DELETION DELETE: deletes the history of something that has ended.
//!
//! The engine has no history: exporters delete the rows that the event names.

use skep_protocol::intent::HistoryDeletionIntent;
use skep_protocol::value::{HistoryDeletionType, HistoryDeletionValue};
use skep_protocol::{RejectionType, Response};

use crate::processing::{Context, Outcome, reject};

pub(crate) fn delete(cx: &mut Context<'_>, value: &HistoryDeletionValue) -> Outcome {
    let key = value.resource_key;
    if value.kind == HistoryDeletionType::ProcessInstance && cx.state.elements.get(key).is_some() {
        return Err(reject(
            RejectionType::InvalidState,
            "DELETE",
            format!(
                "Expected to delete the process instance with key '{key}' from the history, but it has not ended. Wait for its \
                 end, or cancel it first"
            ),
        ));
    }
    deleted(cx, value);
    Ok(Some(Response::Empty))
}

pub(crate) fn deleted(cx: &mut Context<'_>, value: &HistoryDeletionValue) {
    let key = cx.next_key();
    cx.event(key, HistoryDeletionIntent::Deleted, value);
}

/// Deletes the owner of the items once an operation has deleted them all. A definition with running instances is deleted
/// after the last of them.
pub(crate) fn follow(cx: &mut Context<'_>, value: &HistoryDeletionValue) {
    if !cx.state.processes.is_draining(value.resource_key) {
        deleted(cx, value);
    }
}
