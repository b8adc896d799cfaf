//! The times of work that no message triggers: ticks of the replica, checks, timers and timeouts.

use std::time::{Duration, Instant};

use skep_engine::Due;

use super::checks::Checks;

pub struct Timetable {
    next_tick: Instant,
    checks: Checks,
    /// When something is due in the engine, by its own clock.
    due_at: Option<i64>,
    /// Nothing is due before this time, because the partition is under pressure.
    rest_until: i64,
}

impl Timetable {
    /// A timetable whose first tick and first check are due.
    pub fn new(check_interval: Duration, now: Instant) -> Timetable {
        Timetable {
            next_tick: now,
            checks: Checks::new(check_interval, now),
            due_at: None,
            rest_until: i64::MIN,
        }
    }

    /// Whether a tick is due; if so, the next one is due after this time.
    pub fn ticks(&mut self, tick: Duration, now: Instant) -> bool {
        let is_due = now >= self.next_tick;
        if is_due {
            self.next_tick = now + tick;
        }
        is_due
    }

    pub fn checks(&mut self) -> &mut Checks {
        &mut self.checks
    }

    pub fn due_at(&self) -> Option<i64> {
        self.due_at
    }

    /// Checks for due work at the next turn.
    pub fn look_at_once(&mut self) {
        self.due_at = Some(0);
    }

    pub fn is_due(&self, time: i64) -> bool {
        self.due_at.is_some_and(|due| due <= time)
    }

    /// Due work was started; `None`: the engine failed.
    pub fn ran(&mut self, due: Option<Due>, pressure: bool, time: i64) {
        self.due_at = match due {
            Some(due) if !due.more => due.next,
            _ => Some(time),
        };
        // Work that was deferred under pressure stays due, and must not be checked in every turn.
        self.rest_until = match self.due_at {
            Some(due_at) if pressure => due_at,
            _ => i64::MIN,
        };
    }

    /// A command may have made something due, perhaps at once.
    pub fn next_is(&mut self, next: Option<i64>) {
        self.due_at = next.map(|next| next.max(self.rest_until));
    }

    /// How long until the next check, or the next tick if there are `ticks`.
    pub fn idle_time(&self, ticks: bool, now: Instant) -> Duration {
        let check = self.checks.next();
        let next = if ticks {
            self.next_tick.min(check)
        } else {
            check
        };
        next.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::Timetable;
    use skep_engine::Due;
    use std::time::{Duration, Instant};

    const TICK: Duration = Duration::from_millis(50);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn ticks_keep_their_interval_and_missed_ones_are_skipped() {
        let begin = Instant::now();
        let mut timetable = Timetable::new(SECOND, begin);
        assert!(timetable.ticks(TICK, begin));
        assert!(!timetable.ticks(TICK, begin + TICK / 2));
        assert!(timetable.ticks(TICK, begin + 10 * TICK));
        assert!(!timetable.ticks(TICK, begin + 10 * TICK));
        assert_eq!(timetable.idle_time(true, begin + 10 * TICK), Duration::ZERO);
        timetable.checks().begins(begin + 10 * TICK, None);
        assert_eq!(timetable.idle_time(true, begin + 10 * TICK), TICK);
        assert_eq!(timetable.idle_time(false, begin + 10 * TICK), SECOND);
    }

    #[test]
    fn work_put_off_under_pressure_is_not_checked_in_every_turn() {
        let mut timetable = Timetable::new(SECOND, Instant::now());
        assert!(!timetable.is_due(7));
        timetable.look_at_once();
        assert!(timetable.is_due(7));
        let put_off = Due {
            more: false,
            next: Some(100),
        };
        timetable.ran(Some(put_off), true, 7);
        timetable.next_is(Some(3));
        assert_eq!(timetable.due_at(), Some(100));
        timetable.ran(Some(put_off), false, 100);
        timetable.next_is(Some(3));
        assert!(timetable.is_due(3));
        let more = Due {
            more: true,
            next: None,
        };
        timetable.ran(Some(more), false, 200);
        assert!(timetable.is_due(200), "the rest is due at once");
        timetable.ran(None, false, 300);
        assert!(timetable.is_due(300), "what has failed is tried again");
    }
}
