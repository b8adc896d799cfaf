//! Totals of a partition since the node was started, over all processes and job types: one number each, which is cheap to read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Counted on the node that leads the partition.
#[derive(Debug, Default)]
pub struct Totals {
    /// Process instances that were not called by another one.
    pub instances_created: AtomicU64,
    pub instances_completed: AtomicU64,
    pub instances_terminated: AtomicU64,
    pub jobs_created: AtomicU64,
    pub jobs_completed: AtomicU64,
    /// Failures and errors; every occurrence counts.
    pub jobs_failed: AtomicU64,
}

impl Totals {
    pub(super) fn add(total: &AtomicU64) {
        total.fetch_add(1, Ordering::Relaxed);
    }
}

/// By partition. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct ByPartition(Arc<Mutex<BTreeMap<u32, Arc<Totals>>>>);

impl ByPartition {
    pub(super) fn of(&self, partition: u32) -> Arc<Totals> {
        Arc::clone(self.0.lock().entry(partition).or_default())
    }
}
