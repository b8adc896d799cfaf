//! Dates with a time of day.

use std::fmt;

use super::{Date, NANOS_PER_SECOND, SECONDS_PER_DAY, Time, Zone};

/// A date with a time of day.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DateTime {
    date: Date,
    time: Time,
}

impl DateTime {
    /// Joins a date and a time with its zone.
    pub fn new(date: Date, time: Time) -> DateTime {
        DateTime { date, time }
    }

    /// An instant in a zone. `None` outside of the range of years.
    pub fn from_epoch(seconds: i64, nanos: i64, zone: Zone) -> Option<DateTime> {
        let local = seconds.checked_add(i64::from(zone.offset_at(seconds)))?;
        let date = Date::from_epoch_day(local.div_euclid(SECONDS_PER_DAY))?;
        let second = local.rem_euclid(SECONDS_PER_DAY);
        let time = Time::from_nanos(
            i128::from(second) * i128::from(NANOS_PER_SECOND) + i128::from(nanos),
            zone,
        );
        Some(DateTime { date, time })
    }

    /// The date.
    pub fn date(&self) -> Date {
        self.date
    }

    /// The time of day, with the zone.
    pub fn time(&self) -> &Time {
        &self.time
    }

    /// Offset or zone.
    pub fn zone(&self) -> &Zone {
        self.time.zone()
    }

    /// Seconds east of UTC at this moment; `None` for local times.
    pub fn offset_seconds(&self) -> Option<i32> {
        match self.zone() {
            Zone::Local => None,
            zone => Some(zone.offset_at_local(self.date, self.time.second_of_day())),
        }
    }

    /// Seconds since 1970-01-01T00:00:00Z; local times count as UTC.
    pub fn epoch_seconds(&self) -> i64 {
        self.date.epoch_day() * SECONDS_PER_DAY + self.time.second_of_day()
            - i64::from(self.offset_seconds().unwrap_or(0))
    }

    /// Nanoseconds since 1970-01-01T00:00:00Z; local times count as UTC.
    pub fn epoch_nanos(&self) -> i128 {
        i128::from(self.epoch_seconds()) * i128::from(NANOS_PER_SECOND)
            + i128::from(self.time.nanos())
    }

    /// Milliseconds since 1970-01-01T00:00:00Z; local times count as UTC.
    pub fn epoch_millis(&self) -> i64 {
        self.epoch_seconds() * 1000 + self.time.nanos() / 1_000_000
    }

    /// The same fields in another zone.
    pub fn with_zone(&self, zone: Zone) -> DateTime {
        DateTime {
            date: self.date,
            time: Time::from_nanos(i128::from(self.time.nanos_of_day()), zone),
        }
    }
}

impl fmt::Display for DateTime {
    /// `2026-11-21T10:30:00@Europe/Berlin`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T", self.date)?;
        self.time.write_with_seconds(f)
    }
}

impl fmt::Debug for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
