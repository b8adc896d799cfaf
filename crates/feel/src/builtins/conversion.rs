//! Functions that convert values from one type to another.

use std::fmt::Write;
use std::sync::Arc;

use super::arguments::{at, paid, text, whole, wrong};
use super::{Failure, Outcome};
use crate::eval::{Evaluator, quote};
use crate::syntax::ast::Expr;
use crate::syntax::{ParseOptions, parse_expression};
use crate::temporal::parse_duration;
use crate::value::Bounded;
use crate::{
    Date, DateTime, Expression, Number, Rounding, Time, Value, YearMonthDuration, Zone, json,
    prices,
};

pub(super) fn string(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    Ok(match at(arguments, 0) {
        Value::Null => Value::Null,
        Value::String(text) => Value::String(Arc::clone(text)),
        other => {
            let mut out = Bounded::new(evaluator.room());
            match write!(out, "{other}") {
                Ok(()) => evaluator.text(out.text),
                Err(_) => evaluator.overfull(),
            }
        }
    })
}

pub(super) fn number(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    if let ([Value::Number(number)], 1) = (arguments, arguments.len()) {
        return Ok(Value::Number(number.clone()));
    }
    let source = text(arguments, 0)?;
    paid(evaluator, prices::characters(source.len()))?;
    let grouping = separator(at(arguments, 1), &[" ", ",", "."])?;
    let decimal = separator(at(arguments, 2), &[".", ","])?;
    if grouping.is_some() && grouping == decimal {
        return Err(Failure::new("The separators must differ"));
    }
    let mut plain = source.to_string();
    if let Some(grouping) = grouping {
        plain = plain.replace(grouping, "");
    }
    if let Some(decimal) = decimal
        && decimal != "."
    {
        if plain.contains('.') {
            return Err(not_a(source, "number"));
        }
        plain = plain.replace(decimal, ".");
    }
    plain
        .trim()
        .parse::<Number>()
        .map(Value::Number)
        .map_err(|_| not_a(source, "number"))
}

fn separator<'a>(value: &'a Value, allowed: &[&str]) -> Result<Option<&'a str>, Failure> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if allowed.contains(&&**text) => Ok(Some(text)),
        other => Err(Failure::new(format!(
            "Expected a separator but found '{}'",
            quote(other)
        ))),
    }
}

fn not_a(text: &str, kind: &str) -> Failure {
    Failure::new(format!(
        "Failed to parse {kind} from '{}'",
        quote(&Value::from(text))
    ))
}

pub(super) fn date(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    if arguments.len() == 3 {
        let (year, month, day) = (
            whole(arguments, 0)?,
            whole(arguments, 1)?,
            whole(arguments, 2)?,
        );
        return i32::try_from(year)
            .ok()
            .and_then(|year| Date::new(year, month, day))
            .map(Value::Date)
            .ok_or_else(|| {
                Failure::new(format!(
                    "There is no date with year {year}, month {month} and day {day}"
                ))
            });
    }
    match at(arguments, 0) {
        Value::Date(date) => Ok(Value::Date(*date)),
        Value::DateTime(moment) => Ok(Value::Date(moment.date())),
        _ => {
            let source = text(arguments, 0)?;
            Date::parse(source)
                .map(Value::Date)
                .ok_or_else(|| not_a(source, "date"))
        }
    }
}

pub(super) fn time(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    if arguments.len() >= 3 {
        let (hour, minute) = (whole(arguments, 0)?, whole(arguments, 1)?);
        return clock(hour, minute, at(arguments, 2), at(arguments, 3)).map(Value::from);
    }
    match at(arguments, 0) {
        Value::Time(time) => Ok(Value::Time(Arc::clone(time))),
        Value::DateTime(moment) => Ok(Value::from(moment.time().clone())),
        Value::Date(_) => Ok(Value::from(Time::from_nanos(0, Zone::UTC))),
        _ => {
            let source = text(arguments, 0)?;
            // `10:00:00+02:00@Europe/Paris` names its place twice.
            let twice = source
                .find('@')
                .is_some_and(|at| source[..at].contains(['+', 'Z', '-']));
            let clock = source.strip_prefix('T').unwrap_or(source);
            // The end of a day is its midnight.
            let midnight = || Time::parse(&format!("00:00:00{}", clock.strip_prefix("24:00:00")?));
            let parsed = if twice {
                None
            } else {
                Time::parse(clock).or_else(midnight)
            };
            parsed.map(Value::from).ok_or_else(|| not_a(source, "time"))
        }
    }
}

