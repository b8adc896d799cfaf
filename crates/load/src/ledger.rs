//! Observations of a run: open instances, latencies, failures.

mod audit;
mod counts;
mod latency;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Instant,
};

use rustc_hash::{FxHashMap, FxHashSet};
use skep_client::{Code, Error};

pub use audit::Audit;
pub use counts::Counts;
pub use latency::{IntervalLatency, Latency};

/// Maximum number of instances tracked at once; beyond that, starts are only counted.
pub const MAX_OPEN: usize = 4_000_000;
/// Number of job keys remembered to detect duplicate jobs.
pub const MAX_SEEN: usize = 1 << 20;
/// Maximum number of distinct error messages kept.
const MAX_MESSAGES: usize = 20;

#[derive(Debug)]
struct Open {
    /// When the start was due; unknown while only a job of the instance has been seen.
    due: Option<Instant>,
    /// When the instance last took a step after which a job waits.
    since: Instant,
    /// Whether a job is being handled.
    held: bool,
    jobs_done: u32,
    /// The closed-loop lane that waits for it.
    lane: Option<u32>,
    lost: bool,
}

/// The most recent job keys, to detect duplicate jobs.
#[derive(Debug, Default)]
struct Seen {
    keys: FxHashSet<i64>,
    order: VecDeque<i64>,
}

impl Seen {
    fn is_new(&mut self, job_key: i64) -> bool {
        if !self.keys.insert(job_key) {
            return false;
        }
        self.order.push_back(job_key);
        if self.order.len() > MAX_SEEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.keys.remove(&oldest);
        }
        true
    }
}

/// The lane to wake after an event, if any.
pub type Wake = Option<u32>;

/// Everything seen over one transport.
#[derive(Debug)]
pub struct Ledger {
    open: FxHashMap<i64, Open>,
    seen: Seen,
    /// Records about every key, if the run is audited.
    pub audit: Option<Box<Audit>>,
    jobs_per_instance: u32,
    tracking: bool,
    window: Option<(Instant, Option<Instant>)>,
    /// Counts of the measured time.
    pub counts: Counts,
    /// Start due until creation acknowledged.
    pub create: Latency,
    /// Start due until last job completed (or the awaited result came).
    pub instance: Latency,
    /// Job may run (creation acknowledged or previous job completed) until received by a worker;
    /// next to nothing for a job that comes before its creation is acknowledged.
    pub delivery: Latency,
    /// Completion sent until acknowledged.
    pub completion: Latency,
    /// Job may run until its completion was acknowledged.
    pub job: Latency,
    /// Creation acknowledged until found by a search.
    pub found: Latency,
    /// As `create` and `instance`, since the last sample.
    pub interval: (Latency, Latency),
    /// Started and completed in all, measured or not.
    pub totals: (u64, u64),
    /// Error messages with their counts.
    pub messages: BTreeMap<String, u64>,
}

impl Ledger {
    /// A ledger for instances that take `jobs_per_instance` jobs; `None` when instances are not
    /// to be followed, because their creation is answered at their end.
    pub fn new(jobs_per_instance: impl Into<Option<u32>>) -> Self {
        let jobs_per_instance = jobs_per_instance.into();
        Self {
            tracking: jobs_per_instance.is_some(),
            jobs_per_instance: jobs_per_instance.unwrap_or(0),
            open: FxHashMap::default(),
            seen: Seen::default(),
            audit: None,
            window: None,
            counts: Counts::default(),
            create: Latency::default(),
            instance: Latency::default(),
            delivery: Latency::default(),
            completion: Latency::default(),
            job: Latency::default(),
            found: Latency::default(),
            interval: (Latency::default(), Latency::default()),
            totals: (0, 0),
            messages: BTreeMap::new(),
        }
    }

    /// Begins the measured time.
    pub fn begin_window(&mut self, now: Instant) {
        self.window = Some((now, None));
    }

    /// Ends the measured time: starts due later do not count.
    pub fn end_window(&mut self, now: Instant) {
        if let Some((_, end)) = &mut self.window {
            *end = Some(now);
        }
    }

    /// Whether `time` is within the measured time.
    fn measured(&self, time: Instant) -> bool {
        match self.window {
            None => false,
            Some((begin, end)) => time >= begin && end.is_none_or(|end| time < end),
        }
    }

    fn note_error(&mut self, error: &Error) {
        if let Some(audit) = &mut self.audit {
            audit.refused(error);
        }
        self.note(error.to_string());
    }

