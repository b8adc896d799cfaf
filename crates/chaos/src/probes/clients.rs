//! The clients' observations since the last look, and in all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_load::Live;
use skep_load::ledger::Ledger;

use super::float;

/// Time limit of instances: the ledger never gives one up during a run.
const NEVER: Duration = Duration::from_secs(1 << 20);

/// The ledger, and its previous values.
pub struct Clients {
    live: Arc<Live>,
    at: Instant,
    totals: (u64, u64),
    failures: (u64, u64),
}

impl Clients {
    pub fn new(live: Arc<Live>) -> Self {
        Self {
            live,
            at: Instant::now(),
            totals: (0, 0),
            failures: (0, 0),
        }
    }

    /// Samples all series. `rate` is that of the load, if there is one.
    pub fn look(&mut self, rate: Option<f64>, values: &mut BTreeMap<String, f64>) {
        let now = Instant::now();
        let mut set = |name: &str, value: f64| {
            values.insert(name.into(), value);
        };
        let mut ledger = self.live.ledger();
        let seconds = now
            .saturating_duration_since(self.at)
            .as_secs_f64()
            .max(1e-9);
        let per_second = |now: u64, before: u64| float(now.saturating_sub(before)) / seconds;
        let (oldest, _) = ledger.sweep(now, NEVER);
        let waiting = oldest.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        set("oldest-waiting-ms", waiting.as_secs_f64() * 1e3);
        set(
            "open",
            float(u64::try_from(ledger.open()).unwrap_or(u64::MAX)),
        );
        set("created-per-s", per_second(ledger.totals.0, self.totals.0));
        set(
            "completed-per-s",
            per_second(ledger.totals.1, self.totals.1),
        );
        set("created-total", float(ledger.totals.0));
        set("completed-total", float(ledger.totals.1));
        let failures = failures(&ledger);
        set("refused-per-s", per_second(failures.0, self.failures.0));
        set("failed-per-s", per_second(failures.1, self.failures.1));
        set("jobs-received", float(ledger.counts.jobs_received));
        set("jobs-twice", float(ledger.counts.duplicates));
        set("not-found", float(ledger.counts.not_found));
        set("searches-failed", float(ledger.counts.search_failures));
        latencies(&mut ledger, &mut set);
        if let Some(rate) = rate {
            set("offered-per-s", rate);
        }
        if let Some(audit) = &mut ledger.audit {
            set("in-doubt", float(audit.in_doubt));
            if let Some((mean, p50, p99)) = audit.take_found() {
                set("found-mean-ms", mean / 1e3);
                set("found-p50-ms", float(p50) / 1e3);
                set("found-p99-ms", float(p99) / 1e3);
            }
            set("own-writes", float(audit.own_writes));
            set("own-writes-missed", float(audit.own_writes_missed));
            set("jobs-overtaken", float(audit.overtaken));
            let refusals = audit.refusals.values().sum();
            set("refused-total", float(refusals));
            set("refusals-odd", float(audit.odd_refusals()));
            set("refusals-without-cause", float(audit.without_cause));
            for (word, count) in &audit.words {
                set(&format!("refused-for.{word}"), float(*count));
            }
            // Without load nothing is created, which is not a gap.
            if rate.is_some()
                && let Some(gap) = audit.take_gap(now)
            {
                set("create-gap-ms", gap.as_secs_f64() * 1e3);
            }
        }
        (self.at, self.totals, self.failures) = (now, ledger.totals, failures);
    }
}

/// Creations refused for back-pressure, and those that failed otherwise.
fn failures(ledger: &Ledger) -> (u64, u64) {
    let counts = &ledger.counts;
    (
        counts.start_rejections,
        counts.start_failures + counts.start_timeouts,
    )
}

/// Latencies of the interval; an operation that did not happen has none.
fn latencies(ledger: &mut Ledger, set: &mut impl FnMut(&str, f64)) {
    let created = !ledger.interval.0.histogram().is_empty();
    let completed = !ledger.interval.1.histogram().is_empty();
    let latency = ledger.take_interval();
    let millis = |micros| float(micros) / 1e3;
    if created {
        set("create-p50-ms", millis(latency.create_p50));
        set("create-p99-ms", millis(latency.create_p99));
    }
    if completed {
        set("instance-p50-ms", millis(latency.instance_p50));
        set("instance-p99-ms", millis(latency.instance_p99));
    }
}
