//! A rate limit for bulk data: disk and cores are there for regular work first.

use std::time::{Duration, Instant};

/// Maximum time for which unused capacity is kept: a pause does not lead to a burst.
const MADE_UP_FOR: Duration = Duration::from_millis(20);

/// When the next bytes may be transferred.
#[derive(Debug)]
pub struct Pace {
    per_second: u64,
    due: Instant,
}

impl Pace {
    pub fn new(per_second: u64, now: Instant) -> Pace {
        Pace {
            per_second,
            due: now,
        }
    }

    /// Accounts for this many bytes transferred now. Returns how long the next ones must wait.
    pub fn went(&mut self, bytes: usize, now: Instant) -> Duration {
        let took = Duration::from_nanos(
            (bytes as u64).saturating_mul(1_000_000_000) / self.per_second.max(1),
        );
        let earliest = now.checked_sub(MADE_UP_FOR).unwrap_or(now);
        self.due = self.due.max(earliest) + took;
        self.due.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, Pace};

    #[test]
    fn bytes_are_sent_at_the_rate_without_a_burst_after_a_long_pause() {
        let began = Instant::now();
        let at = |millis| began + Duration::from_millis(millis);
        let mut pace = Pace::new(1_000_000, began);
        assert_eq!(pace.went(10_000, began), Duration::from_millis(10));
        assert_eq!(pace.went(10_000, at(10)), Duration::from_millis(10));
        // A little late: nothing is lost.
        assert_eq!(pace.went(10_000, at(25)), Duration::from_millis(5));
        // After a long delay only 20 ms are made up for.
        assert_eq!(pace.went(10_000, at(1000)), Duration::ZERO);
        assert_eq!(pace.went(10_000, at(1000)), Duration::ZERO);
        assert_eq!(pace.went(10_000, at(1000)), Duration::from_millis(10));
    }
}
