//! Calendar dates, of years far beyond those of the calendar crate.

use std::fmt;

use jiff::civil;

use super::MAX_YEAR;

/// Days in 400 Gregorian years.
const CYCLE_DAYS: i64 = 146_097;
/// Equivalent years are taken from 2000 to 2399.
const CYCLE_BASE: i32 = 2000;

/// A calendar date; years from -999 999 999 to 999 999 999.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: i32,
    month: i8,
    day: i8,
}

impl Date {
    /// `None` when there is no such day.
    pub fn new(year: i32, month: i64, day: i64) -> Option<Date> {
        if !(-MAX_YEAR..=MAX_YEAR).contains(&year) {
            return None;
        }
        let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
        civil::Date::new(equivalent_year(year), month, day).ok()?;
        Some(Date { year, month, day })
    }

    /// The year.
    pub fn year(&self) -> i32 {
        self.year
    }

    /// The month, 1 to 12.
    pub fn month(&self) -> i8 {
        self.month
    }

    /// The day of the month, from 1.
    pub fn day(&self) -> i8 {
        self.day
    }

    /// The same day in an equivalent year that jiff can hold, and how many 400-year cycles lie between.
    fn equivalent(&self) -> (i64, civil::Date) {
        let year = equivalent_year(self.year);
        let date = civil::Date::new(year, self.month, self.day).unwrap_or(civil::Date::ZERO);
        (i64::from(self.year - i32::from(year)) / 400, date)
    }

    /// As jiff's date: the very date where jiff can hold it, else the equivalent one.
    pub(crate) fn civil(&self) -> civil::Date {
        match i16::try_from(self.year) {
            Ok(year) if (-9998..=9998).contains(&year) => {
                civil::Date::new(year, self.month, self.day).unwrap_or(civil::Date::ZERO)
            }
            _ => self.equivalent().1,
        }
    }

    /// Days since 1970-01-01.
    pub fn epoch_day(&self) -> i64 {
        let (cycles, date) = self.equivalent();
        let epoch = civil::date(1970, 1, 1);
        let days = date
            .since(epoch)
            .map_or(0, |span| i64::from(span.get_days()));
        cycles * CYCLE_DAYS + days
    }

    /// The date so many days after 1970-01-01; `None` outside of the range of years.
    pub fn from_epoch_day(days: i64) -> Option<Date> {
        // 2000-01-01 is day 10957.
        let from_base = days.checked_sub(10_957)?;
        let (cycles, rest) = (
            from_base.div_euclid(CYCLE_DAYS),
            from_base.rem_euclid(CYCLE_DAYS),
        );
        let date = civil::date(CYCLE_BASE as i16, 1, 1)
            .checked_add(jiff::Span::new().try_days(rest).ok()?)
            .ok()?;
        let year = i64::from(date.year()).checked_add(cycles.checked_mul(400)?)?;
        Date::new(
            i32::try_from(year).ok()?,
            i64::from(date.month()),
            i64::from(date.day()),
        )
    }

    /// Later or earlier by days.
    pub fn add_days(&self, days: i64) -> Option<Date> {
        Date::from_epoch_day(self.epoch_day().checked_add(days)?)
    }

    /// Later or earlier by months; the day is cut to the last one of the month.
    pub fn add_months(&self, months: i64) -> Option<Date> {
        let count = i64::from(self.year)
            .checked_mul(12)?
            .checked_add(i64::from(self.month) - 1)?
            .checked_add(months)?;
        let year = i32::try_from(count.div_euclid(12)).ok()?;
        let month = count.rem_euclid(12) + 1;
        let last = Date::new(year, month, 1)?.last_day_of_month();
        Date::new(year, month, i64::from(self.day.min(last)))
    }

    /// 28 to 31.
    pub fn last_day_of_month(&self) -> i8 {
        self.equivalent().1.days_in_month()
    }

    /// ISO: 1 is Monday, 7 is Sunday.
    pub fn weekday(&self) -> i8 {
        self.equivalent().1.weekday().to_monday_one_offset()
    }

    /// 1 to 366.
    pub fn day_of_year(&self) -> i16 {
        self.equivalent().1.day_of_year()
    }

    /// ISO 8601 week, 1 to 53.
    pub fn week_of_year(&self) -> i8 {
        self.equivalent().1.iso_week_date().week()
    }
}

fn equivalent_year(year: i32) -> i16 {
    (CYCLE_BASE + (year - CYCLE_BASE).rem_euclid(400)) as i16
}

impl fmt::Display for Date {
    /// `2026-11-21`; years have at least four digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.year < 0 {
            f.write_str("-")?;
        }
        write!(
            f,
            "{:04}-{:02}-{:02}",
            self.year.unsigned_abs(),
            self.month,
            self.day
        )
    }
}

impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
