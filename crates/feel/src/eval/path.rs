//! Entries of contexts and properties of temporal values and ranges.

use std::sync::Arc;

use super::{Evaluator, quote};
use crate::temporal::DayTimeDuration;
use crate::{Value, WarningCode, prices};

impl Evaluator<'_> {
    /// `base.name`; for a list, of each of its items.
    pub fn path(&mut self, base: &Value, name: &Arc<str>) -> Value {
        match base {
            Value::Context(context) if !self.charge(prices::lookup(context)) => Value::Null,
            Value::Context(context) => match context.get(name) {
                Some(value) => value.clone(),
                None if !self.keeps_warnings() => Value::Null,
                None => {
                    let message = if context.is_empty() {
                        format!("No context entry found with key '{name}'. The context is empty")
                    } else {
                        format!(
                            "No context entry found with key '{name}'. Available keys: {}",
                            context.keys_for_message()
                        )
                    };
                    self.fail(WarningCode::NoContextEntryFound, message)
                }
            },
            Value::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                if self.depth >= self.cx.limits.max_depth {
                    return self.stop("A path leads through lists that are nested too deeply");
                }
                self.depth += 1;
                for item in items.iter() {
                    if !self.charge(prices::TURN) {
                        break;
                    }
                    values.push(self.path(item, name));
                }
                self.depth -= 1;
                self.list(values)
            }
            Value::Null if !self.keeps_warnings() => Value::Null,
            Value::Null => {
                let message =
                    format!("No context entry found with key '{name}'. The context is null");
                self.fail(WarningCode::NoContextEntryFound, message)
            }
            _ if !self.charge(prices::TEMPORAL) => Value::Null,
            other => match property(other, name) {
                Some(value) => value,
                None if !self.keeps_warnings() => Value::Null,
                None => {
                    let message = format!(
                        "No property found with name '{name}' of value '{}'",
                        quote(other)
                    );
                    self.fail(WarningCode::NoPropertyFound, message)
                }
            },
        }
    }
}

fn property(value: &Value, name: &str) -> Option<Value> {
    let number = |n: i64| Some(Value::from(n));
    match value {
        Value::Date(date) => match name {
            "year" => number(i64::from(date.year())),
            "month" => number(i64::from(date.month())),
            "day" => number(i64::from(date.day())),
            "weekday" => number(i64::from(date.weekday())),
            _ => None,
        },
        Value::DateTime(moment) => match name {
            "year" | "month" | "day" | "weekday" => property(&Value::Date(moment.date()), name),
            "time offset" => Some(offset(moment.offset_seconds())),
            _ => property(&Value::Time(Arc::new(moment.time().clone())), name),
        },
        Value::Time(time) => match name {
            "hour" => number(time.hour()),
            "minute" => number(time.minute()),
            "second" => number(time.second()),
            "time offset" => Some(offset(time.offset_seconds())),
            "timezone" => Some(time.zone().name().map_or(Value::Null, Value::from)),
            _ => None,
        },
        Value::YearMonthDuration(duration) => match name {
            "years" => number(duration.years()),
            "months" => number(duration.months()),
            _ => None,
        },
        Value::DayTimeDuration(duration) => match name {
            "days" => number(duration.days()),
            "hours" => number(duration.hours()),
            "minutes" => number(duration.minutes()),
            "seconds" => number(duration.seconds()),
            _ => None,
        },
        Value::Range(range) => match name {
            "start" => Some(range.start().clone()),
            "end" => Some(range.end().clone()),
            "start included" => Some(Value::Boolean(range.start_included())),
            "end included" => Some(Value::Boolean(range.end_included())),
            _ => None,
        },
        _ => None,
    }
}

fn offset(seconds: Option<i32>) -> Value {
    seconds.map_or(Value::Null, |s| {
        Value::DayTimeDuration(DayTimeDuration::from_seconds(i64::from(s)))
    })
}
