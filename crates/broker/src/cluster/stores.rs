//! Copies of secondary storage in transit between nodes.
//!
//! A replica that got a snapshot lacks the log that the snapshot replaced, so it cannot fill its secondary storage. It asks
//! a replica with complete storage for a copy, part by part. The receiver sets the pace, and the parts travel on the
//! connection for bulk data, where they delay nothing else.

mod fetch;
mod serve;

use std::collections::HashMap;

use bytes::Bytes;
use crossbeam_channel::Sender;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::Cluster;

/// Bytes per part.
const PART_BYTES: u64 = 256 << 10;
/// Maximum number of parts requested and not yet received.
const WINDOW: u64 = 8;

/// The answer to a node that wants a copy.
#[derive(Debug, Serialize, Deserialize)]
pub enum CopyAnswer {
    Part {
        offset: u64,
        /// Size of the whole copy.
        total: u64,
        bytes: Bytes,
        crc: u32,
    },
    Refused(String),
}

/// Transfers in progress, by number.
#[derive(Default)]
pub(super) struct Copies {
    incoming: Mutex<HashMap<u64, (u32, Sender<CopyAnswer>)>>,
    /// The parts still to be sent, by receiving node.
    served: Mutex<HashMap<(u32, u64), Sender<u64>>>,
}

impl Cluster {
    /// The node is stopping and no longer waits for copies.
    pub(super) fn forget_incoming(&self) {
        self.exchanges.copies.incoming.lock().clear();
    }

    pub(super) fn copy_answer(&self, from: u32, transfer: u64, answer: CopyAnswer) {
        let incoming = self.exchanges.copies.incoming.lock();
        if let Some((node, parts)) = incoming.get(&transfer)
            && *node == from
        {
            // No more parts than the window were requested.
            let _ = parts.try_send(answer);
        }
    }

    /// The connection with the node is lost: stops waiting for its copies.
    pub(super) fn lose_copies(&self, node: u32) {
        let mut incoming = self.exchanges.copies.incoming.lock();
        incoming.retain(|_, (of, _)| *of != node);
    }
}
