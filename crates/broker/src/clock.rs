//! The node's clock: real time, or moved for tests through the management API (`/actuator/clock`).

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970. Shared by all partitions of a node.
#[derive(Debug, Default)]
pub struct Clock {
    pinned: AtomicBool,
    /// The pinned time, or the offset from real time.
    value: AtomicI64,
}

impl Clock {
    pub fn now(&self) -> i64 {
        let value = self.value.load(Ordering::Relaxed);
        if self.pinned.load(Ordering::Relaxed) {
            value
        } else {
            real_time().saturating_add(value)
        }
    }

    pub fn pin(&self, time: i64) {
        self.value.store(time, Ordering::Relaxed);
        self.pinned.store(true, Ordering::Relaxed);
    }

    pub fn add(&self, millis: i64) {
        if self.pinned.load(Ordering::Relaxed) {
            self.pin(self.now().saturating_add(millis));
        } else {
            let offset = self.value.load(Ordering::Relaxed).saturating_add(millis);
            self.value.store(offset, Ordering::Relaxed);
        }
    }

    pub fn reset(&self) {
        self.pinned.store(false, Ordering::Relaxed);
        self.value.store(0, Ordering::Relaxed);
    }

    /// `None`, `Pin` or `Offset`, with its value, as `/actuator/partitions` shows it.
    pub fn modification(&self) -> (&'static str, i64) {
        let value = self.value.load(Ordering::Relaxed);
        match (self.pinned.load(Ordering::Relaxed), value) {
            (true, time) => ("Pin", time),
            (false, 0) => ("None", 0),
            (false, offset) => ("Offset", offset),
        }
    }
}

pub(crate) fn real_time() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
