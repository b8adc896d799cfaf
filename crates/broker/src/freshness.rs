//! The entries of each partition that a query must see: those that clients of this node know of, and since when the commit
//! position of a partition is unknown.

use std::collections::BTreeMap;
use std::time::Instant;

use parking_lot::Mutex;

pub(crate) struct Freshness {
    /// Up to which entry clients know of partitions that have no replica here.
    expected: Mutex<BTreeMap<u32, u64>>,
    /// When somebody could tell last how far each partition was committed.
    heard: Mutex<BTreeMap<u32, Instant>>,
    opened: Instant,
}

impl Freshness {
    pub(crate) fn new(opened: Instant) -> Freshness {
        Freshness {
            expected: Mutex::default(),
            heard: Mutex::default(),
            opened,
        }
    }

    /// A client knows of what is committed up to this entry.
    pub(crate) fn expect(&self, partition: u32, committed: u64) {
        let mut expected = self.expected.lock();
        let known = expected.entry(partition).or_default();
        *known = committed.max(*known);
    }

    pub(crate) fn expected(&self, partition: u32) -> u64 {
        let expected = self.expected.lock();
        expected.get(&partition).copied().unwrap_or_default()
    }

    /// The cluster was purged: every log starts again at its first entry.
    pub(crate) fn forget_expected(&self) {
        self.expected.lock().clear();
    }

    /// Somebody could tell how far the partition is committed, or nobody: for how many milliseconds nobody could.
    pub(crate) fn hears(&self, partition: u32, entry: Option<u64>) -> u64 {
        let mut heard = self.heard.lock();
        if entry.is_some() {
            heard.insert(partition, Instant::now());
            return 0;
        }
        let since = heard.entry(partition).or_insert(self.opened);
        u64::try_from(since.elapsed().as_millis()).map_or(u64::MAX, |passed| passed.max(1))
    }
}
