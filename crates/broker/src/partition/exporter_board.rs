//! The exporters of a partition and their threads, as the rest of the node sees them.

use std::sync::Arc;

use parking_lot::Mutex;
use skep_exporting::{Phase, Status};
use skep_protocol::value::{ExportingPhase, ExportingValue};

/// What everybody may see of the exporters, and those who stop a partition end.
#[derive(Debug, Default)]
pub struct ExporterBoard {
    pub(in crate::partition) value: Mutex<ExportingValue>,
    pub(in crate::partition) running: Mutex<Vec<Running>>,
}

#[derive(Debug)]
pub(in crate::partition) struct Running {
    pub(in crate::partition) status: Arc<Status>,
    /// Secondary storage has its thread for itself.
    pub(in crate::partition) thread: Option<std::thread::JoinHandle<()>>,
}

impl ExporterBoard {
    /// Those that work here: where nodes share secondary storage, one of them fills it.
    pub fn working(&self) -> Vec<Arc<Status>> {
        let mut all = self.exporters();
        all.retain(|status| !status.is_elsewhere());
        all
    }

    /// All that are configured and run here, by name.
    pub fn exporters(&self) -> Vec<Arc<Status>> {
        let running = self.running.lock();
        let mut all: Vec<_> = running.iter().map(|one| one.status.clone()).collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    /// What the state says of them.
    pub fn value(&self) -> ExportingValue {
        self.value.lock().clone()
    }

    pub fn phase(&self) -> Phase {
        phase_of(self.value.lock().phase)
    }

    /// The log is kept for this one: it is the last of those that are enabled.
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

    /// Tells an exporter of records to end, and lets its thread do so by itself.
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
