//! Parses command-line arguments: keys, times, variables.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use serde_json::value::{RawValue, to_raw_value};

use super::Usage;
use crate::config::value::duration;

/// Parses a key.
pub fn key(text: &str) -> Result<i64, String> {
    match text.parse() {
        Ok(key) if key > 0 => Ok(key),
        _ => Err("a key is a whole number, as in 2251799813685249; lists such as `skep instances` have them".into()),
    }
}

/// Parses a time span with a unit.
pub fn time(text: &str) -> Result<Duration, String> {
    let has_unit = text.contains(|c: char| c.is_ascii_alphabetic());
    match duration(text).filter(|_| has_unit) {
        Some(time) => Ok(time),
        None => Err("a time has a unit, as in 90s, 15m, 2h, 7d or PT1H30M".into()),
    }
}

/// Parses a time to wait: with a unit, or in seconds.
pub fn patience(text: &str) -> Result<Duration, Usage> {
    let time = match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => duration(text),
    };
    let longest = Duration::from_secs(86_400);
    match time.filter(|time| !time.is_zero() && *time <= longest) {
        Some(time) => Ok(time),
        None => {
            let text =
                "a time to wait is at most a day, as in 500ms, 20s or 5m, or a number of seconds";
            Err(Usage(text.into()))
        }
    }
}

/// Parses two names with a separator between them.
pub fn pair(text: &str, between: char) -> Result<(String, String), String> {
    match text.split_once(between) {
        Some((one, two)) if !one.trim().is_empty() && !two.trim().is_empty() => {
            Ok((one.trim().to_string(), two.trim().to_string()))
        }
        _ => Err(format!("expected two names with '{between}' between them")),
    }
}

/// Variables that a command sends.
#[derive(Args, Clone, Debug, Default)]
pub struct VariableArgs {
    /// A variable; a value that is not JSON is a text, as in --var amount=99 --var name=Ada; may be given several times.
    #[arg(long = "var", value_name = "NAME=VALUE")]
    each: Vec<String>,
    /// Variables as a JSON object.
    #[arg(long, value_name = "JSON")]
    variables: Option<String>,
}

impl VariableArgs {
    /// All of them as a JSON object; `None` if none was given. A `--var` wins over the same name in `--variables`.
    pub fn json(&self) -> Result<Option<Box<RawValue>>, Usage> {
        if self.each.is_empty() && self.variables.is_none() {
            return Ok(None);
        }
        let mut all = match &self.variables {
            Some(text) => object(text)?,
            None => BTreeMap::new(),
        };
        for text in &self.each {
            let (name, value) = one(text)?;
            all.insert(name.to_string(), value);
        }
        let all = to_raw_value(&all).map_err(|error| Usage(error.to_string()))?;
        Ok(Some(all))
    }
}

fn object(text: &str) -> Result<BTreeMap<String, Box<RawValue>>, Usage> {
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
        return Err(Usage(format!("--variables is not JSON: {error}")));
    }
    serde_json::from_str(text)
        .map_err(|_| Usage("--variables must be a JSON object, as in '{\"a\": 1}'".into()))
}

/// Parses one variable. A value that begins like JSON must be JSON: a forgotten brace is an error, not a string.
fn one(text: &str) -> Result<(&str, Box<RawValue>), Usage> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => (name.trim(), value.trim()),
        _ => {
            return Err(Usage(format!(
                "--var '{text}': expected NAME=VALUE, as in --var amount=99"
            )));
        }
    };
    match serde_json::from_str(value) {
        Ok(json) => Ok((name, json)),
        Err(error) if value.starts_with(['{', '[', '"']) => Err(Usage(format!(
            "--var {name}: '{value}' begins like JSON but is invalid: {error}"
        ))),
        Err(_) => {
            let text = to_raw_value(value).map_err(|error| Usage(error.to_string()))?;
            Ok((name, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(variables: Option<&str>, each: &[&str]) -> Result<Option<String>, String> {
        let args = VariableArgs {
            each: each.iter().map(ToString::to_string).collect(),
            variables: variables.map(str::to_string),
        };
        let json = args.json().map_err(|why| why.to_string())?;
        Ok(json.map(|json| json.get().to_string()))
    }

    #[test]
    fn a_time_to_wait_has_a_unit_or_is_in_seconds() {
        for (text, millis) in [
            ("2", 2_000),
            ("2s", 2_000),
            ("500ms", 500),
            ("10m", 600_000),
        ] {
            assert_eq!(
                patience(text).unwrap(),
                Duration::from_millis(millis),
                "{text}"
            );
        }
        for text in ["0", "0s", "25h", "soon", "-1"] {
            assert!(patience(text).is_err(), "{text}");
        }
    }

    #[test]
    fn variables_are_json_or_texts() {
        for (variables, each, sent) in [
            (None, &[][..], None),
            (Some(r#"{"a": 1.50}"#), &[], Some(r#"{"a":1.50}"#)),
            (
                None,
                &["amount=99", "name=Ada", "yes=true", "note=", "a=b=c"],
                Some(r#"{"a":"b=c","amount":99,"name":"Ada","note":"","yes":true}"#),
            ),
            (
                Some(r#"{"a": 1, "b": 2}"#),
                &["b=[3]", "c=12345678901234567890.10"],
                Some(r#"{"a":1,"b":[3],"c":12345678901234567890.10}"#),
            ),
        ] {
            assert_eq!(given(variables, each), Ok(sent.map(str::to_string)));
        }
    }

    #[test]
    fn invalid_variables_are_refused() {
        for (variables, each, said) in [
            (Some("{"), &[][..], "--variables is not JSON"),
            (Some("[1]"), &[], "must be a JSON object"),
            (None, &["amount"], "expected NAME=VALUE"),
            (None, &["=1"], "expected NAME=VALUE"),
            (None, &["list=[1"], "--var list: '[1' begins like JSON"),
        ] {
            let why = given(variables, each).unwrap_err();
            assert!(why.contains(said), "{why}");
        }
    }

    #[test]
    fn times_have_units_and_keys_are_numbers() {
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("2h"), Ok(Duration::from_secs(7200)));
        assert_eq!(time("PT1M"), Ok(Duration::from_secs(60)));
        assert!(time("90").is_err() && time("soon").is_err());
        assert_eq!(key("2251799813685249"), Ok(2251799813685249));
        assert!(key("order").is_err() && key("-1").is_err());
        assert_eq!(pair("a:b", ':'), Ok(("a".into(), "b".into())));
        assert!(pair("a:", ':').is_err() && pair("a", ':').is_err());
    }
}
