//! Commands between partitions about slots of correlation keys that move, or have moved.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{MovedRow, RowLocation};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RoutingCommand {
    /// ROUTING ARRIVE: the next rows of a move, to the partition that is to have the slots.
    Arrive(MovedRows),
    /// ROUTING LEAVE: the rows up to this location have been taken. `None`: all of them, and the slots.
    Leave {
        move_key: Key,
        up_to: Option<RowLocation>,
    },
    /// ROUTING DROP, to the own partition: rows of a finished move are dropped in turns.
    Drop { move_key: Key },
    /// ROUTING REPORT, to the first partition: this partition has no slots that another one is to have by this version of the routing.
    Report { partition: u32, version: u64 },
    /// ROUTING END_START: an instance that a message has started has ended, or left its process. To the partition of the correlation key,
    /// which has moved since.
    EndStart(EndedStart),
    /// ROUTING SETTLE_START: the answer.
    SettleStart { process_instance_key: Key },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MovedRows {
    pub move_key: Key,
    /// The partition that has the slots.
    pub from: u32,
    pub slots: Vec<u32>,
    /// The rows are those after this location.
    pub after: RowLocation,
    pub rows: Vec<MovedRow>,
    pub is_last: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndedStart {
    pub process_instance_key: Key,
    pub correlation_key: Arc<str>,
    pub reply_to: u32,
}

impl RoutingCommand {
    /// The key of something that existed when the command was sent. [`Key::NONE`]: it names nothing.
    pub(super) fn made_with(&self) -> Key {
        match self {
            RoutingCommand::Arrive(MovedRows { move_key, .. })
            | RoutingCommand::Leave { move_key, .. }
            | RoutingCommand::Drop { move_key } => *move_key,
            RoutingCommand::EndStart(EndedStart {
                process_instance_key,
                ..
            })
            | RoutingCommand::SettleStart {
                process_instance_key,
            } => *process_instance_key,
            RoutingCommand::Report { .. } => Key::NONE,
        }
    }
}
