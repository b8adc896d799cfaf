//! The interplay of exporters and their partition.

use std::sync::atomic::Ordering;
use std::time::Instant;

use skep_exporting::Position;
use skep_protocol::ValueType;
use skep_protocol::command::{Command, ExportingChange};
use skep_protocol::value::ExporterPosition;

use super::Partition;
use crate::flow_control::Backlog;
use crate::partition::core::CoreError;
use crate::partition::message::{ClientRequest, Work};

/// Whether the command changes exporting.
pub(super) fn is_for_exporters(work: &Work) -> bool {
    let Work::Request(ClientRequest { request, .. }) = work else {
        return false;
    };
    request.command.record().value_type == ValueType::Exporting
}

impl Partition {
    /// Fills in the end of the log, which is only known here.
    pub(super) fn fill_in(&self, command: &mut Command) {
        if let Some(ExportingChange::Enable { end, .. }) = command.exporting_change_mut() {
            *end = ExporterPosition {
                entry: self.core.evaluated().0,
                record: self.core.engine().next_position().saturating_sub(1),
                timestamp: self.env.clock.now(),
            };
        }
    }

    fn committed(&self) -> Position {
        Position {
            entry: self.core.applied(),
            record: self.core.committed_position(),
            timestamp: 0,
        }
    }

    pub(super) fn lead_exporters(&mut self) {
        let committed = self.committed();
        let state = &mut self.core.engine_mut().state;
        self.exporters.lead(state, committed);
    }

    pub(super) fn follow_exporting(&mut self) {
        if !self.core.is_void() {
            let committed = self.committed();
            let state = &mut self.core.engine_mut().state;
            self.exporters.follow(state, committed);
        }
    }

    /// Adjusts the write limit to the progress of the exporters.
    pub(super) fn adjust_writes(&self) {
        let status = &self.env.status;
        let slowest = self.exporters.board.slowest();
        let checkpoint = status.checkpoint_index.load(Ordering::Relaxed);
        let free = status.disk_free.load(Ordering::Relaxed);
        let monitored = self.env.config.disk.monitoring_enabled && free != u64::MAX;
        let backlog = Backlog {
            committed: self.core.committed_position(),
            holds_log: slowest
                .as_ref()
                .is_some_and(|slowest| slowest.durable().entry < checkpoint),
            slowest: slowest.map(|slowest| {
                let fault = slowest.fault().map(|fault| fault.reason);
                (slowest.id.clone(), slowest.exported_position(), fault)
            }),
            disk: monitored.then_some((free, self.env.config.disk.processing)),
        };
        status.writes.adjust(Instant::now(), &backlog);
    }

    /// Records the positions of exporters when it is time to.
    pub(super) fn report_exported(&mut self, must: bool) -> Result<(), CoreError> {
        if !self.can_evaluate() {
            return Ok(());
        }
        let reports = self
            .exporters
            .report(&self.core.engine().state, must, Instant::now());
        if reports.is_empty() {
            return Ok(());
        }
        let now = self.env.clock.now();
        self.guarded(None, |core, _| core.report_exported(now, &reports))?;
        let position = self.core.engine().next_position().saturating_sub(1);
        self.exporters.reported(position);
        Ok(())
    }
}
