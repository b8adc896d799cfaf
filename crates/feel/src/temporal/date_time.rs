//! Dates with a time of day.

use std::fmt;

use super::{Date, NANOS_PER_SECOND, SECONDS_PER_DAY, Time, Zone};

/// A date with a time of day.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DateTime {
    date: Date,
    time: Time,
    /// Whether it is the second moment with this local time, in an hour that the zone repeats.
    is_second: bool,
}

impl DateTime {
    /// Joins a date and a time with its zone. A local time that the zone skips moves forward by what is skipped; of two moments
    /// with the same local time, the first is meant.
    pub fn new(date: Date, time: Time) -> DateTime {
        let skipped = time.zone().skipped_at(date, time.second_of_day());
        let whole = DateTime {
            date,
            time,
            is_second: false,
        };
        match skipped {
            0 => whole,
            skipped => whole.later_by(skipped).unwrap_or(whole),
        }
    }

    /// The local time moved by these seconds.
    fn later_by(&self, seconds: i64) -> Option<DateTime> {
        let second = self.time.second_of_day() + seconds;
        let days = second.div_euclid(SECONDS_PER_DAY);
        let second = i128::from(second.rem_euclid(SECONDS_PER_DAY));
        let nanos = second * i128::from(NANOS_PER_SECOND) + i128::from(self.time.nanos());
        Some(DateTime {
            date: Date::from_epoch_day(self.date.epoch_day() + days)?,
            time: Time::from_nanos(nanos, self.zone().clone()),
            is_second: false,
        })
    }

    /// An instant in a zone. `None` outside of the range of years.
    pub fn from_epoch(seconds: i64, nanos: i64, zone: Zone) -> Option<DateTime> {
        let offset = zone.offset_at(seconds);
        let local = seconds.checked_add(i64::from(offset))?;
        let date = Date::from_epoch_day(local.div_euclid(SECONDS_PER_DAY))?;
        let second = local.rem_euclid(SECONDS_PER_DAY);
        let time = Time::from_nanos(
            i128::from(second) * i128::from(NANOS_PER_SECOND) + i128::from(nanos),
            zone,
        );
        let is_second = time.zone().offset_at_local(date, second, false) != offset;
        Some(DateTime {
            date,
            time,
            is_second,
        })
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
            zone => {
                let second = self.time.second_of_day();
                Some(zone.offset_at_local(self.date, second, self.is_second))
            }
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
        let time = Time::from_nanos(i128::from(self.time.nanos_of_day()), zone);
        DateTime::new(self.date, time)
    }

    /// The text as in ISO 8601, which names the same moment. FEEL's form does not tell the two moments of a repeated hour apart.
    pub fn iso_text(&self) -> String {
        match (self.zone().name(), self.offset_seconds()) {
            (Some(name), Some(offset)) if self.is_second => {
                let time =
                    Time::from_nanos(i128::from(self.time.nanos_of_day()), Zone::Offset(offset));
                format!("{}[{name}]", DateTime::new(self.date, time))
            }
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for DateTime {
    /// `2026-11-21T10:30:00@Europe/Berlin`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T", self.date)?;
        write!(f, "{}", self.time)
    }
}

impl fmt::Debug for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
