//! Fills the store: turns records into changes of rows and writes them window by window.

use skep_exporting::TargetError;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use skep_protocol::value::ProcessValue;

use super::Config;
use super::forgetting::Forgetting;
use super::freshness::Freshness;
use crate::audit::Audit;
use crate::changes::Changes;
use crate::definitions::{Definition, Definitions};
use crate::project::Projection;
use crate::settle::settle;
use crate::target::Target;
use skep_exporting::{Bulk, Tally};
use skep_exporting::{Exporter, Position};

/// A window ends early at this number of rows or bytes of text, to bound memory.
const MAX_ROWS: usize = 20_000;
const MAX_BYTES: usize = 8 << 20;
/// Number of rows between syncs, to keep the write-ahead log small.
const SYNC_ROWS: usize = 100_000;
/// Estimated number of rows of a deleted process instance, used to count rows until the next sync.
const ROWS_OF_INSTANCE: usize = 10;

/// The exporter that fills a store.
pub struct Filling {
    target: Box<dyn Target>,
    config: Config,
    freshness: Arc<Freshness>,
    partition: u32,
    definitions: Definitions,
    /// Bodies of the definitions in the engine's state, until they are stored.
    seeds: Vec<Bytes>,
    changes: Changes,
    audit: Audit,
    /// See [`Projection::text`].
    text: String,
    flushed: Position,
    durable: Position,
    rows_since_sync: usize,
    forgetting: Forgetting,
    /// Positions of the last processed record, and of the last record of a window that is being written again; see
    /// [`Target::begun`].
    taken: u64,
    begun: u64,
}

impl Filling {
    /// `position`: the position of the store.
    pub fn new(
        target: Box<dyn Target>,
        position: Position,
        config: Config,
        freshness: Arc<Freshness>,
        partition: u32,
        seeds: Vec<Bytes>,
    ) -> Filling {
        let audit = Audit::new(&config.audit);
        let forgetting = Forgetting::new(Instant::now(), target.slice());
        Filling {
            target,
            config,
            freshness,
            partition,
            definitions: Definitions::default(),
            seeds,
            changes: Changes::default(),
            audit,
            text: String::new(),
            flushed: position,
            durable: position,
            rows_since_sync: 0,
            forgetting,
            taken: 0,
            begun: 0,
        }
    }

    /// Adds definitions that are in the engine's state but not in a new store.
    fn seed(&mut self) {
        for body in &self.seeds {
            let Ok(value) = skep_protocol::record::decode::<ProcessValue>(body) else {
                continue;
            };
            let key = value.process_definition_key;
            if self.definitions.get(key, self.target.as_ref()).is_none() {
                self.definitions
                    .insert(key, Some(Arc::new(Definition::new(&value))));
                self.changes
                    .definition(key, value.bpmn_process_id.clone(), body.to_vec());
            }
        }
    }

    fn sync_flushed(&mut self) -> Result<(), TargetError> {
        if self.target.sync()? {
            self.durable = self.flushed;
            self.rows_since_sync = 0;
        }
        Ok(())
    }
}

impl Exporter for Filling {
    fn open(&mut self) -> Result<Option<Position>, TargetError> {
        let position = self.target.open()?;
        // Discards changes that were only partly processed before a failure. Their records are read again.
        self.changes.clear();
        self.definitions = Definitions::default();
        self.seed();
        self.flushed = position;
        (self.taken, self.begun) = (position.record, self.target.begun());
        if !self.target.is_local() {
            self.durable = position;
        }
        self.freshness.advance(position);
        Ok(Some(position))
    }

    fn take(
        &mut self,
        _entry: u64,
        payload: &[u8],
        tally: &mut Tally,
    ) -> Result<(u64, i64), TargetError> {
        let mut projection = Projection {
            changes: &mut self.changes,
            definitions: &mut self.definitions,
            stored: self.target.as_ref(),
            partition: self.partition,
            cause: None,
            audit: &self.audit,
            text: &mut self.text,
            tenants: self.config.tenants,
            tally,
        };
        let taken = projection.batch(payload);
        if let Some(failure) = self.definitions.take_failure() {
            return Err(failure);
        }
        let taken = taken.map_err(|error| TargetError::Corrupt(error.to_string()))?;
        (self.taken, _) = taken;
        Ok(taken)
    }

    fn is_full(&self) -> bool {
        if self.begun > 0 {
            return self.taken >= self.begun;
        }
        self.changes.len() >= MAX_ROWS || self.changes.bytes() >= MAX_BYTES
    }

    fn bulk(&self) -> Bulk {
        Bulk {
            items: self.changes.len(),
            bytes: self.changes.bytes(),
        }
    }

    fn window(&self) -> Duration {
        self.config.window
    }

    fn is_awaited(&mut self) -> bool {
        self.freshness.take_demand()
    }

    fn flush(&mut self, to: Position) -> Result<(), TargetError> {
        if to.record < self.begun {
            return Ok(());
        }
        self.begun = 0;
        let began = Instant::now();
        settle(&mut self.changes, self.target.as_ref())?;
        self.target.write(&self.changes, to)?;
        self.forgetting.wrote((began, Instant::now()));
        self.freshness.count(&self.changes);
        self.rows_since_sync += self.changes.len();
        self.changes.clear();
        self.seeds = Vec::new();
        self.flushed = to;
        self.freshness.advance(to);
        if self.rows_since_sync >= SYNC_ROWS || self.target.wants_sync() {
            self.sync_flushed()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), TargetError> {
        self.sync_flushed()
    }

    fn durable(&self) -> Position {
        self.durable
    }

    fn maintain(&mut self) -> Result<Duration, TargetError> {
        let began = Instant::now();
        // A partly written window has to be completed first.
        let slice = match self.forgetting.due(began) {
            Ok(slice) if self.begun == 0 => slice,
            Ok(_) => return Ok(Duration::MAX),
            Err(rest) => return Ok(rest),
        };
        let today = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let before = today.saturating_sub(self.config.history_ttl).as_millis();
        let before = i64::try_from(before).unwrap_or(i64::MAX);
        let forgotten = self.target.forget(before, slice);
        if forgotten != Ok(0) {
            self.freshness.moves.count_all(Instant::now());
        }
        let forgotten = forgotten?;
        self.rows_since_sync += forgotten * ROWS_OF_INSTANCE;
        Ok(self.forgetting.forgot(forgotten, (began, Instant::now())))
    }

    fn finishes(&self) -> bool {
        self.target.is_local() && !self.freshness.is_abandoned()
    }
}
