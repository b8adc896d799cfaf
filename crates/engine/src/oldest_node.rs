//! The oldest version of Skep among the nodes of the cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The oldest version of the protocol between nodes that another node of the cluster speaks, as far as known. The broker keeps it up to
/// date, and all copies share it. A leader decides by it which records it writes, and each replica which rows; it never changes what
/// records do.
#[derive(Clone, Debug)]
pub struct OldestNode(Arc<AtomicU32>);

impl Default for OldestNode {
    fn default() -> OldestNode {
        OldestNode(Arc::new(AtomicU32::new(u32::MAX)))
    }
}

impl OldestNode {
    /// `None`: no version of another node is known.
    pub fn speaks(&self, version: Option<u32>) {
        self.0.store(version.unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Above every version if no version of another node is known.
    pub fn version(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}
