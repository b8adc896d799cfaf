//! Repeating timers: ISO 8601 repeating intervals and cron.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::duration::{Duration, parse_duration};
use super::{InvalidTimerValue, parse_date};

/// A repeating timer.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// How often it fires; `None` is without end. Who sets the timer counts down.
    pub repetitions: Option<u32>,
    pub schedule: Schedule,
}

/// When a cycle fires.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Each time the interval after the time before; with a start, at the start and at whole intervals after it.
    Interval {
        /// Milliseconds since the epoch.
        start: Option<i64>,
        /// Always positive.
        interval: Duration,
    },
    /// At the times of a cron text, in UTC.
    Cron(Box<Cron>),
}

const EXPECTED: &str = "expected is a cycle such as R3/PT10M, R/2026-10-01T12:00:00Z/P1D, a cron text of six fields such as 0 0 9 * * MON-FRI, or @daily";

impl Cycle {
    /// Reads `R[n]/duration`, `R[n]/start/duration` (a `/` at the end is allowed), a cron text of six fields with the
    /// seconds first, or one of `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight`, `@hourly`.
    ///
    /// `R/` and `R-1/` repeat without end. In cron texts, day of month and day of week must both match.
    ///
    /// # Errors
    /// When the text has another form, or its interval is not positive (in whole milliseconds).
    pub fn parse(text: &str) -> Result<Cycle, InvalidTimerValue> {
        let text = text.trim();
        match text.strip_prefix('R') {
            Some(rest)
                if rest.starts_with(|c: char| c == '/' || c == '-' || c.is_ascii_digit()) =>
            {
                parse_repeating(rest)
            }
            _ => parse_cron(text).map(|cron| Cycle {
                repetitions: None,
                schedule: Schedule::Cron(Box::new(cron)),
            }),
        }
    }

    /// The first time after `after` (milliseconds since the epoch) at which the cycle fires: called with the present
    /// when the timer is set, and then with the due date that has passed. `None` if there is none (within the calendar).
    pub fn next(&self, after: i64) -> Option<i64> {
        match &self.schedule {
            Schedule::Interval {
                start: None,
                interval,
            } => interval.add_to(after),
            Schedule::Interval {
                start: Some(start),
                interval,
            } => next_from(*start, interval, after),
            Schedule::Cron(cron) => {
                let after = Timestamp::from_millisecond(after)
                    .ok()?
                    .to_zoned(TimeZone::UTC);
                let next = cron.find_next_occurrence(&after, false).ok()?;
                Some(next.timestamp().as_millisecond())
            }
        }
    }
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
    if !interval.is_positive() {
        return Err(InvalidTimerValue::new(
            "the interval of a cycle must be positive, at least one millisecond",
        ));
    }
    Ok(Cycle {
        repetitions,
        schedule: Schedule::Interval { start, interval },
    })
}

/// The first of `start`, `start + interval`, `start + 2 intervals` … after a time. Multiples are taken from the start,
/// so that a monthly cycle that starts on the 31st does not creep to the 28th.
fn next_from(start: i64, interval: &Duration, after: i64) -> Option<i64> {
    if start > after {
        return Some(start);
    }
    // Doubling, then halving: the multiples grow strictly, so `low` stays at or before `after`.
    let (mut low, mut high) = (0i64, 1i64);
    while interval
        .add_times_to(start, high)
        .is_some_and(|time| time <= after)
    {
        low = high;
        high = high.checked_mul(2)?;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match interval.add_times_to(start, middle) {
            Some(time) if time <= after => low = middle,
            _ => high = middle,
        }
    }
    interval.add_times_to(start, high)
}

fn parse_cron(text: &str) -> Result<Cron, InvalidTimerValue> {
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
    let cron = parser
        .parse(pattern)
        .map_err(|error| InvalidTimerValue::new(format!("{EXPECTED}: {error}")))?;
    // The search for a time that never comes walks through millennia: once here, so that it is never tried again.
    let start = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    match cron.find_next_occurrence(&start, true) {
        Ok(_) => Ok(cron),
        Err(_) => Err(InvalidTimerValue::new(format!(
            "'{text}' names no day that exists"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        parse_date(text).expect("a date")
    }

    fn times(cycle: &str, from: &str, count: usize) -> Vec<String> {
        let cycle = Cycle::parse(cycle).expect("a cycle");
        let mut now = at(from);
        let mut times = Vec::new();
        for _ in 0..count {
            now = cycle.next(now).expect("a next time");
            times.push(
                Timestamp::from_millisecond(now)
                    .expect("in range")
                    .to_string(),
            );
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
    fn a_start_in_the_past_keeps_the_rhythm() {
        assert_eq!(
            times("R/2020-01-01T06:00:00+02:00/P1D", "2026-01-01T12:00:00Z", 2),
            ["2026-01-02T04:00:00Z", "2026-01-03T04:00:00Z"]
        );
        assert_eq!(
            times("R/2026-01-01T00:00:00Z/PT1H", "2026-01-01T01:00:00Z", 1),
            ["2026-01-01T02:00:00Z"]
        );
    }

    #[test]
    fn monthly_cycles_do_not_creep() {
        assert_eq!(
            times("R/2026-01-31T00:00:00Z/P1M", "2026-01-31T00:00:00Z", 3),
            [
                "2026-02-28T00:00:00Z",
                "2026-03-31T00:00:00Z",
                "2026-04-30T00:00:00Z"
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
        assert_eq!(
            Cycle::parse("R/P1Y")
                .expect("a cycle")
                .next(at("9999-06-01T00:00:00Z")),
            None
        );
        assert_eq!(
            Cycle::parse("R/2026-01-01T00:00:00Z/P5000Y")
                .expect("a cycle")
                .next(at("7026-06-01T00:00:00Z")),
            None
        );
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
    fn intervals_that_do_not_advance_are_refused() {
        for text in [
            "R/PT0S",
            "R3/PT0S",
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
