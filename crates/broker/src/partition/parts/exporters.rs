//! The exporters of a partition: secondary storage, and any number of record exporters beside it, each with a thread of its own. Record
//! exporters run where the partition is led, from the positions in its state.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_engine::Engine;
use skep_engine::state::State;
use skep_exporting::{
    Beginning, Driver, ExportMetrics, ExporterConfig, Known, LogProgress, Phase, Position, Status,
};
use skep_protocol::value::{ExporterPosition, ExporterValue, ExportingValue};
use skep_secondary::SECONDARY_STORAGE;
use skep_storage::log::LogReader;

use super::known::{definitions, elements, known};
use super::refill::lacks_entries;
use crate::partition::exporter_board::{ExporterBoard, Running, phase_of};
use crate::partition::restored_rows::RestoredRows;
use crate::partition::secondary::{Entries, Secondary, SecondaryCell, StoreOf, open_secondary};

/// The exporters, as the partition's thread handles them.
pub struct Exporters {
    pub progress: Arc<LogProgress>,
    pub board: Arc<ExporterBoard>,
    partition: u32,
    configs: Vec<ExporterConfig>,
    pub(super) log: LogReader,
    pub(super) secondary: SecondaryOf,
    /// Known definitions and elements at the entry with which the node started; the record exporters begin with them.
    known: Option<Known>,
    /// Whether the record exporters run.
    running: bool,
    /// The cluster's nodes share secondary storage: the partition's leader fills it, from the position in the state on.
    is_shared: bool,
    /// Whether other nodes may lead the partition.
    has_others: bool,
    /// The state revision that was last processed.
    seen: Option<u64>,
    interval: Duration,
    next_report: Instant,
    /// Position of the record with the last report.
    reported_at: u64,
    /// The positions in the last checkpoint.
    stored: ExportingValue,
    pub(super) metrics: ExportMetrics,
}

/// Secondary storage, as the partition's thread sees it.
pub(super) struct SecondaryOf {
    pub cell: Arc<SecondaryCell>,
    /// It cannot be opened: it may be repaired, and then needs everything.
    pub is_broken: bool,
    /// The embedded store is a copy that is ahead of the log: it waits until the log catches up.
    pub has_copy: bool,
    /// How far the rows in a database or search server went when the partition was restored.
    restored: Option<RestoredRows>,
}

/// Opens secondary storage; record exporters wait until the partition is led here. `log`: with the entry after which it begins.
pub fn open_exporters(
    of: StoreOf<'_>,
    engine: &mut Engine,
    entry: u64,
    (log, base): (LogReader, u64),
    now: Instant,
) -> Exporters {
    let StoreOf {
        config, partition, ..
    } = of;
    let progress = Arc::new(LogProgress::default());
    let definitions = definitions(&mut engine.state);
    let secondary = if lacks_entries(config, of.directory, base) {
        Secondary::Fetching
    } else {
        open_secondary(of, &definitions, log.clone(), &progress)
    };
    let mut known = Known {
        entry,
        definitions,
        elements: Arc::default(),
    };
    if !config.exporters.is_empty() {
        known.elements = elements(&engine.state);
    }
    let board = Arc::new(ExporterBoard::default());
    *board.value.lock() = engine.state.exporting.value().clone();
    let mut exporters = Exporters {
        progress,
        board,
        partition,
        configs: config.exporters.clone(),
        log,
        secondary: SecondaryOf {
            cell: Arc::new(SecondaryCell::new(secondary.clone())),
            is_broken: false,
            has_copy: false,
            restored: None,
        },
        known: Some(known),
        running: false,
        has_others: config.cluster.is_some(),
        is_shared: config.cluster.is_some()
            && config
                .secondary_storage
                .as_ref()
                .is_some_and(skep_secondary::Config::is_shared),
        seen: None,
        interval: config.export_interval,
        next_report: now,
        reported_at: 0,
        stored: engine.state.exporting.value().clone(),
        metrics: of.metrics.clone(),
    };
    exporters.with_secondary(&secondary);
    exporters
}

