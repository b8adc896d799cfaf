//! Whether metrics name a cause while fewer instances are created than the load asks for.

use std::collections::BTreeMap;

use super::nodes::RESIDENT;

/// Less than this share of the load is too little.
const ENOUGH: f64 = 0.9;
/// A flush that takes longer than this, in seconds, is slow.
const SLOW_FLUSH: f64 = 0.02;
/// Share of the machine's processors from which on they are the limit: the clients take the rest.
const BUSY: f64 = 0.45;

const FLUSHES: &str = "atomix_journal_flush_time_seconds_count";
const FLUSHING: &str = "atomix_journal_flush_time_seconds_sum";
const SLOTS: &str = "skep_gateway_new_work_slots";
/// Counters that grow while something is wrong.
const GROWING: [&str; 3] = [
    "atomix_heartbeat_miss_count_total",
    "skep_cpu_throttled_periods_total",
    "zeebe_dropped_request_count_total",
];
/// Each value, and the one with which it is enough.
const SHORT: [(&str, &str); 2] = [
    ("skep_disk_free_bytes", "skep_disk_needed_bytes"),
    (
        "zeebe_backpressure_requests_limit",
        "zeebe_backpressure_inflight_requests_count",
    ),
];

/// What was seen in the sample before.
#[derive(Debug, Default)]
pub struct Causes {
    before: BTreeMap<String, f64>,
    /// Slots for new work when most were there.
    slots: f64,
    /// Since when too little is created without a cause that is named.
    since: Option<f64>,
}

impl Causes {
    /// Adds `unnamed-s` to a sample: for how long too little has been created, and no metric has said why. `members` is the number of
    /// nodes that should answer.
    pub fn note(&mut self, at: f64, members: usize, values: &mut BTreeMap<String, f64>) {
        let value = |name: &str| values.get(name).copied();
        let is_little = value("offered-per-s").is_some_and(|offered| {
            value("created-per-s").is_none_or(|created| created < offered * ENOUGH)
        });
        self.slots = self.slots.max(value(SLOTS).unwrap_or(0.0));
        let is_named = self.is_named(members, values);
        let seconds = if is_little && !is_named {
            at - *self.since.get_or_insert(at)
        } else {
            self.since = None;
            0.0
        };
        self.before = values.clone();
        values.insert("unnamed-s".into(), seconds);
    }

    fn is_named(&self, members: usize, values: &BTreeMap<String, f64>) -> bool {
        let value = |name: &str| values.get(name).copied();
        let grown = |name: &str| Some(value(name)? - self.before.get(name).copied()?);
        let answers = values.keys().filter(|name| {
            let own = name.strip_prefix("node");
            own.is_some_and(|own| own.split_once('.').is_some_and(|(_, it)| it == RESIDENT))
        });
        let is_short = |(what, needed): &(&str, &str)| {
            // Of one node, even if the others have enough.
            let mut of_nodes = values.iter().filter_map(|(name, has)| {
                let node = name.strip_suffix(*what)?;
                Some((*has, values.get(&format!("{node}{needed}")).copied()?))
            });
            // A node that leads nothing has zeros.
            of_nodes.any(|(has, needed)| needed > 0.0 && has <= needed)
        };
        let flush = grown(FLUSHING).zip(grown(FLUSHES));
        // One that has not ended is the slowest.
        let is_slow = |(seconds, count): (f64, f64)| count <= 0.0 || seconds / count > SLOW_FLUSH;
        let has_grown = |name: &&str| grown(name).is_some_and(|more| more > 0.0);
        answers.count() < members
            || GROWING.iter().any(has_grown)
            || SHORT.iter().any(is_short)
            || flush.is_some_and(is_slow)
            || value(SLOTS).is_some_and(|slots| slots < self.slots)
            || value("skep_exporter_failing").is_some_and(|failing| failing > 0.0)
            || value("process_cpu_usage").is_some_and(|share| share >= BUSY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A healthy node under a load of 100 instances per second, of which so many are created.
    fn sample(created: f64) -> BTreeMap<String, f64> {
        let values = [
            ("offered-per-s", 100.0),
            ("created-per-s", created),
            ("node0.process_resident_memory_bytes", 1e8),
            ("skep_disk_free_bytes", 1e9),
            ("skep_disk_needed_bytes", 1e6),
            ("process_cpu_usage", 0.1),
            (SLOTS, 64.0),
            (GROWING[2], 7.0),
        ];
        values.map(|(name, value)| (name.to_string(), value)).into()
    }

    /// How long it has gone unnamed after each of these samples, which are a second apart.
    fn unnamed(samples: Vec<BTreeMap<String, f64>>) -> Vec<f64> {
        let mut causes = Causes::default();
        let mut at = 0.0;
        let noted = samples.into_iter().map(|mut values| {
            at += 1.0;
            causes.note(at, 1, &mut values);
            values["unnamed-s"]
        });
        noted.collect()
    }

    #[test]
    fn the_time_without_a_cause_counts_while_too_little_is_created() {
        let little = || sample(89.0);
        let samples = vec![
            sample(100.0),
            little(),
            little(),
            little(),
            sample(95.0),
            little(),
        ];
        assert_eq!(unnamed(samples), [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
        let mut without_load = little();
        without_load.remove("offered-per-s");
        assert_eq!(
            unnamed(vec![without_load.clone(), without_load]),
            [0.0, 0.0]
        );
        let mut nothing = little();
        nothing.remove("created-per-s");
        assert_eq!(unnamed(vec![nothing.clone(), nothing]), [0.0, 1.0]);
    }

    #[test]
    fn each_cause_is_named_by_its_metric() {
        for (name, value) in [
            (GROWING[2], 9.0),
            ("skep_exporter_failing", 1.0),
            ("process_cpu_usage", 0.5),
            ("skep_disk_free_bytes", 1e6),
            (SLOTS, 32.0),
        ] {
            let mut named = sample(50.0);
            named.insert(name.into(), value);
            let samples = vec![sample(50.0), sample(50.0), named];
            assert_eq!(unnamed(samples), [0.0, 1.0, 0.0], "{name}");
        }
        let mut silent = sample(50.0);
        silent.remove("node0.process_resident_memory_bytes");
        assert_eq!(
            unnamed(vec![sample(50.0), sample(50.0), silent]),
            [0.0, 1.0, 0.0]
        );
        let flushes = |count: f64, seconds: f64| {
            let mut values = sample(50.0);
            values.extend([
                (FLUSHES.to_string(), count),
                (FLUSHING.to_string(), seconds),
            ]);
            values
        };
        let quick = vec![flushes(10.0, 1.0), flushes(110.0, 1.1), flushes(210.0, 1.2)];
        assert_eq!(unnamed(quick), [0.0, 1.0, 2.0]);
        let slow = vec![flushes(10.0, 1.0), flushes(12.0, 2.0), flushes(12.0, 2.0)];
        assert_eq!(unnamed(slow), [0.0, 0.0, 0.0]);
    }
}
