//! Commands of batch operations, and of what they do to the history.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::value::{BatchOperationItem, BatchOperationType, BatchPlan, HistoryDeletionValue};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum BatchCommand {
    Create(Box<CreateBatchOperation>),
    Cancel {
        batch_operation_key: Key,
    },
    Suspend {
        batch_operation_key: Key,
    },
    Resume {
        batch_operation_key: Key,
    },
    /// What secondary storage has found for an operation; of the partition's own, and not of a client.
    Add(AddBatchItems),
    /// Secondary storage could not be asked; likewise.
    Fail {
        batch_operation_key: Key,
        message: Arc<str>,
    },
    /// What can be searched of it goes. That it was there and has ended is for the gateway to see.
    DeleteHistory(HistoryDeletionValue),
}

/// Does something to all that a filter chooses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreateBatchOperation {
    pub kind: BatchOperationType,
    /// Text of a JSON object: that of a search.
    pub filter: Arc<str>,
    pub plan: BatchPlan,
    /// What leaves the history once all items are done.
    pub follow_up: Option<HistoryDeletionValue>,
}

/// The next items of a batch operation, in the order of their keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AddBatchItems {
    pub batch_operation_key: Key,
    pub items: Vec<BatchOperationItem>,
    /// They were looked for behind this one: items that come twice count once.
    pub after: Key,
    /// There are no more.
    pub last: bool,
}

impl BatchCommand {
    /// What the command is about; none for what is to be created.
    pub fn key(&self) -> Key {
        match self {
            BatchCommand::Create(_) => Key::NONE,
            BatchCommand::Cancel {
                batch_operation_key: key,
            }
            | BatchCommand::Suspend {
                batch_operation_key: key,
            }
            | BatchCommand::Resume {
                batch_operation_key: key,
            }
            | BatchCommand::Add(AddBatchItems {
                batch_operation_key: key,
                ..
            })
            | BatchCommand::Fail {
                batch_operation_key: key,
                ..
            }
            | BatchCommand::DeleteHistory(HistoryDeletionValue {
                resource_key: key, ..
            }) => *key,
        }
    }

    /// About how many bytes the command takes beside itself.
    pub fn weight(&self) -> usize {
        match self {
            BatchCommand::Create(create) => create.filter.len() + create.plan.weight(),
            BatchCommand::Add(add) => add.items.len() * size_of::<BatchOperationItem>(),
            BatchCommand::Fail { message, .. } => message.len(),
            _ => 0,
        }
    }
}
