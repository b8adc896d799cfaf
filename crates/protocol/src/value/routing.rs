//! ROUTING: slots of correlation keys that move between partitions. Skep's own; never exported.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{MessageSubscriptionValue, MessageValue};
use crate::key::Key;
use crate::tenant::TenantId;

/// An event of a move of slots, whose key is that of the record; or of an instance that a message has started, whose key is that of the
/// record then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoutingValue {
    /// The other partition of the move.
    pub partition: u32,
    pub slots: Vec<u32>,
    /// ARRIVED: the next rows, and the location of the last one. Later rows have greater locations.
    pub rows: Vec<MovedRow>,
    pub up_to: RowLocation,
    /// DROPPED: the rows that the other partition has now.
    pub dropped: Vec<RowLocation>,
}

/// A row of a slot: its kind and key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RowLocation {
    /// Ascending: [`RowLocation::START`], [`RowLocation::MESSAGE`], [`RowLocation::SUBSCRIPTION`].
    pub kind: u8,
    pub key: Key,
}

impl RowLocation {
    /// An instance that a message has started. Its key is that of the instance.
    pub const START: u8 = 1;
    pub const MESSAGE: u8 = 2;
    pub const SUBSCRIPTION: u8 = 3;
}

/// A row that another partition gets as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum MovedRow {
    /// An instance that a message has started: it keeps others of its process from starting.
    Start {
        process_instance_key: Key,
        bpmn_process_id: Arc<str>,
        correlation_key: Arc<str>,
        tenant: TenantId,
    },
    Message {
        key: Key,
        value: MessageValue,
        /// The processes that have taken it.
        correlated: Vec<Arc<str>>,
        /// How often it has moved, with this move: of the messages of a correlation key, those that have moved more often are older.
        moves: u32,
    },
    /// The message side of a subscription, with the message in transit to the instance.
    Subscription {
        key: Key,
        value: MessageSubscriptionValue,
    },
}

impl MovedRow {
    pub fn location(&self) -> RowLocation {
        let (kind, key) = match self {
            MovedRow::Start {
                process_instance_key,
                ..
            } => (RowLocation::START, *process_instance_key),
            MovedRow::Message { key, .. } => (RowLocation::MESSAGE, *key),
            MovedRow::Subscription { key, .. } => (RowLocation::SUBSCRIPTION, *key),
        };
        RowLocation { kind, key }
    }
}
