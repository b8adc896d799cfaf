//! The state of an exporter as seen by other threads, and their requests to it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use crate::exporter::Position;
use crate::log::Sleeper;
use crate::metrics::ExporterMetrics;

/// Whether records are exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Exporting,
    /// Nothing is exported.
    Paused,
    /// Records are exported, but the log is kept.
    SoftPaused,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Exporting => "EXPORTING",
            Phase::Paused => "PAUSED",
            Phase::SoftPaused => "SOFT_PAUSED",
        }
    }
}

/// The reason why nothing is exported at the moment.
#[derive(Clone, Debug)]
pub struct Fault {
    pub reason: String,
    pub since: Instant,
}

/// State shared between an exporter's thread and others.
#[derive(Debug)]
pub struct Status {
    /// The exporter's name.
    pub id: String,
    phase: AtomicU8,
    enabled: AtomicBool,
    stopping: AtomicBool,
    /// Another node does its work.
    elsewhere: AtomicBool,
    /// Another node answers for the partition, so there is no hurry here.
    leisure: AtomicBool,
    /// The thread has noticed that it is halted.
    resting: AtomicBool,
    /// The position up to which the log is no longer needed, even after a power failure or a change of leader, and the metadata
    /// for it.
    durable: Mutex<(Position, Vec<u8>)>,
    /// Position of the last exported record.
    exported: AtomicU64,
    /// Entry of the last exported record.
    exported_entry: AtomicU64,
    fault: Mutex<Option<Fault>>,
    failures: AtomicU64,
    pub(crate) sleeper: Sleeper,
    pub(crate) metrics: ExporterMetrics,
}

impl Status {
    /// `from`: the position that the exporter has reached earlier.
    pub fn new(id: &str, from: Position, metrics: ExporterMetrics) -> Status {
        Status {
            id: id.to_string(),
            phase: AtomicU8::new(0),
            enabled: AtomicBool::new(true),
            stopping: AtomicBool::new(false),
            elsewhere: AtomicBool::new(false),
            leisure: AtomicBool::new(false),
            resting: AtomicBool::new(false),
            durable: Mutex::new((from, Vec::new())),
            exported: AtomicU64::new(from.record),
            exported_entry: AtomicU64::new(from.entry),
            fault: Mutex::new(None),
            failures: AtomicU64::new(0),
            sleeper: Sleeper::default(),
            metrics,
        }
    }

    /// The position up to which the log is no longer needed.
    pub fn durable(&self) -> Position {
        self.durable.lock().0
    }

    /// The durable position, and the metadata that the exporter needs to continue there; see [`crate::Exporter::metadata`].
    pub fn report(&self) -> (Position, Vec<u8>) {
        self.durable.lock().clone()
    }

    /// Position of the last exported record.
    pub fn exported_position(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// Index of the last exported entry.
    pub fn exported_entry(&self) -> u64 {
        self.exported_entry.load(Ordering::Relaxed)
    }

    /// The reason why nothing is exported at the moment, if there is one.
    pub fn fault(&self) -> Option<Fault> {
        self.fault.lock().clone()
    }

    /// Number of failures so far.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Exporting,
            1 => Phase::Paused,
            _ => Phase::SoftPaused,
        }
    }

    pub fn set_phase(&self, phase: Phase) {
        let phase = match phase {
            Phase::Exporting => 0,
            Phase::Paused => 1,
            Phase::SoftPaused => 2,
        };
        if self.phase.swap(phase, Ordering::AcqRel) != phase {
            self.sleeper.wake();
        }
    }

    /// Whether it is enabled. A disabled exporter does nothing, and no log is kept for it.
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Acquire)
    }

    pub fn set_enabled(&self, enabled: bool) {
        if self.enabled.swap(enabled, Ordering::AcqRel) != enabled {
            self.sleeper.wake();
        }
    }

    /// Wakes the thread, because there may be more to do than it knows.
    pub fn wake(&self) {
        self.sleeper.wake();
    }

    pub fn metrics(&self) -> &ExporterMetrics {
        &self.metrics
    }

    /// Asks the thread to end.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.sleeper.wake();
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Whether another node does its work, because that node leads the partition.
    pub fn is_elsewhere(&self) -> bool {
        self.elsewhere.load(Ordering::Acquire)
    }

    pub fn set_elsewhere(&self, elsewhere: bool) {
        if self.elsewhere.swap(elsewhere, Ordering::AcqRel) != elsewhere {
            self.sleeper.wake();
        }
    }

    /// Sets whether another node answers for the partition.
    pub fn set_leisure(&self, leisure: bool) {
        if self.leisure.swap(leisure, Ordering::AcqRel) && !leisure {
            // The window may have ended.
            self.sleeper.wake();
        }
    }

    pub(crate) fn has_leisure(&self) -> bool {
        self.leisure.load(Ordering::Acquire)
    }

    /// Whether exporting is suspended until an operator resumes it or this node leads the partition.
    pub fn is_halted(&self) -> bool {
        !self.is_enabled() || self.phase() == Phase::Paused || self.is_elsewhere()
    }

    /// Whether it is halted and its thread has noticed, so that nothing more is exported.
    pub fn is_resting(&self) -> bool {
        self.is_halted() && self.resting.load(Ordering::Acquire)
    }

    pub(crate) fn rests(&self, resting: bool) {
        self.resting.store(resting, Ordering::Release);
    }

    /// Records progress. The position never goes back: records that are read again, to learn from them, were exported before.
    pub(crate) fn went_to(&self, exported: Position, durable: (Position, Vec<u8>)) {
        let relaxed = Ordering::Relaxed;
        self.exported.fetch_max(exported.record, relaxed);
        self.exported_entry.fetch_max(exported.entry, relaxed);
        if self.phase() == Phase::Exporting {
            *self.durable.lock() = durable;
        }
    }

    /// Records a failure. Returns true if the reason has changed.
    pub(crate) fn failed(&self, reason: &str) -> bool {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.metrics.failures.inc();
        let mut fault = self.fault.lock();
        match &mut *fault {
            Some(known) if known.reason == reason => false,
            Some(known) => {
                known.reason = reason.to_string();
                true
            }
            None => {
                *fault = Some(Fault {
                    reason: reason.to_string(),
                    since: Instant::now(),
                });
                true
            }
        }
    }

    /// Clears the fault. Returns true if there was one.
    pub(crate) fn works(&self) -> bool {
        self.fault.lock().take().is_some()
    }
}
