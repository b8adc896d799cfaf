//! The entries of each partition that a query must see: those that clients of this node know of, and since when the commit
//! position of a partition is unknown.

use std::collections::BTreeMap;
use std::time::Instant;

use parking_lot::Mutex;

pub(crate) struct Freshness {
    /// The newest entry that clients know of, for partitions without a replica here.
    expected: Mutex<BTreeMap<u32, u64>>,
    /// When the commit position of each partition was last known.
    confirmed: Mutex<BTreeMap<u32, Instant>>,
    opened: Instant,
}

impl Freshness {
    pub(crate) fn new(opened: Instant) -> Freshness {
        Freshness {
            expected: Mutex::default(),
            confirmed: Mutex::default(),
            opened,
        }
    }

    /// A client knows of entries up to this one.
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

    /// Forgets the entries of this partition, whose log was replaced.
    pub(crate) fn forget_expected_of(&self, partition: u32) {
        self.expected.lock().remove(&partition);
    }

    /// Records whether the partition's commit position is known. Returns for how many milliseconds it has been unknown.
    pub(crate) fn note_position(&self, partition: u32, entry: Option<u64>) -> u64 {
        let mut confirmed = self.confirmed.lock();
        if entry.is_some() {
            confirmed.insert(partition, Instant::now());
            return 0;
        }
        let since = confirmed.entry(partition).or_insert(self.opened);
        u64::try_from(since.elapsed().as_millis()).map_or(u64::MAX, |passed| passed.max(1))
    }
}
