//! Timer values: what the texts of timer definitions mean in time.
//!
//! Pure functions over milliseconds since 1970-01-01T00:00:00Z. Calendar arithmetic (days, months, years, cron) is done
//! in UTC, so that every replica computes the same due dates.

mod cycle;
mod duration;

pub use cycle::{Cycle, Schedule};
pub use duration::{Duration, parse_duration};

/// A text that is not a timer value of the expected form. Its message says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidTimerValue(pub(crate) String);

impl InvalidTimerValue {
    fn new(message: impl Into<String>) -> Self {
        InvalidTimerValue(message.into())
    }
}

/// Reads an ISO 8601 date-time with zone, such as `2026-10-01T12:00:00Z`, `2026-10-02T08:09:40+02:00` or
/// `2026-10-02T08:09:40+02:00[Europe/Berlin]`, as milliseconds since the epoch. The offset decides; the name of a zone
/// in brackets is a remark.
///
/// # Errors
/// When the text has another form or lies outside of the years -9999 to 9999.
pub fn parse_date(text: &str) -> Result<i64, InvalidTimerValue> {
    let text = text.trim();
    let timestamp: jiff::Timestamp = text.parse().map_err(|_| {
        InvalidTimerValue::new("expected is a date-time with zone as in ISO 8601, for instance 2026-10-01T12:00:00Z or 2026-10-01T14:00:00+02:00")
    })?;
    Ok(timestamp.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_790_856_000_000; // 2026-10-01T12:00:00Z

    #[test]
    fn dates_with_any_zone_are_read() {
        for text in [
            "2026-10-01T12:00:00Z",
            " 2026-10-01T12:00:00Z ",
            "2026-10-01T12:00Z",
            "2026-10-01T12:00:00.000Z",
            "2026-10-01T14:00:00+02:00",
            "2026-10-01T14:00:00+02:00[Europe/Berlin]",
        ] {
            assert_eq!(parse_date(text), Ok(NOON), "{text}");
        }
    }

    #[test]
    fn fractions_count_in_milliseconds() {
        assert_eq!(parse_date("2026-10-01T12:00:00.1239Z"), Ok(NOON + 123));
    }

    #[test]
    fn dates_without_zone_and_other_texts_are_refused() {
        for text in [
            "",
            "2026-10-01T12:00:00",
            "2026-10-01",
            "12:00:00Z",
            "PT1H",
            "tomorrow",
            "2026-13-01T12:00:00Z",
            "1790856000000",
        ] {
            assert!(parse_date(text).is_err(), "{text}");
        }
    }
}
