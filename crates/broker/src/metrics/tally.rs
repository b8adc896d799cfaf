//! Counts in plain integers, passed on to public counters once per batch.

use skep_metrics::Counter;

/// Counts by slot. The meaning of a slot number is up to the user.
#[derive(Debug, Default)]
pub struct Tally {
    counts: Vec<u32>,
    /// Slots that are currently not 0.
    touched: Vec<usize>,
    counters: Vec<Option<Counter>>,
}

impl Tally {
    #[inline]
    pub fn add(&mut self, slot: usize, n: u32) {
        if slot >= self.counts.len() {
            self.counts.resize(slot + 1, 0);
        }
        let Some(count) = self.counts.get_mut(slot) else {
            return;
        };
        if *count == 0 && n > 0 {
            self.touched.push(slot);
        }
        *count += n;
    }

    /// Adds the counts since the last call. `counter` creates the counter of a slot that is counted for the first time.
    pub fn publish(&mut self, counter: impl Fn(usize) -> Counter) {
        for slot in self.touched.drain(..) {
            let count = self.counts.get_mut(slot).map_or(0, std::mem::take);
            debug_assert!(count > 0, "a slot that was touched has a count");
            if slot >= self.counters.len() {
                self.counters.resize(slot + 1, None);
            }
            if let Some(known) = self.counters.get_mut(slot) {
                let counter = known.get_or_insert_with(|| counter(slot));
                counter.inc_by(u64::from(count));
            }
        }
    }
}
