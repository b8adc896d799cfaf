//! Functions of lists.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use smallvec::SmallVec;

use super::arguments::{at, function, items, list, paid, whole, wrong};
use super::{Failure, Outcome};
use crate::eval::Evaluator;
use crate::value::{Function, Hashed, List, SLOT};
use crate::{Number, Value, prices};

pub(super) fn list_contains(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = list(arguments, 0)?;
    let wanted = at(arguments, 1);
    Ok(Value::Boolean(
        items.iter().any(|item| evaluator.equal(item, wanted)),
    ))
}

pub(super) fn count(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    Ok(Value::Number(Number::from(list(arguments, 0)?.len())))
}

pub(super) fn is_empty(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    Ok(Value::Boolean(list(arguments, 0)?.is_empty()))
}

pub(super) fn all(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    junction(arguments, false)
}

pub(super) fn any(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    junction(arguments, true)
}

/// `deciding` decides alone; a null or a value of another type makes the rest unknown.
fn junction(arguments: &[Value], deciding: bool) -> Outcome {
    let mut result = Some(!deciding);
    for item in items(arguments)?.iter() {
        match item {
            Value::Boolean(value) if *value == deciding => return Ok(Value::Boolean(deciding)),
            Value::Boolean(_) => {}
            _ => result = None,
        }
    }
    Ok(Value::from(result))
}

/// The index of a position from 1, or from the end with negative numbers.
fn position(position: i64, length: usize) -> Result<usize, Failure> {
    let index = match position {
        n @ 1.. => usize::try_from(n - 1).ok(),
        0 => None,
        n => usize::try_from(n.unsigned_abs())
            .ok()
            .and_then(|n| length.checked_sub(n)),
    };
    index.filter(|index| *index < length).ok_or_else(|| {
        Failure::new(format!(
            "The position {position} is outside of a list with {length} items"
        ))
    })
}

/// The index of a position from 1, or from the end with negative numbers; it may lie outside of the list on both sides.
fn index(position: i64, length: usize) -> Result<i64, Failure> {
    match position {
        0 => Err(Failure::new(
            "Positions begin with 1, or with -1 from the end",
        )),
        n @ 1.. => Ok(n - 1),
        n => Ok(n.saturating_add(i64::try_from(length).unwrap_or(i64::MAX))),
    }
}

/// An index cut to `0..=length`.
fn clamped(index: i64, length: usize) -> usize {
    usize::try_from(index.max(0)).map_or(length, |index| index.min(length))
}

pub(super) fn sublist(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = list(arguments, 0)?;
    let start = index(whole(arguments, 1)?, items.len())?;
    let end = if arguments.len() > 2 {
        start.saturating_add(whole(arguments, 2)?)
    } else {
        i64::MAX
    };
    let (from, to) = (clamped(start, items.len()), clamped(end, items.len()));
    let part = items.get(from..to).unwrap_or_default().to_vec();
    Ok(evaluator.list(part))
}

pub(super) fn append(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let mut items = list(arguments, 0)?.to_vec();
    items.extend(arguments.iter().skip(1).cloned());
    Ok(evaluator.list(items))
}

pub(super) fn concatenate(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    // A list alone holds the lists.
    let lists = match arguments {
        [Value::List(lists)] => lists,
        several => several,
    };
    let mut all = Vec::new();
    for list in lists {
        match list {
            Value::List(items) => all.extend_from_slice(items),
            item => all.push(item.clone()),
        }
    }
    Ok(evaluator.list(all))
}

pub(super) fn insert_before(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let mut items = list(arguments, 0)?.to_vec();
    let place = index(whole(arguments, 1)?, items.len())?;
    items.insert(clamped(place, items.len()), at(arguments, 2).clone());
    Ok(evaluator.list(items))
}

pub(super) fn remove(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let mut items = list(arguments, 0)?.to_vec();
    let place = index(whole(arguments, 1)?, items.len())?;
    if let Some(place) = usize::try_from(place).ok().filter(|at| *at < items.len()) {
        items.remove(place);
    }
    Ok(evaluator.list(items))
}

pub(super) fn list_replace(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let mut items = list(arguments, 0)?.to_vec();
    let new = at(arguments, 2);
    if let Value::Function(matcher) = at(arguments, 1) {
        for item in &mut items {
            match evaluator.invoke(matcher, vec![item.clone(), new.clone()]) {
                Value::Boolean(true) => *item = new.clone(),
                Value::Boolean(false) => {}
                other => return Err(wrong("Boolean", &other)),
            }
        }
    } else {
        let place = position(whole(arguments, 1)?, items.len())?;
        if let Some(item) = items.get_mut(place) {
            *item = new.clone();
        }
    }
    Ok(evaluator.list(items))
}

pub(super) fn reverse(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = list(arguments, 0)?.iter().rev().cloned().collect();
    Ok(evaluator.list(items))
}

