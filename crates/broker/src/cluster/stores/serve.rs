//! Serves a copy of secondary storage to another node.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam_channel::{Receiver, bounded};
use skep_secondary::Store;

use super::{CopyAnswer, PART_BYTES, WINDOW};
use crate::cluster::Cluster;
use crate::cluster::wire::NodeMessage;
use crate::partition::StoreState;
use crate::partition::secondary::{COPY, Secondary};

/// Maximum number of copies served at a time. Another node asks again later.
const MAX_COPIES: usize = 2;
/// A copy is deleted once no node has asked for it for this long.
const FORGOTTEN: Duration = Duration::from_secs(60);
/// Pause between attempts when the connection is saturated.
const PAUSE: Duration = Duration::from_millis(20);

/// A copy served to another node.
struct Given {
    to: u32,
    transfer: u64,
    partition: u32,
    file: PathBuf,
}

impl Cluster {
    /// Another node wants a part of a copy; the copy is made when it asks for the first part.
    pub(crate) fn copy_wanted(
        self: &Arc<Self>,
        from: u32,
        (transfer, partition): (u64, u32),
        (at_least, offset): (u64, u64),
    ) {
        let mut served = self.exchanges.copies.served.lock();
        if let Some(parts) = served.get(&(from, transfer)) {
            let _ = parts.try_send(offset);
            return;
        }
        let begun = if offset > 0 {
            Err("the copy is not kept any more".to_string())
        } else if served.len() >= MAX_COPIES {
            Err("it is sending copies to other nodes at the moment".to_string())
        } else {
            self.may_copy(partition, at_least)
        };
        let begun = begun.and_then(|(store, directory)| {
            let (sender, parts) = bounded(4 * WINDOW as usize);
            let _ = sender.try_send(offset);
            let given = Given {
                to: from,
                transfer,
                partition,
                file: directory.join(format!("{COPY}{transfer:x}")),
            };
            let cluster = self.clone();
            let thread = std::thread::Builder::new().name("store-copy".to_string());
            thread
                .spawn(move || cluster.give(&given, store, &parts))
                .map_err(|error| error.to_string())?;
            served.insert((from, transfer), sender);
            Ok(())
        });
        drop(served);
        if let Err(reason) = begun {
            self.refuse_copy(from, transfer, reason);
        }
    }

    fn refuse_copy(&self, to: u32, transfer: u64, reason: String) {
        let answer = CopyAnswer::Refused(reason);
        self.send(to, &NodeMessage::Copy { transfer, answer });
    }

    /// The store to copy, and the path of the temporary copy.
    pub(crate) fn may_copy(
        &self,
        partition: u32,
        at_least: u64,
    ) -> Result<(Arc<Store>, PathBuf), String> {
        let local = self.local().ok_or("it has not started yet")?;
        let handle = local.partition(partition).ok_or("it has no replica")?;
        let Secondary::Open(store) = handle.secondary.get() else {
            return Err("it has no secondary storage itself".to_string());
        };
        if store.is_damaged() {
            return Err("its secondary storage is damaged".to_string());
        }
        if store.status().exported_entry() < at_least
            || self.store_state(&handle) != StoreState::Whole
        {
            return Err("its own secondary storage is behind".to_string());
        }
        let free = handle.status.disk_free.load(Ordering::Relaxed);
        let keep = self.config.disk.processing;
        if free != u64::MAX && free.saturating_sub(store.bytes()) < keep {
            return Err(format!(
                "its disk has {} MiB left, too few for a copy of {} MiB",
                free >> 20,
                store.bytes() >> 20
            ));
        }
        let directory = self.config.directory.join("partitions");
        Ok((store, directory.join(partition.to_string())))
    }

    fn give(&self, given: &Given, store: Arc<Store>, parts: &Receiver<u64>) {
        let copied = store.copy(&given.file);
        drop(store);
        let outcome = match copied {
            Ok(()) => self.send_parts(given, parts).map_err(|e| e.to_string()),
            Err(error) => Err(format!("the copy cannot be made: {error}")),
        };
        self.exchanges
            .copies
            .served
            .lock()
            .remove(&(given.to, given.transfer));
        let _ = std::fs::remove_file(&given.file);
        if let Err(reason) = outcome {
            let (partition, to) = (given.partition, given.to);
            tracing::warn!(code = "SECONDARY_STORAGE", partition, to, %reason, "a copy of secondary storage cannot be given to another node");
            self.refuse_copy(given.to, given.transfer, reason);
        }
    }

    fn send_parts(&self, given: &Given, parts: &Receiver<u64>) -> std::io::Result<()> {
        let file = File::open(&given.file)?;
        let total = file.metadata()?.len();
        while let Ok(offset) = parts.recv_timeout(FORGOTTEN) {
            let length = total.saturating_sub(offset).min(PART_BYTES);
            let mut bytes = vec![0; length as usize];
            file.read_exact_at(&mut bytes, offset)?;
            let part = CopyAnswer::Part {
                offset,
                total,
                crc: crc32fast::hash(&bytes),
                bytes: Bytes::from(bytes),
            };
            self.send_part(given.to, given.transfer, part)?;
            if offset + length >= total {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sends a part. Waits while the connection is saturated or not there yet.
    fn send_part(&self, to: u32, transfer: u64, answer: CopyAnswer) -> std::io::Result<()> {
        let message = NodeMessage::Copy { transfer, answer };
        let began = Instant::now();
        while let Err(error) = self.send_in_bulk(to, &message) {
            if began.elapsed() > FORGOTTEN || self.is_stopped() {
                return Err(std::io::Error::other(error));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }
}
