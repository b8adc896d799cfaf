use std::fmt::Write;

use crate::value::Value;

impl Value {
    /// Appends this value as JSON. Temporal values and ranges become their text, functions null.
    pub fn write_json(&self, out: &mut String) {
        match self {
            Value::Null | Value::Function(_) => out.push_str("null"),
            Value::Boolean(true) => out.push_str("true"),
            Value::Boolean(false) => out.push_str("false"),
            Value::Number(number) => push(out, number),
            Value::String(text) => write_string(out, text),
            Value::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_json(out);
                }
                out.push(']');
            }
            Value::Context(context) => {
                out.push('{');
                for (index, (key, value)) in context.entries().iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(out, key);
                    out.push(':');
                    value.write_json(out);
                }
                out.push('}');
            }
            // The text of temporal values holds nothing that JSON escapes.
            Value::Date(value) => push_quoted(out, value),
            Value::Time(value) => push_quoted(out, value),
            Value::DateTime(value) => push_quoted(out, value),
            Value::YearMonthDuration(value) => push_quoted(out, value),
            Value::DayTimeDuration(value) => push_quoted(out, value),
            Value::Range(range) => write_string(out, &range.to_string()),
        }
    }

    /// This value as JSON text.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }
}

fn push(out: &mut String, value: &impl std::fmt::Display) {
    // Writing to a string does not fail.
    let _ = write!(out, "{value}");
}

fn push_quoted(out: &mut String, value: &impl std::fmt::Display) {
    out.push('"');
    push(out, value);
    out.push('"');
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=31 => "",
            _ => continue,
        };
        out.push_str(text.get(start..at).unwrap_or_default());
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        start = at + 1;
    }
    out.push_str(text.get(start..).unwrap_or_default());
    out.push('"');
}
