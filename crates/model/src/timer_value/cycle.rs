//! Repeating timers: ISO 8601 repeating intervals and cron.

use std::borrow::Cow;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::duration::{Duration, parse_duration};
use super::{InvalidTimerValue, parse_date};

/// A repeating timer.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// Number of repetitions; `None` is unlimited. The owner of the timer counts down.
    pub repetitions: Option<u32>,
    pub schedule: Schedule,
}

/// When a cycle fires.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Each time the interval after the time before; with a start, first at the start.
    Interval {
        /// Milliseconds since the epoch.
        start: Option<i64>,
        /// Positive, where it repeats without end.
        interval: Duration,
    },
    /// At the times of a cron text, in UTC.
    Cron {
        times: Box<Cron>,
        /// Only on this day, counted back from the last of its month.
        before_last: Option<i8>,
    },
}

const EXPECTED: &str = "expected a cycle such as R3/PT10M, R/2026-10-01T12:00:00Z/P1D, a cron text of six fields such as 0 0 9 * * \
                        MON-FRI, or @daily";

impl Cycle {
    /// Reads `R[n]/duration`, `R[n]/start/duration` (a `/` at the end is allowed), a cron text of six fields with the
    /// seconds first, or one of `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight`, `@hourly`.
    ///
    /// `R/` and `R-1/` repeat without end. In cron texts, day of month and day of week must both match.
    ///
    /// # Errors
    /// When the text has another form, or its interval is not positive (in whole milliseconds) though it repeats without end.
    pub fn parse(text: &str) -> Result<Cycle, InvalidTimerValue> {
        let text = text.trim();
        match text.strip_prefix('R') {
            Some(rest)
                if rest.starts_with(|c: char| c == '/' || c == '-' || c.is_ascii_digit()) =>
            {
                parse_repeating(rest)
            }
            _ => parse_cron(text),
        }
    }

    /// When a timer that is set at `now` fires first: at its start, or now if that has passed. Both are milliseconds since
    /// the epoch. `None` if the calendar ends before.
    pub fn first(&self, now: i64) -> Option<i64> {
        match &self.schedule {
            Schedule::Interval {
                start: Some(start), ..
            } => Some(now.max(*start)),
            _ => self.after(now),
        }
    }

    /// The next time of a timer that was due at `due` and fires at `now`: never earlier than now, so that one firing makes up
    /// for all missed times. `None` if the calendar ends before.
    pub fn next(&self, due: i64, now: i64) -> Option<i64> {
        Some(self.after(due)?.max(now))
    }

    fn after(&self, time: i64) -> Option<i64> {
        match &self.schedule {
            Schedule::Interval { interval, .. } => interval.add_to(time),
            Schedule::Cron { times, before_last } => {
                let time = Timestamp::from_millisecond(time).ok()?;
                let next = occurrence(times, *before_last, time.to_zoned(TimeZone::UTC))?;
                Some(next.timestamp().as_millisecond())
            }
        }
    }
}

/// The next time of a cron after this one. Each month has four days at most that could be the one before its last.
fn occurrence(times: &Cron, before_last: Option<i8>, after: Zoned) -> Option<Zoned> {
    const MOST_DAYS: usize = 4 * 12 * 100;
    let mut after = after;
    for _ in 0..MOST_DAYS {
        let next = times.find_next_occurrence(&after, false).ok()?;
        match before_last {
            Some(days) if next.day() != next.days_in_month() - days => {
                after = next.end_of_day().ok()?;
            }
            _ => return Some(next),
        }
    }
    None
}

