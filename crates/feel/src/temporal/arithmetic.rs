//! Sums and differences of temporal values.

use super::{
    Date, DateTime, DayTimeDuration, NANOS_PER_SECOND, SECONDS_PER_DAY, Time, YearMonthDuration,
};

impl Time {
    /// Later by a duration, around the clock.
    pub fn add(&self, duration: DayTimeDuration) -> Time {
        Time::from_nanos(
            i128::from(self.nanos_of_day()) + duration.total_nanos(),
            self.zone().clone(),
        )
    }
}

impl DateTime {
    /// Later by a number of seconds on the clock of its zone: across a change of offset the instant moves by the duration.
    pub fn add(&self, duration: DayTimeDuration) -> Option<DateTime> {
        let total = self.epoch_nanos().checked_add(duration.total_nanos())?;
        let seconds = i64::try_from(total.div_euclid(i128::from(NANOS_PER_SECOND))).ok()?;
        let nanos = total.rem_euclid(i128::from(NANOS_PER_SECOND)) as i64;
        DateTime::from_epoch(seconds, nanos, self.zone().clone())
    }

    /// Later by months, at the same time of day.
    pub fn add_months(&self, duration: YearMonthDuration) -> Option<DateTime> {
        Some(DateTime::new(
            self.date().add_months(duration.total_months())?,
            self.time().clone(),
        ))
    }
}

impl Date {
    /// Later by months.
    pub fn add(&self, duration: YearMonthDuration) -> Option<Date> {
        self.add_months(duration.total_months())
    }

    /// Whole months from `from` to this date, towards zero.
    pub fn months_since(&self, from: Date) -> i64 {
        let months = (i64::from(self.year()) - i64::from(from.year())) * 12
            + i64::from(self.month())
            - i64::from(from.month());
        if months > 0 && self.day() < from.day() {
            months - 1
        } else if months < 0 && self.day() > from.day() {
            months + 1
        } else {
            months
        }
    }

    /// Nanoseconds from 1970-01-01 to the midnight of this date.
    pub(crate) fn epoch_nanos(&self) -> i128 {
        i128::from(self.epoch_day()) * i128::from(SECONDS_PER_DAY) * i128::from(NANOS_PER_SECOND)
    }
}

/// `later - earlier`.
pub(crate) fn day_time_between(later: i128, earlier: i128) -> Option<DayTimeDuration> {
    DayTimeDuration::from_nanos(later.checked_sub(earlier)?)
}
