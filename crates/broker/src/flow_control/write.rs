//! The number of records per second that a partition may write: limited by configuration, by the speed of exporters, and by the disk space
//! for records that they have not exported. Commands that finish work are written at any rate, but they count.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Keys and defaults of `camunda.processing.flow-control.write`.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteConfig {
    pub enabled: bool,
    /// Records per second; 0 means no limit.
    pub limit: u32,
    /// After a start the limit is reached gradually within this time.
    pub ramp_up: Duration,
    pub throttle: ThrottleConfig,
}

/// `camunda.processing.flow-control.write.throttle`.
#[derive(Clone, Debug, PartialEq)]
pub struct ThrottleConfig {
    pub enabled: bool,
    /// This many records may wait for an exporter before writing is throttled.
    pub acceptable_backlog: u64,
    /// Records per second that are written at any backlog.
    pub minimum_limit: u32,
    /// The export rate is measured over this time.
    pub resolution: Duration,
}

impl Default for WriteConfig {
    fn default() -> Self {
        WriteConfig {
            enabled: false,
            limit: 0,
            ramp_up: Duration::ZERO,
            throttle: ThrottleConfig {
                enabled: false,
                acceptable_backlog: 100_000,
                minimum_limit: 100,
                resolution: Duration::from_secs(15),
            },
        }
    }
}

/// An exporter with a smaller backlog does not fill the disk.
const MUCH: u64 = 10_000;
/// The burst that the limiter saves up, in seconds.
const BURST: f64 = 1.0;
/// Shorter intervals are not measured.
const SHORTEST: Duration = Duration::from_millis(100);

/// Input for the next adjustment of the limit.
#[derive(Clone, Debug, Default)]
pub struct Backlog {
    /// Position of the newest committed record.
    pub committed: u64,
    /// The enabled exporter that is furthest behind: its name, its position, and what blocks it.
    pub slowest: Option<(String, u64, Option<String>)>,
    /// Whether the log could be compacted if it were not for that exporter.
    pub holds_log: bool,
    /// Free bytes on the disk, and how many of them are kept free.
    pub disk: Option<(u64, u64)>,
}

/// The write limit of one partition. The partition counts what it writes and adjusts the limit; the router asks it.
#[derive(Debug)]
pub struct WriteLimit {
    config: WriteConfig,
    /// Records per second; [`u64::MAX`] means no limit.
    rate: AtomicU64,
    /// Records that may be written now; negative after writing ahead.
    allowance: AtomicI64,
    /// Records exported per second.
    exporting: AtomicU64,
    /// Records committed per second.
    writing: AtomicU64,
    /// Number of refused commands.
    refused: AtomicU64,
    measured: Mutex<Measured>,
}

#[derive(Debug)]
struct Measured {
    started: Instant,
    refilled: Instant,
    /// When the exported position was last measured, and its value.
    exported: Option<(Instant, u64)>,
    /// When the committed position was last measured, and its value.
    committed: Option<(Instant, u64)>,
    cause: String,
}

impl WriteLimit {
    pub fn new(config: &WriteConfig) -> WriteLimit {
        let now = Instant::now();
        WriteLimit {
            config: config.clone(),
            rate: AtomicU64::new(u64::MAX),
            allowance: AtomicI64::new(0),
            exporting: AtomicU64::new(0),
            writing: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            measured: Mutex::new(Measured {
                started: now,
                refilled: now,
                exported: None,
                committed: None,
                cause: String::new(),
            }),
        }
    }

    /// Counts this many written records.
    pub fn wrote(&self, records: usize) {
        if self.limit().is_some() {
            let records = i64::try_from(records).unwrap_or(i64::MAX);
            self.allowance.fetch_sub(records, Ordering::Relaxed);
        }
    }

    /// Records per second, if there is a limit now.
    pub fn limit(&self) -> Option<u64> {
        Some(self.rate.load(Ordering::Relaxed)).filter(|rate| *rate != u64::MAX)
    }

    /// The configured limit, if there is one.
    pub fn maximum(&self) -> Option<u64> {
        let limit = u64::from(self.config.limit);
        Some(limit).filter(|limit| self.config.enabled && *limit > 0)
    }

    /// Records per second exported by the slowest exporter.
    pub fn exporting_rate(&self) -> u64 {
        self.exporting.load(Ordering::Relaxed)
    }

    /// Number of commands refused so far.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The write rate as a share of the limit; 0 without one.
    pub fn load(&self) -> f64 {
        let writing = self.writing.load(Ordering::Relaxed) as f64;
        self.limit()
            .map_or(0.0, |limit| writing / (limit.max(1)) as f64)
    }

