//! Timer values: the meaning of the texts of timer definitions.
//!
//! Pure functions over milliseconds since 1970-01-01T00:00:00Z. Calendar arithmetic (days, months, years, cron) is done in
//! UTC, so that every replica computes the same due dates.

mod cycle;
mod duration;

pub use cycle::{Cycle, Schedule};
pub use duration::{Duration, parse_duration};

/// A text that is not a timer value of the expected form. Its message names the expected form.
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
/// in brackets is a remark. Without an offset the zone decides, as in FEEL's `2026-10-02T08:09:40@Europe/Berlin`.
///
/// # Errors
/// When the text has another form or lies outside of the years -9999 to 9999.
pub fn parse_date(text: &str) -> Result<i64, InvalidTimerValue> {
    let text = text.trim();
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Ok(timestamp.as_millisecond());
    }
    // FEEL writes the name of a zone behind an @, and then there is no offset.
    if let Some((local, zone)) = text.split_once('@')
        && let Ok(zoned) = format!("{local}[{zone}]").parse::<jiff::Zoned>()
    {
        return Ok(zoned.timestamp().as_millisecond());
    }
    // The last day of the calendar, a popular "never", is beyond the range of the library's time stamps.
    if let Some(local) = text.strip_suffix(['Z', 'z'])
        && let Ok(local) = local.parse::<jiff::civil::DateTime>()
    {
        let epoch = jiff::civil::DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
        let millis = local.duration_since(epoch).as_millis();
        return i64::try_from(millis).map_err(|_| InvalidTimerValue::new(DATE));
    }
    Err(InvalidTimerValue::new(DATE))
}

const DATE: &str = "expected a date-time with zone as in ISO 8601, for instance 2026-10-01T12:00:00Z or 2026-10-01T14:00:00+02:00";

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
    fn a_zone_by_name_and_the_end_of_the_calendar_are_read() {
        assert_eq!(parse_date("2026-10-01T14:00:00@Europe/Berlin"), Ok(NOON));
        assert_eq!(parse_date("9999-12-31T23:59:59Z"), Ok(253_402_300_799_000));
        assert!(parse_date("2026-10-01T14:00:00@Europe/Atlantis").is_err());
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
