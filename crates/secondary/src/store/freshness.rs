//! How far queries see, and waiting for more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};

use super::moves::Moves;
use crate::changes::Changes;
use skep_exporting::Position;
use skep_exporting::Status;

#[derive(Debug)]
pub struct Freshness {
    /// `None`: the store was not reached yet.
    flushed: Mutex<Option<Position>>,
    advanced: Condvar,
    /// Somebody waits: the window is not waited for.
    demanded: AtomicBool,
    /// Nobody will read what is not stored yet.
    abandoned: AtomicBool,
    /// Of the exporter that fills the store.
    status: Arc<Status>,
    /// Counts of row changes, by kind.
    pub moves: Moves,
}

impl Freshness {
    pub fn new(position: Option<Position>, status: Arc<Status>, moves: Moves) -> Freshness {
        Freshness {
            flushed: Mutex::new(position),
            advanced: Condvar::new(),
            demanded: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            status,
            moves,
        }
    }

    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    pub fn advance(&self, position: Position) {
        *self.flushed.lock() = Some(position);
        self.advanced.notify_all();
    }

    /// Takes note of a demand, and forgets it.
    pub fn take_demand(&self) -> bool {
        self.demanded.swap(false, Ordering::AcqRel)
    }

    /// Somebody is about to wait for the entry.
    pub fn demand(&self, entry: u64) {
        if reached(&self.flushed.lock()) < entry {
            self.demanded.store(true, Ordering::Release);
            self.status.wake();
        }
    }

    /// Waits until queries see the entry, at most until `deadline`. How many milliseconds old the newest is that they see, if
    /// they do not see it; else 0. `None`: the store was not reached yet.
    pub fn wait_for(&self, entry: u64, deadline: Instant) -> Option<u64> {
        let mut flushed = self.flushed.lock();
        // Who is halted by an operator does not come any further.
        while (flushed.is_none() || reached(&flushed) < entry) && !self.status.is_halted() {
            // Nor does who cannot even begin.
            if flushed.is_none() && self.status.fault().is_some() {
                break;
            }
            self.demanded.store(true, Ordering::Release);
            self.status.wake();
            if self.advanced.wait_until(&mut flushed, deadline).timed_out() {
                break;
            }
        }
        flushed.map(|newest| lacking(newest, entry))
    }

    /// How old the newest rows are if the entry is not among them, in milliseconds; else 0. While the store was not reached, nobody
    /// knows its rows, but none is younger than this node's time with it.
    pub fn behind(&self, entry: u64) -> u64 {
        match *self.flushed.lock() {
            Some(newest) => lacking(newest, entry),
            None if entry > 0 => self.moves.since_opened(Instant::now()).max(1),
            None => 0,
        }
    }

    /// Another node fills the store.
    pub fn is_elsewhere(&self) -> bool {
        self.status.is_elsewhere()
    }

    /// These changes are written.
    pub fn count(&self, changes: &Changes) {
        self.moves.count(changes, Instant::now());
        for rows in &changes.rows {
            let (told, rows_written) = rows.counts();
            self.status
                .metrics()
                .rows(rows.entity.table, told, rows_written);
        }
    }

    /// Why nothing is written, if something is in the way.
    pub fn fault(&self) -> Option<String> {
        self.status.fault().map(|fault| fault.reason)
    }
}

/// How many milliseconds old the newest is that is there, if the entry is not; else 0.
pub fn lacking(newest: Position, entry: u64) -> u64 {
    if newest.entry >= entry {
        return 0;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_millis());
    let behind = now.saturating_sub(u128::from(newest.timestamp.max(0).cast_unsigned()));
    u64::try_from(behind).unwrap_or(u64::MAX).max(1)
}

fn reached(flushed: &Option<Position>) -> u64 {
    flushed.map_or(0, |position| position.entry)
}