    /// Why nothing new may be written at the moment, if so.
    pub fn refusal(&self, partition: u32) -> Option<String> {
        let rate = self.limit()?;
        if self.refill(rate, Instant::now()) > 0 {
            return None;
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        let measured = self.measured.lock();
        Some(format!(
            "Partition {partition} now writes at most {rate} records per second: {}. Send the request again after a pause.",
            measured.cause
        ))
    }

    /// Adds what the time since the last call allows. Returns what may be written now.
    fn refill(&self, rate: u64, now: Instant) -> i64 {
        let mut measured = self.measured.lock();
        let time = now.saturating_duration_since(measured.refilled);
        let allowed = (time.as_secs_f64() * rate as f64) as i64;
        if allowed > 0 {
            measured.refilled = now;
            let most = ((rate as f64 * BURST) as i64).max(1);
            let sum = self
                .allowance
                .load(Ordering::Relaxed)
                .saturating_add(allowed);
            self.allowance.store(sum.min(most), Ordering::Relaxed);
        }
        self.allowance.load(Ordering::Relaxed)
    }

    /// Adjusts the limit to the current backlog.
    pub fn adjust(&self, now: Instant, backlog: &Backlog) {
        self.measure_writing(now, backlog.committed);
        let exporting = self.measure(now, backlog);
        let limits = [
            self.as_configured(now),
            self.by_backlog(exporting, backlog),
            self.by_disk(exporting, backlog),
        ];
        let lowest = limits.into_iter().flatten().min_by_key(|(rate, _)| *rate);
        let mut measured = self.measured.lock();
        let before = self.rate.load(Ordering::Relaxed);
        match lowest {
            Some((rate, cause)) => {
                measured.cause = cause;
                self.rate.store(rate, Ordering::Relaxed);
                if before == u64::MAX {
                    measured.refilled = now;
                    self.allowance.store(0, Ordering::Relaxed);
                }
            }
            None => self.rate.store(u64::MAX, Ordering::Relaxed),
        }
    }

    /// Records per second that the slowest exporter takes.
    fn measure(&self, now: Instant, backlog: &Backlog) -> u64 {
        let Some((_, exported, _)) = &backlog.slowest else {
            return 0;
        };
        let mut measured = self.measured.lock();
        let Some((since, before)) = measured.exported else {
            measured.exported = Some((now, *exported));
            return 0;
        };
        let time = now.saturating_duration_since(since);
        if time < SHORTEST {
            return self.exporting_rate();
        }
        let rate = exported.saturating_sub(before) as f64 / time.as_secs_f64();
        if time >= self.config.throttle.resolution {
            measured.exported = Some((now, *exported));
        }
        self.exporting.store(rate as u64, Ordering::Relaxed);
        rate as u64
    }

    fn measure_writing(&self, now: Instant, committed: u64) {
        let mut measured = self.measured.lock();
        let Some((since, before)) = measured.committed else {
            measured.committed = Some((now, committed));
            return;
        };
        let time = now.saturating_duration_since(since);
        if time >= SHORTEST {
            let rate = committed.saturating_sub(before) as f64 / time.as_secs_f64();
            self.writing.store(rate as u64, Ordering::Relaxed);
            measured.committed = Some((now, committed));
        }
    }

    fn as_configured(&self, now: Instant) -> Option<(u64, String)> {
        let limit = self.maximum()?;
        let age = now.saturating_duration_since(self.measured.lock().started);
        let ramp_up = self.config.ramp_up;
        let rate = if age < ramp_up {
            (limit as f64 * age.as_secs_f64() / ramp_up.as_secs_f64()) as u64
        } else {
            limit
        };
        let cause = "that is camunda.processing.flow-control.write.limit".to_string();
        Some((rate.max(1), cause))
    }

    fn by_backlog(&self, exporting: u64, backlog: &Backlog) -> Option<(u64, String)> {
        let throttle = &self.config.throttle;
        let behind = behind(backlog)?;
        if !throttle.enabled || behind.records <= throttle.acceptable_backlog {
            return None;
        }
        let share = throttle.acceptable_backlog as f64 / behind.records as f64;
        let rate = (exporting as f64 * share) as u64;
        let rate = rate.max(u64::from(throttle.minimum_limit)).max(1);
        Some((rate, behind.text))
    }

    /// As free space shrinks from twice the reserve to the reserve itself, less and less is written. So the reserve is not used up by
    /// records that an exporter has not taken.
    fn by_disk(&self, exporting: u64, backlog: &Backlog) -> Option<(u64, String)> {
        let (free, reserve) = backlog.disk.filter(|_| backlog.holds_log)?;
        let behind = behind(backlog).filter(|behind| behind.records >= MUCH)?;
        let left = free.saturating_sub(reserve);
        if reserve == 0 || left >= reserve {
            return None;
        }
        let most = exporting.max(u64::from(self.config.throttle.minimum_limit));
        let rate = (most as f64 * left as f64 / reserve as f64) as u64;
        let cause = format!(
            "{}, the log is kept for it, and the disk of the data directory has {} MiB left",
            behind.text,
            free >> 20
        );
        Some((rate, cause))
    }
}

struct Behind {
    records: u64,
    text: String,
}

fn behind(backlog: &Backlog) -> Option<Behind> {
    let (id, exported, fault) = backlog.slowest.as_ref()?;
    let records = backlog.committed.saturating_sub(*exported);
    let fault = fault.as_ref().map(|fault| format!(" ({fault})"));
    let fault = fault.unwrap_or_default();
    Some(Behind {
        records,
        text: format!("exporter '{id}' is {records} records behind{fault}"),
    })
}

#[cfg(test)]
mod tests {
    use super::{Backlog, Duration, Instant, WriteConfig, WriteLimit};

