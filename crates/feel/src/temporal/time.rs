//! Times of day.

use std::fmt;

use super::{NANOS_PER_SECOND, SECONDS_PER_DAY, Zone};

/// A time of day, with an offset or zone or without.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Time {
    /// Nanoseconds since midnight.
    nanos: i64,
    zone: Zone,
}

impl Time {
    /// `None` when a field is out of range (hours to 23, no leap seconds).
    pub fn new(hour: i64, minute: i64, second: i64, nanos: i64, zone: Zone) -> Option<Time> {
        let valid = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..NANOS_PER_SECOND).contains(&nanos);
        valid.then(|| Time {
            nanos: (hour * 3600 + minute * 60 + second) * NANOS_PER_SECOND + nanos,
            zone,
        })
    }

    /// From nanoseconds since midnight, taken modulo one day.
    pub fn from_nanos(nanos: i128, zone: Zone) -> Time {
        let day = i128::from(SECONDS_PER_DAY) * i128::from(NANOS_PER_SECOND);
        Time {
            nanos: nanos.rem_euclid(day) as i64,
            zone,
        }
    }

    /// Nanoseconds since midnight.
    pub fn nanos_of_day(&self) -> i64 {
        self.nanos
    }

    /// Offset or zone.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Seconds since midnight.
    pub fn second_of_day(&self) -> i64 {
        self.nanos / NANOS_PER_SECOND
    }

    /// 0 to 23.
    pub fn hour(&self) -> i64 {
        self.second_of_day() / 3600
    }

    /// 0 to 59.
    pub fn minute(&self) -> i64 {
        self.second_of_day() / 60 % 60
    }

    /// 0 to 59.
    pub fn second(&self) -> i64 {
        self.second_of_day() % 60
    }

    /// Fraction of the second, in nanoseconds.
    pub fn nanos(&self) -> i64 {
        self.nanos % NANOS_PER_SECOND
    }

    /// Seconds east of UTC. A zone counts with its offset of 1 January 1970, as a time has no date.
    pub fn offset_seconds(&self) -> Option<i32> {
        match &self.zone {
            Zone::Local => None,
            zone => Some(zone.offset_at(0)),
        }
    }

    /// The same time with the offset that its zone has, in place of the zone.
    pub(crate) fn with_offset(&self) -> Time {
        Time {
            nanos: self.nanos,
            zone: match (&self.zone, self.offset_seconds()) {
                (Zone::Named(_), Some(seconds)) => Zone::Offset(seconds),
                (zone, _) => zone.clone(),
            },
        }
    }

    /// Nanoseconds since midnight in UTC; may lie outside of the day.
    pub(crate) fn utc_nanos(&self) -> i64 {
        self.nanos - i64::from(self.offset_seconds().unwrap_or(0)) * NANOS_PER_SECOND
    }
}

impl fmt::Display for Time {
    /// `10:30:00.5+01:00`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:02}:{:02}:{:02}",
            self.hour(),
            self.minute(),
            self.second()
        )?;
        if self.nanos() != 0 {
            let fraction = format!("{:09}", self.nanos());
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        write!(f, "{}", self.zone)
    }
}

impl Time {
    /// The text in variables: without a zone a whole minute is `10:30`, as in the reference engine.
    pub(crate) fn short(&self) -> Short<'_> {
        Short(self)
    }
}

pub(crate) struct Short<'a>(&'a Time);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Short(time) = self;
        if time.zone.is_local() && time.second() == 0 && time.nanos() == 0 {
            return write!(f, "{:02}:{:02}", time.hour(), time.minute());
        }
        fmt::Display::fmt(time, f)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