pub(super) fn index_of(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = list(arguments, 0)?;
    let wanted = at(arguments, 1);
    let mut positions = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if evaluator.equal(item, wanted) {
            positions.push(Value::from(index as i64 + 1));
        }
    }
    Ok(evaluator.list(positions))
}

/// Each different value once, in the order of its first appearance, with how often it appears.
fn tally(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Vec<(Value, usize)>, Failure> {
    let hasher = RandomState::new();
    let mut found: Vec<(Value, usize)> = Vec::new();
    // Where the values of a hash stand; there is nearly always one.
    let mut index: HashMap<u64, SmallVec<[usize; 1]>> = HashMap::new();
    for value in values {
        paid(evaluator, prices::TALLY + prices::walk(value))?;
        let places = index.entry(hasher.hash_one(Hashed(value))).or_default();
        let known = places
            .iter()
            .copied()
            .find(|at| found.get(*at).is_some_and(|(other, _)| other == value));
        match known.and_then(|at| found.get_mut(at)) {
            Some(entry) => entry.1 += 1,
            None => {
                places.push(found.len());
                found.push((value.clone(), 1));
            }
        }
    }
    Ok(found)
}

pub(super) fn distinct_values(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = list(arguments, 0)?;
    let found = tally(evaluator, &items)?
        .into_iter()
        .map(|(value, _)| value)
        .collect();
    Ok(evaluator.list(found))
}

pub(super) fn duplicate_values(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = list(arguments, 0)?;
    let found = tally(evaluator, &items)?;
    let found = found
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .map(|(value, _)| value)
        .collect();
    Ok(evaluator.list(found))
}

pub(super) fn union(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    match concatenate(evaluator, arguments)? {
        Value::List(all) => distinct_values(evaluator, &[Value::List(all)]),
        other => Ok(other),
    }
}

pub(super) fn flatten(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = list(arguments, 0)?;
    // Lists that occur several times are walked as often.
    paid(evaluator, prices::walk(at(arguments, 0)))?;
    let mut flat = Vec::new();
    // The lists that are being walked, innermost last.
    let mut open = vec![(items, 0usize)];
    while let Some((list, next)) = open.last_mut() {
        match list.get(*next) {
            None => {
                open.pop();
            }
            Some(item) => {
                *next += 1;
                match item {
                    Value::List(inner) => {
                        let inner = inner.clone();
                        open.push((inner, 0));
                    }
                    other => {
                        if !evaluator.hold(SLOT) {
                            return Ok(Value::Null);
                        }
                        flat.push(other.clone());
                    }
                }
            }
        }
    }
    Ok(evaluator.counted_list(flat))
}

pub(super) fn partition(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = list(arguments, 0)?;
    let size = usize::try_from(whole(arguments, 1)?)
        .ok()
        .filter(|size| *size > 0);
    let size = size.ok_or_else(|| Failure::new("The size must be at least 1"))?;
    let count = items.len().div_ceil(size);
    paid(
        evaluator,
        prices::CONTEXT * count + prices::ITEM * items.len(),
    )?;
    evaluator.hold(List::EMPTY * count as u64 + SLOT * items.len() as u64);
    let parts = items
        .chunks(size)
        .map(|part| Value::list(part.to_vec()))
        .collect();
    Ok(evaluator.list(parts))
}

pub(super) fn sort(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = list(arguments, 0)?;
    let precedes = if arguments.len() > 1 {
        Some(function(arguments, 1)?)
    } else {
        None
    };
    let sorted = merge_sort(evaluator, items.to_vec(), precedes)?;
    Ok(evaluator.list(sorted))
}

/// Stable, and at peace with functions that contradict themselves.
fn merge_sort(
    evaluator: &mut Evaluator<'_>,
    mut items: Vec<Value>,
    precedes: Option<&Function>,
) -> Result<Vec<Value>, Failure> {
    let mut width = 1;
    while width < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        for pair in items.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some((a, left_rest)), Some((b, right_rest))) =
                (left.split_first(), right.split_first())
            {
                paid(evaluator, prices::TURN)?;
                let second_first = match precedes {
                    Some(function) => {
                        evaluator
                            .invoke(function, vec![b.clone(), a.clone()])
                            .as_bool()
                            == Some(true)
                    }
                    None => match evaluator.order(b, a) {
                        Some(order) => order.is_lt(),
                        None => return Err(wrong("values that can be compared", b)),
                    },
                };
                if second_first {
                    merged.push(b.clone());
                    right = right_rest;
                } else {
                    merged.push(a.clone());
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        items = merged;
        width *= 2;
    }
    Ok(items)
}

/// The most frequent numbers, in ascending order.
pub(super) fn mode(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = items(arguments)?;
    if let Some(other) = items.iter().find(|item| !matches!(item, Value::Number(_))) {
        return Err(wrong("Number", other));
    }
    let found = tally(evaluator, &items)?;
    let most = found.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let modes = found
        .into_iter()
        .filter(|(_, count)| *count == most)
        .map(|(value, _)| value)
        .collect();
    let sorted = merge_sort(evaluator, modes, None)?;
    Ok(evaluator.list(sorted))
}
