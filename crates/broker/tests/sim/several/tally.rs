//! Counters of runs, so that a test can verify that something happened.

use std::collections::BTreeMap;

/// Number of occurrences by name, in one run or in many.
#[derive(Clone, Debug, Default)]
pub struct Tally(pub BTreeMap<&'static str, u64>);

impl Tally {
    pub fn add(&mut self, what: &'static str, count: u64) {
        *self.0.entry(what).or_default() += count;
    }

    pub fn add_all(&mut self, other: &Tally) {
        for (what, count) in &other.0 {
            self.add(what, *count);
        }
    }

    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or_default()
    }
}
