//! Dates, times and durations.
//!
//! The calendar and the zones are jiff's. FEEL's years reach from -999 999 999 to 999 999 999, jiff's from -9999 to
//! 9999; as the Gregorian calendar repeats every 400 years, dates outside are computed in an equivalent year.

mod arithmetic;
mod date;
mod date_time;
mod duration;
mod parse;
mod time;
mod zone;

pub use date::Date;
pub use date_time::DateTime;
pub use duration::{DayTimeDuration, YearMonthDuration};
pub use time::Time;
pub use zone::Zone;

pub(crate) use arithmetic::day_time_between;
pub(crate) use parse::{parse_duration, parse_temporal};

/// The largest year, in both directions.
pub const MAX_YEAR: i32 = 999_999_999;
pub(crate) const NANOS_PER_SECOND: i64 = 1_000_000_000;
pub(crate) const SECONDS_PER_DAY: i64 = 86_400;
