//! From values to JSON text.

use std::fmt::{self, Write};

use crate::value::{Bounded, Value};

impl Value {
    /// Appends this value as JSON. Temporal values and ranges become their text, functions null.
    pub fn write_json(&self, out: &mut String) {
        // Writing to a string does not fail.
        let _ = write(self, out);
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
        write(self, &mut out).ok()?;
        Some(out.text)
    }
}

fn write(value: &Value, out: &mut impl Write) -> fmt::Result {
    match value {
        Value::Null | Value::Function(_) => out.write_str("null"),
        Value::Boolean(true) => out.write_str("true"),
        Value::Boolean(false) => out.write_str("false"),
        // `1.0` is a whole number to clients that tell whole numbers from others by their text.
        Value::Number(number) => write!(out, "{}", number.clone().strip_zeros(0)),
        Value::String(text) => write_string(out, text),
        Value::List(items) => {
            out.write_char('[')?;
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.write_char(',')?;
                }
                write(item, out)?;
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
                write(value, out)?;
            }
            out.write_char('}')
        }
        // The text of temporal values holds nothing that JSON escapes.
        Value::Date(value) => write!(out, "\"{value}\""),
        Value::Time(value) => write!(out, "\"{}\"", value.with_offset()),
        Value::DateTime(value) => write!(out, "\"{value}\""),
        Value::YearMonthDuration(value) => write!(out, "\"{value}\""),
        Value::DayTimeDuration(value) => write!(out, "\"{value}\""),
        Value::Range(range) => write_string(out, &range.to_string()),
    }
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
