//! Keeps entries in the log that a backup still has to read, or that are still to be shipped after one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A pin not renewed for this long is dropped: whoever took the backup is gone, and the disk must not fill up for it.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Keeps the entries after a given one in the log, as long as the pin exists and, unless it is permanent, is renewed.
#[derive(Clone, Debug)]
pub struct LogPin {
    behind: u64,
    lasts: bool,
    renewed: Arc<Mutex<Instant>>,
}

impl LogPin {
    pub fn renew(&self, now: Instant) {
        *self.renewed.lock() = now;
    }

    fn is_held(&self, now: Instant) -> bool {
        // The other reference is the partition's own.
        let is_there = Arc::strong_count(&self.renewed) > 1;
        is_there && (self.lasts || now.saturating_duration_since(*self.renewed.lock()) < FORGOTTEN)
    }
}

#[derive(Debug, Default)]
pub struct LogPins(Vec<LogPin>);

impl LogPins {
    /// Keeps the entries after this one.
    pub fn pin(&mut self, behind: u64, now: Instant) -> LogPin {
        self.add(behind, false, now)
    }

    /// Keeps the entries after this one until the pin is dropped: its owner lives as long as the node.
    pub fn hold(&mut self, behind: u64, now: Instant) -> LogPin {
        self.add(behind, true, now)
    }

    fn add(&mut self, behind: u64, lasts: bool, now: Instant) -> LogPin {
        let pin = LogPin {
            behind,
            lasts,
            renewed: Arc::new(Mutex::new(now)),
        };
        self.0.push(pin.clone());
        pin
    }

    /// The last entry, at most `index`, up to which no pin needs the log.
    pub fn compactable(&mut self, index: u64, now: Instant) -> u64 {
        self.0.retain(|pin| pin.is_held(now));
        let pinned = self.0.iter().map(|pin| pin.behind);
        pinned.fold(index, u64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::{FORGOTTEN, LogPins};
    use std::time::Instant;

    #[test]
    fn entries_stay_while_a_pin_is_held_and_renewed() {
        let now = Instant::now();
        let mut pins = LogPins::default();
        assert_eq!(pins.compactable(9, now), 9);
        let (first, second) = (pins.pin(3, now), pins.pin(5, now));
        assert_eq!(pins.compactable(9, now), 3);
        assert_eq!(pins.compactable(2, now), 2);
        drop(first);
        assert_eq!(pins.compactable(9, now), 5);
        second.renew(now + FORGOTTEN);
        assert_eq!(pins.compactable(9, now + FORGOTTEN), 5);
        assert_eq!(pins.compactable(9, now + FORGOTTEN * 2), 9);
        let held = pins.hold(4, now);
        assert_eq!(pins.compactable(9, now + FORGOTTEN * 2), 4);
        drop(held);
        assert_eq!(pins.compactable(9, now), 9);
    }
}
