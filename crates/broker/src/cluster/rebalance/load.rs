//! The CPU time that the threads of this node's partitions take, smoothed: leaders are placed by it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A load that sets in is seen in full after about three times as long.
const SMOOTHED: Duration = Duration::from_secs(15);

/// The CPU time of one thread.
#[derive(Debug)]
struct Meter {
    read: Instant,
    /// The last reading, in seconds.
    cpu: f64,
    /// In cores.
    mean: f64,
}

impl Meter {
    fn new(cpu: f64, read: Instant) -> Meter {
        Meter {
            read,
            cpu,
            mean: 0.0,
        }
    }

    fn note(&mut self, cpu: f64, now: Instant) {
        let passed = now.saturating_duration_since(self.read).as_secs_f64();
        if passed > 0.0 {
            // A thread has one core: more was taken before, and is counted late.
            let cores = ((cpu - self.cpu) / passed).clamp(0.0, 1.0);
            self.mean += (cores - self.mean) * passed / (passed + SMOOTHED.as_secs_f64());
            self.read = now;
            self.cpu = cpu;
        }
    }
}

/// By partition.
#[derive(Debug, Default)]
pub struct Meters(Mutex<BTreeMap<u32, Meter>>);

impl Meters {
    /// Reads the CPU time of each partition's thread, in seconds; those of other partitions are forgotten. To be called once per second.
    pub fn read(&self, readings: impl Iterator<Item = (u32, f64)>, now: Instant) {
        let mut meters = self.0.lock();
        let mut before = std::mem::take(&mut *meters);
        for (partition, cpu) in readings {
            let mut meter = before
                .remove(&partition)
                .unwrap_or_else(|| Meter::new(cpu, now));
            meter.note(cpu, now);
            meters.insert(partition, meter);
        }
    }

    /// In thousandths of a core.
    pub fn of(&self, partition: u32) -> u32 {
        let meters = self.0.lock();
        meters
            .get(&partition)
            .map_or(0, |meter| (meter.mean * 1000.0).round() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, Meters};

    #[test]
    fn the_load_of_a_thread_is_seen_after_a_while_and_forgotten_after_another() {
        let (meters, begin) = (Meters::default(), Instant::now());
        let mut cpu = 700.0;
        let mut seconds = 0;
        let mut after = |pause: u64, more: u64, cores: f64| {
            seconds += pause;
            for _ in 0..more {
                seconds += 1;
                cpu += cores;
                let now = begin + Duration::from_secs(seconds);
                meters.read([(1, cpu), (2, 3.0)].into_iter(), now);
            }
            (meters.of(1), meters.of(2))
        };
        assert_eq!(
            after(0, 1, 0.5),
            (0, 0),
            "what was used before is not known"
        );
        let (soon, _) = after(0, 5, 0.5);
        assert!((100..250).contains(&soon), "{soon}");
        let (later, _) = after(0, 60, 0.5);
        assert!((480..=500).contains(&later), "{later}");
        // A process that was stopped has used nothing meanwhile.
        let (stopped, _) = after(600, 1, 0.5);
        assert!(stopped < 20, "{stopped}");
        assert_eq!(after(0, 120, 0.0), (0, 0));
    }

    #[test]
    fn what_is_counted_late_is_no_load_of_now() {
        let (meters, begin) = (Meters::default(), Instant::now());
        let second = Duration::from_secs(1);
        meters.read([(1, 0.0)].into_iter(), begin);
        meters.read([(1, 300.0)].into_iter(), begin + second);
        assert!(meters.of(1) < 100, "{}", meters.of(1));
    }

    #[test]
    fn a_copy_that_comes_back_begins_again() {
        let (meters, begin) = (Meters::default(), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        for seconds in 0..60 {
            meters.read([(1, seconds as f64)].into_iter(), at(seconds));
        }
        assert!(meters.of(1) > 900);
        meters.read([].into_iter(), at(60));
        assert_eq!(meters.of(1), 0);
        meters.read([(1, 0.0)].into_iter(), at(61));
        assert_eq!(meters.of(1), 0);
    }
}
