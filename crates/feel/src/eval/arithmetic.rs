//! `+ - * / **` on numbers, strings, dates, times and durations.

use super::{Evaluator, quote};
use crate::number::{Number, Rounding};
use crate::syntax::ast::ArithmeticOp;
use crate::temporal::{DateTime, DayTimeDuration, Time, YearMonthDuration, Zone, day_time_between};
use crate::{Value, WarningCode, prices};

impl Evaluator<'_> {
    pub(super) fn arithmetic(&mut self, op: ArithmeticOp, left: Value, right: Value) -> Value {
        if let (Value::Number(a), Value::Number(b)) = (&left, &right) {
            let price = match op {
                ArithmeticOp::Divide => prices::DIVISION + prices::numbers(a, b),
                ArithmeticOp::Power => prices::power(b),
                _ => prices::numbers(a, b),
            };
            if !self.charge(price) {
                return Value::Null;
            }
            let result = match op {
                ArithmeticOp::Add => a.add(b),
                ArithmeticOp::Subtract => a.sub(b),
                ArithmeticOp::Multiply => a.mul(b),
                ArithmeticOp::Divide => a.div(b),
                ArithmeticOp::Power => a.pow(b),
            };
            if let Some(number) = result {
                return self.scalar(Value::Number(number));
            }
            return self.arithmetic_failed(op, &left, &right);
        }
        if let (ArithmeticOp::Add, Value::String(a), Value::String(b)) = (op, &left, &right) {
            let bytes = a.len() + b.len();
            if !self.hold(0) || bytes as u64 > self.room() {
                return self.overfull();
            }
            return self.text([&**a, &**b].concat());
        }
        self.charge(prices::TEMPORAL);
        let result = match op {
            ArithmeticOp::Add => add(&left, &right),
            ArithmeticOp::Subtract => subtract(&left, &right),
            ArithmeticOp::Multiply => multiply(&left, &right).or_else(|| multiply(&right, &left)),
            ArithmeticOp::Divide => divide(&left, &right),
            ArithmeticOp::Power => None,
        };
        match result {
            Some(value) => self.scalar(value),
            None => self.arithmetic_failed(op, &left, &right),
        }
    }

    fn arithmetic_failed(&mut self, op: ArithmeticOp, left: &Value, right: &Value) -> Value {
        if !self.keeps_warnings() || !self.charge(prices::FAILURE) {
            return Value::Null;
        }
        let (a, b) = (quote(left), quote(right));
        let message = match op {
            ArithmeticOp::Add => format!("Can't add '{b}' to '{a}'"),
            ArithmeticOp::Subtract => format!("Can't subtract '{b}' from '{a}'"),
            ArithmeticOp::Multiply => format!("Can't multiply '{a}' by '{b}'"),
            ArithmeticOp::Divide => format!("Can't divide '{a}' by '{b}'"),
            ArithmeticOp::Power => format!("Can't exponentiate '{a}' by '{b}'"),
        };
        self.fail(WarningCode::InvalidType, message)
    }

    pub(super) fn negate(&mut self, value: &Value) -> Value {
        match value {
            Value::Number(number) => Value::Number(number.neg()),
            Value::YearMonthDuration(duration) => match duration.total_months().checked_neg() {
                Some(months) => Value::YearMonthDuration(YearMonthDuration::from_months(months)),
                None => Value::Null,
            },
            Value::DayTimeDuration(duration) => {
                DayTimeDuration::from_nanos(-duration.total_nanos())
                    .map_or(Value::Null, Value::DayTimeDuration)
            }
            other => {
                let message = format!("Can't negate '{}'", quote(other));
                self.fail(WarningCode::InvalidType, message)
            }
        }
    }
}

pub(crate) fn add(left: &Value, right: &Value) -> Option<Value> {
    match (left, right) {
        (Value::DayTimeDuration(a), Value::DayTimeDuration(b)) => {
            DayTimeDuration::from_nanos(a.total_nanos().checked_add(b.total_nanos())?)
                .map(Value::DayTimeDuration)
        }
        (Value::YearMonthDuration(a), Value::YearMonthDuration(b)) => {
            let months = a.total_months().checked_add(b.total_months())?;
            Some(Value::YearMonthDuration(YearMonthDuration::from_months(
                months,
            )))
        }
        (Value::Date(date), Value::YearMonthDuration(duration))
        | (Value::YearMonthDuration(duration), Value::Date(date)) => {
            date.add(*duration).map(Value::Date)
        }
        (Value::Date(date), Value::DayTimeDuration(duration))
        | (Value::DayTimeDuration(duration), Value::Date(date)) => {
            // The date of the moment that far from its midnight.
            let start = DateTime::new(*date, Time::from_nanos(0, Zone::Local));
            start
                .add(*duration)
                .map(|moment| Value::Date(moment.date()))
        }
        (Value::Time(time), Value::DayTimeDuration(duration))
        | (Value::DayTimeDuration(duration), Value::Time(time)) => {
            Some(Value::from(time.add(*duration)))
        }
        (Value::DateTime(moment), Value::DayTimeDuration(duration))
        | (Value::DayTimeDuration(duration), Value::DateTime(moment)) => {
            moment.add(*duration).map(Value::from)
        }
        (Value::DateTime(moment), Value::YearMonthDuration(duration))
        | (Value::YearMonthDuration(duration), Value::DateTime(moment)) => {
            moment.add_months(*duration).map(Value::from)
        }
        _ => None,
    }
}

