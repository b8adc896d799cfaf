//! From values to JSON text.

use std::fmt::{self, Write};

use crate::temporal::{DayTimeDuration, Zone};
use crate::value::{Bounded, Value};

/// How numbers and times are written.
#[derive(Clone, Copy)]
enum Texts {
    /// As variables: numbers without trailing zeros, local times of a whole minute without seconds.
    Variables,
    /// As FEEL writes them.
    Feel,
}

impl Value {
    /// Appends this value as JSON. Temporal values and ranges become their text, functions null.
    pub fn write_json(&self, out: &mut String) {
        // Writing to a string does not fail.
        let _ = write(self, Texts::Variables, out);
    }

    /// This value as JSON text.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }

    /// This value as JSON text, unless that is longer than so many bytes: parts that a value shares are written every
    /// time, so that a small value can have a long text.
    pub fn to_json_within(&self, max_bytes: u64) -> Option<String> {
        let mut out = Bounded::new(max_bytes);
        write(self, Texts::Variables, &mut out).ok()?;
        Some(out.text)
    }

    /// The text of the builtin `to json`: numbers and times are written as `string` writes them.
    pub(crate) fn to_json_text(&self, max_bytes: u64) -> Option<String> {
        let mut out = Bounded::new(max_bytes);
        write(self, Texts::Feel, &mut out).ok()?;
        Some(out.text)
    }
}

fn write(value: &Value, texts: Texts, out: &mut impl Write) -> fmt::Result {
    match value {
        Value::Null | Value::Function(_) => out.write_str("null"),
        Value::Boolean(true) => out.write_str("true"),
        Value::Boolean(false) => out.write_str("false"),
        Value::Number(number) => match texts {
            Texts::Variables => number.write_value(out),
            Texts::Feel => write!(out, "{number}"),
        },
        Value::String(text) => write_string(out, text),
        Value::List(items) => {
            out.write_char('[')?;
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.write_char(',')?;
                }
                write(item, texts, out)?;
            }
            out.write_char(']')
        }
        Value::Context(context) => {
            out.write_char('{')?;
            for (index, (key, value)) in context.entries().iter().enumerate() {
                if index > 0 {
                    out.write_char(',')?;
                }
                write_string(out, key)?;
                out.write_char(':')?;
                write(value, texts, out)?;
            }
            out.write_char('}')
        }
        // The text of temporal values holds nothing that JSON escapes.
        Value::Date(value) => write!(out, "\"{value}\""),
        Value::Time(value) => match texts {
            Texts::Variables => write!(out, "\"{}\"", value.with_offset().short()),
            Texts::Feel => write!(out, "\"{}\"", value.with_offset()),
        },
        Value::DateTime(value) => match (texts, value.zone().name(), value.offset_seconds()) {
            (Texts::Feel, Some(name), Some(offset)) => {
                let moment = value.with_zone(Zone::Offset(offset));
                write!(out, "\"{moment}[{name}]\"")
            }
            _ => write!(out, "\"{value}\""),
        },
        Value::YearMonthDuration(value) => write!(out, "\"{value}\""),
        Value::DayTimeDuration(value) => match texts {
            Texts::Variables => write!(out, "\"{value}\""),
            Texts::Feel => write_hours(value, out),
        },
        Value::Range(range) => write_string(out, &range.to_string()),
    }
}

/// A duration in hours, minutes and seconds, each with its sign: `PT36H`, `PT-1H-30M`.
fn write_hours(duration: &DayTimeDuration, out: &mut impl Write) -> fmt::Result {
    let total = duration.total_nanos();
    let (seconds, nanos) = (total / 1_000_000_000, total % 1_000_000_000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    out.write_str("\"PT")?;
    if hours != 0 {
        write!(out, "{hours}H")?;
    }
    if minutes != 0 {
        write!(out, "{minutes}M")?;
    }
    if nanos != 0 {
        let sign = if total < 0 { "-" } else { "" };
        let fraction = format!("{:09}", nanos.unsigned_abs());
        let fraction = fraction.trim_end_matches('0');
        write!(out, "{sign}{}.{fraction}S", seconds.unsigned_abs())?;
    } else if seconds != 0 || total == 0 {
        write!(out, "{seconds}S")?;
    }
    out.write_char('"')
}

fn write_string(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            // As the door writes them: one value has one text.
            0x08 => "\\b",
            0x0c => "\\f",
            0..=31 => "",
            _ => continue,
        };
        out.write_str(text.get(start..at).unwrap_or_default())?;
        if escape.is_empty() {
            write!(out, "\\u{byte:04x}")?;
        } else {
            out.write_str(escape)?;
        }
        start = at + 1;
    }
    out.write_str(text.get(start..).unwrap_or_default())?;
    out.write_char('"')
}
