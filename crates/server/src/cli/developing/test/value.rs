//! Values within instructions that need more than JSON: variables, times, counts.

use std::collections::BTreeMap;

use jiff::{SpanRelativeTo, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Variables by name. Values stay as written: parsing and writing a number again might round it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Variables(pub BTreeMap<String, Box<RawValue>>);

/// A time in milliseconds since 1970, written as in 2026-01-19T13:00:00Z.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Instant(pub i64);

impl TryFrom<String> for Instant {
    type Error = String;

    fn try_from(text: String) -> Result<Instant, String> {
        let time: Result<Timestamp, _> = text.parse();
        let time = time
            .map_err(|_| format!("'{text}' is not an ISO 8601 time, as in 2026-01-19T13:00:00Z"))?;
        Ok(Instant(time.as_millisecond()))
    }
}

/// A time span in milliseconds, written as in PT1H or P2D.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Span(pub i64);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Span, String> {
        let millis = || {
            let span: jiff::Span = text.parse().ok()?;
            let days = SpanRelativeTo::days_are_24_hours();
            let millis = span.to_duration(days).ok()?.as_millis();
            i64::try_from(millis).ok()
        };
        // Other notations, such as `1 hour`, are not in the format.
        let is_iso = text.trim_start_matches(['-', '+']).starts_with(['P', 'p']);
        let millis = millis().filter(|_| is_iso);
        millis
            .map(Span)
            .ok_or_else(|| format!("'{text}' is not an ISO 8601 duration, as in PT1H or P2D"))
    }
}

/// An expected number of times: at least one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "i64")]
pub struct Amount(pub usize);

impl TryFrom<i64> for Amount {
    type Error = String;

    fn try_from(number: i64) -> Result<Amount, String> {
        match usize::try_from(number) {
            Ok(number) if number >= 1 => Ok(Amount(number)),
            _ => Err(format!("{number} is too small: at least 1 is expected")),
        }
    }
}

/// Parses a JSON text; null if it is invalid.
pub fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_spans_are_those_of_iso_8601() {
        let instant = |text: &str| Instant::try_from(text.to_string()).map(|it| it.0).ok();
        assert_eq!(instant("1970-01-01T00:00:01.5Z"), Some(1500));
        assert_eq!(instant("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(instant("tomorrow"), None);
        let span = |text: &str| Span::try_from(text.to_string()).map(|it| it.0).ok();
        assert_eq!(span("PT1H"), Some(3_600_000));
        assert_eq!(span("P2D"), Some(172_800_000));
        assert_eq!(span("PT0.5S"), Some(500));
        assert_eq!(span("-PT1S"), Some(-1000));
        for text in ["1h", "P1M", "P1Y", "", "soon", "1 hour"] {
            assert_eq!(span(text), None, "{text}");
        }
    }
}
