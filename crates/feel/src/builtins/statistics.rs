//! Functions that sum up lists of numbers.

use std::cmp::Ordering;

use super::arguments::{items, paid, wrong};
use super::{Failure, Outcome};
use crate::eval::{Evaluator, add};
use crate::{Number, Value, prices};

pub(super) fn min(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    extreme(evaluator, arguments, Ordering::Less)
}

pub(super) fn max(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    extreme(evaluator, arguments, Ordering::Greater)
}

fn extreme(evaluator: &mut Evaluator<'_>, arguments: &[Value], wanted: Ordering) -> Outcome {
    let items = items(arguments)?;
    let Some((first, rest)) = items.split_first() else {
        return Ok(Value::Null);
    };
    if first.compare(first).is_none() {
        return Err(wrong("values that can be compared", first));
    }
    let mut best = first;
    for item in rest {
        match evaluator.order(item, best) {
            Some(order) if order == wanted => best = item,
            Some(_) => {}
            None => return Err(wrong("values that can be compared", item)),
        }
    }
    Ok(best.clone())
}

fn too_large() -> Failure {
    Failure::new("The result is too large")
}

fn numbers(arguments: &[Value]) -> Result<Vec<Number>, Failure> {
    let items = items(arguments)?;
    items
        .iter()
        .map(|item| {
            item.as_number()
                .cloned()
                .ok_or_else(|| wrong("Number", item))
        })
        .collect()
}

pub(super) fn sum(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = items(arguments)?;
    let Some((first, rest)) = items.split_first() else {
        return Ok(Value::Null);
    };
    if !matches!(
        first,
        Value::Number(_) | Value::YearMonthDuration(_) | Value::DayTimeDuration(_)
    ) {
        return Err(wrong("Number", first));
    }
    let mut total = first.clone();
    for item in rest {
        total = match (&total, item) {
            (Value::Number(a), Value::Number(b)) => {
                paid(evaluator, prices::numbers(a, b))?;
                Value::Number(a.add(b).ok_or_else(too_large)?)
            }
            (a, b) if a.type_name() == b.type_name() => add(a, b).ok_or_else(too_large)?,
            (_, other) => return Err(wrong("Number", other)),
        };
    }
    Ok(total)
}

pub(super) fn product(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let numbers = numbers(arguments)?;
    if numbers.is_empty() {
        return Ok(Value::Null);
    }
    // Products soon have more digits than the fast form holds.
    paid(evaluator, prices::WIDE * numbers.len())?;
    let product = numbers
        .iter()
        .try_fold(Number::ONE, |product, n| product.mul(n));
    product.map(Value::Number).ok_or_else(too_large)
}

fn price_of_sum(numbers: &[Number]) -> usize {
    let wide = numbers.iter().any(Number::is_wide);
    numbers.len() * if wide { prices::WIDE } else { prices::ITEM }
}

fn mean_of(numbers: &[Number]) -> Option<Number> {
    let total = numbers
        .iter()
        .try_fold(Number::ZERO, |total, n| total.add(n))?;
    total.div(&Number::from(numbers.len()))
}

pub(super) fn mean(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let numbers = numbers(arguments)?;
    if numbers.is_empty() {
        return Ok(Value::Null);
    }
    paid(evaluator, price_of_sum(&numbers))?;
    mean_of(&numbers).map(Value::Number).ok_or_else(too_large)
}

pub(super) fn median(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let mut numbers = numbers(arguments)?;
    let turns = numbers.len() * (numbers.len().checked_ilog2().unwrap_or(0) as usize + 1);
    paid(evaluator, prices::TURN * turns)?;
    numbers.sort();
    let middle = numbers.len() / 2;
    let upper = numbers.get(middle);
    let lower = middle.checked_sub(1).and_then(|at| numbers.get(at));
    let median = match (lower, upper) {
        (_, None) => return Ok(Value::Null),
        (Some(lower), Some(upper)) if numbers.len() % 2 == 0 => lower
            .add(upper)
            .and_then(|sum| sum.div(&Number::from_i64(2))),
        (_, Some(upper)) => Some(upper.clone()),
    };
    median.map(Value::Number).ok_or_else(too_large)
}

/// The standard deviation of a sample.
pub(super) fn stddev(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let numbers = numbers(arguments)?;
    if numbers.len() < 2 {
        return Err(Failure::new("The standard deviation needs two numbers"));
    }
    // The mean is seldom round, and neither is the distance from it.
    paid(
        evaluator,
        price_of_sum(&numbers) + 4 * prices::WIDE * numbers.len() + prices::ROOT,
    )?;
    let deviation = || {
        let mean = mean_of(&numbers)?;
        let squares = numbers.iter().try_fold(Number::ZERO, |total, n| {
            let distance = n.sub(&mean)?;
            total.add(&distance.mul(&distance)?)
        })?;
        squares.div(&Number::from(numbers.len() - 1))?.sqrt()
    };
    deviation().map(Value::Number).ok_or_else(too_large)
}