    fn note(&mut self, text: String) {
        if self.messages.len() < MAX_MESSAGES || self.messages.contains_key(&text) {
            *self.messages.entry(text).or_default() += 1;
        } else {
            *self.messages.entry("(other messages)".into()).or_default() += 1;
        }
    }

    /// A creation was acknowledged. The returned lane, if any, need not wait.
    pub fn started(&mut self, due: Instant, now: Instant, key: i64, lane: Option<u32>) -> Wake {
        self.totals.0 += 1;
        if let Some(audit) = &mut self.audit {
            audit.created(key, now);
        }
        if self.measured(now) {
            self.counts.started += 1;
        }
        if self.measured(due) {
            self.create.record(due, now);
        }
        self.interval.0.record(due, now);
        if self.jobs_per_instance == 0 {
            self.completed(due, now);
            return lane;
        }
        if let Some(open) = self.open.get_mut(&key) {
            // one of its jobs came first
            open.due = Some(due);
            if open.jobs_done >= self.jobs_per_instance {
                self.open.remove(&key);
                self.completed(due, now);
                return lane;
            }
            open.lane = lane;
            return None;
        }
        if self.open.len() >= MAX_OPEN {
            self.counts.untracked += 1;
            return lane;
        }
        let open = Open {
            due: Some(due),
            since: now,
            held: false,
            jobs_done: 0,
            lane,
            lost: false,
        };
        self.open.insert(key, open);
        None
    }

    /// An awaited creation was answered with the result.
    pub fn awaited(&mut self, due: Instant, now: Instant) {
        self.totals.0 += 1;
        if self.measured(now) {
            self.counts.started += 1;
        }
        self.completed(due, now);
    }

    fn completed(&mut self, due: Instant, now: Instant) {
        self.totals.1 += 1;
        if self.measured(now) {
            self.counts.completed += 1;
        }
        if self.measured(due) {
            self.instance.record(due, now);
        }
        self.interval.1.record(due, now);
    }

    /// A start was due but never sent. Its latency is at least the time it has waited.
    pub fn unsent(&mut self, due: Instant, now: Instant) {
        if self.measured(due) {
            self.counts.unsent += 1;
            self.create.record(due, now);
            self.instance.record(due, now);
        }
    }

    /// A creation failed.
    pub fn start_failed(&mut self, now: Instant, error: &Error) {
        self.note_error(error);
        if let Some(audit) = &mut self.audit {
            audit.not_created(error);
        }
        if !self.measured(now) {
            return;
        }
        match kind(error) {
            Kind::Rejected => self.counts.start_rejections += 1,
            Kind::TimedOut => self.counts.start_timeouts += 1,
            Kind::Gone | Kind::Other => self.counts.start_failures += 1,
        }
    }

    /// A search has found an instance that was created at that time.
    pub fn found(&mut self, created: Instant, now: Instant) {
        if let Some(audit) = &mut self.audit {
            audit.found.record(created, now);
        }
        if self.measured(created) {
            self.found.record(created, now);
        }
    }

    /// Records that the creator of an instance has searched for it.
    pub fn looked_for_own(&mut self, was_there: bool) {
        if let Some(audit) = &mut self.audit {
            audit.own_writes += 1;
            audit.own_writes_missed += u64::from(!was_there);
        }
    }

    /// Searches did not find it within its time limit.
    pub fn not_found(&mut self, created: Instant) {
        self.counts.not_found += u64::from(self.measured(created));
    }

    /// A search for it failed.
    pub fn seek_failed(&mut self, created: Instant, error: &std::io::Error) {
        self.note(error.to_string());
        self.counts.search_failures += u64::from(self.measured(created));
    }

    /// A job arrived at a worker.
    pub fn job_received(&mut self, job_key: i64, instance_key: i64, now: Instant) {
        let measured = self.measured(now);
        let fresh = self.seen.is_new(job_key);
        if let Some(audit) = &mut self.audit {
            audit.received(job_key, fresh);
        }
        if measured {
            self.counts.jobs_received += 1;
            self.counts.duplicates += u64::from(!fresh);
        }
        if !self.tracking {
            return;
        }
        let room = self.open.len() < MAX_OPEN;
        match self.open.get_mut(&instance_key) {
            Some(open) => {
                if measured && fresh && open.due.is_some() {
                    self.delivery.record(open.since, now);
                }
                open.held = true;
            }
            // the answer to the creation is still on its way, or another run started it
            None if fresh && room => {
                let open = Open {
                    due: None,
                    since: now,
                    held: true,
                    jobs_done: 0,
                    lane: None,
                    lost: false,
                };
                self.open.insert(instance_key, open);
                if measured {
                    self.delivery.record(now, now);
                }
            }
            None => {}
        }
    }

