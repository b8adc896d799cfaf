//! Whether metrics name a cause while fewer instances are created than the load asks for.

use std::collections::BTreeMap;

use super::nodes::{CPU_SECONDS, PROVIDER, RESIDENT, THROTTLED};

/// Less than this share of the load is too little.
const ENOUGH: f64 = 0.9;
/// A flush that takes longer than this, in seconds, is slow.
const SLOW_FLUSH: f64 = 0.02;
/// Share of the machine's processors from which on they are the limit: the clients take the rest.
const BUSY: f64 = 0.45;

const FLUSHES: &str = "atomix_journal_flush_time_seconds_count";
const FLUSHING: &str = "atomix_journal_flush_time_seconds_sum";
/// Batches that wait for a flush, here or elsewhere.
const APPENDS: &str = "zeebe_backpressure_inflight_append_count";
const SLOTS: &str = "skep_gateway_new_work_slots";
/// Counters that grow while something is wrong.
const GROWING: [&str; 3] = [
    "atomix_heartbeat_miss_count_total",
    THROTTLED,
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
    /// By node: slots for new work when most were there, and CPU seconds of its process then.
    slots: BTreeMap<String, (f64, f64)>,
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
        self.note_slots(values);
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

    fn note_slots(&mut self, values: &BTreeMap<String, f64>) {
        for (node, slots) in of_nodes(values, SLOTS) {
            let cpu = own(values, node, CPU_SECONDS).unwrap_or(0.0);
            let (most, before) = self.slots.entry(node.to_string()).or_default();
            // Another process has those of its own settings.
            let is_another = cpu < *before;
            *most = if is_another { slots } else { most.max(slots) };
            *before = cpu;
        }
    }

    /// Whether a flush of this node, which has ended so many, is slow: also if the others' are quick.
    fn is_slow(&self, values: &BTreeMap<String, f64>, (node, count): (&str, f64)) -> bool {
        let before = |name: &str| own(&self.before, node, name);
        let times = own(values, node, FLUSHING).zip(before(FLUSHING));
        let Some(((after, begun), counted)) = times.zip(before(FLUSHES)) else {
            return false;
        };
        let flushes = count - counted;
        // One that has not ended is the slowest, but only if something waits for it.
        let waits = own(values, node, APPENDS).is_some_and(|appends| appends > 0.0);
        if flushes > 0.0 {
            (after - begun) / flushes > SLOW_FLUSH
        } else {
            waits
        }
    }

    fn is_named(&self, members: usize, values: &BTreeMap<String, f64>) -> bool {
        let value = |name: &str| values.get(name).copied();
        let grown = |name: &str| Some(value(name)? - self.before.get(name).copied()?);
        let is_short = |(what, needed): &(&str, &str)| {
            // Of one node, even if the others have enough.
            let mut of_nodes = values.iter().filter_map(|(name, has)| {
                let node = name.strip_suffix(*what)?;
                Some((*has, values.get(&format!("{node}{needed}")).copied()?))
            });
            // A node that leads nothing has zeros.
            of_nodes.any(|(has, needed)| needed > 0.0 && has <= needed)
        };
        let has_fewer = |(node, slots): (&str, f64)| {
            let most = self.slots.get(node);
            most.is_some_and(|(most, _)| slots < *most)
        };
        let has_grown = |name: &&str| grown(name).is_some_and(|more| more > 0.0);
        of_nodes(values, RESIDENT).count() < members
            || GROWING.iter().any(has_grown)
            || SHORT.iter().any(is_short)
            || of_nodes(values, FLUSHES).any(|flushed| self.is_slow(values, flushed))
            || of_nodes(values, SLOTS).any(has_fewer)
            || of_nodes(values, PROVIDER).any(|(_, gives_keys)| gives_keys < 1.0)
            || value("skep_exporter_failing").is_some_and(|failing| failing > 0.0)
            || value("process_cpu_usage").is_some_and(|share| share >= BUSY)
    }
}