pub(crate) fn subtract(left: &Value, right: &Value) -> Option<Value> {
    match (left, right) {
        (Value::Date(a), Value::Date(b)) => {
            day_time_between(a.epoch_nanos(), b.epoch_nanos()).map(Value::DayTimeDuration)
        }
        (Value::Time(a), Value::Time(b)) if a.zone().is_local() == b.zone().is_local() => {
            day_time_between(i128::from(a.utc_nanos()), i128::from(b.utc_nanos()))
                .map(Value::DayTimeDuration)
        }
        (Value::DateTime(a), Value::DateTime(b)) if a.zone().is_local() == b.zone().is_local() => {
            day_time_between(a.epoch_nanos(), b.epoch_nanos()).map(Value::DayTimeDuration)
        }
        // A date counts as its midnight in UTC; a local time cannot be set against that.
        (Value::DateTime(a), Value::Date(b)) if !a.zone().is_local() => {
            day_time_between(a.epoch_nanos(), b.epoch_nanos()).map(Value::DayTimeDuration)
        }
        (Value::Date(a), Value::DateTime(b)) if !b.zone().is_local() => {
            day_time_between(a.epoch_nanos(), b.epoch_nanos()).map(Value::DayTimeDuration)
        }
        // A duration is subtracted by adding its opposite, but nothing is subtracted from a duration except another one.
        (
            Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::DayTimeDuration(_),
            Value::DayTimeDuration(duration),
        ) => {
            let opposite = DayTimeDuration::from_nanos(-duration.total_nanos())?;
            add(left, &Value::DayTimeDuration(opposite))
        }
        (
            Value::Date(_) | Value::DateTime(_) | Value::YearMonthDuration(_),
            Value::YearMonthDuration(duration),
        ) => {
            let opposite = YearMonthDuration::from_months(duration.total_months().checked_neg()?);
            add(left, &Value::YearMonthDuration(opposite))
        }
        _ => None,
    }
}

fn multiply(duration: &Value, factor: &Value) -> Option<Value> {
    let factor = factor.as_number()?;
    match duration {
        Value::YearMonthDuration(duration) => {
            let months = Number::from_i64(duration.total_months())
                .mul(factor)?
                .to_integer(Rounding::Down)
                .to_i64()?;
            Some(Value::YearMonthDuration(YearMonthDuration::from_months(
                months,
            )))
        }
        Value::DayTimeDuration(duration) => {
            let nanos = Number::from_i128(duration.total_nanos())
                .mul(factor)?
                .to_integer(Rounding::Down)
                .to_i128()?;
            DayTimeDuration::from_nanos(nanos).map(Value::DayTimeDuration)
        }
        _ => None,
    }
}

fn divide(left: &Value, right: &Value) -> Option<Value> {
    match (left, right) {
        (Value::YearMonthDuration(a), Value::YearMonthDuration(b)) => {
            Number::from_i64(a.total_months())
                .div(&Number::from_i64(b.total_months()))
                .map(Value::Number)
        }
        (Value::DayTimeDuration(a), Value::DayTimeDuration(b)) => {
            Number::from_i128(a.total_nanos())
                .div(&Number::from_i128(b.total_nanos()))
                .map(Value::Number)
        }
        (Value::YearMonthDuration(a), Value::Number(b)) => {
            let months = Number::from_i64(a.total_months())
                .div(b)?
                .to_integer(Rounding::Down)
                .to_i64()?;
            Some(Value::YearMonthDuration(YearMonthDuration::from_months(
                months,
            )))
        }
        (Value::DayTimeDuration(a), Value::Number(b)) => {
            let nanos = Number::from_i128(a.total_nanos())
                .div(b)?
                .to_integer(Rounding::Down)
                .to_i128()?;
            DayTimeDuration::from_nanos(nanos).map(Value::DayTimeDuration)
        }
        _ => None,
    }
}
