//! Functions of contexts.

use std::sync::Arc;

use super::arguments::{at, context, items, paid, wrong};
use super::{Failure, Outcome};
use crate::eval::Evaluator;
use crate::value::{KEY, SLOT};
use crate::{Context, ContextBuilder, Value, WarningCode, prices};

/// Deepest list of keys.
const MAX_KEYS: usize = 100;

pub(super) fn get_value(_: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let source = context(arguments, 0)?;
    match at(arguments, 1) {
        Value::String(key) => lookup(source, key),
        Value::List(keys) => {
            let mut current = Value::Context(source.clone());
            for key in keys.iter() {
                let (Value::Context(context), Value::String(key)) = (&current, key) else {
                    return Err(wrong("a context and a key", key));
                };
                current = lookup(context, key)?;
            }
            if keys.is_empty() {
                Ok(Value::Null)
            } else {
                Ok(current)
            }
        }
        other => Err(wrong("String", other)),
    }
}

fn lookup(context: &Context, key: &str) -> Outcome {
    context.get(key).cloned().ok_or_else(|| Failure {
        code: WarningCode::NoContextEntryFound,
        message: if context.is_empty() {
            format!("No context entry found with key '{key}'. The context is empty")
        } else {
            format!(
                "No context entry found with key '{key}'. Available keys: {}",
                context.keys_for_message()
            )
        },
        plain: true,
    })
}

pub(super) fn get_entries(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let source = context(arguments, 0)?;
    let (key_name, value_name): (Arc<str>, Arc<str>) = (Arc::from("key"), Arc::from("value"));
    paid(evaluator, prices::CONTEXT * source.len())?;
    let bytes = Context::EMPTY + 2 * (SLOT + KEY);
    if !evaluator.hold(bytes.saturating_mul(source.len() as u64)) {
        return Ok(Value::Null);
    }
    let entries = source.entries().iter().map(|(key, value)| {
        Value::Context(Context::new(vec![
            (Arc::clone(&key_name), Value::String(Arc::clone(key))),
            (Arc::clone(&value_name), value.clone()),
        ]))
    });
    let entries = entries.collect();
    Ok(evaluator.list(entries))
}

pub(super) fn context_put(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let source = context(arguments, 0)?;
    let value = at(arguments, 2);
    let keys: Vec<Arc<str>> = match at(arguments, 1) {
        Value::String(key) => vec![Arc::clone(key)],
        Value::List(keys) if !keys.is_empty() && keys.len() <= MAX_KEYS => keys
            .iter()
            .map(|key| match key {
                Value::String(key) => Ok(Arc::clone(key)),
                other => Err(wrong("String", other)),
            })
            .collect::<Result<_, _>>()?,
        other => return Err(wrong("a key or a list of keys", other)),
    };
    put(evaluator, source, &keys, value)
}

fn put(
    evaluator: &mut Evaluator<'_>,
    source: &Context,
    keys: &[Arc<str>],
    value: &Value,
) -> Outcome {
    let Some((key, rest)) = keys.split_first() else {
        return Ok(value.clone());
    };
    let inner = if rest.is_empty() {
        value.clone()
    } else {
        match source.get(key) {
            Some(Value::Context(inner)) => put(evaluator, inner, rest, value)?,
            // Any other value there is replaced.
            _ => put(evaluator, &Context::new(Vec::new()), rest, value)?,
        }
    };
    paid(evaluator, prices::entries(source.len()))?;
    let mut builder = ContextBuilder::from_context(source);
    builder.put(Arc::clone(key), inner);
    Ok(evaluator.context(builder))
}

pub(super) fn context_merge(evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
    let mut builder = ContextBuilder::new();
    for part in items(arguments)?.iter() {
        let Value::Context(context) = part else {
            return Err(wrong("Context", part));
        };
        paid(evaluator, prices::entries(context.len()))?;
        for (key, value) in context.entries() {
            builder.put(Arc::clone(key), value.clone());
        }
    }
    Ok(evaluator.context(builder))
}
