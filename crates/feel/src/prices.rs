//! Prices of operations, in steps of [`Limits::STEP_NANOS`](crate::Limits::STEP_NANOS).
//!
//! A price is paid before the work is done and stands for its time: about the measured time, rather more than less. `cargo
//! run --release -p skep-feel --example prices` evaluates hostile expressions up to the default limit and shows how long each
//! took; none should take much longer than [`Limits::max_steps`](crate::Limits::max_steps) stand for.

use crate::{Number, Value};

/// An operation of the language.
pub(crate) const NODE: usize = 1;
/// An item that a list is made of, or that is looked at: copying, counting references, dropping.
pub(crate) const ITEM: usize = 1;
/// A small list or context in an allocation of its own.
pub(crate) const CONTEXT: usize = 10;
/// One turn of a loop.
pub(crate) const TURN: usize = 2;
/// A call of a function literal or of a function of the host.
pub(crate) const CALL: usize = 4;
/// A failed operation: values are quoted in its message, even if it is discarded.
pub(crate) const FAILURE: usize = 30;
/// Arithmetic with numbers of more than 18 digits.
pub(crate) const WIDE: usize = 30;
/// A division that leaves a remainder.
pub(crate) const DIVISION: usize = 8;
/// Arithmetic with dates, times and durations; zones are looked up.
pub(crate) const TEMPORAL: usize = 15;
/// Square roots.
pub(crate) const ROOT: usize = 300;
/// Remainders of numbers of more than 18 digits, which may differ much in size.
pub(crate) const REMAINDER: usize = 1_200;
/// Logarithms, exponentials, powers with a fraction.
pub(crate) const TRANSCENDENT: usize = 4_000;

/// Making an evaluator with so many variables and slots.
pub(crate) fn start(places: usize) -> u64 {
    places as u64 >> 2
}

/// Making or copying a text.
pub(crate) fn text(bytes: usize) -> usize {
    2 + (bytes >> 5)
}

/// Searching in a text, or comparing two.
pub(crate) fn search(bytes: usize) -> usize {
    bytes >> 5
}

/// Going through a text character by character; ASCII is quick.
pub(crate) fn characters(bytes: usize) -> usize {
    bytes >> 2
}

/// Parsing and compiling an expression.
pub(crate) fn parse(bytes: usize) -> usize {
    bytes.saturating_mul(20)
}

/// Reading JSON into a value that takes so much memory.
pub(crate) fn read_json(bytes: usize, memory: u64) -> usize {
    (bytes >> 3) + (memory >> 4) as usize
}

/// Skipping over JSON.
pub(crate) fn skip_json(bytes: usize) -> usize {
    bytes >> 5
}

/// Reading a value itself, without the values inside.
pub(crate) fn read(value: &Value) -> usize {
    match value {
        Value::String(text) => search(text.len()),
        Value::List(list) => ITEM * list.len(),
        Value::Context(context) => ITEM * context.len(),
        _ => 0,
    }
}

/// Making a context of so many entries; large ones get an index of their keys.
pub(crate) fn entries(count: usize) -> usize {
    if count > crate::Context::LINEAR {
        12 * count
    } else {
        2 * count
    }
}

/// Looking up a key.
pub(crate) fn lookup(context: &crate::Context) -> usize {
    if context.len() > crate::Context::LINEAR {
        6
    } else {
        0
    }
}

/// Walking through a value and all values inside.
pub(crate) fn walk(value: &Value) -> usize {
    (value.memory() >> 4) as usize
}

/// Writing a value down as JSON, which the host does.
pub(crate) fn write(value: &Value) -> u64 {
    value.heap() >> 4
}

/// Comparing two values: their types and sizes say how far that can go.
pub(crate) fn comparison(a: &Value, b: &Value) -> usize {
    match (a, b) {
        (Value::String(a), Value::String(b)) => search(a.len().min(b.len())),
        (Value::List(x), Value::List(y)) if x.len() != y.len() => 1,
        (Value::Context(x), Value::Context(y)) if x.len() != y.len() => 1,
        (Value::List(_), Value::List(_)) | (Value::Context(_), Value::Context(_)) => {
            2 * walk(a).min(walk(b))
        }
        (Value::Time(_) | Value::DateTime(_), _) | (Value::Range(_), _) => TEMPORAL,
        (Value::Number(a), Value::Number(b)) if a.is_wide() || b.is_wide() => 3,
        _ => 0,
    }
}

/// An operation on two numbers, besides that it is one.
pub(crate) fn numbers(a: &Number, b: &Number) -> usize {
    if a.is_wide() || b.is_wide() { WIDE } else { 0 }
}

/// A number to a power.
pub(crate) fn power(exponent: &Number) -> usize {
    match exponent.to_i64() {
        // A multiplication for each binary digit, at some more digits than the result has.
        Some(n) => 50 + 80 * n.unsigned_abs().checked_ilog2().unwrap_or(0) as usize,
        None => 3 * TRANSCENDENT,
    }
}

/// Looking up a value by its hash, besides walking through it.
pub(crate) const TALLY: usize = 8;

/// Looking up a pattern and starting a search.
pub(crate) const PATTERN: usize = 40;
/// A match that is found after others.
pub(crate) const FOUND: usize = 15;
