//! The time in which a question may begin queries of the store. Some questions ask hundreds, one after the other, and the limit of the
//! store is that of one.
//!
//! The time begins with the second query: the first one waits until the store has what was acknowledged, and has the limits of the store.
//! A query that has begun is not cut off: the store would go on with it, and the slot of the request would be free for another one.

use std::time::{Duration, Instant};

use skep_protocol::Failure;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Time {
    all: Duration,
    has_asked: bool,
    began: Option<Instant>,
}

impl Time {
    pub(super) fn new(all: Duration) -> Time {
        Time {
            all,
            has_asked: false,
            began: None,
        }
    }

    /// A query is to begin. The first one always may.
    ///
    /// # Errors
    /// The time is over.
    pub(super) fn begin_query(&mut self) -> Result<(), Failure> {
        let is_first = !std::mem::replace(&mut self.has_asked, true);
        if is_first || self.began.get_or_insert_with(Instant::now).elapsed() < self.all {
            return Ok(());
        }
        Err(Failure::DeadlineExceeded(format!(
            "The answer takes several queries of secondary storage, and those may begin within {} ms (skep.api.request-timeout), which \
             are over. Send the request again when the store is less busy.",
            self.all.as_millis()
        )))
    }

    /// Whether half of it is over: a question that can do with a part of the answer ends here.
    pub(super) fn is_half_over(&self) -> bool {
        self.began
            .is_some_and(|began| began.elapsed() >= self.all / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_query_always_begins_and_later_ones_do_within_the_time() {
        let mut over = Time::new(Duration::ZERO);
        assert_eq!(over.begin_query(), Ok(()));
        assert!(!over.is_half_over(), "it has not begun");
        let refused = over.begin_query().unwrap_err();
        assert!(
            matches!(&refused, Failure::DeadlineExceeded(why) if why.contains("skep.api.request-timeout")),
            "{refused}"
        );
        assert!(over.is_half_over());
        let mut long = Time::new(Duration::from_secs(3600));
        for _ in 0..3 {
            assert_eq!(long.begin_query(), Ok(()));
        }
        assert!(!long.is_half_over());
    }
}
