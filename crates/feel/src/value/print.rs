//! Values as text: in messages, and for the builtin `string`.

use std::fmt::{self, Write};

use super::{Range, Value};

impl fmt::Display for Value {
    /// As the reference engine writes it: strings in quotes, without escapes, lists in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Number(value) => write!(f, "{value}"),
            Value::String(value) => write!(f, "\"{value}\""),
            Value::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
            Value::Context(context) => {
                f.write_str("{")?;
                for (index, (key, value)) in context.entries().iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{key}:{value}")?;
                }
                f.write_str("}")
            }
            Value::Date(value) => write!(f, "{value}"),
            Value::Time(value) => write!(f, "{value}"),
            Value::DateTime(value) => write!(f, "{value}"),
            Value::YearMonthDuration(value) => write!(f, "{value}"),
            Value::DayTimeDuration(value) => write!(f, "{value}"),
            Value::Range(range) => write!(f, "{range}"),
            Value::Function(function) => write!(f, "{function}"),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.start(), self.end()) {
            (Value::Null, end) => write!(
                f,
                "({} {end})",
                if self.end_included() { "<=" } else { "<" }
            ),
            (start, Value::Null) => write!(
                f,
                "({} {start})",
                if self.start_included() { ">=" } else { ">" }
            ),
            (start, end) => write!(
                f,
                "{}{start}..{end}{}",
                if self.start_included() { '[' } else { '(' },
                if self.end_included() { ']' } else { ')' }
            ),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that grows to a limit and then fails.
pub(crate) struct Bounded {
    pub text: String,
    max: usize,
}

impl Bounded {
    pub fn new(max: u64) -> Bounded {
        Bounded {
            text: String::new(),
            max: usize::try_from(max).unwrap_or(usize::MAX),
        }
    }
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.max - self.text.len() < text.len() {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// A FEEL string literal.
pub(crate) fn write_quoted(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}