impl Exporters {
    /// The partition was restored with rows outside of the backup.
    pub fn restored_with(mut self, rows: Option<RestoredRows>) -> Exporters {
        self.secondary.restored = rows;
        self
    }

    /// Where the partition's history can be searched.
    pub fn secondary(&self) -> &Arc<SecondaryCell> {
        &self.secondary.cell
    }

    pub fn with_secondary(&mut self, secondary: &Secondary) {
        self.secondary.is_broken = matches!(secondary, Secondary::Broken(_) | Secondary::Fetching);
        // The new store must follow the exporter settings in the state, too.
        self.seen = None;
        if let Secondary::Open(store) = secondary {
            store.status().set_leisure(self.has_others && !self.running);
            self.board.running.lock().push(Running {
                status: store.status().clone(),
                thread: None,
            });
        }
    }

    /// Secondary storage is about to be replaced; the log is kept for that.
    pub fn without_secondary(&mut self) {
        self.board.end(SECONDARY_STORAGE);
        self.secondary.is_broken = true;
    }

    /// The partition is now led here, and its state is ready.
    pub fn lead(&mut self, state: &mut State, committed: Position) {
        self.running = true;
        self.store_serves(true);
        self.seen = None;
        self.follow(state, committed);
    }

    /// Another node leads the partition and exports its records.
    pub fn step_down(&mut self) {
        self.running = false;
        self.store_serves(false);
        for config in &self.configs {
            self.board.end(&config.id);
        }
    }

    /// Clients of the partition find their changes in secondary storage here, or at the node that leads it.
    fn store_serves(&self, serves: bool) {
        for status in self.board.exporters() {
            if status.id == SECONDARY_STORAGE {
                status.set_elsewhere(self.is_shared && !serves);
                status.set_leisure(!serves);
            }
        }
    }

    /// The state was replaced: all of it is processed again.
    pub fn state_is_new(&mut self) {
        self.seen = None;
    }

    /// Applies exporter changes from the state, if there are any.
    pub fn follow(&mut self, state: &mut State, committed: Position) {
        let revision = state.exporting.revision();
        if self.seen.replace(revision) == Some(revision) {
            return;
        }
        let value = state.exporting.value();
        for status in self.board.exporters() {
            status.set_phase(phase_of(value.phase));
            let is_enabled = value.exporter(&status.id).is_none_or(|e| e.is_enabled);
            if status.id == SECONDARY_STORAGE {
                status.set_enabled(is_enabled);
            } else if !is_enabled {
                self.board.end(&status.id);
            }
        }
        *self.board.value.lock() = value.clone();
        if self.running {
            self.start_missing(state, committed);
        }
    }

    fn start_missing(&mut self, state: &mut State, committed: Position) {
        let value = state.exporting.value().clone();
        let runs = self.board.exporters();
        for config in self.configs.clone() {
            let stored = value.exporter(&config.id);
            let is_enabled = stored.is_none_or(|stored| stored.is_enabled);
            if is_enabled && runs.iter().all(|status| status.id != config.id) {
                let known = match self.known.take() {
                    Some(known) => known,
                    None => known(state, committed.entry),
                };
                self.start(&config, stored, phase_of(value.phase), &known);
                self.known = Some(known);
            }
        }
        // Exporters that start later use what is known at that time.
        self.known = None;
    }

    fn start(
        &self,
        config: &ExporterConfig,
        stored: Option<&ExporterValue>,
        phase: Phase,
        known: &Known,
    ) {
        let (position, metadata) = stored.map_or_else(Default::default, |stored| {
            (position_of(stored.position), stored.metadata.clone())
        });
        let sink = config.make.sink();
        let metrics = self.metrics.of(self.partition, &config.id, sink);
        let status = Arc::new(Status::new(&config.id, position, metrics));
        status.set_phase(phase);
        let exporter = config.make.exporter(Beginning {
            partition: self.partition,
            position,
            metadata,
            status: status.clone(),
            known: known.clone(),
        });
        let entries = Entries(self.log.clone());
        let driver = Driver::new(
            exporter,
            entries,
            self.progress.clone(),
            status.clone(),
            self.partition,
        );
        let thread = driver.start();
        self.board.running.lock().push(Running { status, thread });
    }

