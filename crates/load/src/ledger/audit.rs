//! The fate of every key: nothing acknowledged may be lost, and nothing may be done twice.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use rustc_hash::{FxHashMap, FxHashSet};
use skep_client::{Code, Error};

use super::{Latency, MAX_OPEN};

/// Number of bits of a key that count within its partition; the bits above are the partition's
/// number.
const PARTITION_SHIFT: u32 = 51;

/// An audit, kept for the whole run. Beyond [`MAX_OPEN`] keys it is [`overflown`](Self::overflown),
/// and its results are void.
#[derive(Debug, Default)]
pub struct Audit {
    /// Instances whose creation was acknowledged.
    pub created: FxHashSet<i64>,
    /// Keys given to two instances.
    pub created_twice: u64,
    /// Creations that may or may not have been carried out.
    pub in_doubt: u64,
    /// Jobs that came again after their completion was acknowledged.
    pub repeated: u64,
    /// Jobs that came after a younger one of their partition.
    pub overtaken: u64,
    /// Instances searched for by a search that waits for its caller's writes, and those that it
    /// missed.
    pub own_writes: u64,
    pub own_writes_missed: u64,
    /// Time until a search found an instance, since the value was last taken.
    pub(super) found: Latency,
    /// Refusals by code.
    pub refusals: BTreeMap<String, u64>,
    /// Refusals without a stated reason.
    pub without_cause: u64,
    /// Refusals by the words that they contain.
    pub words: BTreeMap<String, u64>,
    done: FxHashSet<i64>,
    newest: FxHashMap<i64, i64>,
    acknowledged: FxHashMap<i64, Instant>,
    gap: Duration,
}

impl Audit {
    /// An audit that also counts refusals that contain these words.
    pub fn with_words(words: &[String]) -> Self {
        let words = words.iter().map(|word| (word.clone(), 0)).collect();
        Self {
            words,
            ..Self::default()
        }
    }

    pub(super) fn created(&mut self, key: i64, now: Instant) {
        if self.created.len() < MAX_OPEN && !self.created.insert(key) {
            self.created_twice += 1;
        }
        let partition = key >> PARTITION_SHIFT;
        if let Some(before) = self.acknowledged.insert(partition, now) {
            self.gap = self.gap.max(now.saturating_duration_since(before));
        }
    }

    pub(super) fn not_created(&mut self, error: &Error) {
        self.in_doubt += u64::from(error.is_ambiguous());
    }

    pub(super) fn refused(&mut self, error: &Error) {
        let Error::Refused(problem) = error else {
            return;
        };
        *self.refusals.entry(problem.code.to_string()).or_default() += 1;
        self.without_cause += u64::from(problem.detail.trim().is_empty());
        for (word, count) in &mut self.words {
            *count += u64::from(problem.detail.contains(word.as_str()));
        }
    }

    pub(super) fn received(&mut self, job: i64, fresh: bool) {
        self.repeated += u64::from(self.done.contains(&job));
        let newest = self.newest.entry(job >> PARTITION_SHIFT).or_insert(job);
        self.overtaken += u64::from(fresh && job < *newest);
        *newest = job.max(*newest);
    }

    pub(super) fn done(&mut self, job: i64) {
        if self.done.len() < MAX_OPEN {
            self.done.insert(job);
        }
    }

    /// Whether there were more keys than can be remembered.
    pub fn overflown(&self) -> bool {
        self.created.len() >= MAX_OPEN || self.done.len() >= MAX_OPEN
    }

    /// Refusals with unexpected codes: neither a request to retry nor the news that a job is gone.
    pub fn odd_refusals(&self) -> u64 {
        let expected = [
            Code::ResourceExhausted,
            Code::Unavailable,
            Code::DeadlineExceeded,
            Code::Aborted,
            Code::NotFound,
        ];
        let expected = expected.map(|code| code.to_string());
        let odd = self.refusals.iter();
        odd.filter(|(code, _)| !expected.contains(code))
            .map(|(_, count)| count)
            .sum()
    }

