//! Converts timestamps from and to text.

use jiff::{Span, SpanRelativeTo, Timestamp, Unit};

/// Parses an ISO 8601 date-time with zone to epoch milliseconds.
pub fn parse(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(|t| t.as_millisecond())
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
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    let time = Timestamp::from_millisecond(millis).unwrap_or(end);
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
