//! The rate of a load, which may grow or fall evenly at first.

use std::fmt;
use std::time::{Duration, Instant};

/// Instances per second, from a moment on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    from: f64,
    pub(super) to: f64,
    begun: Instant,
    /// The time from one rate to the other.
    time: Duration,
}

impl Offered {
    pub(super) fn constant(rate: f64) -> Self {
        Self::ramp(rate, rate, Duration::ZERO)
    }

    pub(super) fn ramp(from: f64, to: f64, time: Duration) -> Self {
        Self {
            from,
            to,
            begun: Instant::now(),
            time,
        }
    }

    pub(super) fn at(&self, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.begun);
        if since >= self.time {
            return self.to;
        }
        let share = since.as_secs_f64() / self.time.as_secs_f64();
        self.from + (self.to - self.from) * share
    }
}

impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.time.is_zero() {
            write!(f, "from {:.0}/s to ", self.from)?;
        }
        write!(f, "{:.0}/s", self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_grows_or_falls_evenly_and_then_stays() {
        let time = Duration::from_secs(10);
        let at = |offered: Offered, seconds: f64| {
            offered.at(offered.begun + Duration::from_secs_f64(seconds))
        };
        let grows = Offered::ramp(50.0, 150.0, time);
        let falls = Offered::ramp(150.0, 50.0, time);
        for (seconds, rate) in [(0.0, 50.0), (2.5, 75.0), (10.0, 150.0), (99.0, 150.0)] {
            assert!((at(grows, seconds) - rate).abs() < 1e-9, "{seconds}");
            assert!(
                (at(falls, seconds) - (200.0 - rate)).abs() < 1e-9,
                "{seconds}"
            );
        }
        assert!((at(Offered::constant(7.0), 0.0) - 7.0).abs() < 1e-9);
    }
}
