//! Functions of truth values and of comparison, and functions that check their arguments.

use super::Outcome;
use super::arguments::at;
use crate::eval::Evaluator;
use crate::{Value, WarningCode};

pub(super) fn not(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    Ok(match at(arguments, 0) {
        Value::Boolean(value) => Value::Boolean(!value),
        _ => Value::Null,
    })
}

pub(super) fn is_defined(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    Ok(Value::Boolean(!at(arguments, 0).is_null()))
}

pub(super) fn get_or_else(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let value = at(arguments, 0);
    Ok(if value.is_null() {
        at(arguments, 1).clone()
    } else {
        value.clone()
    })
}

pub(super) fn assert(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    if at(arguments, 1).as_bool() == Some(true) {
        return Ok(at(arguments, 0).clone());
    }
    let cause = at(arguments, 2)
        .as_str()
        .unwrap_or("The condition is not fulfilled");
    Ok(evaluator.give_up(
        WarningCode::AssertFailure,
        format!("Assertion failure on evaluate the expression: {cause}"),
    ))
}

pub(super) fn is(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let (a, b) = (at(arguments, 0), at(arguments, 1));
    let same = match (a, b) {
        (Value::Time(a), Value::Time(b)) => a == b,
        (Value::DateTime(a), Value::DateTime(b)) => a == b,
        _ => a.type_name() == b.type_name() && a == b,
    };
    Ok(Value::Boolean(same))
}

/// The value itself: the other arguments tell an agent how to find it.
pub(super) fn from_ai(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    Ok(at(arguments, 0).clone())
}
