//! `cycle`, for timers: how often and after what interval.

use super::arguments::{at, whole, wrong};
use super::{Failure, Outcome};
use crate::Value;
use crate::eval::Evaluator;

/// The text of a repeating interval, as timers read it: `R3/PT1H`, or `R/PT1H` without end.
pub(super) fn cycle(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let (times, interval) = match arguments.len() {
        1 => (String::new(), at(arguments, 0)),
        _ => (repetitions(arguments)?, at(arguments, 1)),
    };
    let interval = match interval {
        Value::DayTimeDuration(duration) => duration.to_string(),
        Value::YearMonthDuration(duration) => duration.to_string(),
        other => return Err(wrong("Duration", other)),
    };
    Ok(Value::from(format!("R{times}/{interval}")))
}

fn repetitions(arguments: &[Value]) -> Result<String, Failure> {
    match at(arguments, 0) {
        Value::Null => Ok(String::new()),
        _ => Ok(whole(arguments, 0)?.to_string()),
    }
}