    /// Mean, median and 99th percentile of the time until a search found an instance, since the
    /// last call, in microseconds. `None`: none was found.
    pub fn take_found(&mut self) -> Option<(f64, u64, u64)> {
        let histogram = self.found.histogram();
        let at = |quantile| histogram.value_at_quantile(quantile);
        let found = (histogram.mean(), at(0.5), at(0.99));
        let any = !histogram.is_empty();
        self.found.reset();
        any.then_some(found)
    }

    /// Restarts the detection of gaps between acknowledged creations: there was no load before.
    pub fn begin_gaps(&mut self) {
        self.acknowledged.clear();
        self.gap = Duration::ZERO;
    }

    /// The longest time, since the last call, in which a partition acknowledged no creation; a gap
    /// that continues counts up to now. `None` while nothing was acknowledged.
    pub fn take_gap(&mut self, now: Instant) -> Option<Duration> {
        let last = self.acknowledged.values().min()?;
        let open = now.saturating_duration_since(*last);
        Some(std::mem::take(&mut self.gap).max(open))
    }
}

#[cfg(test)]
mod tests {
    use skep_client::Problem;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn refusal(code: Code, detail: &str) -> Error {
        Error::Refused(Problem {
            code,
            detail: detail.into(),
        })
    }

    #[test]
    fn a_gap_is_that_of_the_partition_that_waits_longest() {
        let (mut audit, t) = (Audit::default(), Instant::now());
        assert_eq!(audit.take_gap(t), None);
        let second = 2 << PARTITION_SHIFT;
        audit.created(1, t);
        audit.created(second, t);
        audit.created(2, t + MS * 700);
        assert_eq!(audit.take_gap(t + MS * 800), Some(MS * 800), "goes on");
        audit.created(second + 1, t + MS * 900);
        assert_eq!(audit.take_gap(t + MS * 950), Some(MS * 900), "is over");
        assert_eq!(audit.take_gap(t + MS * 950), Some(MS * 250));
        audit.begin_gaps();
        assert_eq!(audit.take_gap(t + MS * 999), None);
    }

    #[test]
    fn repeated_and_late_jobs_are_counted() {
        let mut audit = Audit::default();
        audit.received(5, true);
        audit.received(4, true);
        audit.received(5, false);
        assert_eq!((audit.repeated, audit.overtaken), (0, 1));
        audit.done(5);
        audit.received(5, false);
        assert_eq!(audit.repeated, 1);
        let now = Instant::now();
        audit.created(9, now);
        audit.created(9, now);
        assert_eq!(audit.created_twice, 1);
    }

    #[test]
    fn how_long_instances_were_looked_for_is_taken_once() {
        let (mut audit, t) = (Audit::default(), Instant::now());
        assert_eq!(audit.take_found(), None);
        audit.found.record(t, t + MS * 8);
        audit.found.record(t, t + MS * 4);
        let (mean, p50, p99) = audit.take_found().unwrap();
        assert!((3_990..=4_010).contains(&p50), "{p50}");
        assert!((7_990..=8_010).contains(&p99), "{p99}");
        assert!((5_990.0..=6_010.0).contains(&mean), "{mean}");
        assert_eq!(audit.take_found(), None);
    }

    #[test]
    fn refusals_are_counted_by_code_and_words() {
        let mut audit = Audit::with_words(&["disk".into()]);
        let full = refusal(Code::ResourceExhausted, "3 MiB are free on the disk");
        audit.refused(&full);
        audit.refused(&refusal(Code::Internal, " "));
        audit.refused(&Error::Timeout(MS));
        assert_eq!((audit.odd_refusals(), audit.without_cause), (1, 1));
        assert_eq!(audit.words.get("disk"), Some(&1));
        audit.not_created(&full);
        audit.not_created(&Error::Timeout(MS));
        assert_eq!(audit.in_doubt, 1);
    }
}
