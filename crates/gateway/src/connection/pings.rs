//! How often a client may ping (gRPC proposals A8 and A9).

use std::time::{Duration, Instant};

/// Early pings that are tolerated.
const STRIKES: u32 = 2;

/// Judges the pings of one connection. A ping is too early when less than the interval has passed since the last one in time.
/// Whatever the server sends in answer to a call resets the count, so that pings which measure the line are no offence.
#[derive(Debug)]
pub struct Pings {
    interval: Duration,
    last: Option<Instant>,
    strikes: u32,
}

impl Pings {
    pub fn new(interval: Duration) -> Pings {
        Pings {
            interval,
            last: None,
            strikes: 0,
        }
    }

    /// Records a ping. False: it was one too many.
    pub fn received(&mut self, now: Instant) -> bool {
        if self
            .last
            .is_some_and(|last| now.saturating_duration_since(last) < self.interval)
        {
            self.strikes += 1;
        } else {
            self.last = Some(now);
        }
        self.strikes <= STRIKES
    }

    /// Records that the server sent a head or data.
    pub fn answered(&mut self) {
        self.last = None;
        self.strikes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn pings_in_time_are_no_offence() {
        let (start, mut pings) = (Instant::now(), Pings::new(Duration::from_secs(30)));
        assert!((0..100).all(|n| pings.received(at(start, n * 30))));
    }

    #[test]
    fn the_third_early_ping_is_one_too_many() {
        let (start, mut pings) = (Instant::now(), Pings::new(Duration::from_secs(30)));
        let judged: Vec<bool> = (0..4).map(|n| pings.received(at(start, n))).collect();
        assert_eq!(judged, [true, true, true, false]);
    }

    #[test]
    fn an_answer_clears_the_slate() {
        let (start, mut pings) = (Instant::now(), Pings::new(Duration::from_secs(30)));
        for n in 0..100 {
            assert!(pings.received(at(start, n)), "ping {n}");
            if n % 3 == 2 {
                pings.answered();
            }
        }
    }
}
