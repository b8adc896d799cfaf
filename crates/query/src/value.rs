//! A value of a row.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The value of a column, independent of the store. Keys, numbers, times and booleans are integers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Value {
    #[default]
    Null,
    Int(i64),
    Text(Arc<str>),
}

impl Value {
    pub fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    /// A text value; null if the text is empty.
    pub fn some_text(text: &str) -> Value {
        if text.is_empty() {
            Value::Null
        } else {
            Value::text(text)
        }
    }

    pub fn opt_text(text: Option<&Arc<str>>) -> Value {
        text.map_or(Value::Null, |text| Value::Text(text.clone()))
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            Value::Null | Value::Text(_) => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Null | Value::Int(_) => None,
        }
    }

    /// Compares values for sorting. Absent values come last, ascending or not.
    pub fn compare(&self, other: &Value, descending: bool) -> Ordering {
        let order = match (self, other) {
            (Value::Null, Value::Null) => return Ordering::Equal,
            (Value::Null, _) => return Ordering::Greater,
            (_, Value::Null) => return Ordering::Less,
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            // Does not occur: all values of a column have one type.
            (Value::Int(_), Value::Text(_)) => Ordering::Less,
            (Value::Text(_), Value::Int(_)) => Ordering::Greater,
        };
        if descending { order.reverse() } else { order }
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Int(i64::from(truth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_values_come_last_in_both_directions() {
        for descending in [false, true] {
            assert_eq!(
                Value::Null.compare(&Value::Int(1), descending),
                Ordering::Greater
            );
        }
    }
}
