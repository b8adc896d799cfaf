//! The directory of identity as this node knows it: committed by its own replica of partition 1, or, on a node without one,
//! received from another node ([`crate::cluster`]). Gateways read it without asking another node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use skep_identity::Directory;

/// The partition that decides about identity, and the only one that knows passwords.
pub const HOME: u32 = 1;

#[derive(Debug)]
pub struct DirectoryView {
    current: RwLock<Arc<Directory>>,
    /// Incremented with each change: other nodes ask for anything newer than their version.
    number: AtomicU64,
    /// True if a replica on this node publishes the directory.
    is_own: AtomicBool,
    /// When it was surely current.
    confirmed: RwLock<Instant>,
}

impl Default for DirectoryView {
    fn default() -> DirectoryView {
        DirectoryView {
            current: RwLock::default(),
            number: AtomicU64::default(),
            is_own: AtomicBool::default(),
            confirmed: RwLock::new(Instant::now()),
        }
    }
}

impl DirectoryView {
    pub fn get(&self) -> Arc<Directory> {
        Arc::clone(&self.current.read())
    }

    /// The number of the current directory, which no other version of it has on this node. See [`DirectoryView`].
    pub fn number(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    /// The replica on this node has committed this directory.
    pub fn publish(&self, directory: Directory) {
        self.is_own.store(true, Ordering::Release);
        self.set(directory);
    }

    /// Another node has sent this directory. A replica on this node takes precedence.
    pub fn receive(&self, directory: Directory) {
        if !self.is_own.load(Ordering::Acquire) {
            self.set(directory);
        }
    }

    /// Changes from before this moment are in the directory, or on their way to it.
    pub fn confirm(&self, now: Instant) {
        *self.confirmed.write() = now;
    }

    pub fn age(&self) -> Duration {
        self.confirmed.read().elapsed()
    }

    fn set(&self, directory: Directory) {
        let mut current = self.current.write();
        *current = Arc::new(directory);
        self.number.fetch_add(1, Ordering::AcqRel);
    }
}
