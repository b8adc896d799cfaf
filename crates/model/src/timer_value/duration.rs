//! ISO 8601 durations.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::InvalidTimerValue;

/// A duration in calendar and clock units; each may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Duration {
    /// Calendar months, years included.
    pub months: i64,
    /// Calendar days, weeks included.
    pub days: i64,
    /// Milliseconds; fractions of a millisecond are cut off.
    pub millis: i64,
}

impl Duration {
    /// The time that lies this duration after a time in milliseconds since the epoch: first the months (the day is reduced
    /// to the last of a shorter month), then days and clock time.
    ///
    /// `None` if the result is out of the range of years -9999 to 9999.
    pub fn add_to(&self, millis: i64) -> Option<i64> {
        let mut result = Timestamp::from_millisecond(millis).ok()?;
        if self.months != 0 {
            let date_time: DateTime = result.to_zoned(TimeZone::UTC).datetime();
            let moved = date_time
                .checked_add(Span::new().try_months(self.months).ok()?)
                .ok()?;
            result = moved.to_zoned(TimeZone::UTC).ok()?.timestamp();
        }
        let clock = self
            .days
            .checked_mul(MILLIS_PER_DAY)?
            .checked_add(self.millis)?;
        let sum = result.as_millisecond().checked_add(clock)?;
        Timestamp::from_millisecond(sum).ok().map(|_| sum)
    }

    /// Whether adding the duration always leads to a later time.
    pub fn is_positive(&self) -> bool {
        // Judged at the shortest month, where mixed signs weigh least in favour.
        let shortest = self
            .months
            .saturating_mul(if self.months > 0 { 28 } else { 31 })
            .saturating_add(self.days);
        shortest
            .saturating_mul(MILLIS_PER_DAY)
            .saturating_add(self.millis)
            > 0
    }
}

const MILLIS_PER_SECOND: i64 = 1000;
const MILLIS_PER_MINUTE: i64 = 60 * MILLIS_PER_SECOND;
const MILLIS_PER_HOUR: i64 = 60 * MILLIS_PER_MINUTE;
const MILLIS_PER_DAY: i64 = 24 * MILLIS_PER_HOUR;

/// The units in the order in which they must appear, with what one of them adds.
const DATE_UNITS: [(u8, Duration); 4] = [
    (
        b'Y',
        Duration {
            months: 12,
            days: 0,
            millis: 0,
        },
    ),
    (
        b'M',
        Duration {
            months: 1,
            days: 0,
            millis: 0,
        },
    ),
    (
        b'W',
        Duration {
            months: 0,
            days: 7,
            millis: 0,
        },
    ),
    (
        b'D',
        Duration {
            months: 0,
            days: 1,
            millis: 0,
        },
    ),
];
const TIME_UNITS: [(u8, Duration); 3] = [
    (
        b'H',
        Duration {
            months: 0,
            days: 0,
            millis: MILLIS_PER_HOUR,
        },
    ),
    (
        b'M',
        Duration {
            months: 0,
            days: 0,
            millis: MILLIS_PER_MINUTE,
        },
    ),
    (
        b'S',
        Duration {
            months: 0,
            days: 0,
            millis: MILLIS_PER_SECOND,
        },
    ),
];

/// Reads an ISO 8601 duration such as `PT15M`, `P1DT12H`, `P2W`, `PT0.5S` or `-PT1H`. Numbers may have a sign; seconds
/// may have a fraction; units may be lower case (`PT30s`).
///
/// # Errors
/// When the text has another form or exceeds the range of 64-bit milliseconds.
pub fn parse_duration(text: &str) -> Result<Duration, InvalidTimerValue> {
    parse(text.trim()).ok_or_else(|| {
        InvalidTimerValue::new(
            "expected a duration as in ISO 8601, for instance PT15M, P1DT12H or P1M",
        )
    })
}

fn parse(text: &str) -> Option<Duration> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let rest = rest.strip_prefix('P')?;
    let (date, time) = match rest.split_once('T') {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None => (rest, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let mut total = Duration::default();
    add_units(&mut total, date, &DATE_UNITS, negative)?;
    add_units(&mut total, time, &TIME_UNITS, negative)?;
    Some(total)
}

/// Adds number and unit pairs such as `12H30M`; each unit at most once and in order.
fn add_units(
    total: &mut Duration,
    mut text: &str,
    units: &[(u8, Duration)],
    negative: bool,
) -> Option<()> {
    let mut remaining = units.iter();
    while !text.is_empty() {
        let end = text.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, tail) = text.split_at(end);
        let unit = tail.as_bytes().first()?.to_ascii_uppercase();
        let (_, value) = remaining.find(|(name, _)| *name == unit)?;
        let (minus, digits) = match number.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = match digits.split_once(['.', ',']) {
            Some((whole, fraction)) if unit == b'S' => (whole, Some(fraction)),
            Some(_) => return None,
            None => (digits, None),
        };
        let sign = if minus != negative { -1 } else { 1 };
        let whole = digits_value(whole)?.checked_mul(sign)?;
        let fraction = fraction
            .map_or(Some(0), fraction_millis)?
            .checked_mul(sign)?;
        total.months = total.months.checked_add(value.months.checked_mul(whole)?)?;
        total.days = total.days.checked_add(value.days.checked_mul(whole)?)?;
        total.millis = total
            .millis
            .checked_add(value.millis.checked_mul(whole)?)?
            .checked_add(fraction)?;
        text = tail.get(1..)?;
    }
    Some(())
}

