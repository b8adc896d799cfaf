//! Values of the language.

mod compare;
mod context;
mod function;
mod hash;
mod list;
mod print;
mod range;

use std::sync::Arc;

pub(crate) use context::KEY;
pub use context::{Context, ContextBuilder};
pub use function::{Function, HostFunction};
pub use list::List;
pub use range::Range;

pub(crate) use function::{Closure, FunctionKind};
pub(crate) use hash::Hashed;
pub(crate) use print::{Bounded, write_quoted};

use crate::number::Number;
use crate::temporal::{Date, DateTime, DayTimeDuration, Time, YearMonthDuration};

/// A FEEL value. Cloning is cheap: large values are shared.
#[derive(Clone, Default)]
pub enum Value {
    /// No value, or a failed operation.
    #[default]
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A decimal of at most 34 digits.
    Number(Number),
    /// Unicode text.
    String(Arc<str>),
    /// Values in order.
    List(List),
    /// Named values in order.
    Context(Context),
    /// A calendar date.
    Date(Date),
    /// A time of day.
    Time(Arc<Time>),
    /// A date and a time.
    DateTime(Arc<DateTime>),
    /// Years and months.
    YearMonthDuration(YearMonthDuration),
    /// Days, hours, minutes and seconds.
    DayTimeDuration(DayTimeDuration),
    /// An interval or a comparison such as `< 5`.
    Range(Arc<Range>),
    /// A function literal, a builtin used as a value, or a function of the host.
    Function(Arc<Function>),
}

/// Bytes of the place that a value stands in.
pub(crate) const SLOT: u64 = size_of::<Value>() as u64;
/// Bytes that a shared allocation takes besides its content: its two counters, and the allocator's own.
pub(crate) const SHARED: u64 = 32;

impl Value {
    /// The truth value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(value) => Some(value),
            _ => None,
        }
    }

    /// The whole number of a number without fraction that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Number(value) => value.to_i64(),
            _ => None,
        }
    }

    /// The number.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(value) => Some(value),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Value::List(value) => Some(value),
            _ => None,
        }
    }

    /// The context.
    pub fn as_context(&self) -> Option<&Context> {
        match self {
            Value::Context(value) => Some(value),
            _ => None,
        }
    }

    /// True for null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The name of the type as FEEL writes it (`days and time duration`); `null` for null.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::List(_) => "list",
            Value::Context(_) => "context",
            Value::Date(_) => "date",
            Value::Time(_) => "time",
            Value::DateTime(_) => "date and time",
            Value::YearMonthDuration(_) => "years and months duration",
            Value::DayTimeDuration(_) => "days and time duration",
            Value::Range(_) => "range",
            Value::Function(_) => "function",
        }
    }

    /// A string value.
    pub fn string(text: impl AsRef<str>) -> Value {
        Value::String(Arc::from(text.as_ref()))
    }

    /// A list value.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(List::new(items))
    }

    /// Bytes that the value takes, with all values inside: parts that it shares with others, or holds several times,
    /// count every time.
    pub fn memory(&self) -> u64 {
        SLOT.saturating_add(self.heap())
    }

    /// The bytes besides those of the value's own slot.
    pub(crate) fn heap(&self) -> u64 {
        match self {
            Value::String(text) => SHARED + text.len() as u64,
            Value::List(list) => list.heap(),
            Value::Context(context) => context.heap(),
            Value::Range(range) => {
                let ends = range.start().memory().saturating_add(range.end().memory());
                SHARED.saturating_add(ends)
            }
            Value::Function(function) => function.heap(),
            Value::Number(number) if number.is_wide() => SHARED + SLOT,
            Value::Time(_) | Value::DateTime(_) => SHARED + SLOT,
            _ => 0,
        }
    }

    /// How deep lists and contexts are nested.
    pub fn depth(&self) -> u32 {
        match self {
            Value::List(list) => list.depth(),
            Value::Context(context) => context.depth(),
            Value::Range(range) => 1 + range.start().depth().max(range.end().depth()),
            Value::Function(function) => function.depth(),
            _ => 0,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Boolean(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Number(Number::from_i64(value))
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Value {
        Value::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::String(Arc::from(value))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::String(Arc::from(value))
    }
}

impl From<Vec<Value>> for Value {
    fn from(value: Vec<Value>) -> Value {
        Value::List(List::new(value))
    }
}

impl From<Context> for Value {
    fn from(value: Context) -> Value {
        Value::Context(value)
    }
}

impl From<Date> for Value {
    fn from(value: Date) -> Value {
        Value::Date(value)
    }
}

impl From<Time> for Value {
    fn from(value: Time) -> Value {
        Value::Time(Arc::new(value))
    }
}

impl From<DateTime> for Value {
    fn from(value: DateTime) -> Value {
        Value::DateTime(Arc::new(value))
    }
}

impl From<Option<bool>> for Value {
    fn from(value: Option<bool>) -> Value {
        value.map_or(Value::Null, Value::Boolean)
    }
}
