//! The pace of log lines that others can cause.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Time between two lines.
const PAUSE: Duration = Duration::from_secs(10);

/// When the last line was written. See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<Option<Instant>>);

impl Pace {
    /// Whether a line is to be written now; then none is for a while.
    pub(crate) fn is_due(&self) -> bool {
        self.is_due_at(Instant::now())
    }

    fn is_due_at(&self, now: Instant) -> bool {
        let mut last = self.0.lock();
        let is_due = last.is_none_or(|last| now.duration_since(last) >= PAUSE);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_in_ten_seconds_is_written() {
        let (pace, start) = (Pace::default(), Instant::now());
        for (seconds, is_due) in [(0, true), (1, false), (9, false), (10, true), (11, false)] {
            let at = start + Duration::from_secs(seconds);
            assert_eq!(pace.is_due_at(at), is_due, "{seconds}");
        }
    }
}
