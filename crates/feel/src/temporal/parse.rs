//! ISO 8601 text, as FEEL reads it.

use super::{
    Date, DateTime, DayTimeDuration, MAX_YEAR, SECONDS_PER_DAY, Time, YearMonthDuration, Zone,
};
use crate::value::Value;

impl Date {
    /// Reads `2026-11-21`; years have four to nine digits and may be negative.
    pub fn parse(text: &str) -> Option<Date> {
        let (date, rest) = date_prefix(text)?;
        rest.is_empty().then_some(date)
    }
}

impl Time {
    /// Reads `10:30`, `10:30:00.5`, each with `Z`, an offset or `@Zone` or without.
    pub fn parse(text: &str) -> Option<Time> {
        let split = text.find(['Z', 'z', '+', '-', '@']).unwrap_or(text.len());
        let (clock, zone) = text.split_at(split);
        let zone = match zone.strip_prefix('@') {
            Some(name) => Zone::named(name)?,
            None if zone.is_empty() => Zone::Local,
            None if zone.starts_with(['Z', 'z', '+', '-']) => Zone::parse(zone)?,
            None => return None,
        };
        let mut parts = clock.split(':');
        let hour = two_digits(parts.next()?)?;
        let minute = two_digits(parts.next()?)?;
        let (second, nanos) = match parts.next() {
            Some(part) => seconds(part)?,
            None => (0, 0),
        };
        if parts.next().is_some() {
            return None;
        }
        Time::new(hour, minute, second, nanos, zone)
    }
}

impl DateTime {
    /// Reads `2026-11-21T10:30:00Z`; a date alone means its midnight.
    pub fn parse(text: &str) -> Option<DateTime> {
        let (date, rest) = date_prefix(text)?;
        if rest.is_empty() {
            return Some(DateTime::new(date, Time::from_nanos(0, Zone::Local)));
        }
        let clock = rest.strip_prefix('T')?;
        match Time::parse(clock) {
            Some(time) => Some(DateTime::new(date, time)),
            // 24:00:00 is the midnight at the end of the day.
            None => {
                let zone = clock
                    .strip_prefix("24:00:00")
                    .or_else(|| clock.strip_prefix("24:00"))?;
                let time = Time::parse(&format!("00:00:00{zone}"))?;
                Some(DateTime::new(date.add_days(1)?, time))
            }
        }
    }
}

fn date_prefix(text: &str) -> Option<(Date, &str)> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let end = rest.find('-')?;
    let digits = rest.get(..end)?;
    if !(4..=9).contains(&digits.len())
        || (digits.len() > 4 && digits.starts_with('0'))
        || !all_digits(digits)
    {
        return None;
    }
    let year: i32 = digits.parse().ok()?;
    if year > MAX_YEAR {
        return None;
    }
    let rest = rest.get(end + 1..)?;
    let month = two_digits(rest.get(..2)?)?;
    let rest = rest.get(2..)?.strip_prefix('-')?;
    let day = two_digits(rest.get(..2)?)?;
    let date = Date::new(if negative { -year } else { year }, month, day)?;
    Some((date, rest.get(2..)?))
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn two_digits(text: &str) -> Option<i64> {
    if text.len() == 2 && all_digits(text) {
        text.parse().ok()
    } else {
        None
    }
}

/// `05` or `05.123`; digits below nanoseconds are dropped.
fn seconds(text: &str) -> Option<(i64, i64)> {
    match text.split_once('.') {
        None => Some((two_digits(text)?, 0)),
        Some((_, "")) => None,
        Some((whole, fraction)) => Some((two_digits(whole)?, fraction_nanos(fraction)?)),
    }
}

fn fraction_nanos(fraction: &str) -> Option<i64> {
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut nanos = 0;
    for index in 0..9 {
        let digit = fraction
            .as_bytes()
            .get(index)
            .map_or(0, |b| i64::from(b - b'0'));
        nanos = nanos * 10 + digit;
    }
    Some(nanos)
}

/// `+01:00`, `-05:30`, `+01:00:30`; at most 18 hours.
pub(super) fn parse_offset(text: &str) -> Option<Zone> {
    let negative = text.starts_with('-');
    let mut parts = text.get(1..)?.split(':');
    let hours = two_digits(parts.next()?)?;
    let minutes = two_digits(parts.next()?)?;
    let seconds = match parts.next() {
        Some(part) => two_digits(part)?,
        None => 0,
    };
    if parts.next().is_some() || minutes > 59 || seconds > 59 {
        return None;
    }
    let total = hours * 3600 + minutes * 60 + seconds;
    if total > 18 * 3600 {
        return None;
    }
    Some(Zone::Offset(if negative { -total } else { total } as i32))
}