/// The value of each node that has one, by the number of the node.
fn of_nodes<'v>(
    values: &'v BTreeMap<String, f64>,
    name: &'v str,
) -> impl Iterator<Item = (&'v str, f64)> {
    values.iter().filter_map(move |(series, value)| {
        let (node, own) = series.strip_prefix("node")?.split_once('.')?;
        (own == name).then_some((node, *value))
    })
}

/// The value of this node.
fn own(values: &BTreeMap<String, f64>, node: &str, name: &str) -> Option<f64> {
    values.get(&format!("node{node}.{name}")).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN_SLOTS: &str = "node0.skep_gateway_new_work_slots";
    const OWN_CPU: &str = "node0.process_cpu_seconds_total";

    /// A healthy node under a load of 100 instances per second, of which so many are created.
    fn sample(created: f64) -> BTreeMap<String, f64> {
        let values = [
            ("offered-per-s", 100.0),
            ("created-per-s", created),
            ("node0.process_resident_memory_bytes", 1e8),
            ("skep_disk_free_bytes", 1e9),
            ("skep_disk_needed_bytes", 1e6),
            ("process_cpu_usage", 0.1),
            (OWN_SLOTS, 64.0),
            (OWN_CPU, 5.0),
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
            (OWN_SLOTS, 32.0),
            ("node0.skep_identity_provider_up", 0.0),
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
    }

    /// A sample with the flushes of a node, their seconds, and the batches that wait.
    fn flushed(node: u32, count: f64, seconds: f64, appends: f64) -> BTreeMap<String, f64> {
        let own = [(FLUSHES, count), (FLUSHING, seconds), (APPENDS, appends)];
        let own = own.map(|(name, value)| (format!("node{node}.{name}"), value));
        let mut values = sample(50.0);
        values.extend(own);
        values
    }

    #[test]
    fn a_slow_disk_is_named_by_the_flushes_of_its_node() {
        let one = |count, seconds, appends| flushed(0, count, seconds, appends);
        let quick = vec![
            one(10.0, 1.0, 2.0),
            one(110.0, 1.1, 2.0),
            one(210.0, 1.2, 2.0),
        ];
        assert_eq!(unnamed(quick), [0.0, 1.0, 2.0]);
        let slow = vec![
            one(10.0, 1.0, 2.0),
            one(12.0, 2.0, 2.0),
            one(12.0, 2.0, 2.0),
        ];
        assert_eq!(unnamed(slow), [0.0, 0.0, 0.0]);
        // The first disk hangs, and the second one is quick.
        let two = |count, seconds| {
            let mut values = one(10.0, 1.0, 2.0);
            values.extend(flushed(1, count, seconds, 0.0));
            values
        };
        let hangs = vec![two(10.0, 1.0), two(110.0, 1.1)];
        assert_eq!(unnamed(hangs), [0.0, 0.0]);
    }

    #[test]
    fn a_stand_still_in_which_nothing_waits_for_a_disk_has_no_name() {
        let still = || {
            let mut values = flushed(0, 10.0, 1.0, 0.0);
            values.insert("created-per-s".into(), 0.0);
            values
        };
        assert_eq!(unnamed(vec![still(), still(), still()]), [0.0, 1.0, 2.0]);
    }

    #[test]
    fn a_process_with_fewer_slots_than_the_one_before_it_lacks_none() {
        let other = |cpu: f64| {
            let mut values = sample(50.0);
            values.extend([(OWN_SLOTS.to_string(), 32.0), (OWN_CPU.to_string(), cpu)]);
            values
        };
        let again = vec![sample(100.0), other(1.0), other(2.0)];
        assert_eq!(unnamed(again), [0.0, 0.0, 1.0]);
        let same = vec![sample(100.0), other(6.0), other(7.0)];
        assert_eq!(unnamed(same), [0.0, 0.0, 0.0]);
    }
}