/// A time from its parts; `zone` is null, an offset as a duration, or a name.
fn clock(hour: i64, minute: i64, second: &Value, zone: &Value) -> Result<Time, Failure> {
    let Value::Number(second) = second else {
        return Err(wrong("Number", second));
    };
    let whole = second.to_integer(Rounding::Floor);
    let nanos = second
        .sub(&whole)
        .and_then(|fraction| fraction.mul(&Number::from_i64(1_000_000_000)))
        .map(|nanos| nanos.to_integer(Rounding::Down));
    let zone = match zone {
        Value::Null => Zone::Local,
        Value::DayTimeDuration(offset) if offset.total_seconds().unsigned_abs() <= 18 * 3600 => {
            Zone::Offset(offset.total_seconds() as i32)
        }
        other => return Err(wrong("an offset of at most 18 hours", other)),
    };
    let (Some(seconds), Some(nanos)) = (whole.to_i64(), nanos.and_then(|n| n.to_i64())) else {
        return Err(Failure::new("The seconds are out of range"));
    };
    Time::new(hour, minute, seconds, nanos, zone).ok_or_else(|| {
        Failure::new(format!(
            "There is no time with hour {hour}, minute {minute} and second {second}"
        ))
    })
}

pub(super) fn date_and_time(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    match arguments {
        [from] => match from {
            Value::DateTime(_) => Ok(from.clone()),
            Value::Date(date) => Ok(Value::from(DateTime::new(
                *date,
                Time::from_nanos(0, Zone::Local),
            ))),
            _ => {
                let source = text(arguments, 0)?;
                let twice = source.find('@').is_some_and(|at| {
                    source[..at]
                        .find('T')
                        .is_some_and(|clock| source[clock..at].contains(['+', 'Z', '-']))
                });
                let parsed = if twice { None } else { DateTime::parse(source) };
                parsed
                    .map(Value::from)
                    .ok_or_else(|| not_a(source, "date and time"))
            }
        },
        // The same moment, in another zone.
        [Value::DateTime(moment), Value::String(zone)] => {
            let zone = zone_named(zone)?;
            let moved = match moment.zone() {
                Zone::Local => Some(moment.with_zone(zone)),
                _ => DateTime::from_epoch(moment.epoch_seconds(), moment.time().nanos(), zone),
            };
            moved
                .map(Value::from)
                .ok_or_else(|| Failure::new("The date is out of range"))
        }
        [date, Value::Time(time)] => {
            let date = match date {
                Value::Date(date) => *date,
                Value::DateTime(moment) => moment.date(),
                other => return Err(wrong("Date", other)),
            };
            Ok(Value::from(DateTime::new(date, (**time).clone())))
        }
        [_, other] => Err(wrong("Time", other)),
        _ => {
            let year = i32::try_from(whole(arguments, 0)?).ok();
            let (month, day) = (whole(arguments, 1)?, whole(arguments, 2)?);
            let date = year.and_then(|year| Date::new(year, month, day));
            let date = date.ok_or_else(|| Failure::new("There is no such date"))?;
            let (hour, minute) = (whole(arguments, 3)?, whole(arguments, 4)?);
            let (offset, zone) = match at(arguments, 6) {
                Value::String(name) => (&Value::Null, Some(zone_named(name)?)),
                Value::Number(hours) => {
                    let seconds = hours.mul(&Number::from_i64(3600)).and_then(|s| s.to_i64());
                    let seconds = seconds.filter(|s| s.abs() <= 18 * 3600);
                    let seconds =
                        seconds.ok_or_else(|| Failure::new("The offset is out of range"))?;
                    (&Value::Null, Some(Zone::Offset(seconds as i32)))
                }
                other => (other, None),
            };
            let time = clock(hour, minute, at(arguments, 5), offset)?;
            let moment = DateTime::new(date, time);
            Ok(Value::from(match zone {
                Some(zone) => moment.with_zone(zone),
                None => moment,
            }))
        }
    }
}