impl YearMonthDuration {
    /// Reads `P1Y2M`, `P-1Y-2M`.
    pub fn parse(text: &str) -> Option<YearMonthDuration> {
        let (negative, rest) = sign(text);
        let mut fields = Fields(rest.strip_prefix('P')?);
        let years = fields.take('Y');
        let months = fields.take('M');
        if !fields.0.is_empty() || (years.is_none() && months.is_none()) {
            return None;
        }
        let total = years
            .unwrap_or(0)
            .checked_mul(12)?
            .checked_add(months.unwrap_or(0))?;
        Some(YearMonthDuration::from_months(if negative {
            -total
        } else {
            total
        }))
    }
}

impl DayTimeDuration {
    /// Reads `P1DT2H3M4.5S`, `P2W`, `PT-5M`.
    pub fn parse(text: &str) -> Option<DayTimeDuration> {
        let (negative, rest) = sign(text);
        let mut fields = Fields(rest.strip_prefix('P')?);
        let weeks = fields.take('W');
        let days = fields.take('D');
        let mut any = weeks.is_some() || days.is_some();
        let mut seconds = weeks
            .unwrap_or(0)
            .checked_mul(7)?
            .checked_add(days.unwrap_or(0))?
            .checked_mul(SECONDS_PER_DAY)?;
        let mut nanos = 0;
        if let Some(time) = fields.0.strip_prefix('T') {
            fields.0 = time;
            let (hours, minutes) = (fields.take('H'), fields.take('M'));
            let last = fields.take_seconds();
            if hours.is_none() && minutes.is_none() && last.is_none() {
                return None;
            }
            any = true;
            let (whole, fraction) = last.unwrap_or((0, 0));
            nanos = fraction;
            seconds = seconds
                .checked_add(hours.unwrap_or(0).checked_mul(3600)?)?
                .checked_add(minutes.unwrap_or(0).checked_mul(60)?)?
                .checked_add(whole)?;
        }
        if !any || !fields.0.is_empty() {
            return None;
        }
        let total = i128::from(seconds) * i128::from(super::NANOS_PER_SECOND) + i128::from(nanos);
        DayTimeDuration::from_nanos(if negative { -total } else { total })
    }
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

struct Fields<'a>(&'a str);

impl Fields<'_> {
    /// The number in front of a unit; each may have a sign of its own.
    fn take(&mut self, unit: char) -> Option<i64> {
        let (negative, digits) = field_sign(self.0);
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        let (number, rest) = digits.split_at(end);
        let rest = rest.strip_prefix(unit)?;
        let value: i64 = number.parse().ok()?;
        self.0 = rest;
        Some(if negative { -value } else { value })
    }

    /// Seconds and nanoseconds.
    fn take_seconds(&mut self) -> Option<(i64, i64)> {
        let (negative, text) = field_sign(self.0.strip_suffix('S')?);
        let (seconds, nanos) = match text.split_once('.') {
            None if all_digits(text) => (text.parse().ok()?, 0),
            Some((whole, fraction)) if all_digits(whole) => {
                (whole.parse::<i64>().ok()?, fraction_nanos(fraction)?)
            }
            _ => return None,
        };
        self.0 = "";
        Some(if negative {
            (-seconds, -nanos)
        } else {
            (seconds, nanos)
        })
    }
}

fn field_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Either kind of duration.
pub(crate) fn parse_duration(text: &str) -> Option<Value> {
    YearMonthDuration::parse(text)
        .map(Value::YearMonthDuration)
        .or_else(|| {
            // Weeks are for timers: FEEL's durations have none.
            let days = (!text.contains('W')).then(|| DayTimeDuration::parse(text));
            days.flatten().map(Value::DayTimeDuration)
        })
}

/// The text of an `@"…"` literal: date, time, date and time, or duration.
pub(crate) fn parse_temporal(text: &str) -> Option<Value> {
    if let Some(date) = Date::parse(text) {
        return Some(Value::Date(date));
    }
    if text.contains('T')
        && !text.starts_with(['P', '-'])
        && let Some(date_time) = DateTime::parse(text)
    {
        return Some(Value::from(date_time));
    }
    Time::parse(text)
        .map(Value::from)
        .or_else(|| parse_duration(text))
        .or_else(|| DateTime::parse(text).map(Value::from))
}
