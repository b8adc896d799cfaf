//! The schedule of periodic checks that no message triggers: one per interval while the partition works, few while it hibernates.

use std::time::{Duration, Instant};

/// A hibernating partition is woken by everything that concerns it. This is a safety net for anything forgotten.
const RARELY: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Checks {
    interval: Duration,
    next: Instant,
    /// Whether something was done since the last check.
    works: bool,
}

impl Checks {
    /// A schedule whose first check is due.
    pub fn new(interval: Duration, now: Instant) -> Checks {
        Checks {
            interval,
            next: now,
            works: true,
        }
    }

    /// Something was done: the next check is due within the interval.
    pub fn works(&mut self) {
        self.works = true;
    }

    /// Makes the next check due now.
    pub fn hurry(&mut self, now: Instant) {
        self.next = now;
    }

    pub fn next(&self) -> Instant {
        self.next
    }

    pub fn is_due(&mut self, now: Instant) -> bool {
        if self.works {
            self.next = self.next.min(now + self.interval);
        }
        now >= self.next
    }

    /// A check begins. `idle`: the longest time until the next check, if nothing needs attention soon.
    pub fn begins(&mut self, now: Instant, idle: Option<Duration>) {
        let works = std::mem::take(&mut self.works);
        let pause = match idle {
            Some(idle) if !works => idle.min(RARELY).max(self.interval),
            _ => self.interval,
        };
        self.next = now + pause;
    }
}

#[cfg(test)]
mod tests {
    use super::{Checks, Duration, Instant};

    const SECOND: Duration = Duration::from_secs(1);

    /// The number of checks within this time.
    fn count(checks: &mut Checks, begin: Instant, time: Duration, idle: Option<Duration>) -> u32 {
        let (mut now, mut count) = (begin, 0);
        while now < begin + time {
            if checks.is_due(now) {
                count += 1;
                checks.begins(now, idle);
            }
            now = checks.next().max(now);
        }
        count
    }

    #[test]
    fn a_hibernating_partition_rarely_checks_and_a_busy_one_does_every_second() {
        let now = Instant::now();
        let hour = 3600 * SECOND;
        let checks = || Checks::new(SECOND, now);
        assert_eq!(count(&mut checks(), now, hour, None), 3600);
        let hibernates = count(&mut checks(), now, hour, Some(Duration::MAX));
        assert!(hibernates <= 62, "{hibernates}");
        let with_a_date = count(&mut checks(), now, hour, Some(10 * SECOND));
        assert!((350..=362).contains(&with_a_date), "{with_a_date}");
    }

    #[test]
    fn work_ends_hibernation_and_is_followed_by_two_checks() {
        let now = Instant::now();
        let mut checks = Checks::new(SECOND, now);
        count(&mut checks, now, 300 * SECOND, Some(Duration::MAX));
        let later = now + 299 * SECOND;
        assert!(!checks.is_due(later), "it rests");
        checks.works();
        assert!(!checks.is_due(later));
        assert_eq!(checks.next(), later + SECOND);
        assert!(checks.is_due(later + SECOND));
        checks.begins(later + SECOND, Some(Duration::MAX));
        assert_eq!(checks.next(), later + 2 * SECOND);
        checks.hurry(later);
        assert!(checks.is_due(later));
    }
}
