//! Typed access to arguments.

use std::sync::Arc;

use super::Failure;
use crate::eval::{Evaluator, quote};
use crate::value::{Context, Function, List};
use crate::{Number, Value};

/// Pays for work that is about to be done; a failure ends the builtin when the evaluation has to end.
pub(super) fn paid(evaluator: &mut Evaluator<'_>, steps: usize) -> Result<(), Failure> {
    if evaluator.charge(steps) {
        Ok(())
    } else {
        Err(Failure::new("The evaluation was stopped"))
    }
}

pub(super) fn wrong(expected: &str, found: &Value) -> Failure {
    Failure::new(format!("Expected {expected} but found '{}'", quote(found)))
}

pub(super) fn at(arguments: &[Value], index: usize) -> &Value {
    arguments.get(index).unwrap_or(&Value::Null)
}

pub(super) fn number(arguments: &[Value], index: usize) -> Result<&Number, Failure> {
    match at(arguments, index) {
        Value::Number(number) => Ok(number),
        other => Err(wrong("Number", other)),
    }
}

/// A whole number; a fraction is cut off.
pub(super) fn whole(arguments: &[Value], index: usize) -> Result<i64, Failure> {
    let value = number(arguments, index)?;
    value
        .trunc_i64()
        .ok_or_else(|| Failure::new(format!("'{value}' is too large")))
}

pub(super) fn text(arguments: &[Value], index: usize) -> Result<&Arc<str>, Failure> {
    match at(arguments, index) {
        Value::String(text) => Ok(text),
        other => Err(wrong("String", other)),
    }
}

pub(super) fn context(arguments: &[Value], index: usize) -> Result<&Context, Failure> {
    match at(arguments, index) {
        Value::Context(context) => Ok(context),
        other => Err(wrong("Context", other)),
    }
}

/// A list; a single value is none, as in the reference engine.
pub(super) fn list(arguments: &[Value], index: usize) -> Result<List, Failure> {
    match at(arguments, index) {
        Value::List(list) => Ok(list.clone()),
        other => Err(wrong("List", other)),
    }
}

/// The items of a list that is the only argument, else the arguments themselves.
pub(super) fn items(arguments: &[Value]) -> Result<List, Failure> {
    match arguments {
        [Value::List(list)] => Ok(list.clone()),
        [Value::Null] => Err(wrong("List", &Value::Null)),
        many => Ok(List::new(many.to_vec())),
    }
}

pub(super) fn function(arguments: &[Value], index: usize) -> Result<&Function, Failure> {
    match at(arguments, index) {
        Value::Function(function) => Ok(function),
        other => Err(wrong("Function", other)),
    }
}