    fn config() -> WriteConfig {
        let mut config = WriteConfig::default();
        config.throttle.enabled = true;
        config
    }

    fn backlog(committed: u64, exported: u64) -> Backlog {
        Backlog {
            committed,
            slowest: Some((
                "search".to_string(),
                exported,
                Some("it is away".to_string()),
            )),
            holds_log: true,
            disk: None,
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn without_a_reason_there_is_no_limit() {
        let limit = WriteLimit::new(&WriteConfig::default());
        limit.adjust(Instant::now(), &backlog(1_000_000, 0));
        limit.wrote(1_000_000);
        assert_eq!((limit.limit(), limit.refusal(1)), (None, None));
    }

    #[test]
    fn a_backlog_limits_writing_to_below_the_rate_of_exporting() {
        let (limit, now) = (WriteLimit::new(&config()), Instant::now());
        limit.adjust(now, &backlog(150_000, 100_000));
        assert_eq!(limit.limit(), None, "that many may wait");
        limit.adjust(now + SECOND, &backlog(302_000, 102_000));
        assert_eq!(limit.exporting_rate(), 2000);
        assert_eq!(limit.limit(), Some(1000), "twice what may wait");
        limit.adjust(now + 2 * SECOND, &backlog(100_302_000, 102_000));
        assert_eq!(limit.limit(), Some(100), "the minimum");
        limit.wrote(1000);
        let refusal = limit.refusal(3).unwrap();
        assert_eq!((limit.refused(), limit.load()), (1, 1_000_000.0));
        assert!(
            refusal.contains("exporter 'search' is 100200000 records behind (it is away)"),
            "{refusal}"
        );
        limit.adjust(now + 3 * SECOND, &backlog(100_302_000, 100_302_000));
        assert_eq!((limit.limit(), limit.refusal(3)), (None, None));
    }

    #[test]
    fn the_reserve_of_the_disk_is_not_touched_for_an_exporter() {
        let (limit, now) = (WriteLimit::new(&WriteConfig::default()), Instant::now());
        let with = |free: u64, holds_log: bool, behind: u64| Backlog {
            disk: Some((free, 1000)),
            holds_log,
            ..backlog(behind, 0)
        };
        for (free, holds_log, behind, expected) in [
            (2000, true, 50_000, None),
            (1500, false, 50_000, None),
            (1500, true, 9_000, None),
            (1500, true, 50_000, Some(50)),
            (1100, true, 50_000, Some(10)),
            (1000, true, 50_000, Some(0)),
            (500, true, 50_000, Some(0)),
        ] {
            limit.adjust(now, &with(free, holds_log, behind));
            assert_eq!(limit.limit(), expected, "{free} {holds_log} {behind}");
        }
        let refusal = limit.refusal(1).unwrap();
        assert!(refusal.contains("the log is kept for it"), "{refusal}");
    }

    #[test]
    fn a_configured_limit_is_reached_step_by_step() {
        let limit = WriteLimit::new(&WriteConfig {
            enabled: true,
            limit: 1000,
            ramp_up: 10 * SECOND,
            ..WriteConfig::default()
        });
        let started = limit.measured.lock().started;
        for (seconds, expected) in [(0, 1), (5, 500), (20, 1000)] {
            limit.adjust(started + seconds * SECOND, &Backlog::default());
            assert_eq!(limit.limit(), Some(expected), "{seconds}");
        }
        // Records written ahead are waited for, and unused allowance is saved up for a second.
        limit.wrote(500);
        let later = Instant::now() + 100 * SECOND;
        assert_eq!(limit.refill(1000, later), 1000);
        limit.wrote(1500);
        assert_eq!(limit.refill(1000, later + SECOND / 4), -250);
        assert_eq!(limit.refill(1000, later + SECOND), 500);
    }
}