pub(super) fn zone_named(name: &str) -> Result<Zone, Failure> {
    let name = name.strip_prefix('@').unwrap_or(name);
    Zone::parse(name).ok_or_else(|| Failure::new(format!("There is no time zone '{name:.60}'")))
}

pub(super) fn duration(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    match at(arguments, 0) {
        value @ (Value::YearMonthDuration(_) | Value::DayTimeDuration(_)) => Ok(value.clone()),
        _ => {
            let source = text(arguments, 0)?;
            parse_duration(source).ok_or_else(|| not_a(source, "duration"))
        }
    }
}

pub(super) fn years_and_months_duration(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    if arguments.len() == 1 {
        return match at(arguments, 0) {
            value @ Value::YearMonthDuration(_) => Ok(value.clone()),
            _ => {
                let source = text(arguments, 0)?;
                let parsed = YearMonthDuration::parse(source).map(Value::YearMonthDuration);
                parsed.ok_or_else(|| not_a(source, "years and months duration"))
            }
        };
    }
    let date = |value: &Value| match value {
        Value::Date(date) => Ok(*date),
        Value::DateTime(moment) => Ok(moment.date()),
        other => Err(wrong("Date", other)),
    };
    let (from, to) = (date(at(arguments, 0))?, date(at(arguments, 1))?);
    Ok(Value::YearMonthDuration(YearMonthDuration::from_months(
        to.months_since(from),
    )))
}

pub(super) fn from_json(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0)?;
    match json::read(source, evaluator.room()) {
        Ok(Some(value)) => {
            paid(evaluator, prices::read_json(source.len(), value.heap()))?;
            Ok(evaluator.foreign(value))
        }
        Ok(None) => Ok(evaluator.overfull()),
        Err(error) => Err(Failure::new(format!("Failed to parse JSON: {error}"))),
    }
}

pub(super) fn to_json(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let value = at(arguments, 0);
    Ok(match value.to_json_text(evaluator.room()) {
        Some(text) => evaluator.text(text),
        None => evaluator.overfull(),
    })
}

/// `range("[1..5]")`: the ends are literals, or temporal builtins of literals, in ascending order.
pub(super) fn range(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0)?;
    // It is parsed twice.
    paid(evaluator, prices::parse(source.len()))?;
    let simple = match parse_expression(source, &ParseOptions::default()) {
        Ok(Expr::Range(range)) => is_simple(&range.start) && is_simple(&range.end),
        Ok(Expr::Comparison(_, bound)) => is_simple(&bound),
        _ => false,
    };
    let constant = Expression::parse(source)
        .ok()
        .and_then(|expression| expression.constant().cloned());
    match constant {
        Some(Value::Range(range))
            if simple && range.start().compare(range.end()).is_none_or(|o| o.is_le()) =>
        {
            Ok(Value::Range(range))
        }
        _ => Err(not_a(source, "range")),
    }
}

fn is_simple(tree: &Expr) -> bool {
    let literal =
        |tree: &Expr| matches!(tree, Expr::Number(_) | Expr::String(_) | Expr::Temporal(..));
    match tree {
        Expr::Call(_, arguments) => arguments.iter().all(literal),
        other => literal(other),
    }
}

pub(super) fn context(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let entries = super::arguments::list(arguments, 0)?;
    let mut builder = crate::ContextBuilder::new();
    for entry in entries.iter() {
        let (key, value) = match entry {
            Value::Context(entry) => (entry.get("key"), entry.get("value")),
            other => return Err(wrong("a context with key and value", other)),
        };
        match (key, value) {
            (Some(Value::String(key)), Some(value)) => {
                builder.put(Arc::clone(key), value.clone());
            }
            _ => return Err(wrong("a context with key and value", entry)),
        }
    }
    Ok(evaluator.context(builder))
}
