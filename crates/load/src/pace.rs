//! The open loop: when starts are due.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::Semaphore;

use crate::rate::Leg;

/// Starts at given rates from a moment on.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// When the first start is due.
    pub begin: Instant,
    /// The rates, one after the other.
    pub legs: Vec<Leg>,
    /// Starts per second after the legs, above 0.
    pub last: f64,
}

impl Schedule {
    /// When start number `number` (from 0) is due.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 starts")]
    pub fn due(&self, number: u64) -> Instant {
        let mut left = number as f64;
        let mut seconds = 0.0;
        for leg in &self.legs {
            let all = leg.all();
            if left < all {
                return self.after(seconds + leg.seconds_until(left));
            }
            left -= all;
            seconds += leg.seconds;
        }
        self.after(seconds + left / self.last)
    }

    fn after(&self, seconds: f64) -> Instant {
        let offset = Duration::try_from_secs_f64(seconds);
        self.begin + offset.unwrap_or(Duration::from_secs(1 << 30))
    }

    /// How many starts are due by `now`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float casts saturate, and neither bound is reached"
    )]
    pub fn due_by(&self, now: Instant) -> u64 {
        let Some(elapsed) = now.checked_duration_since(self.begin) else {
            return 0;
        };
        let mut left = elapsed.as_secs_f64();
        let mut starts = 0.0;
        for leg in &self.legs {
            if left < leg.seconds {
                return (starts + leg.starts(left)).floor() as u64 + 1;
            }
            starts += leg.all();
            left -= leg.seconds;
        }
        (starts + left * self.last).floor() as u64 + 1
    }
}

/// Hands out starts when they are due; a late caller finds them waiting.
#[derive(Debug)]
pub struct Pacer {
    schedule: Schedule,
    due: Semaphore,
    released: AtomicU64,
    taken: AtomicU64,
    stopped: AtomicBool,
}

/// The finest step of the pacer: starts due within one step are released together.
const STEP: Duration = Duration::from_micros(250);

impl Pacer {
    /// A pacer that has released nothing yet.
    pub fn new(schedule: Schedule) -> Arc<Self> {
        Arc::new(Self {
            schedule,
            due: Semaphore::new(0),
            released: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        })
    }

    /// Releases starts on schedule from a thread of its own, because the timer of the runtime
    /// only counts whole milliseconds. It ends with [`stop`](Self::stop).
    pub fn run(self: &Arc<Self>) {
        let pacer = Arc::clone(self);
        std::thread::spawn(move || {
            while !pacer.stopped.load(Ordering::Relaxed) {
                let next = pacer.release(Instant::now());
                let pause = next.saturating_duration_since(Instant::now());
                // short naps, so that a stop is noticed soon
                std::thread::sleep(pause.clamp(STEP, Duration::from_millis(100)));
            }
        });
    }

    /// Releases what is due by `now`; returns when the next start is due.
    pub fn release(&self, now: Instant) -> Instant {
        let due = self.schedule.due_by(now);
        let before = self.released.fetch_max(due, Ordering::Relaxed);
        let fresh = usize::try_from(due.saturating_sub(before)).unwrap_or(0);
        if fresh > 0 {
            self.due.add_permits(fresh.min(Semaphore::MAX_PERMITS / 2));
        }
        self.schedule.due(due.max(before))
    }

    /// Waits for the next start and returns when it was due; `None` when the pacer is stopped.
    pub async fn next(&self) -> Option<Instant> {
        self.due.acquire().await.ok()?.forget();
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        Some(self.schedule.due(number))
    }

    /// Ends the schedule; returns the due times of starts that were released but not taken.
    pub fn stop(&self) -> impl ExactSizeIterator<Item = Instant> {
        self.stopped.store(true, Ordering::Relaxed);
        self.due.close();
        let released = self.released.load(Ordering::Relaxed);
        let taken = self.taken.load(Ordering::Relaxed);
        // limited to a usize, for an exact size
        let left = usize::try_from(released.saturating_sub(taken)).unwrap_or(usize::MAX);
        let schedule = self.schedule.clone();
        (0..left).map(move |number| {
            schedule.due(taken.saturating_add(u64::try_from(number).unwrap_or(u64::MAX)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(begin: Instant, rate: f64) -> Schedule {
        Schedule {
            begin,
            legs: Vec::new(),
            last: rate,
        }
    }

    #[test]
    fn starts_are_due_at_even_distances() {
        let begin = Instant::now();
        let schedule = constant(begin, 150.0);
        assert_eq!(schedule.due_by(begin), 1, "the first is due at once");
        let minute = begin + Duration::from_secs(60);
        assert!((9_000..=9_001).contains(&schedule.due_by(minute)));
        assert_eq!(schedule.due(15), begin + Duration::from_millis(100));
        assert_eq!(schedule.due_by(begin - Duration::from_millis(1)), 0);
    }

    #[test]
    fn starts_follow_a_ramp_and_then_its_last_rate() {
        let begin = Instant::now();
        let leg = |seconds, from, to| Leg { seconds, from, to };
        let schedule = Schedule {
            begin,
            legs: vec![leg(2.0, 10.0, 10.0), leg(10.0, 10.0, 30.0)],
            last: 30.0,
        };
        let at = |seconds: f64| begin + Duration::from_secs_f64(seconds);
        // 20 in the first two seconds, 200 in the next ten, then 30 a second.
        for (seconds, starts) in [(0.0, 0), (2.0, 20), (12.0, 220), (13.0, 250)] {
            let due = schedule.due(starts);
            let wanted = at(seconds);
            assert!(
                due.max(wanted) - due.min(wanted) < Duration::from_micros(1),
                "start {starts}"
            );
            let by = schedule.due_by(wanted + Duration::from_millis(1));
            assert_eq!(by, starts + 1, "after {seconds} s");
        }
        // Half of the ramp's time is less than half of its starts.
        assert_eq!(schedule.due_by(at(7.001)), 20 + 75 + 1);
        let times: Vec<Instant> = (0..300).map(|number| schedule.due(number)).collect();
        assert!(times.is_sorted());
    }

    #[tokio::test]
    async fn starts_that_could_not_be_sent_in_time_keep_the_time_they_were_due() {
        let begin = Instant::now();
        let pacer = Pacer::new(constant(begin, 1000.0));
        // no start is taken for two seconds, as if the server had stalled
        let next = pacer.release(begin + Duration::from_secs(2));
        assert!(next > begin + Duration::from_secs(2));
        for number in 0..2_000_u32 {
            let due = pacer.next().await.unwrap();
            let expected = begin + Duration::from_millis(1) * number;
            assert!(due.max(expected) - due.min(expected) < Duration::from_micros(1));
        }
        assert!(pacer.stop().len() <= 1);
        assert_eq!(pacer.next().await, None);
    }

    #[test]
    fn releasing_again_releases_only_what_became_due() {
        let begin = Instant::now();
        let pacer = Pacer::new(constant(begin, 10.0));
        for _ in 0..3 {
            pacer.release(begin + Duration::from_millis(450));
        }
        let left: Vec<_> = pacer.stop().collect();
        assert_eq!(left.len(), 5);
        assert_eq!(left.first(), Some(&begin));
    }
}
