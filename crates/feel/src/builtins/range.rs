//! How points and ranges lie to each other (DMN 1.5, table 78).

use std::cmp::Ordering;

use super::arguments::{at, wrong};
use super::{Failure, Outcome};
use crate::eval::Evaluator;
use crate::{Range, Value};

/// One end of a range, or a point.
#[derive(Clone, Copy)]
struct End<'a> {
    value: &'a Value,
    included: bool,
    /// Order of a missing bound.
    infinite: Ordering,
}

fn start(range: &Range) -> End<'_> {
    End {
        value: range.start(),
        included: range.start_included(),
        infinite: Ordering::Less,
    }
}

fn end(range: &Range) -> End<'_> {
    End {
        value: range.end(),
        included: range.end_included(),
        infinite: Ordering::Greater,
    }
}

fn point(value: &Value) -> End<'_> {
    End {
        value,
        included: true,
        infinite: Ordering::Equal,
    }
}

fn order(a: End<'_>, b: End<'_>) -> Result<Ordering, Failure> {
    match (a.value, b.value) {
        (Value::Null, Value::Null) if a.infinite == b.infinite => Ok(Ordering::Equal),
        (Value::Null, _) if a.infinite != Ordering::Equal => Ok(a.infinite),
        (_, Value::Null) if b.infinite != Ordering::Equal => Ok(b.infinite.reverse()),
        (x, y) => x
            .compare(y)
            .ok_or_else(|| wrong("a value that can be compared with the other", x)),
    }
}

enum Argument<'a> {
    Point(&'a Value),
    Range(&'a Range),
}

fn argument(arguments: &[Value], index: usize) -> Argument<'_> {
    match at(arguments, index) {
        Value::Range(range) => Argument::Range(range),
        other => Argument::Point(other),
    }
}

fn ranges(arguments: &[Value]) -> Result<(&Range, &Range), Failure> {
    match (argument(arguments, 0), argument(arguments, 1)) {
        (Argument::Range(a), Argument::Range(b)) => Ok((a, b)),
        (Argument::Point(other), _) | (_, Argument::Point(other)) => Err(wrong("Range", other)),
    }
}

/// Texts are no points: only in ranges do they have a place.
fn no_texts(arguments: &[Value]) -> Result<(), Failure> {
    match (at(arguments, 0), at(arguments, 1)) {
        (text @ Value::String(_), Value::String(_)) => {
            Err(wrong("a number, a date, a time or a duration", text))
        }
        _ => Ok(()),
    }
}

type Answer = Result<bool, Failure>;

fn answer(holds: Answer) -> Outcome {
    holds.map(Value::Boolean)
}

/// The first lies wholly before the second.
fn is_before(first_end: End<'_>, second_start: End<'_>) -> Answer {
    let order = order(first_end, second_start)?;
    Ok(order.is_lt() || (order.is_eq() && !(first_end.included && second_start.included)))
}

fn end_of<'a>(argument: &Argument<'a>) -> End<'a> {
    match argument {
        Argument::Point(value) => point(value),
        Argument::Range(range) => end(range),
    }
}

fn start_of<'a>(argument: &Argument<'a>) -> End<'a> {
    match argument {
        Argument::Point(value) => point(value),
        Argument::Range(range) => start(range),
    }
}

pub(super) fn before(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    no_texts(arguments)?;
    answer(is_before(
        end_of(&argument(arguments, 0)),
        start_of(&argument(arguments, 1)),
    ))
}

pub(super) fn after(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    no_texts(arguments)?;
    answer(is_before(
        end_of(&argument(arguments, 1)),
        start_of(&argument(arguments, 0)),
    ))
}

fn touches(a: End<'_>, b: End<'_>) -> Answer {
    Ok(a.included && b.included && order(a, b)?.is_eq())
}

pub(super) fn meets(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let (a, b) = ranges(arguments)?;
    answer(touches(end(a), start(b)))
}

pub(super) fn met_by(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let (a, b) = ranges(arguments)?;
    answer(touches(start(a), end(b)))
}

/// The upper end reaches over or onto the lower one.
fn reaches(upper: End<'_>, lower: End<'_>) -> Answer {
    let order = order(upper, lower)?;
    Ok(order.is_gt() || (order.is_eq() && upper.included && lower.included))
}

