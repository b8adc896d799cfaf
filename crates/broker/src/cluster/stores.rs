//! Copies of secondary storage on their way between nodes.
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

/// Bytes of a part.
const PART_BYTES: u64 = 256 << 10;
/// Parts that are asked for and did not arrive yet.
const WINDOW: u64 = 8;

/// What a node answers to one that wants a copy.
#[derive(Debug, Serialize, Deserialize)]
pub enum CopyAnswer {
    Part {
        offset: u64,
        /// Of the whole copy.
        total: u64,
        bytes: Bytes,
        crc: u32,
    },
    Refused(String),
}

/// What is under way, by the number of the transfer.
#[derive(Default)]
pub(super) struct Copies {
    incoming: Mutex<HashMap<u64, (u32, Sender<CopyAnswer>)>>,
    /// By the node that wants it. The parts that are to be sent.
    served: Mutex<HashMap<(u32, u64), Sender<u64>>>,
}

impl Cluster {
    /// The node stops and waits for no copies.
    pub(super) fn forget_incoming(&self) {
        self.exchanges.copies.incoming.lock().clear();
    }

    pub(super) fn copy_answer(&self, from: u32, transfer: u64, answer: CopyAnswer) {
        let incoming = self.exchanges.copies.incoming.lock();
        if let Some((node, parts)) = incoming.get(&transfer)
            && *node == from
        {
            // No more than the window was asked for.
            let _ = parts.try_send(answer);
        }
    }

    /// The connection with the node is lost: it is not waited for.
    pub(super) fn lose_copies(&self, node: u32) {
        let mut incoming = self.exchanges.copies.incoming.lock();
        incoming.retain(|_, (of, _)| *of != node);
    }
}
