//! What is known of an exporter without asking its thread, and what its thread is told.

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
    /// Records are exported, and the log is kept all the same.
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

/// Why nothing is exported at the moment.
#[derive(Clone, Debug)]
pub struct Fault {
    pub reason: String,
    pub since: Instant,
}

/// Shared by an exporter's thread and everybody else.
#[derive(Debug)]
pub struct Status {
    /// The exporter's name.
    pub id: String,
    phase: AtomicU8,
    enabled: AtomicBool,
    stopping: AtomicBool,
    /// Another node does what it would do.
    elsewhere: AtomicBool,
    /// Another node answers for the partition: nobody is in a hurry here.
    leisure: AtomicBool,
    /// The thread knows that it is halted.
    resting: AtomicBool,
    /// Up to where the log is not needed any more: what a power cut and a new leader leave.
    durable: Mutex<(Position, Vec<u8>)>,
    /// Position of the last record that has left.
    exported: AtomicU64,
    /// The entry in which that is.
    exported_entry: AtomicU64,
    fault: Mutex<Option<Fault>>,
    failures: AtomicU64,
    pub(crate) sleeper: Sleeper,
    pub(crate) metrics: ExporterMetrics,
}

impl Status {
    /// `from`: up to where the exporter has got earlier.
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

    /// Up to where the log is not needed any more.
    pub fn durable(&self) -> Position {
        self.durable.lock().0
    }

    /// With what the exporter wants to find again when it goes on there; see [`crate::Exporter::metadata`].
    pub fn report(&self) -> (Position, Vec<u8>) {
        self.durable.lock().clone()
    }

    /// Position of the last record that has left.
    pub fn exported_position(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// Index of the last entry that has left.
    pub fn exported_entry(&self) -> u64 {
        self.exported_entry.load(Ordering::Relaxed)
    }

    /// Why nothing is exported at the moment, if something is in the way.
    pub fn fault(&self) -> Option<Fault> {
        self.fault.lock().clone()
    }

    /// How often something was in the way.
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

    /// A disabled exporter does nothing, and no log is kept for it.
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Acquire)
    }

    pub fn set_enabled(&self, enabled: bool) {
        if self.enabled.swap(enabled, Ordering::AcqRel) != enabled {
            self.sleeper.wake();
        }
    }

    /// Wakes the thread: there may be more to do than it thinks.
    pub fn wake(&self) {
        self.sleeper.wake();
    }

    pub fn metrics(&self) -> &ExporterMetrics {
        &self.metrics
    }

    /// Tells the thread to end.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.sleeper.wake();
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Another node does its work, as that leads the partition.
    pub fn is_elsewhere(&self) -> bool {
        self.elsewhere.load(Ordering::Acquire)
    }

    pub fn set_elsewhere(&self, elsewhere: bool) {
        if self.elsewhere.swap(elsewhere, Ordering::AcqRel) != elsewhere {
            self.sleeper.wake();
        }
    }

    /// Another node answers for the partition.
    pub fn set_leisure(&self, leisure: bool) {
        if self.leisure.swap(leisure, Ordering::AcqRel) && !leisure {
            // The window may be over.
            self.sleeper.wake();
        }
    }

    pub(crate) fn has_leisure(&self) -> bool {
        self.leisure.load(Ordering::Acquire)
    }

    /// Nothing goes on until an operator says so, or the partition is led here.
    pub fn is_halted(&self) -> bool {
        !self.is_enabled() || self.phase() == Phase::Paused || self.is_elsewhere()
    }

    /// It is halted, and its thread has taken note: nothing more leaves.
    pub fn is_resting(&self) -> bool {
        self.is_halted() && self.resting.load(Ordering::Acquire)
    }

    pub(crate) fn rests(&self, resting: bool) {
        self.resting.store(resting, Ordering::Release);
    }

    /// It never goes back: what is read again, to learn from it, was exported.
    pub(crate) fn went_to(&self, exported: Position, durable: (Position, Vec<u8>)) {
        let relaxed = Ordering::Relaxed;
        self.exported.fetch_max(exported.record, relaxed);
        self.exported_entry.fetch_max(exported.entry, relaxed);
        if self.phase() == Phase::Exporting {
            *self.durable.lock() = durable;
        }
    }

    /// True when the reason is another one than before.
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

    /// True when something was in the way before.
    pub(crate) fn works(&self) -> bool {
        self.fault.lock().take().is_some()
    }
}