pub(super) fn overlaps(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let (a, b) = ranges(arguments)?;
    answer(Ok(reaches(end(a), start(b))? && reaches(end(b), start(a))?))
}

fn begins_before(a: &Range, b: &Range) -> Answer {
    let order = order(start(a), start(b))?;
    Ok(order.is_lt() || (order.is_eq() && a.start_included() && !b.start_included()))
}

/// Not later than the other: an excluded end is earlier than an included one.
fn ends_by(a: &Range, b: &Range) -> Answer {
    let order = order(end(a), end(b))?;
    Ok(order.is_lt() || (order.is_eq() && (!a.end_included() || b.end_included())))
}

/// Not earlier than the other: an excluded start is later than an included one.
fn starts_from(a: &Range, b: &Range) -> Answer {
    let order = order(start(a), start(b))?;
    Ok(order.is_gt() || (order.is_eq() && (!a.start_included() || b.start_included())))
}

fn is_overlapping_before(a: &Range, b: &Range) -> Answer {
    Ok(begins_before(a, b)? && reaches(end(a), start(b))? && ends_by(a, b)?)
}

pub(super) fn overlaps_before(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let (a, b) = ranges(arguments)?;
    answer(is_overlapping_before(a, b))
}

pub(super) fn overlaps_after(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let (a, b) = ranges(arguments)?;
    answer(is_overlapping_before(b, a))
}

fn is_finishing(inner: &Argument<'_>, outer: &Range) -> Answer {
    match inner {
        Argument::Point(value) => touches(end(outer), point(value)),
        Argument::Range(range) => Ok(range.end_included() == outer.end_included()
            && order(end(range), end(outer))?.is_eq()
            && starts_from(range, outer)?),
    }
}

fn is_starting(inner: &Argument<'_>, outer: &Range) -> Answer {
    match inner {
        Argument::Point(value) => touches(start(outer), point(value)),
        Argument::Range(range) => Ok(range.start_included() == outer.start_included()
            && order(start(range), start(outer))?.is_eq()
            && ends_by(range, outer)?),
    }
}

fn is_included(inner: &Argument<'_>, outer: &Range) -> Answer {
    match inner {
        Argument::Point(value) => {
            let (low, high) = (
                order(start(outer), point(value))?,
                order(end(outer), point(value))?,
            );
            let above = low.is_lt() || (low.is_eq() && outer.start_included());
            let below = high.is_gt() || (high.is_eq() && outer.end_included());
            Ok(above && below)
        }
        Argument::Range(range) => Ok(starts_from(range, outer)? && ends_by(range, outer)?),
    }
}

type Relation = fn(&Argument<'_>, &Range) -> Answer;

fn related(arguments: &[Value], inner: usize, outer: usize, relation: Relation) -> Outcome {
    match argument(arguments, outer) {
        Argument::Range(range) => answer(relation(&argument(arguments, inner), range)),
        Argument::Point(other) => Err(wrong("Range", other)),
    }
}

pub(super) fn finishes(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    related(arguments, 0, 1, is_finishing)
}

pub(super) fn finished_by(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    related(arguments, 1, 0, is_finishing)
}

pub(super) fn includes(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    related(arguments, 1, 0, is_included)
}

pub(super) fn during(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    related(arguments, 0, 1, is_included)
}

pub(super) fn starts(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    related(arguments, 0, 1, is_starting)
}

pub(super) fn started_by(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    related(arguments, 1, 0, is_starting)
}

pub(super) fn coincides(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    no_texts(arguments)?;
    match (argument(arguments, 0), argument(arguments, 1)) {
        (Argument::Point(a), Argument::Point(b)) => {
            answer(order(point(a), point(b)).map(Ordering::is_eq))
        }
        (Argument::Range(a), Argument::Range(b)) => answer(Ok(a.start_included()
            == b.start_included()
            && a.end_included() == b.end_included()
            && order(start(a), start(b))?.is_eq()
            && order(end(a), end(b))?.is_eq())),
        (Argument::Point(other), _) | (_, Argument::Point(other)) => Err(wrong("Range", other)),
    }
}
