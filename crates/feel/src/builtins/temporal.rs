//! Functions of dates, times and durations.

use super::arguments::{at, wrong};
use super::{Failure, Outcome};
use crate::eval::Evaluator;
use crate::{Date, DateTime, Value};

pub(super) fn now(evaluator: &mut Evaluator<'_>, _: &[Value]) -> Outcome {
    let cx = evaluator.cx;
    let (seconds, millis) = (
        cx.now_millis.div_euclid(1000),
        cx.now_millis.rem_euclid(1000),
    );
    let now = DateTime::from_epoch(seconds, millis * 1_000_000, cx.zone.clone());
    now.map(Value::from)
        .ok_or_else(|| Failure::new("The clock is out of range"))
}

pub(super) fn today(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    match now(evaluator, arguments)? {
        Value::DateTime(now) => Ok(Value::Date(now.date())),
        other => Ok(other),
    }
}

fn date(arguments: &[Value]) -> Result<Date, Failure> {
    match at(arguments, 0) {
        Value::Date(date) => Ok(*date),
        Value::DateTime(moment) => Ok(moment.date()),
        other => Err(wrong("Date", other)),
    }
}

pub(super) fn day_of_year(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    Ok(Value::from(i64::from(date(arguments)?.day_of_year())))
}

pub(super) fn day_of_week(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    const NAMES: [&str; 7] = [
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
    ];
    let day = date(arguments)?.weekday();
    Ok(NAMES
        .get(usize::from(day.unsigned_abs()) - 1)
        .map_or(Value::Null, |name| Value::from(*name)))
}

pub(super) fn month_of_year(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let month = date(arguments)?.month();
    Ok(NAMES
        .get(usize::from(month.unsigned_abs()) - 1)
        .map_or(Value::Null, |name| Value::from(*name)))
}

pub(super) fn week_of_year(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    Ok(Value::from(i64::from(date(arguments)?.week_of_year())))
}

pub(super) fn last_day_of_month(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let date = date(arguments)?;
    let last = Date::new(
        date.year(),
        i64::from(date.month()),
        i64::from(date.last_day_of_month()),
    );
    last.map(Value::Date)
        .ok_or_else(|| Failure::new("The date is out of range"))
}
