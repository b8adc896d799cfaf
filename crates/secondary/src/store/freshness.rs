//! Tracks how current the rows are that queries see, and waits for newer ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};

use super::moves::Moves;
use crate::changes::Changes;
use skep_exporting::{LogProgress, Position, Status};

#[derive(Debug)]
pub struct Freshness {
    /// `None`: the store has not been reached yet.
    flushed: Mutex<Option<Position>>,
    advanced: Condvar,
    /// A query is waiting, so the window ends early.
    demanded: AtomicBool,
    /// Changes that are not stored yet never will be.
    abandoned: AtomicBool,
    /// Status of the exporter that fills the store.
    status: Arc<Status>,
    progress: Arc<LogProgress>,
    /// Counts of row changes, by kind.
    pub moves: Moves,
}

impl Freshness {
    pub fn new(
        position: Option<Position>,
        status: Arc<Status>,
        progress: Arc<LogProgress>,
        moves: Moves,
    ) -> Freshness {
        Freshness {
            flushed: Mutex::new(position),
            advanced: Condvar::new(),
            demanded: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            status,
            progress,
            moves,
        }
    }

    /// No row will be stored any more: nobody waits for one.
    pub fn abandon(&self) {
        // Who holds the lock has seen it, or waits and is woken.
        let _flushed = self.flushed.lock();
        self.abandoned.store(true, Ordering::Release);
        self.advanced.notify_all();
    }

    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    pub fn advance(&self, position: Position) {
        *self.flushed.lock() = Some(position);
        self.progress.forget_times(position.entry);
        self.advanced.notify_all();
    }

    /// Takes and resets the demand.
    pub fn take_demand(&self) -> bool {
        self.demanded.swap(false, Ordering::AcqRel)
    }

    /// Ends the window early, because a query is about to wait for the entry.
    pub fn demand(&self, entry: u64) {
        if reached(&self.flushed.lock()) < entry {
            self.demanded.store(true, Ordering::Release);
            self.status.wake();
        }
    }

    /// Waits until queries see the entry, at most until `deadline`. Returns for how many milliseconds the
    /// visible rows have lacked something if the entry is not among them, and 0 otherwise. `None`: the store has not been reached yet.
    pub fn wait_for(&self, entry: u64, deadline: Instant) -> Option<u64> {
        let mut flushed = self.flushed.lock();
        // A store halted by an operator makes no progress.
        while (flushed.is_none() || reached(&flushed) < entry)
            && !self.status.is_halted()
            && !self.is_abandoned()
        {
            // Neither does a store that cannot even be opened.
            if flushed.is_none() && self.status.fault().is_some() {
                break;
            }
            self.demanded.store(true, Ordering::Release);
            self.status.wake();
            if self.advanced.wait_until(&mut flushed, deadline).timed_out() {
                break;
            }
        }
        flushed.map(|newest| self.lacking(newest, entry))
    }

    /// For how many milliseconds the rows have lacked something if the entry is not among them, and 0 otherwise. Until the store is
    /// reached, its rows are unknown, but at least as old as this node's time with the store.
    pub fn behind(&self, entry: u64) -> u64 {
        match *self.flushed.lock() {
            Some(newest) => self.lacking(newest, entry),
            None if entry > 0 => self.moves.since_opened(Instant::now()).max(1),
            None => 0,
        }
    }

    /// For how many milliseconds rows up to `newest` have lacked something if the entry is not among them, and 0 otherwise: since the
    /// commit of the first missing entry, as nothing was missing while the partition was idle before.
    pub fn lacking(&self, newest: Position, entry: u64) -> u64 {
        if newest.entry >= entry {
            return 0;
        }
        let behind = match self.progress.committed_at(newest.entry) {
            Some(since) => since.elapsed().as_millis(),
            // It was committed before this node started, and after the newest row.
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let now = now.map_or(0, |now| now.as_millis());
                now.saturating_sub(u128::from(newest.timestamp.max(0).cast_unsigned()))
            }
        };
        u64::try_from(behind).unwrap_or(u64::MAX).max(1)
    }

    /// Whether another node fills the store.
    pub fn is_elsewhere(&self) -> bool {
        self.status.is_elsewhere()
    }

    /// Counts changes that have been written.
    pub fn count(&self, changes: &Changes) {
        self.moves.count(changes, Instant::now());
        for rows in &changes.rows {
            let (received, rows_written) = rows.counts();
            self.status
                .metrics()
                .rows(rows.entity.table, received, rows_written);
        }
    }

    /// The reason why nothing is written, if there is one.
    pub fn fault(&self) -> Option<String> {
        self.status.fault().map(|fault| fault.reason)
    }
}

fn reached(flushed: &Option<Position>) -> u64 {
    flushed.map_or(0, |position| position.entry)
}
