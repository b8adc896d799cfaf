//! Functions of numbers.

use super::arguments::{at, number, paid, whole, wrong};
use super::{Failure, Outcome};
use crate::eval::Evaluator;
use crate::{DayTimeDuration, Number, Rounding, Value, YearMonthDuration, prices};

/// Decimals that a scale may ask for.
const SCALES: std::ops::RangeInclusive<i64> = -6111..=6176;

fn rounded(arguments: &[Value], rounding: Rounding) -> Outcome {
    let value = number(arguments, 0)?;
    let scale = if arguments.len() > 1 {
        whole(arguments, 1)?
    } else {
        0
    };
    if !SCALES.contains(&scale) {
        return Err(Failure::new(format!(
            "The scale {scale} is not between {} and {}",
            SCALES.start(),
            SCALES.end()
        )));
    }
    let result = value.round(scale as i32, rounding);
    result
        .map(Value::Number)
        .ok_or_else(|| Failure::new("The result is too large"))
}

/// The rounding mode that takes only numbers which have no more decimals.
const EXACT: &str = "UNNECESSARY";

fn unrounded(arguments: &[Value]) -> Outcome {
    let result = rounded(arguments, Rounding::Down)?;
    if result.equals(at(arguments, 0)) == Some(true) {
        return Ok(result);
    }
    Err(Failure::new(format!(
        "The number has more decimals, and {EXACT} rounds nothing"
    )))
}

/// The rounding of this name, in any case.
fn rounding(mode: &str) -> Result<Rounding, Failure> {
    const MODES: [(&str, Rounding); 7] = [
        ("UP", Rounding::Up),
        ("DOWN", Rounding::Down),
        ("CEILING", Rounding::Ceiling),
        ("FLOOR", Rounding::Floor),
        ("HALF_UP", Rounding::HalfUp),
        ("HALF_DOWN", Rounding::HalfDown),
        ("HALF_EVEN", Rounding::HalfEven),
    ];
    let found = MODES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(mode));
    found.map(|(_, rounding)| *rounding).ok_or_else(|| {
        Failure::new(format!(
            "The rounding mode '{mode:.20}' is not among {}, {EXACT}",
            MODES.map(|(name, _)| name).join(", ")
        ))
    })
}

pub(super) fn decimal(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let rounding = match at(arguments, 2) {
        Value::Null => Rounding::HalfEven,
        Value::String(mode) if mode.eq_ignore_ascii_case(EXACT) => return unrounded(arguments),
        Value::String(mode) => rounding(mode)?,
        other => return Err(wrong("String", other)),
    };
    rounded(arguments, rounding)
}

pub(super) fn floor(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    rounded(arguments, Rounding::Floor)
}

pub(super) fn ceiling(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    rounded(arguments, Rounding::Ceiling)
}

pub(super) fn round_up(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    rounded(arguments, Rounding::Up)
}

pub(super) fn round_down(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    rounded(arguments, Rounding::Down)
}

pub(super) fn round_half_up(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    rounded(arguments, Rounding::HalfUp)
}

pub(super) fn round_half_down(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    rounded(arguments, Rounding::HalfDown)
}

pub(super) fn abs(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    match at(arguments, 0) {
        Value::YearMonthDuration(duration) => {
            let months = duration.total_months().checked_abs();
            let months = months.ok_or_else(|| Failure::new("The result is too large"))?;
            Ok(Value::YearMonthDuration(YearMonthDuration::from_months(
                months,
            )))
        }
        Value::DayTimeDuration(duration) => {
            DayTimeDuration::from_nanos(duration.total_nanos().abs())
                .map(Value::DayTimeDuration)
                .ok_or_else(|| Failure::new("The result is too large"))
        }
        _ => number(arguments, 0).map(|value| Value::Number(value.abs())),
    }
}

pub(super) fn modulo(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let (dividend, divisor) = (number(arguments, 0)?, number(arguments, 1)?);
    if dividend.is_wide() || divisor.is_wide() {
        paid(evaluator, prices::REMAINDER)?;
    }
    dividend
        .modulo(divisor)
        .map(Value::Number)
        .ok_or_else(|| Failure::new("The divisor is zero"))
}

pub(super) fn sqrt(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    paid(evaluator, prices::ROOT)?;
    let root = number(arguments, 0)?.sqrt();
    root.map(Value::Number)
        .ok_or_else(|| Failure::new("The number is negative"))
}

pub(super) fn log(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let value = number(arguments, 0)?;
    // Far from one it takes longer.
    let times = if value.is_wide() { 3 } else { 1 };
    paid(evaluator, times * prices::TRANSCENDENT)?;
    let log = value.ln();
    log.map(Value::Number)
        .ok_or_else(|| Failure::new("The number is not positive"))
}

pub(super) fn exp(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    paid(evaluator, prices::TRANSCENDENT)?;
    let power = number(arguments, 0)?.exp();
    power
        .map(Value::Number)
        .ok_or_else(|| Failure::new("The result is too large"))
}

fn remainder_of_two(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Result<Number, Failure> {
    let value = number(arguments, 0)?;
    if value.is_wide() {
        paid(evaluator, prices::REMAINDER)?;
    }
    if !value.is_integer() {
        return Err(wrong("a whole number", at(arguments, 0)));
    }
    value
        .abs()
        .modulo(&Number::from_i64(2))
        .ok_or_else(|| Failure::new("The number is too large"))
}

pub(super) fn odd(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    Ok(Value::Boolean(
        !remainder_of_two(evaluator, arguments)?.is_zero(),
    ))
}

pub(super) fn even(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    Ok(Value::Boolean(
        remainder_of_two(evaluator, arguments)?.is_zero(),
    ))
}

pub(super) fn random_number(evaluator: &mut Evaluator<'_>, _: &[Value]) -> Outcome {
    // 15 decimals: below 2^50, so that the fast form holds it.
    let digits = (evaluator.random.next_u64() % 1_000_000_000_000_000) as i128;
    Number::from_parts(digits, -15)
        .map(Value::Number)
        .ok_or_else(|| Failure::new("No number"))
}
