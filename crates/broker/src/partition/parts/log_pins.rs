//! Keeps entries in the log that a backup still has to read, or that are still to be shipped after one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::backup::BackupConfig;

/// A pin not renewed for this long is dropped: whoever took the backup is gone, and the disk must not fill up for it.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Until when a pin keeps the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// Until it is not renewed, or the disk is nearly full.
    NotRenewed,
    /// Until it is dropped, or the disk is nearly full.
    DiskLow,
    /// Until it is dropped: work is refused sooner than the log is deleted.
    Dropped,
}

impl Until {
    fn shipped(required: bool) -> Until {
        if required {
            Until::Dropped
        } else {
            Until::DiskLow
        }
    }
}

/// Keeps the entries after a given one in the log.
#[derive(Clone, Debug)]
pub struct LogPin {
    behind: u64,
    until: Until,
    renewed: Arc<Mutex<Instant>>,
}

impl LogPin {
    pub fn renew(&self, now: Instant) {
        *self.renewed.lock() = now;
    }

    fn is_held(&self, now: Instant) -> bool {
        // The other reference is the partition's own.
        let is_there = Arc::strong_count(&self.renewed) > 1;
        let is_renewed = || now.saturating_duration_since(*self.renewed.lock()) < FORGOTTEN;
        is_there && (self.until != Until::NotRenewed || is_renewed())
    }
}

#[derive(Debug, Default)]
pub struct LogPins {
    held: Vec<LogPin>,
    /// The whole log is kept until the shipper says from where on it needs it: a checkpoint may be done before the shipper looks for the
    /// first time.
    shipper: Option<Until>,
}

impl LogPins {
    /// The pins of a partition that was just opened.
    pub fn new(backup: Option<&BackupConfig>) -> LogPins {
        let ships = backup.filter(|config| config.continuous.is_some());
        LogPins {
            held: Vec::new(),
            shipper: ships.map(|config| Until::shipped(config.required)),
        }
    }

    /// Keeps the entries after this one.
    pub fn pin(&mut self, behind: u64, now: Instant) -> LogPin {
        self.add(behind, Until::NotRenewed, now)
    }

    /// Keeps the entries after this one until the pin is dropped: its owner lives as long as the node. If `required`, not even a nearly full
    /// disk deletes them.
    pub fn hold(&mut self, behind: u64, required: bool, now: Instant) -> LogPin {
        self.shipper = None;
        self.add(behind, Until::shipped(required), now)
    }

    fn add(&mut self, behind: u64, until: Until, now: Instant) -> LogPin {
        let pin = LogPin {
            behind,
            until,
            renewed: Arc::new(Mutex::new(now)),
        };
        self.held.push(pin.clone());
        pin
    }

    /// The last entry, at most `index`, up to which no pin needs the log. On a nearly full disk, work takes precedence over backups that are
    /// not required.
    pub fn compactable(&mut self, index: u64, disk_low: bool, now: Instant) -> u64 {
        self.held.retain(|pin| pin.is_held(now));
        let holds = |until: &Until| !disk_low || *until == Until::Dropped;
        if self.shipper.as_ref().is_some_and(holds) {
            return 0;
        }
        let held = self.held.iter().filter(|pin| holds(&pin.until));
        let compactable = held.map(|pin| pin.behind).fold(index, u64::min);
        debug_assert!(compactable <= index, "a pin only keeps entries");
        compactable
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use skep_backup::Location;

    use super::{FORGOTTEN, LogPins};
    use crate::backup::BackupConfig;
    use crate::backup::schedule::Schedule;

    #[test]
    fn entries_stay_while_a_pin_is_held_and_renewed() {
        let now = Instant::now();
        let mut pins = LogPins::default();
        assert_eq!(pins.compactable(9, false, now), 9);
        let (first, second) = (pins.pin(3, now), pins.pin(5, now));
        assert_eq!(pins.compactable(9, false, now), 3);
        assert_eq!(pins.compactable(2, false, now), 2);
        drop(first);
        assert_eq!(pins.compactable(9, false, now), 5);
        second.renew(now + FORGOTTEN);
        assert_eq!(pins.compactable(9, false, now + FORGOTTEN), 5);
        assert_eq!(pins.compactable(9, false, now + FORGOTTEN * 2), 9);
        let held = pins.hold(4, false, now);
        assert_eq!(pins.compactable(9, false, now + FORGOTTEN * 2), 4);
        drop(held);
        assert_eq!(pins.compactable(9, false, now), 9);
    }

    #[test]
    fn a_nearly_full_disk_deletes_all_that_is_not_required() {
        let now = Instant::now();
        let mut pins = LogPins::default();
        let _backup = pins.pin(3, now);
        let _shipped = pins.hold(4, false, now);
        assert_eq!(pins.compactable(9, false, now), 3);
        assert_eq!(pins.compactable(9, true, now), 9);
        let required = pins.hold(5, true, now);
        assert_eq!(pins.compactable(9, true, now + FORGOTTEN), 5);
        drop(required);
        assert_eq!(pins.compactable(9, true, now), 9);
    }

    #[test]
    fn the_whole_log_is_kept_until_the_shipper_says_what_it_needs() {
        let now = Instant::now();
        for required in [false, true] {
            let mut pins = LogPins::new(Some(&BackupConfig {
                location: Location::Directory("/backups".into()),
                rate: 1,
                schedule: Schedule::default(),
                continuous: Some(FORGOTTEN),
                required,
                documents: Vec::new(),
            }));
            assert_eq!(pins.compactable(9, false, now), 0);
            assert_eq!(pins.compactable(9, true, now), if required { 0 } else { 9 });
            let _held = pins.hold(4, required, now);
            assert_eq!(pins.compactable(9, false, now), 4);
        }
        assert_eq!(LogPins::new(None).compactable(9, false, now), 9);
    }
}
