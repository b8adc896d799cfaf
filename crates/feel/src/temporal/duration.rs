//! Durations: months, or seconds.

use std::fmt;

use super::{NANOS_PER_SECOND, SECONDS_PER_DAY};

/// A number of months (years and months).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct YearMonthDuration {
    months: i64,
}

impl YearMonthDuration {
    /// So many months; may be negative.
    pub const fn from_months(months: i64) -> YearMonthDuration {
        YearMonthDuration { months }
    }

    /// All of it in months.
    pub const fn total_months(&self) -> i64 {
        self.months
    }

    /// Whole years.
    pub const fn years(&self) -> i64 {
        self.months / 12
    }

    /// Months beyond the whole years, -11 to 11.
    pub const fn months(&self) -> i64 {
        self.months % 12
    }
}

impl fmt::Display for YearMonthDuration {
    /// `P1Y2M`, `-P3M`, `P0Y`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.months.unsigned_abs();
        let sign = if self.months < 0 { "-" } else { "" };
        match (total / 12, total % 12) {
            (0, 0) => f.write_str("P0Y"),
            (0, months) => write!(f, "{sign}P{months}M"),
            (years, 0) => write!(f, "{sign}P{years}Y"),
            (years, months) => write!(f, "{sign}P{years}Y{months}M"),
        }
    }
}

impl fmt::Debug for YearMonthDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A number of seconds (days, hours, minutes, seconds) with nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DayTimeDuration {
    seconds: i64,
    /// 0 to 999 999 999, added to `seconds`.
    nanos: i32,
}

impl DayTimeDuration {
    /// No time at all.
    pub const ZERO: DayTimeDuration = DayTimeDuration {
        seconds: 0,
        nanos: 0,
    };

    /// So many seconds; may be negative.
    pub const fn from_seconds(seconds: i64) -> DayTimeDuration {
        DayTimeDuration { seconds, nanos: 0 }
    }

    /// So many milliseconds; may be negative.
    pub const fn from_millis(millis: i64) -> DayTimeDuration {
        DayTimeDuration {
            seconds: millis.div_euclid(1000),
            nanos: (millis.rem_euclid(1000) * 1_000_000) as i32,
        }
    }

    /// `None` when the seconds do not fit 64 bits.
    pub fn from_nanos(nanos: i128) -> Option<DayTimeDuration> {
        let seconds = i64::try_from(nanos.div_euclid(i128::from(NANOS_PER_SECOND))).ok()?;
        Some(DayTimeDuration {
            seconds,
            nanos: nanos.rem_euclid(i128::from(NANOS_PER_SECOND)) as i32,
        })
    }

    /// All of it in nanoseconds.
    pub const fn total_nanos(&self) -> i128 {
        self.seconds as i128 * NANOS_PER_SECOND as i128 + self.nanos as i128
    }

    /// All of it in whole milliseconds, rounded down and cut to 64 bits.
    pub fn total_millis(&self) -> i64 {
        self.seconds
            .saturating_mul(1000)
            .saturating_add(i64::from(self.nanos) / 1_000_000)
    }

    /// All of it in whole seconds, towards zero.
    pub fn total_seconds(&self) -> i64 {
        if self.seconds < 0 && self.nanos > 0 {
            self.seconds + 1
        } else {
            self.seconds
        }
    }

    /// Whole days.
    pub fn days(&self) -> i64 {
        self.total_seconds() / SECONDS_PER_DAY
    }

    /// Hours beyond the whole days, -23 to 23.
    pub fn hours(&self) -> i64 {
        self.total_seconds() % SECONDS_PER_DAY / 3600
    }

    /// Minutes beyond the hours, -59 to 59.
    pub fn minutes(&self) -> i64 {
        self.total_seconds() % 3600 / 60
    }

    /// Seconds beyond the minutes, -59 to 59.
    pub fn seconds(&self) -> i64 {
        self.total_seconds() % 60
    }

    /// True below zero.
    pub fn is_negative(&self) -> bool {
        self.seconds < 0
    }
}

impl fmt::Display for DayTimeDuration {
    /// `P1DT2H3M4.5S`, `-PT1H`, `P0D`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total_nanos();
        if total == 0 {
            return f.write_str("P0D");
        }
        if total < 0 {
            f.write_str("-")?;
        }
        let total = total.unsigned_abs();
        let (seconds, nanos) = (total / 1_000_000_000, total % 1_000_000_000);
        let (days, hours, minutes, seconds) = (
            seconds / 86_400,
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60,
        );
        f.write_str("P")?;
        if days != 0 {
            write!(f, "{days}D")?;
        }
        if days != 0 && hours == 0 && minutes == 0 && seconds == 0 && nanos == 0 {
            return Ok(());
        }
        f.write_str("T")?;
        if hours != 0 {
            write!(f, "{hours}H")?;
        }
        if minutes != 0 {
            write!(f, "{minutes}M")?;
        }
        if nanos != 0 {
            let fraction = format!("{nanos:09}");
            write!(f, "{seconds}.{}S", fraction.trim_end_matches('0'))?;
        } else if seconds != 0 {
            write!(f, "{seconds}S")?;
        }
        Ok(())
    }
}

impl fmt::Debug for DayTimeDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