fn parse_repeating(rest: &str) -> Result<Cycle, InvalidTimerValue> {
    let (count, rest) = rest
        .split_once('/')
        .ok_or_else(|| InvalidTimerValue::new(EXPECTED))?;
    let repetitions = match count {
        "" | "-1" => None,
        number => Some(
            number
                .parse()
                .map_err(|_| InvalidTimerValue::new(EXPECTED))?,
        ),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (start, interval) = match rest.rsplit_once('/') {
        Some((start, interval)) => (Some(parse_date(start)?), interval),
        None => (None, rest),
    };
    let interval = parse_duration(interval)?;
    if repetitions.is_none() && !interval.is_positive() {
        return Err(InvalidTimerValue::new(
            "the interval of a cycle without end must be positive, at least one millisecond",
        ));
    }
    Ok(Cycle {
        repetitions,
        schedule: Schedule::Interval { start, interval },
    })
}

fn parse_cron(text: &str) -> Result<Cycle, InvalidTimerValue> {
    let pattern = match text {
        "@yearly" | "@annually" => "0 0 0 1 1 *",
        "@monthly" => "0 0 0 1 * *",
        "@weekly" => "0 0 0 * * 0",
        "@daily" | "@midnight" => "0 0 0 * * *",
        "@hourly" => "0 0 * * * *",
        fields if fields.split_whitespace().count() == 6 && !fields.contains('@') => fields,
        _ => return Err(InvalidTimerValue::new(EXPECTED)),
    };
    let parser = CronParser::builder()
        .seconds(Seconds::Required)
        .year(Year::Disallowed)
        .dom_and_dow(true)
        .sloppy_ranges(true)
        .build();
    let (pattern, before_last) = days_before_the_last(pattern);
    let times = parser
        .parse(&pattern)
        .map_err(|error| InvalidTimerValue::new(format!("{EXPECTED}: {error}")))?;
    // The search for a time that never occurs walks through millennia: done once here, so that it is never tried again.
    let start = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    if occurrence(&times, before_last, start).is_none() {
        let message = format!("'{text}' names no day that exists");
        return Err(InvalidTimerValue::new(message));
    }
    let times = Box::new(times);
    Ok(Cycle {
        repetitions: None,
        schedule: Schedule::Cron { times, before_last },
    })
}

/// A day of the month `L-3` as the days that it can be, and the 3.
fn days_before_the_last(pattern: &str) -> (Cow<'_, str>, Option<i8>) {
    let fields: Vec<&str> = pattern.split_whitespace().collect();
    let [second, minute, hour, day, month, weekday] = fields[..] else {
        return (pattern.into(), None);
    };
    let days = day.strip_prefix("L-").and_then(|days| days.parse().ok());
    let Some(days) = days.filter(|days| (1..=30i8).contains(days)) else {
        return (pattern.into(), None);
    };
    let candidates = (28..=31).map(|last| last - days).filter(|day| *day > 0);
    let candidates: Vec<String> = candidates.map(|day| day.to_string()).collect();
    let list = candidates.join(",");
    let pattern = format!("{second} {minute} {hour} {list} {month} {weekday}");
    (pattern.into(), Some(days))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        parse_date(text).expect("a date")
    }

    fn text(time: i64) -> String {
        let time = Timestamp::from_millisecond(time).expect("in range");
        time.to_string()
    }

    /// Due dates of a cycle that never fires late.
    fn times(cycle: &str, from: &str, count: usize) -> Vec<String> {
        let cycle = Cycle::parse(cycle).expect("a cycle");
        let mut due = cycle.first(at(from)).expect("a first time");
        let mut times = vec![text(due)];
        for _ in 1..count {
            due = cycle.next(due, due).expect("a next time");
            times.push(text(due));
        }
        times
    }

    fn repetitions(text: &str) -> Option<u32> {
        Cycle::parse(text).expect("a cycle").repetitions
    }

    #[test]
    fn repetitions_are_counted_or_without_end() {
        assert_eq!(repetitions("R3/PT10S"), Some(3));
        assert_eq!(repetitions("R/PT10S"), None);
        assert_eq!(repetitions("R-1/PT10S"), None);
        assert_eq!(repetitions("0 0 9 * * MON-FRI"), None);
    }

    #[test]
    fn an_interval_follows_the_time_before() {
        assert_eq!(
            times("R3/PT1H30M", "2026-01-01T00:00:00Z", 2),
            ["2026-01-01T01:30:00Z", "2026-01-01T03:00:00Z"]
        );
    }

    #[test]
    fn a_start_in_the_future_comes_first() {
        for cycle in [
            "R3/2026-02-01T00:00:00Z/P1D",
            "R3/2026-02-01T00:00:00Z/P1D/",
        ] {
            assert_eq!(
                times(cycle, "2026-01-01T12:00:00Z", 2),
                ["2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z"]
            );
        }
    }

    #[test]
    fn a_start_in_the_past_is_now() {
        assert_eq!(
            times("R/2020-01-01T06:00:00+02:00/P1D", "2026-01-01T12:00:00Z", 2),
            ["2026-01-01T12:00:00Z", "2026-01-02T12:00:00Z"]
        );
        assert_eq!(
            times("R/2026-01-01T00:00:00Z/PT1H", "2026-01-01T00:00:00Z", 1),
            ["2026-01-01T00:00:00Z"]
        );
    }

    #[test]
    fn times_that_were_missed_are_made_up_for_by_one() {
        for (cycle, next) in [
            ("R/PT1H", "2026-01-01T05:30:00Z"),
            ("R/2026-01-01T00:00:00Z/PT1H", "2026-01-01T05:30:00Z"),
            ("0 0 * * * *", "2026-01-01T05:00:00Z"),
        ] {
            let cycle = Cycle::parse(cycle).expect("a cycle");
            let (due, now) = (at("2026-01-01T01:00:00Z"), at("2026-01-01T04:30:00Z"));
            let late = cycle.next(due, now).expect("a next time");
            assert_eq!(late, now);
            assert_eq!(cycle.next(late, now), Some(at(next)));
        }
    }

    /// Each due date is computed from the previous one.
    #[test]
    fn monthly_cycles_creep_to_the_shortest_month() {
        assert_eq!(
            times("R/2026-01-31T00:00:00Z/P1M", "2026-01-01T00:00:00Z", 3),
            [
                "2026-01-31T00:00:00Z",
                "2026-02-28T00:00:00Z",
                "2026-03-28T00:00:00Z"
            ]
        );
    }

    #[test]
    fn cron_has_seconds_first() {
        assert_eq!(
            times("30 0 9 * * *", "2026-01-01T09:00:30Z", 2),
            ["2026-01-02T09:00:30Z", "2026-01-03T09:00:30Z"]
        );
        assert_eq!(
            times("0 0 9-17 * * MON-FRI", "2026-01-02T17:00:00Z", 1),
            ["2026-01-05T09:00:00Z"]
        );
        assert_eq!(
            times("*/20 * * * * ?", "2026-01-01T00:00:05Z", 3),
            [
                "2026-01-01T00:00:20Z",
                "2026-01-01T00:00:40Z",
                "2026-01-01T00:01:00Z"
            ]
        );
        assert_eq!(
            times("0 0 0 L * *", "2026-02-01T00:00:00Z", 1),
            ["2026-02-28T00:00:00Z"]
        );
    }

    #[test]
    fn cron_counts_days_back_from_the_end_of_the_month() {
        assert_eq!(
            times("0 0 12 L-3 * *", "2026-01-30T00:00:00Z", 3),
            [
                "2026-02-25T12:00:00Z",
                "2026-03-28T12:00:00Z",
                "2026-04-27T12:00:00Z"
            ]
        );
        assert_eq!(
            times("0 0 0 L-30 * *", "2026-01-02T00:00:00Z", 2),
            ["2026-03-01T00:00:00Z", "2026-05-01T00:00:00Z"]
        );
        // In February it is the 25th, a Friday in a non-leap year.
        assert_eq!(
            times("* * * L-3 2 FRI", "2026-01-01T00:00:00Z", 1),
            ["2033-02-25T00:00:00Z"]
        );
        for never in ["0 0 0 L-30 2 *", "0 0 0 L-31 * *", "0 0 0 L-0 * *"] {
            assert!(Cycle::parse(never).is_err(), "{never}");
        }
    }

    /// Their due dates have passed already: each fires at once.
    #[test]
    fn counted_cycles_need_not_advance() {
        let now = at("2026-01-01T00:00:00Z");
        for text in ["R3/PT0S", "R3/-PT1H", "R3/P-1D"] {
            let cycle = Cycle::parse(text).expect(text);
            let first = cycle.first(now).expect("in range");
            assert!(first <= now, "{text}");
            assert_eq!(cycle.next(first, now), Some(now), "{text}");
        }
    }

    #[test]
    fn cron_steps_may_start_at_a_number() {
        assert_eq!(
            times("0 5/20 * * * *", "2026-01-01T00:00:00Z", 2),
            ["2026-01-01T00:05:00Z", "2026-01-01T00:25:00Z"]
        );
    }

    #[test]
    fn cron_needs_day_of_month_and_day_of_week_to_match() {
        assert_eq!(
            times("0 0 0 13 * FRI", "2026-01-01T00:00:00Z", 2),
            ["2026-02-13T00:00:00Z", "2026-03-13T00:00:00Z"]
        );
    }

    #[test]
    fn macros_are_read() {
        let next = |text| times(text, "2026-05-06T07:08:09Z", 1).remove(0);
        assert_eq!(next("@yearly"), "2027-01-01T00:00:00Z");
        assert_eq!(next("@annually"), "2027-01-01T00:00:00Z");
        assert_eq!(next("@monthly"), "2026-06-01T00:00:00Z");
        assert_eq!(next("@weekly"), "2026-05-10T00:00:00Z");
        assert_eq!(next("@daily"), "2026-05-07T00:00:00Z");
        assert_eq!(next("@midnight"), "2026-05-07T00:00:00Z");
        assert_eq!(next("@hourly"), "2026-05-06T08:00:00Z");
    }

    #[test]
    fn a_cron_without_any_time_is_refused() {
        let error = Cycle::parse("0 0 0 30 2 *").expect_err("no 30th of February");
        assert!(error.to_string().contains("no day that exists"), "{error}");
    }

    #[test]
    fn the_end_of_the_calendar_ends_a_cycle() {
        let last = at("9999-06-01T00:00:00Z");
        for text in ["R/P1Y", "R/2026-01-01T00:00:00Z/P5000Y"] {
            let cycle = Cycle::parse(text).expect("a cycle");
            assert_eq!(cycle.next(last, last), None, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "R",
            "R/",
            "R3",
            "R3/",
            "R3/P",
            "Rx/PT1S",
            "R-2/PT1S",
            "R99999999999/PT1S",
            "R/PT1S/2026-01-01T00:00:00Z",
            "R/2026-01-01/PT1S",
            "PT1S",
            "* * * * *",
            "* * * * * * *",
            "61 * * * * *",
            "0 0 0 * * FOO",
            "@",
            "@never",
            "@daily @daily",
        ] {
            assert!(Cycle::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn intervals_without_end_that_do_not_advance_are_refused() {
        for text in [
            "R/PT0S",
            "R/-PT1H",
            "R/PT0.0001S",
            "R/P1M-29D",
            "R/2026-01-01T00:00:00Z/P-1D",
        ] {
            assert!(
                Cycle::parse(text)
                    .expect_err(text)
                    .to_string()
                    .contains("positive"),
                "{text}"
            );
        }
    }
}