    /// The record exporters' positions to write to the state, if it is time to, or if it `must` be now.
    pub fn report(&mut self, state: &State, must: bool, now: Instant) -> Vec<ExporterValue> {
        if now < self.next_report && !must {
            return Vec::new();
        }
        self.next_report = now + self.interval;
        self.news(state)
    }

    /// The positions that the state does not have yet.
    fn news(&self, state: &State) -> Vec<ExporterValue> {
        let nobody = self.configs.is_empty() && !self.is_shared;
        if !self.running || nobody {
            return Vec::new();
        }
        let value = state.exporting.value();
        let mut reports = Vec::new();
        for status in self.board.exporters() {
            let (position, metadata) = status.report();
            let stored = value.exporter(&status.id);
            let stored = stored.map_or(ExporterPosition::default(), |stored| stored.position);
            // A report is a record too, but no reason for the next report.
            let is_own =
                position.record == self.reported_at && stored.record + 1 == position.record;
            let of_state = status.id != SECONDARY_STORAGE || self.is_shared;
            if of_state && status.is_enabled() && position.entry > stored.entry && !is_own {
                reports.push(ExporterValue {
                    id: status.id.as_str().into(),
                    is_enabled: true,
                    position: ExporterPosition {
                        entry: position.entry,
                        record: position.record,
                        timestamp: position.timestamp,
                    },
                    metadata,
                });
            }
        }
        reports
    }

    /// Whether everything up to this entry was exported, and the state has recorded that.
    pub fn are_done(&self, state: &State, entry: u64) -> bool {
        let mut working = self.board.working().into_iter();
        let all = working.all(|status| {
            let stopped = !status.is_enabled() || status.phase() == Phase::Paused;
            stopped || status.exported_entry() >= entry && status.fault().is_none()
        });
        all && self.news(state).is_empty()
    }

    /// The last report is the record at this position.
    pub fn reported(&mut self, position: u64) {
        self.reported_at = position;
    }

    /// A checkpoint is stored, including its exporter positions.
    pub fn stored(&mut self, value: ExportingValue) {
        self.stored = value;
    }

    /// The entry up to which the log may be compacted; at most `index`, up to which the state is stored.
    pub fn compactable(&self, index: u64, disk_low: bool) -> u64 {
        // A store that cannot even be opened must not fill the disk.
        if self.secondary.is_broken && !disk_low {
            return 0;
        }
        let own = self.board.working().into_iter();
        let own = own
            .filter(|status| status.id == SECONDARY_STORAGE && status.is_enabled())
            .map(|status| status.durable().entry);
        let up_to = own.fold(self.needed_elsewhere(index), u64::min);
        debug_assert!(up_to <= index, "the log keeps what the state lacks");
        up_to
    }

    /// The entry, at most `index`, up to which the next leader does not need the log: its exporters continue from the positions in the
    /// state.
    pub fn needed_elsewhere(&self, index: u64) -> u64 {
        let of = |id: &str| match self.stored.exporter(id) {
            Some(stored) if !stored.is_enabled => index,
            Some(stored) => stored.position.entry,
            None => 0,
        };
        let records = self.configs.iter().map(|config| of(&config.id));
        let shared = self.is_shared.then(|| {
            let of_state = of(SECONDARY_STORAGE);
            let restored = self.secondary.restored;
            restored.map_or(of_state, |rows| rows.needed(of_state))
        });
        let up_to = records.chain(shared).fold(index, u64::min);
        debug_assert!(up_to <= index, "the log keeps what the state lacks");
        up_to
    }
}

fn position_of(position: ExporterPosition) -> Position {
    Position {
        entry: position.entry,
        record: position.record,
        timestamp: position.timestamp,
    }
}
