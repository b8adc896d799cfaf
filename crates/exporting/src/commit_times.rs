//! Roughly when entries were committed, to know for how long an exporter lacks one.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Entries that are committed within this time count as committed together, at first.
const FINEST: Duration = Duration::from_millis(100);
/// Maximum number of marks; with more, marks that are close to each other become one.
const MOST: usize = 1024;

#[derive(Debug)]
pub(crate) struct CommitTimes {
    /// First entries of commits, ascending, with their times. Entries before the first mark have none.
    marks: VecDeque<(u64, Instant)>,
    /// Minimum time between two marks.
    apart: Duration,
}

impl Default for CommitTimes {
    fn default() -> CommitTimes {
        CommitTimes {
            marks: VecDeque::new(),
            apart: FINEST,
        }
    }
}

impl CommitTimes {
    /// Notes that `first` and perhaps entries after it were committed now.
    pub fn note(&mut self, first: u64, now: Instant) {
        let is_new =
            |(last, at): &(u64, Instant)| first > *last && now.duration_since(*at) >= self.apart;
        if !self.marks.back().is_none_or(is_new) {
            return;
        }
        self.marks.push_back((first, now));
        while self.marks.len() > MOST {
            self.apart *= 2;
            self.join();
        }
    }

    /// Removes marks that are too close to the one before.
    fn join(&mut self) {
        let mut kept: Option<Instant> = None;
        let apart = self.apart;
        self.marks.retain(|(_, at)| {
            let keeps = kept.is_none_or(|kept| at.duration_since(kept) >= apart);
            if keeps {
                kept = Some(*at);
            }
            keeps
        });
    }

    /// When the first entry after `reached` was committed; `None` if that is unknown.
    pub fn of_first_after(&self, reached: u64) -> Option<Instant> {
        let marks = self.marks.iter().rev();
        let mut before = marks.skip_while(|(first, _)| *first > reached.saturating_add(1));
        before.next().map(|(_, at)| *at)
    }

    /// Nobody will ask for entries up to this one any more.
    pub fn forget(&mut self, reached: u64) {
        while let Some((next, _)) = self.marks.get(1)
            && *next <= reached.saturating_add(1)
        {
            self.marks.pop_front();
        }
        if self.marks.len() <= 1 {
            self.apart = FINEST;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_first_missing_entry_is_known() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut times = CommitTimes::default();
        assert_eq!(times.of_first_after(0), None);
        times.note(5, at(0));
        // Entries 8 and 9 follow an hour of rest.
        times.note(6, start + FINEST / 2);
        times.note(8, at(3600));
        times.note(9, at(3601));
        assert_eq!(times.of_first_after(3), None);
        assert_eq!(times.of_first_after(4), Some(at(0)));
        assert_eq!(times.of_first_after(6), Some(at(0)));
        assert_eq!(times.of_first_after(7), Some(at(3600)));
        assert_eq!(times.of_first_after(8), Some(at(3601)));
        times.forget(7);
        assert_eq!(times.of_first_after(6), None);
        assert_eq!(times.of_first_after(7), Some(at(3600)));
    }

    #[test]
    fn marks_are_few_and_an_idle_time_is_not_part_of_them() {
        let start = Instant::now();
        let mut times = CommitTimes::default();
        let mut at = start;
        for entry in 1..=100_000 {
            at += FINEST;
            times.note(entry, at);
        }
        assert!(times.marks.len() <= MOST);
        let since = times.of_first_after(50_000).unwrap();
        let exact = start + FINEST * 50_001;
        assert!(
            since <= exact && exact - since <= times.apart,
            "{:?}",
            exact - since
        );
        assert!(times.apart <= Duration::from_secs(20), "{:?}", times.apart);
        let later = at + Duration::from_secs(86_400);
        times.note(100_001, later);
        assert_eq!(times.of_first_after(100_000), Some(later));
        times.forget(100_000);
        assert_eq!((times.marks.len(), times.apart), (1, FINEST));
    }
}
