//! Functions of texts.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::arguments::{at, list, paid, text, whole, wrong};
use super::pattern::{check_replacement, expand, pattern};
use super::{Failure, Outcome};
use crate::eval::Evaluator;
use crate::{Value, prices};

/// Positions and lengths count UTF-16 units, as in the reference engine: an emoji is two of them.
fn units(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    }
}

pub(super) fn substring(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0)?;
    let start = whole(arguments, 1)?;
    let length = if arguments.len() > 2 {
        whole(arguments, 2)?
    } else {
        i64::MAX
    };
    if length < 0 {
        return Err(Failure::new("The length is negative"));
    }
    paid(evaluator, prices::search(source.len()))?;
    let count = units(source) as i64;
    let from = match start {
        n if n > 0 => n - 1,
        n => count.saturating_add(n),
    };
    // Behind the last character there is an empty part.
    if from < 0 || from > count {
        return Err(Failure::new(format!(
            "The start position {start} is outside of a string with {count} characters"
        )));
    }
    let length = length.min(count - from);
    paid(evaluator, prices::characters((from + length) as usize))?;
    let (from, to) = (from as usize, (from + length) as usize);
    let part = if source.is_ascii() {
        source.get(from..to).unwrap_or_default().to_owned()
    } else {
        // Half of a character becomes `?`, as in the reference engine when the text leaves it.
        char::decode_utf16(source.encode_utf16().take(to).skip(from))
            .map(|unit| unit.unwrap_or('?'))
            .collect()
    };
    Ok(evaluator.text(part))
}

pub(super) fn string_length(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    paid(evaluator, prices::search(text(arguments, 0)?.len()))?;
    Ok(Value::from(units(text(arguments, 0)?) as i64))
}

fn pay_for_case(evaluator: &mut Evaluator<'_>, text: &str) -> Result<(), Failure> {
    paid(evaluator, prices::search(text.len()))?;
    if text.is_ascii() {
        return Ok(());
    }
    paid(evaluator, prices::characters(text.len()))
}

pub(super) fn upper_case(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    pay_for_case(evaluator, text(arguments, 0)?)?;
    let result = text(arguments, 0)?.to_uppercase();
    Ok(evaluator.text(result))
}

pub(super) fn lower_case(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    pay_for_case(evaluator, text(arguments, 0)?)?;
    let result = text(arguments, 0)?.to_lowercase();
    Ok(evaluator.text(result))
}

pub(super) fn substring_before(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let (source, mark) = (text(arguments, 0)?, text(arguments, 1)?);
    Ok(Value::from(
        source.split_once(&**mark).map_or("", |(before, _)| before),
    ))
}

pub(super) fn substring_after(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let (source, mark) = (text(arguments, 0)?, text(arguments, 1)?);
    Ok(Value::from(
        source.split_once(&**mark).map_or("", |(_, after)| after),
    ))
}

pub(super) fn contains(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    paid(evaluator, prices::search(text(arguments, 0)?.len()))?;
    Ok(Value::Boolean(
        text(arguments, 0)?.contains(&**text(arguments, 1)?),
    ))
}

pub(super) fn starts_with(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    paid(evaluator, prices::search(text(arguments, 1)?.len()))?;
    Ok(Value::Boolean(
        text(arguments, 0)?.starts_with(&**text(arguments, 1)?),
    ))
}

pub(super) fn ends_with(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    paid(evaluator, prices::search(text(arguments, 1)?.len()))?;
    Ok(Value::Boolean(
        text(arguments, 0)?.ends_with(&**text(arguments, 1)?),
    ))
}

fn flags(arguments: &[Value], index: usize) -> Result<&str, Failure> {
    match at(arguments, index) {
        Value::Null => Ok(""),
        Value::String(flags) => Ok(flags),
        other => Err(wrong("String", other)),
    }
}

pub(super) fn matches(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0)?;
    let pattern = pattern(evaluator, text(arguments, 1)?, flags(arguments, 2)?)?;
    pattern.is_match(evaluator, source).map(Value::Boolean)
}