    /// The completion of this job was acknowledged.
    pub fn job_done(&mut self, job_key: i64) {
        if let Some(audit) = &mut self.audit {
            audit.done(job_key);
        }
    }

    /// The completion of a job was acknowledged. Returns the lane that waited for the instance.
    pub fn job_completed(&mut self, instance_key: i64, sent: Instant, now: Instant) -> Wake {
        let measured = self.measured(now);
        if measured {
            self.counts.jobs_completed += 1;
            self.completion.record(sent, now);
        }
        let open = self.open.get_mut(&instance_key)?;
        if measured {
            self.job.record(open.since, now);
        }
        open.jobs_done += 1;
        open.held = false;
        open.since = now;
        let due = open.due?;
        if open.jobs_done < self.jobs_per_instance {
            return None;
        }
        let lane = open.lane;
        self.open.remove(&instance_key);
        self.completed(due, now);
        lane
    }

    /// A completion was sent again this many times.
    pub fn completion_retried(&mut self, now: Instant, times: u32) {
        if self.measured(now) {
            self.counts.completion_retries += u64::from(times);
        }
    }

    /// A completion was given up.
    pub fn completion_failed(&mut self, instance_key: i64, now: Instant, error: &Error) {
        self.note_error(error);
        if let Some(open) = self.open.get_mut(&instance_key) {
            open.held = false;
        }
        if !self.measured(now) {
            return;
        }
        match kind(error) {
            Kind::Rejected | Kind::TimedOut => self.counts.completion_timeouts += 1,
            Kind::Gone => self.counts.jobs_gone += 1,
            Kind::Other => self.counts.completion_failures += 1,
        }
    }

    /// A stream or poll broke.
    pub fn interrupted(&mut self, now: Instant, error: &Error) {
        self.note_error(error);
        if self.measured(now) {
            self.counts.interruptions += 1;
        }
    }

    /// Number of instances under way that this run started.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Checks the open instances: returns since when the longest-waiting job waits; gives up on
    /// instances older than `give_up` and returns the lanes that waited for them.
    pub fn sweep(
        &mut self,
        now: Instant,
        give_up: std::time::Duration,
    ) -> (Option<Instant>, Vec<u32>) {
        let mut oldest: Option<Instant> = None;
        let mut freed = Vec::new();
        let (mut lost, mut foreign) = (0, 0);
        self.open.retain(|_, open| {
            let age = now.saturating_duration_since(open.due.unwrap_or(open.since));
            if open.due.is_none() {
                // not started by this run, or the answer to the creation was lost
                let keep = age < give_up && (open.held || age.as_secs() < 5);
                foreign += u64::from(!keep);
                return keep;
            }
            if !open.held && !open.lost {
                oldest = Some(oldest.map_or(open.since, |o| o.min(open.since)));
            }
            if age >= give_up && !open.lost {
                open.lost = true;
                lost += 1;
                freed.extend(open.lane.take());
            }
            // a late completion is noticed for ten times as long
            age < give_up * 10
        });
        self.counts.foreign_jobs += foreign;
        if self.window.is_some() {
            self.counts.lost += lost;
        }
        (oldest, freed)
    }

