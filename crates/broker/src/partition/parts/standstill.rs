//! A partition pauses for a backup: it evaluates nothing for a moment, while all the others pause too.
//!
//! It resumes by itself after [`LIMIT`], even if the requester is gone.

use std::time::{Duration, Instant};

/// Maximum time for which a partition pauses.
const LIMIT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default)]
pub struct Standstill(Option<Standing>);

#[derive(Clone, Debug)]
struct Standing {
    /// The term in which the partition was led here.
    term: u64,
    until: Instant,
}

impl Standstill {
    pub fn begin(&mut self, term: u64, now: Instant) {
        let until = now + LIMIT;
        self.0 = Some(Standing { term, until });
    }

    /// Whether a pause has begun; it may be over.
    pub fn has_begun(&self) -> bool {
        self.0.is_some()
    }

    /// The remaining time of the pause, if there is one.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        let standing = self.0.as_ref()?;
        let left = standing.until.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Ends the pause. True if the partition was paused until now, in this term.
    pub fn end(&mut self, term: u64, now: Instant) -> bool {
        let standing = self.0.take();
        standing.is_some_and(|standing| standing.term == term && now < standing.until)
    }
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, Standstill};
    use std::time::Instant;

    #[test]
    fn a_standstill_counts_once_within_its_time_and_in_its_term() {
        let now = Instant::now();
        let mut standstill = Standstill::default();
        assert!(!standstill.has_begun() && !standstill.end(3, now));
        standstill.begin(3, now);
        assert!(standstill.has_begun());
        assert!(standstill.end(3, now + LIMIT / 2));
        assert!(!standstill.end(3, now + LIMIT / 2));
        standstill.begin(3, now);
        assert!(!standstill.end(4, now), "another leader was there between");
        standstill.begin(3, now);
        assert_eq!(standstill.left(now + LIMIT / 2), Some(LIMIT / 2));
        assert_eq!(standstill.left(now + LIMIT), None);
        assert!(!standstill.end(3, now + LIMIT), "it went on by itself");
    }
}
