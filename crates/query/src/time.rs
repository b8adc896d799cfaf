//! Converts timestamps from and to text.

use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp, Unit};

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Parses an ISO 8601 date-time with zone to epoch milliseconds.
pub fn parse(text: &str) -> Option<i64> {
    match text.parse::<Timestamp>() {
        Ok(timestamp) => Some(timestamp.as_millisecond()),
        Err(_) => parse_civil(text),
    }
}

/// The library's timestamps end a day before the calendar does, whose last day is a popular "never".
fn parse_civil(text: &str) -> Option<i64> {
    let pieces = Pieces::parse(text).ok()?;
    let offset = pieces.to_numeric_offset()?;
    let local = pieces.date().to_datetime(pieces.time()?);
    let moment = local.duration_since(EPOCH) - SignedDuration::from_secs(offset.seconds().into());
    i64::try_from(moment.as_millis()).ok()
}

/// Parses an ISO 8601 duration in days and smaller units to whole milliseconds. A day has 24 hours.
pub fn span(text: &str) -> Option<i64> {
    let span: Span = text.parse().ok()?;
    let day = SpanRelativeTo::days_are_24_hours();
    let millis = span.total((Unit::Millisecond, day)).ok()?;
    (millis.fract() == 0.0 && millis.abs() < 1e15).then_some(millis as i64)
}

/// Formats epoch milliseconds in UTC, always with three fractional digits. Values outside the calendar are clamped.
pub fn render(millis: i64) -> String {
    let end = if millis < 0 {
        DateTime::MIN
    } else {
        DateTime::MAX
    };
    let time = EPOCH
        .checked_add(SignedDuration::from_millis(millis))
        .unwrap_or(end);
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_milliseconds() {
        assert_eq!(render(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(render(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(parse("2023-11-14T22:13:20.123Z"), Some(1_700_000_000_123));
        assert_eq!(
            parse("2023-11-14T23:13:20.123+01:00"),
            Some(1_700_000_000_123)
        );
        assert_eq!(parse("2023-11-14"), None);
        assert_eq!(parse("2023-11-14T22:13:20"), None);
        for end in ["9999-12-31T23:59:59.999Z", "9999-12-31T22:59:59.999-01:00"] {
            let millis = parse(end).unwrap();
            assert_eq!(render(millis), "9999-12-31T23:59:59.999Z");
        }
        assert_eq!(render(-62_135_596_800_000), "0001-01-01T00:00:00.000Z");
        for (text, millis) in [
            ("PT1M", Some(60_000)),
            ("P1DT0.5S", Some(86_400_500)),
            ("-PT1S", Some(-1_000)),
            ("P1M", None),
            ("1 minute", Some(60_000)),
            ("", None),
            ("PT999999999H", None),
        ] {
            assert_eq!(span(text), millis, "{text}");
        }
        render(i64::MAX);
        render(i64::MIN);
    }
}
