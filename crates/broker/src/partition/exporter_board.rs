//! The exporters of a partition and their threads, as the rest of the node sees them.

use std::sync::Arc;

use parking_lot::Mutex;
use skep_exporting::{Phase, Status};
use skep_protocol::value::{ExportingPhase, ExportingValue};

/// The public view of the exporters, which is also used to end them when a partition stops.
#[derive(Debug, Default)]
pub struct ExporterBoard {
    pub(in crate::partition) value: Mutex<ExportingValue>,
    pub(in crate::partition) running: Mutex<Vec<Running>>,
}

#[derive(Debug)]
pub(in crate::partition) struct Running {
    pub(in crate::partition) status: Arc<Status>,
    /// Set for secondary storage, which has a thread of its own.
    pub(in crate::partition) thread: Option<std::thread::JoinHandle<()>>,
}

impl ExporterBoard {
    /// The exporters that are active here: where nodes share secondary storage, only one of them fills it.
    pub fn working(&self) -> Vec<Arc<Status>> {
        let mut all = self.exporters();
        all.retain(|status| !status.is_elsewhere());
        all
    }

    /// All configured exporters that run here, by name.
    pub fn exporters(&self) -> Vec<Arc<Status>> {
        let running = self.running.lock();
        let mut all: Vec<_> = running.iter().map(|one| one.status.clone()).collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    /// The exporter settings and positions in the state.
    pub fn value(&self) -> ExportingValue {
        self.value.lock().clone()
    }

    pub fn phase(&self) -> Phase {
        phase_of(self.value.lock().phase)
    }

    /// The exporter for which the log is kept: the enabled one that is furthest behind.
    pub fn slowest(&self) -> Option<Arc<Status>> {
        let running = self.running.lock();
        let works = |status: &Status| status.is_enabled() && !status.is_elsewhere();
        let enabled = running.iter().filter(|one| works(&one.status));
        let slowest =
            enabled.min_by_key(|one| (one.status.durable().entry, one.status.fault().is_none()))?;
        Some(slowest.status.clone())
    }

    /// Ends the threads: signals all of them, then waits for each.
    pub fn stop(&self) {
        let running = std::mem::take(&mut *self.running.lock());
        for one in &running {
            one.status.stop();
        }
        for one in running {
            if let Some(thread) = one.thread {
                let _ = thread.join();
            }
        }
    }

    /// Tells a record exporter to end, and lets its thread finish by itself.
    pub(in crate::partition) fn end(&self, id: &str) {
        self.running.lock().retain(|one| {
            let ends = one.status.id == id;
            if ends {
                one.status.stop();
            }
            !ends
        });
    }
}

pub(in crate::partition) fn phase_of(phase: ExportingPhase) -> Phase {
    match phase {
        ExportingPhase::Exporting => Phase::Exporting,
        ExportingPhase::Paused => Phase::Paused,
        ExportingPhase::SoftPaused => Phase::SoftPaused,
    }
}
