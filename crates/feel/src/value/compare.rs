//! Equality and order.

use std::cmp::Ordering;

use super::{FunctionKind, Value};

impl Value {
    /// FEEL's equality: `None` when the types cannot be compared. Null equals only null.
    pub fn equals(&self, other: &Value) -> Option<bool> {
        match (self, other) {
            (Value::Null, Value::Null) => Some(true),
            (Value::Null, _) | (_, Value::Null) => Some(false),
            (Value::Number(a), Value::Number(b)) => Some(a == b),
            (Value::String(a), Value::String(b)) => Some(a == b),
            (Value::Boolean(a), Value::Boolean(b)) => Some(a == b),
            (Value::List(a), Value::List(b)) => Some(
                a.len() == b.len()
                    && a.iter()
                        .zip(b.iter())
                        .all(|(a, b)| a.equals(b) == Some(true)),
            ),
            (Value::Context(a), Value::Context(b)) => Some(
                a.len() == b.len()
                    && a.entries().iter().all(|(key, value)| {
                        b.get(key)
                            .is_some_and(|other| value.equals(other) == Some(true))
                    }),
            ),
            (Value::Date(a), Value::Date(b)) => Some(a == b),
            (Value::Time(_), Value::Time(_)) | (Value::DateTime(_), Value::DateTime(_)) => {
                self.compare(other).map(Ordering::is_eq)
            }
            (Value::YearMonthDuration(a), Value::YearMonthDuration(b)) => Some(a == b),
            (Value::DayTimeDuration(a), Value::DayTimeDuration(b)) => Some(a == b),
            (Value::Range(a), Value::Range(b)) => Some(
                a.start_included() == b.start_included()
                    && a.end_included() == b.end_included()
                    && a.start().equals(b.start()) == Some(true)
                    && a.end().equals(b.end()) == Some(true),
            ),
            (Value::Function(a), Value::Function(b)) => match (a.kind(), b.kind()) {
                (FunctionKind::Builtin(a), FunctionKind::Builtin(b)) => Some(a.name() == b.name()),
                _ => Some(std::sync::Arc::ptr_eq(a, b)),
            },
            _ => None,
        }
    }

    /// The order of two values of one ordered type; `None` for others, and for null.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => Some(a.cmp(b)),
            (Value::String(a), Value::String(b)) => Some(text_order(a, b)),
            (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
            (Value::Time(a), Value::Time(b)) => {
                if a.zone().is_local() == b.zone().is_local() {
                    Some(a.utc_nanos().cmp(&b.utc_nanos()))
                } else {
                    None
                }
            }
            (Value::DateTime(a), Value::DateTime(b)) => {
                if a.zone().is_local() == b.zone().is_local() {
                    Some(a.epoch_nanos().cmp(&b.epoch_nanos()))
                } else {
                    None
                }
            }
            (Value::YearMonthDuration(a), Value::YearMonthDuration(b)) => Some(a.cmp(b)),
            (Value::DayTimeDuration(a), Value::DayTimeDuration(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// The order of UTF-16 units, as in the reference engine: characters beyond U+FFFF stand in front of those from U+E000 on.
fn text_order(a: &str, b: &str) -> Ordering {
    let order = a.cmp(b);
    let differing = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    match differing {
        Some((a, b)) if a >= 0xEE && b >= 0xEE && (a >= 0xF0) != (b >= 0xF0) => order.reverse(),
        _ => order,
    }
}

impl PartialEq for Value {
    /// Equality for tests and look-ups: values that cannot be compared differ.
    fn eq(&self, other: &Value) -> bool {
        self.equals(other) == Some(true)
    }
}
