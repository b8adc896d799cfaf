//! The process instances that write the most records, for operators who look for the one that keeps a partition busy.
//!
//! A few counters find every instance with a large share of the records, whatever the number of instances (the algorithm is called
//! space-saving). An instance without a counter takes over the smallest one with its count, and remembers how much of the count is not its
//! own. Counting once per turn of the engine costs almost nothing.

use skep_protocol::Key;

/// An instance with more than one in this many of a window's records is certain to have a counter.
const COUNTERS: usize = 16;
/// Milliseconds after which counting restarts from zero.
const WINDOW: i64 = 2_000;
/// Fewer records per second are no problem.
const LEAST_RATE: u64 = 100;
/// Only instances with at least one in this many records are named.
const LEAST_SHARE: u64 = 10;

/// An instance that has written many of the latest records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    pub process_instance_key: Key,
    pub records_per_second: u64,
    /// Element instances that have not ended.
    pub element_instances: u32,
}

#[derive(Clone, Copy)]
struct Counter {
    key: Key,
    records: u64,
    /// At most this many of them belong to other instances.
    others: u64,
}

#[derive(Default)]
pub struct Busiest {
    counters: Vec<Counter>,
    /// Records of all instances, and those of no instance.
    total: u64,
    /// When the window began, by the clock of the partition; it may jump.
    began: i64,
}

impl Busiest {
    /// Counts this many records for this instance.
    pub fn count(&mut self, instance: Option<Key>, records: u64) {
        self.total += records;
        let Some(key) = instance else { return };
        if let Some(counter) = self.counters.iter_mut().find(|c| c.key == key) {
            counter.records += records;
        } else if self.counters.len() < COUNTERS {
            self.counters.push(Counter {
                key,
                records,
                others: 0,
            });
        } else if let Some(smallest) = self.counters.iter_mut().min_by_key(|c| c.records) {
            *smallest = Counter {
                key,
                records: smallest.records + records,
                others: smallest.records,
            };
        }
        debug_assert!(self.counters.len() <= COUNTERS);
    }

    /// Whether nothing was written since the window began.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// If the window is over, returns the instances with the most records per second, busiest first, and begins a new window.
    pub fn window_ends(&mut self, now: i64) -> Option<Vec<(Key, u64)>> {
        let millis = now.saturating_sub(self.began);
        if (0..WINDOW).contains(&millis) {
            return None;
        }
        let window = std::mem::replace(
            self,
            Busiest {
                began: now,
                ..Busiest::default()
            },
        );
        debug_assert!(
            (window.counters.iter()).all(|counter| counter.others <= counter.records),
            "a counter holds what it took over"
        );
        // After a clock jump, the length of the window is unknown.
        let millis = u64::try_from(millis).unwrap_or_default();
        let per_second = |records: u64| records.saturating_mul(1000) / millis.max(1);
        let mut busiest: Vec<(Key, u64)> = window
            .counters
            .iter()
            .map(|counter| (counter.key, counter.records - counter.others))
            .filter(|(_, records)| records.saturating_mul(LEAST_SHARE) >= window.total)
            .map(|(key, records)| (key, per_second(records)))
            .filter(|(_, rate)| millis > 0 && *rate >= LEAST_RATE)
            .collect();
        busiest.sort_by_key(|(_, rate)| std::cmp::Reverse(*rate));
        Some(busiest)
    }
}

#[cfg(test)]
mod tests {
    use super::{Busiest, Key};

    fn key(n: u64) -> Key {
        Key(n.try_into().unwrap())
    }

    #[test]
    fn a_runaway_among_a_million_others_is_named_with_its_rate() {
        let mut busiest = Busiest::default();
        assert_eq!(busiest.window_ends(10_000), Some(Vec::new()));
        for n in 0..1_000_000_u64 {
            busiest.count(Some(key(100 + n)), 10);
            if n % 100 == 0 {
                busiest.count(Some(key(7)), 1_000);
            }
        }
        assert_eq!(busiest.window_ends(11_000), None);
        let found = busiest.window_ends(20_000).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        let (name, rate) = found[0];
        assert_eq!(name, key(7));
        // 10,000,000 records in ten seconds; some of them may count as another's.
        assert!((900_000..=1_000_000).contains(&rate), "{rate}");
    }

    #[test]
    fn instances_that_all_do_a_little_are_not_named() {
        let mut busiest = Busiest::default();
        busiest.window_ends(10_000);
        for n in 0..100_000 {
            busiest.count(Some(key(n)), 10);
            busiest.count(None, 5);
        }
        assert_eq!(busiest.window_ends(20_000), Some(Vec::new()));
    }

    #[test]
    fn a_quiet_partition_names_no_instance() {
        let mut busiest = Busiest::default();
        busiest.window_ends(10_000);
        busiest.count(Some(key(7)), 12);
        assert_eq!(busiest.window_ends(20_000), Some(Vec::new()));
    }

    #[test]
    fn a_clock_that_jumps_back_begins_a_window() {
        let mut busiest = Busiest::default();
        busiest.window_ends(10_000);
        busiest.count(Some(key(7)), 1_000_000);
        assert_eq!(busiest.window_ends(0), Some(Vec::new()));
        busiest.count(Some(key(7)), 5_000);
        assert_eq!(busiest.window_ends(5_000), Some(vec![(key(7), 1_000)]));
    }
}
