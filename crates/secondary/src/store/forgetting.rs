//! Schedules deletions of history, and their amount, so that they hardly affect writers and readers.

use std::time::{Duration, Instant};

/// Interval after which deletion is tried again if nothing was old enough.
const EVERY: Duration = Duration::from_secs(1);
/// If nothing is written either, the interval is this fraction of the quiet time, up to a maximum. Existing rows still age, and
/// may be deleted that much later.
const PART_OF_QUIET: u32 = 4;
const RARELY: Duration = Duration::from_secs(60);
/// Process instances deleted at a time: initially, at least and at most.
const FIRST: usize = 200;
const LEAST: usize = 20;
const MOST: usize = 2_000;
/// Length of the pause after a slice, as a multiple of the slice's duration. Deletion takes less than a twentieth of the time
/// under write load, and a quarter of it otherwise.
const PAUSES_WHILE_BUSY: u32 = 24;
const PAUSES: u32 = 3;
/// Maximum pause. A single slow slice on a busy server must not postpone deletions for minutes.
const LONGEST: Duration = Duration::from_secs(10);
/// Writing counts as busy if it takes more than one part in this many of the time. Below that, deletion keeps up with writing.
const BUSY: u32 = 3;

#[derive(Debug)]
pub struct Forgetting {
    next: Instant,
    /// When the next slice may start at the earliest, if something is written in between.
    soon: Instant,
    /// When rows were last written.
    wrote: Instant,
    /// Start of the period over which writing time is summed up.
    since: Instant,
    writing: Duration,
    slice: usize,
    /// Target duration of a slice.
    span: Duration,
}

impl Forgetting {
    pub fn new(now: Instant, span: Duration) -> Forgetting {
        Forgetting {
            next: now + EVERY,
            soon: now,
            wrote: now,
            since: now,
            writing: Duration::ZERO,
            slice: FIRST,
            span,
        }
    }

    /// Records that new rows were written between these times.
    pub fn wrote(&mut self, (began, ended): (Instant, Instant)) {
        self.writing += ended.saturating_duration_since(began);
        self.wrote = ended;
        self.next = self.next.min(self.soon.max(ended + EVERY));
    }

    /// Number of process instances to delete now, or the time left to wait.
    pub fn due(&self, now: Instant) -> Result<usize, Duration> {
        match self.next.saturating_duration_since(now) {
            Duration::ZERO => Ok(self.slice),
            rest => Err(rest),
        }
    }

    /// Records the deletion of `count` process instances. Returns the time to wait until the next slice.
    pub fn forgot(&mut self, count: usize, (began, ended): (Instant, Instant)) -> Duration {
        let took = ended.saturating_duration_since(began);
        let busy = self.writing * BUSY > began.saturating_duration_since(self.since);
        let mut pause = took * if busy { PAUSES_WHILE_BUSY } else { PAUSES };
        pause = pause.min(LONGEST);
        self.soon = ended + pause;
        if count < self.slice {
            let quiet = ended.saturating_duration_since(self.wrote) / PART_OF_QUIET;
            pause = pause.max(quiet.clamp(EVERY, RARELY));
        } else {
            let fits = self.span.as_secs_f64() / took.as_secs_f64().max(1e-6);
            let slice = self.slice as f64 * fits.clamp(0.5, 2.0);
            self.slice = (slice as usize).clamp(LEAST, MOST);
        }
        (self.next, self.since, self.writing) = (ended + pause, ended, Duration::ZERO);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Simulates ten minutes of deletions, where a process instance takes `each` and writing takes `writes` of every 100 ms.
    /// Returns the share of time spent on deleting, and the number of deleted instances.
    fn ten_minutes(each: Duration, writes: Duration) -> (f64, usize) {
        let begin = Instant::now();
        let mut forgetting = Forgetting::new(begin, 10 * MS);
        let (mut now, mut spent, mut deleted) = (begin, Duration::ZERO, 0);
        while now < begin + 600_000 * MS {
            forgetting.wrote((now, now + writes));
            now += 100 * MS;
            if let Ok(slice) = forgetting.due(now) {
                let took = each * u32::try_from(slice).unwrap();
                forgetting.forgot(slice, (now, now + took));
                (now, spent, deleted) = (now + took, spent + took, deleted + slice);
            }
        }
        (spent.as_secs_f64() / 600.0, deleted)
    }

    #[test]
    fn deleting_takes_little_of_the_time_while_there_is_much_to_write() {
        for each in [MS / 100, MS / 10, MS, 10 * MS] {
            let (share, deleted) = ten_minutes(each, 60 * MS);
            assert!(
                share < 0.05 && deleted > 200,
                "{each:?}: {share}, {deleted}"
            );
            let (quiet, more) = ten_minutes(each, MS);
            assert!(quiet < 0.3 && more >= deleted, "{each:?}: {quiet}, {more}");
        }
    }

    #[test]
    fn slices_fit_the_time_that_they_may_take() {
        for (each, fits) in [
            (MS / 100, 1_000),
            (MS / 20, 200),
            (MS / 10, 100),
            (MS, LEAST),
        ] {
            let begin = Instant::now();
            let mut forgetting = Forgetting::new(begin, 10 * MS);
            let mut now = begin;
            for _ in 0..20 {
                now += 10_000 * MS;
                let slice = forgetting.due(now).unwrap();
                forgetting.forgot(slice, (now, now + each * u32::try_from(slice).unwrap()));
            }
            let slice = forgetting.due(now + 10_000 * MS).unwrap();
            assert!(slice.abs_diff(fits) <= 1, "{each:?}: {slice}");
        }
    }

    #[test]
    fn a_slice_that_took_long_does_not_put_the_next_ones_off_for_long() {
        let begin = Instant::now();
        let mut forgetting = Forgetting::new(begin, 10 * MS);
        let now = begin + EVERY;
        forgetting.wrote((begin, now));
        let pause = forgetting.forgot(FIRST, (now, now + 60_000 * MS));
        assert_eq!(pause, LONGEST);
        assert_eq!(forgetting.due(now + 60_000 * MS + LONGEST), Ok(FIRST / 2));
    }

    #[test]
    fn where_nothing_is_old_it_is_looked_again_after_a_while() {
        let begin = Instant::now();
        let mut forgetting = Forgetting::new(begin, 10 * MS);
        assert_eq!(forgetting.due(begin), Err(EVERY));
        let now = begin + EVERY;
        assert_eq!(forgetting.due(now), Ok(FIRST));
        forgetting.forgot(0, (now, now + MS));
        assert_eq!(forgetting.due(now + EVERY), Err(MS));
        assert_eq!(forgetting.due(now + EVERY + MS), Ok(FIRST));
    }

    #[test]
    fn where_nothing_is_written_it_is_looked_rarely() {
        let begin = Instant::now();
        let mut forgetting = Forgetting::new(begin, 10 * MS);
        let (mut now, mut looks, day) = (begin, 0, 24 * 3600 * EVERY);
        while now < begin + day {
            match forgetting.due(now) {
                Ok(_) => {
                    looks += 1;
                    let pause = forgetting.forgot(0, (now, now));
                    let quiet = now - begin;
                    assert!(pause <= (quiet / 4).max(EVERY), "{quiet:?}: {pause:?}");
                }
                Err(rest) => now += rest,
            }
        }
        assert!(looks < 24 * 60 + 30, "{looks} looks in a day");
        // New writes return the interval to normal.
        forgetting.forgot(0, (now, now));
        forgetting.wrote((now, now + MS));
        assert_eq!(forgetting.due(now + MS), Err(EVERY));
    }
}
