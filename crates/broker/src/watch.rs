//! Checks that a node makes once per second for all of its partitions, which may hibernate meanwhile: the disk, the time, damaged stores.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use skep_storage::space::StatvfsProbe;

use crate::config::BrokerConfig;
use crate::disk::DiskWatch;
use crate::local::Local;
use crate::partition::Report;

/// Maximum time between two checks.
const LONGEST: Duration = Duration::from_secs(1);
/// The system clock counts as jumped if it is ahead of the elapsed time by more than this: it was set, or the machine has slept.
const JUMP: Duration = Duration::from_millis(100);

/// The system time and the elapsed time. Partitions sleep until something is due, and would sleep too long if the clock was set forward.
struct Time {
    at: Instant,
    clock: SystemTime,
}

impl Time {
    fn has_jumped(&mut self, at: Instant, clock: SystemTime) -> bool {
        let passed = at.saturating_duration_since(self.at);
        let ahead = clock.duration_since(self.clock + passed);
        *self = Time { at, clock };
        ahead.is_ok_and(|ahead| ahead > JUMP)
    }
}

/// Checks once, then continues in a thread of its own.
pub fn watch(config: &BrokerConfig, local: Arc<Local>) {
    let space = local.disk.clone();
    let probe = Box::new(StatvfsProbe::new(&config.directory));
    let mut disk = DiskWatch::new(&config.disk, probe, space.clone());
    let mut look = move |local: &Local| {
        if let Some(disk) = &mut disk {
            disk.look(local);
        }
    };
    look(&local);
    let interval = config.disk.monitoring_interval;
    let interval = interval.clamp(Duration::from_millis(10), LONGEST);
    let has_others = config.cluster.is_some();
    let run = move || {
        let mut time = Time {
            at: Instant::now(),
            clock: SystemTime::now(),
        };
        while !space.is_stopped() {
            std::thread::sleep(interval);
            look(&local);
            let jumped = time.has_jumped(Instant::now(), SystemTime::now());
            wake(&local, jumped, has_others);
        }
    };
    let thread = std::thread::Builder::new().name("watch".into());
    if let Err(error) = thread.spawn(run) {
        tracing::error!(code = "DISK_NOT_WATCHED", %error, "free disk space is not watched");
    }
}

/// Makes partitions check for work again: all of them, or those whose damaged stores can be fetched from another node.
fn wake(local: &Local, all: bool, has_others: bool) {
    for handle in local.partitions() {
        let store = handle.secondary.get().opened();
        let is_damaged = has_others && store.is_some_and(|store| store.is_damaged());
        if all || is_damaged {
            handle.inbox.send(Report::Wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, SystemTime, Time};

    #[test]
    fn a_time_that_was_set_forward_is_noticed_once() {
        let (at, clock) = (Instant::now(), SystemTime::now());
        let mut time = Time { at, clock };
        let second = Duration::from_secs(1);
        assert!(!time.has_jumped(at + second, clock + second));
        // Late, and so is the clock.
        assert!(!time.has_jumped(at + 9 * second, clock + 9 * second));
        assert!(time.has_jumped(at + 10 * second, clock + 3600 * second));
        assert!(!time.has_jumped(at + 11 * second, clock + 3601 * second));
        // Set back: due work runs when its time has come again.
        assert!(!time.has_jumped(at + 12 * second, clock));
        assert!(!time.has_jumped(at + 13 * second, clock + second));
    }
}
