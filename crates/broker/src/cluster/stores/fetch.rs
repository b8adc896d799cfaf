//! Fetches a copy of secondary storage from another node.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use parking_lot::Mutex;

use super::{CopyAnswer, PART_BYTES, WINDOW};
use crate::cluster::Cluster;
use crate::cluster::wire::NodeMessage;
use crate::partition::StoreState;
use crate::partition::WantedStore;

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the other node may take to make the copy; a larger store takes longer.
const MAKING: Duration = Duration::from_secs(1800);
/// How long a part may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum number of resumptions: after the connection is lost in the middle, the copy continues once it is back.
const MAX_RESUMED: u32 = 5;

impl Cluster {
    /// Fetches a copy on a thread of its own, from any node that has one, for as long as it takes. Runs `before` first, on that thread, and
    /// `done` at the end. `done` is not called if the node stops before.
    pub fn fetch_store(
        self: &Arc<Self>,
        wanted: WantedStore,
        before: impl FnOnce() + Send + 'static,
        done: impl FnOnce(std::io::Result<()>) + Send + 'static,
    ) {
        let cluster = Arc::downgrade(self);
        let done = Arc::new(Mutex::new(Some(done)));
        let fetched = done.clone();
        let thread = std::thread::Builder::new().name("store-fetch".to_string());
        let spawned = thread.spawn(move || {
            before();
            if fetch(&cluster, &wanted)
                && let Some(done) = fetched.lock().take()
            {
                done(Ok(()));
            }
        });
        if let Err(error) = spawned
            && let Some(done) = done.lock().take()
        {
            done(Err(error));
        }
    }
}

fn fetch(cluster: &Weak<Cluster>, wanted: &WantedStore) -> bool {
    let partition = wanted.partition;
    let mut reported = None;
    loop {
        let goes_on = |cluster: &Arc<Cluster>| !cluster.is_stopped() && !wanted.is_abandoned();
        let Some(cluster) = cluster.upgrade().filter(goes_on) else {
            return false;
        };
        for node in cluster.stores_elsewhere(partition, StoreState::Whole) {
            let began = Instant::now();
            match (Fetching::new(&cluster, wanted, node)).run() {
                Ok(bytes) => {
                    tracing::info!(partition, node, bytes, took = ?began.elapsed(), "secondary storage was fetched from another node");
                    return true;
                }
                Err(reason) if reported.as_ref() != Some(&reason) => {
                    tracing::warn!(
                        code = "SECONDARY_STORAGE",
                        partition, node, %reason,
                        "secondary storage cannot be fetched from another node; it is tried again"
                    );
                    reported = Some(reason);
                }
                Err(_) => {}
            }
        }
        drop(cluster);
        std::thread::sleep(PAUSE);
    }
}

/// One attempt at one node.
struct Fetching<'a> {
    cluster: &'a Cluster,
    wanted: &'a WantedStore,
    node: u32,
    transfer: u64,
    /// Known once the first part has arrived.
    total: Option<u64>,
    asked: u64,
    arrived: u64,
}

/// Why an attempt ended.
enum Broken {
    /// It may continue over another connection.
    Lost,
    Over(String),
}

impl<'a> Fetching<'a> {
    fn new(cluster: &'a Cluster, wanted: &'a WantedStore, node: u32) -> Fetching<'a> {
        Fetching {
            cluster,
            wanted,
            node,
            transfer: uuid::Uuid::new_v4().as_u64_pair().0,
            total: None,
            asked: 0,
            arrived: 0,
        }
    }

    /// Runs the attempt. Returns the number of bytes that have arrived.
    fn run(mut self) -> Result<u64, String> {
        let cannot = |error: std::io::Error| cannot_write(&self.wanted.file, &error);
        let mut file = File::create(&self.wanted.file).map_err(cannot)?;
        let mut resumed = 0;
        loop {
            let (sender, parts) = bounded(2 * WINDOW as usize);
            let incoming = &self.cluster.exchanges.copies.incoming;
            incoming.lock().insert(self.transfer, (self.node, sender));
            let outcome = self.go_on(&parts, &mut file);
            incoming.lock().remove(&self.transfer);
            match outcome {
                Ok(()) => {
                    file.sync_all()
                        .map_err(|error| cannot_write(&self.wanted.file, &error))?;
                    return Ok(self.arrived);
                }
                Err(Broken::Lost) if resumed < MAX_RESUMED && !self.cluster.is_stopped() => {
                    resumed += 1;
                    std::thread::sleep(PAUSE);
                }
                Err(Broken::Lost) => {
                    return Err("the connection with the node is lost".to_string());
                }
                Err(Broken::Over(reason)) => return Err(reason),
            }
        }
    }

    fn go_on(&mut self, parts: &Receiver<CopyAnswer>, file: &mut File) -> Result<(), Broken> {
        let began = Instant::now();
        self.asked = self.arrived;
        self.ask_for_next()?;
        loop {
            match parts.recv_timeout(PATIENCE) {
                Ok(answer) => self.take_in(answer, file)?,
                Err(RecvTimeoutError::Disconnected) => return Err(Broken::Lost),
                Err(RecvTimeoutError::Timeout)
                    if self.total.is_none() && began.elapsed() < MAKING =>
                {
                    // The copy is being made, or its first part was lost on the way.
                    self.asked = 0;
                    self.ask_for_next()?;
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Broken::Over("the node does not answer".to_string()));
                }
            }
            let total = self.total.unwrap_or_default();
            if self.arrived >= total {
                return Ok(());
            }
            while self.asked < total && self.asked < self.arrived + WINDOW * PART_BYTES {
                self.ask_for_next()?;
            }
        }
    }

    fn ask_for_next(&mut self) -> Result<(), Broken> {
        if self.wanted.is_abandoned() {
            return Err(Broken::Over("it is no longer needed".to_string()));
        }
        let message = NodeMessage::CopyWanted {
            transfer: self.transfer,
            partition: self.wanted.partition,
            at_least: self.wanted.at_least,
            offset: self.asked,
        };
        self.asked += PART_BYTES;
        if self.cluster.send(self.node, &message) {
            Ok(())
        } else {
            Err(Broken::Lost)
        }
    }

    fn take_in(&mut self, answer: CopyAnswer, file: &mut File) -> Result<(), Broken> {
        let (offset, total, bytes, crc) = match answer {
            CopyAnswer::Refused(reason) => return Err(Broken::Over(reason)),
            CopyAnswer::Part {
                offset,
                total,
                bytes,
                crc,
            } => (offset, total, bytes, crc),
        };
        // Parts requested before the connection was lost may arrive twice.
        if offset < self.arrived {
            return Ok(());
        }
        let fits = offset == self.arrived && self.total.is_none_or(|known| known == total);
        if !fits || bytes.is_empty() || crc32fast::hash(&bytes) != crc {
            return Err(Broken::Over("a part of the copy is damaged".to_string()));
        }
        file.write_all(&bytes)
            .map_err(|error| Broken::Over(cannot_write(&self.wanted.file, &error)))?;
        self.total = Some(total);
        self.arrived += bytes.len() as u64;
        Ok(())
    }
}

fn cannot_write(file: &Path, error: &std::io::Error) -> String {
    format!("{} cannot be written here: {error}", file.display())
}
