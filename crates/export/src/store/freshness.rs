//! How far queries see, and waiting for more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};

use crate::exporter::Position;
use crate::status::Status;

#[derive(Debug)]
pub struct Freshness {
    flushed: Mutex<Position>,
    advanced: Condvar,
    /// Somebody waits: the window is not waited for.
    demanded: AtomicBool,
    /// Of the exporter that fills the store.
    status: Arc<Status>,
}

impl Freshness {
    pub fn new(position: Position, status: Arc<Status>) -> Freshness {
        Freshness {
            flushed: Mutex::new(position),
            advanced: Condvar::new(),
            demanded: AtomicBool::new(false),
            status,
        }
    }

    pub fn advance(&self, position: Position) {
        *self.flushed.lock() = position;
        self.advanced.notify_all();
    }

    /// Takes note of a demand, and forgets it.
    pub fn take_demand(&self) -> bool {
        self.demanded.swap(false, Ordering::AcqRel)
    }

    /// Waits until queries see the entry, at most for `max_wait`. How many milliseconds old the newest is that they see, if
    /// they do not see it; else 0.
    pub fn wait_for(&self, entry: u64, max_wait: Duration) -> u64 {
        let deadline = Instant::now() + max_wait;
        let mut flushed = self.flushed.lock();
        // Who is halted by an operator does not come any further.
        while flushed.entry < entry && !self.status.is_halted() {
            self.demanded.store(true, Ordering::Release);
            self.status.sleeper.wake();
            if self.advanced.wait_until(&mut flushed, deadline).timed_out() {
                break;
            }
        }
        if flushed.entry >= entry {
            return 0;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_millis());
        let behind = now.saturating_sub(u128::from(flushed.timestamp.max(0).cast_unsigned()));
        u64::try_from(behind).unwrap_or(u64::MAX).max(1)
    }
}