pub(super) fn replace(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let (source, replacement) = (text(arguments, 0)?, text(arguments, 2)?);
    let pattern = pattern(evaluator, text(arguments, 1)?, flags(arguments, 3)?)?;
    let limit = evaluator.room() as usize;
    let mut out = String::new();
    let mut last = 0;
    // Without a match the replacement does not matter.
    let mut checked = false;
    pattern.captures(evaluator, source, |evaluator, found| {
        let Some(whole) = found.get(0) else {
            return Ok(());
        };
        if !std::mem::replace(&mut checked, true) {
            check_replacement(replacement, found.len())?;
        }
        out.push_str(source.get(last..whole.start()).unwrap_or_default());
        let before = out.len();
        expand(&found, replacement, &mut out);
        last = whole.end();
        if out.len() > limit {
            evaluator.overfull();
        }
        paid(evaluator, prices::text(out.len() - before))
    })?;
    out.push_str(source.get(last..).unwrap_or_default());
    Ok(evaluator.text(out))
}

pub(super) fn split(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0)?;
    let pattern = pattern(evaluator, text(arguments, 1)?, "")?;
    let mut parts = Vec::new();
    let mut last = 0;
    pattern.matches(evaluator, source, |evaluator, found| {
        if found.end() == 0 {
            // Nothing stands in front of an empty match at the start.
            return Ok(());
        }
        let part = source.get(last..found.start()).unwrap_or_default();
        last = found.end();
        push_part(evaluator, &mut parts, part)
    })?;
    push_part(
        evaluator,
        &mut parts,
        source.get(last..).unwrap_or_default(),
    )?;
    Ok(evaluator.counted_list(parts))
}

pub(super) fn extract(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0)?;
    let pattern = pattern(evaluator, text(arguments, 1)?, "")?;
    let mut parts = Vec::new();
    pattern.matches(evaluator, source, |evaluator, found| {
        push_part(evaluator, &mut parts, found.as_str())
    })?;
    Ok(evaluator.counted_list(parts))
}

/// Adds a part of a text, for its price in steps and memory.
fn push_part(
    evaluator: &mut Evaluator<'_>,
    parts: &mut Vec<Value>,
    part: &str,
) -> Result<(), Failure> {
    let part = Value::from(part);
    evaluator.hold(part.memory());
    paid(evaluator, prices::text(part.as_str().map_or(0, str::len)))?;
    parts.push(part);
    Ok(())
}

pub(super) fn string_join(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let items = list(arguments, 0)?;
    let optional = |index: usize| match at(arguments, index) {
        Value::Null => Ok(""),
        Value::String(text) => Ok(&**text),
        other => Err(wrong("String", other)),
    };
    let (delimiter, prefix, suffix) = (optional(1)?, optional(2)?, optional(3)?);
    if !evaluator.charge(items.len()) {
        return Ok(Value::Null);
    }
    let limit = evaluator.room() as usize;
    let mut out = String::from(prefix);
    let mut first = true;
    for item in items.iter() {
        let part = match item {
            Value::String(part) => part,
            Value::Null => continue,
            other => return Err(wrong("String", other)),
        };
        if !std::mem::take(&mut first) {
            out.push_str(delimiter);
        }
        out.push_str(part);
        if out.len() > limit {
            return Ok(evaluator.overfull());
        }
    }
    out.push_str(suffix);
    Ok(evaluator.text(out))
}

/// Removes spaces and control characters of ASCII, as in the reference engine.
pub(super) fn trim(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let trimmed = text(arguments, 0)?.trim_matches(|c| c <= ' ');
    Ok(Value::from(trimmed))
}

/// White space that a line may be broken at: no-break spaces are none.
fn is_space(c: char) -> bool {
    let no_break = matches!(c, '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}');
    (c.is_whitespace() && !no_break) || ('\u{1c}'..='\u{1f}').contains(&c)
}

pub(super) fn is_blank(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    Ok(Value::Boolean(text(arguments, 0)?.chars().all(is_space)))
}

pub(super) fn to_base64(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let encoded = STANDARD.encode(text(arguments, 0)?.as_bytes());
    Ok(evaluator.text(encoded))
}

/// A random UUID (version 4).
pub(super) fn uuid(evaluator: &mut Evaluator<'_>, _: &[Value]) -> Outcome {
    let random = &mut evaluator.random;
    let (high, low) = (random.next_u64(), random.next_u64());
    let high = (high & !0xF000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    let text = format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xFFFF,
        high & 0xFFFF,
        low >> 48,
        low & 0xFFFF_FFFF_FFFF
    );
    Ok(Value::String(Arc::from(text)))
}