    /// Forgets open instances (between slices of a comparison); returns their number.
    pub fn abandon_open(&mut self) -> u64 {
        let count = self.open.values().filter(|open| open.due.is_some()).count();
        self.open.clear();
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// The latencies since the last call.
    pub fn take_interval(&mut self) -> IntervalLatency {
        let taken = IntervalLatency::of(&self.interval.0, &self.interval.1);
        self.interval.0.reset();
        self.interval.1.reset();
        taken
    }
}

enum Kind {
    Rejected,
    TimedOut,
    Gone,
    Other,
}

fn kind(error: &Error) -> Kind {
    match (error, error.code()) {
        (Error::Timeout(_), _) | (_, Some(Code::DeadlineExceeded)) => Kind::TimedOut,
        (_, Some(Code::ResourceExhausted)) => Kind::Rejected,
        (_, Some(Code::NotFound)) => Kind::Gone,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn measuring(jobs: u32) -> (Ledger, Instant) {
        let now = Instant::now();
        let mut ledger = Ledger::new(jobs);
        ledger.begin_window(now);
        (ledger, now)
    }

    #[test]
    fn an_instance_completes_with_its_last_job() {
        let (mut ledger, t) = measuring(2);
        assert_eq!(ledger.started(t, t + MS * 3, 1, Some(9)), None);
        ledger.job_received(10, 1, t + MS * 4);
        assert_eq!(ledger.job_completed(1, t + MS * 4, t + MS * 5), None);
        ledger.job_received(11, 1, t + MS * 8);
        assert_eq!(ledger.job_completed(1, t + MS * 8, t + MS * 10), Some(9));
        assert_eq!(ledger.counts.completed, 1);
        assert_eq!(ledger.open(), 0);
        assert_eq!(ledger.instance.histogram().max() / 100, 100);
        assert_eq!(ledger.create.histogram().max() / 100, 30);
        assert_eq!(ledger.delivery.histogram().max() / 100, 30);
        assert_eq!(ledger.job.histogram().max() / 100, 50);
    }

    #[test]
    fn a_job_may_come_and_complete_before_the_creation_is_answered() {
        let (mut ledger, t) = measuring(1);
        ledger.job_received(10, 1, t + MS);
        assert_eq!(ledger.job_completed(1, t + MS, t + MS * 2), None);
        assert_eq!(ledger.counts.completed, 0, "it is not known to be ours");
        assert_eq!(ledger.started(t, t + MS * 3, 1, Some(4)), Some(4));
        assert_eq!(ledger.counts.completed, 1);
        assert_eq!(ledger.open(), 0);
    }

    #[test]
    fn a_job_key_seen_twice_is_a_duplicate_also_after_its_instance_ended() {
        let (mut ledger, t) = measuring(1);
        ledger.started(t, t, 1, None);
        ledger.job_received(10, 1, t);
        ledger.job_received(10, 1, t);
        ledger.job_completed(1, t, t);
        ledger.job_received(10, 1, t);
        assert_eq!(ledger.counts.duplicates, 2);
        assert_eq!(ledger.open(), 0, "a duplicate opens nothing");
    }

    #[test]
    fn only_the_measured_time_counts() {
        let t = Instant::now();
        let mut ledger = Ledger::new(0);
        ledger.started(t, t, 1, None);
        ledger.begin_window(t + MS);
        ledger.started(t, t + MS * 2, 2, None);
        ledger.end_window(t + MS * 3);
        ledger.started(t + MS * 2, t + MS * 4, 3, None);
        assert_eq!(ledger.counts.completed, 1, "acknowledged inside");
        assert_eq!(ledger.instance.histogram().len(), 1, "due inside");
        assert_eq!(ledger.totals, (3, 3));
    }

    #[test]
    fn the_oldest_waiting_job_is_found_and_lost_instances_free_their_lane() {
        let (mut ledger, t) = measuring(1);
        ledger.started(t, t, 1, Some(1));
        ledger.started(t, t + MS, 2, Some(2));
        ledger.job_received(20, 2, t + MS);
        let (oldest, freed) = ledger.sweep(t + MS * 10, MS * 100);
        assert_eq!((oldest, freed), (Some(t), vec![]), "job 20 does not wait");
        let (_, mut freed) = ledger.sweep(t + MS * 200, MS * 100);
        freed.sort_unstable();
        assert_eq!(freed, [1, 2]);
        assert_eq!(ledger.counts.lost, 2);
        ledger.job_received(10, 1, t + MS * 300);
        assert_eq!(ledger.job_completed(1, t, t + MS * 300), None);
        assert_eq!(ledger.counts.completed, 1, "late, but completed");
    }

    #[test]
    fn failures_are_counted_by_kind() {
        let (mut ledger, t) = measuring(1);
        ledger.start_failed(t, &Error::Timeout(MS));
        ledger.start_failed(t, &Error::Protocol("x".into()));
        ledger.completion_failed(1, t, &Error::Timeout(MS));
        assert_eq!(ledger.counts.start_timeouts, 1);
        assert_eq!(ledger.counts.start_failures, 1);
        assert_eq!(ledger.counts.completion_timeouts, 1);
        assert_eq!(ledger.messages.len(), 2);
    }
}