fn digits_value(digits: &str) -> Option<i64> {
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        .then(|| digits.parse().ok())?
}

/// The first three decimals as milliseconds.
fn fraction_millis(decimals: &str) -> Option<i64> {
    if decimals.is_empty() || !decimals.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let padded: String = decimals.chars().chain("00".chars()).take(3).collect();
    padded.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer_value::parse_date;

    fn duration(months: i64, days: i64, millis: i64) -> Result<Duration, InvalidTimerValue> {
        Ok(Duration {
            months,
            days,
            millis,
        })
    }

    #[test]
    fn every_unit_is_read() {
        assert_eq!(
            parse_duration("P1Y2M3W4DT5H6M7.089S"),
            duration(14, 25, ((5 * 60 + 6) * 60 + 7) * 1000 + 89)
        );
        assert_eq!(parse_duration("PT15M"), duration(0, 0, 900_000));
        assert_eq!(parse_duration("P2W"), duration(0, 14, 0));
        assert_eq!(parse_duration("P0D"), duration(0, 0, 0));
        assert_eq!(parse_duration(" PT0S "), duration(0, 0, 0));
    }

    #[test]
    fn units_may_be_lower_case() {
        assert_eq!(parse_duration("PT30s"), duration(0, 0, 30_000));
        assert_eq!(
            parse_duration("P1y2m3w4dT5h6m7.5s"),
            parse_duration("P1Y2M3W4DT5H6M7.5S")
        );
    }

    #[test]
    fn seconds_may_have_a_fraction() {
        assert_eq!(parse_duration("PT0.5S"), duration(0, 0, 500));
        assert_eq!(parse_duration("PT1,25S"), duration(0, 0, 1250));
        assert_eq!(parse_duration("PT0.0019S"), duration(0, 0, 1));
        assert_eq!(parse_duration("PT-0.5S"), duration(0, 0, -500));
    }

    #[test]
    fn signs_count_for_the_whole_and_for_numbers() {
        assert_eq!(parse_duration("-PT1H"), duration(0, 0, -3_600_000));
        assert_eq!(parse_duration("PT-1H+30M"), duration(0, 0, -1_800_000));
        assert_eq!(parse_duration("-P-1M2D"), duration(1, -2, 0));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "P",
            "PT",
            "-",
            "P1",
            "1H",
            "PT1",
            "P1H",
            "PT1D",
            "PT1M1H",
            "PT1H1H",
            "P1.5D",
            "PT.5S",
            "PT1.S",
            "PT1HT1M",
            "pt1h",
            "PT1hm",
            "P1Ä",
            "PT1Ä",
            "P99999999999999999999Y",
            "P9223372036854775807W",
            "15 minutes",
            "R/PT1H",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    fn after(start: &str, text: &str) -> Option<i64> {
        parse_duration(text)
            .expect("a duration")
            .add_to(parse_date(start).expect("a date"))
    }

    fn at(text: &str) -> Option<i64> {
        Some(parse_date(text).expect("a date"))
    }

    #[test]
    fn months_end_with_the_shorter_month() {
        assert_eq!(
            after("2026-01-31T10:00:00Z", "P1M"),
            at("2026-02-28T10:00:00Z")
        );
        assert_eq!(
            after("2028-01-31T10:00:00Z", "P1M"),
            at("2028-02-29T10:00:00Z")
        );
        assert_eq!(
            after("2028-02-29T10:00:00Z", "P1Y"),
            at("2029-02-28T10:00:00Z")
        );
        assert_eq!(
            after("2026-03-31T10:00:00Z", "-P1M"),
            at("2026-02-28T10:00:00Z")
        );
        assert_eq!(
            after("2026-11-30T23:59:59.999Z", "P3M1DT0.001S"),
            at("2027-03-02T00:00:00Z")
        );
    }

    #[test]
    fn dates_beyond_the_calendar_are_none() {
        assert_eq!(after("2026-01-31T10:00:00Z", "P9000Y"), None);
        assert_eq!(after("2026-01-31T10:00:00Z", "P99999999D"), None);
        assert_eq!(after("2026-01-31T10:00:00Z", "P106751991167D"), None);
    }
}
