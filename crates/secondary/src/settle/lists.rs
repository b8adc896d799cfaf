//! Writes changed items into stored list variables, once per window, because lists can be long.

use skep_exporting::TargetError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;
use skep_protocol::Key;
use skep_query::entities::{PREVIEW, VARIABLE};
use skep_query::{Condition, Op, Value};

use super::{CHUNK, Stored};
use crate::changes::Changes;

const KEY: usize = VARIABLE.column("variableKey");
const NAME: usize = VARIABLE.column("name");
const SCOPE: usize = VARIABLE.column("scopeKey");
const VALUE: usize = VARIABLE.column("value");
const IS_LONG: usize = VARIABLE.column("isTruncated");

/// A variable, identified by scope and name.
type Named = (Key, Arc<str>);

/// The key and text of a variable.
type Known = (Key, Arc<str>);

pub fn settle(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    let elements = std::mem::take(&mut changes.elements);
    if elements.is_empty() {
        return Ok(());
    }
    let mut known = look_up(&elements, stored)?;
    known.extend(of_window(changes));
    for (variable, items) in &elements {
        let Some((key, text)) = known.get(variable) else {
            continue;
        };
        if let Some(text) = spliced(text, items) {
            let is_long = text.len() > PREVIEW && text.chars().nth(PREVIEW).is_some();
            changes.put(&VARIABLE, *key, VALUE, Value::text(&text));
            changes.put(&VARIABLE, *key, IS_LONG, Value::from(is_long));
        }
    }
    Ok(())
}

fn look_up(
    elements: &FxHashMap<Named, BTreeMap<u32, String>>,
    stored: &dyn Stored,
) -> Result<FxHashMap<Named, Known>, TargetError> {
    let scopes: BTreeSet<i64> = elements.keys().map(|(scope, _)| scope.0).collect();
    let names: BTreeSet<&str> = elements.keys().map(|(_, name)| &**name).collect();
    let scopes: Vec<Value> = scopes.into_iter().map(Value::Int).collect();
    let names: Vec<Value> = names.into_iter().map(Value::text).collect();
    let among = |field, values: &[Value]| Condition::Field {
        field,
        op: Op::In(values.to_vec()),
    };
    let mut found = FxHashMap::default();
    for scopes in scopes.chunks(CHUNK) {
        for names in names.chunks(CHUNK) {
            let conditions = vec![among(SCOPE, scopes), among(NAME, names)];
            let columns = [KEY, SCOPE, NAME, VALUE];
            for row in stored.look_up(&VARIABLE, &conditions, &columns)? {
                if let [
                    Value::Int(key),
                    Value::Int(scope),
                    Value::Text(name),
                    Value::Text(text),
                ] = row.as_slice()
                {
                    found.insert((Key(*scope), name.clone()), (Key(*key), text.clone()));
                }
            }
        }
    }
    Ok(found)
}

/// Variables whose whole value changed in this window.
fn of_window(changes: &Changes) -> Vec<(Named, Known)> {
    let rows = changes.rows_of(&VARIABLE).map(|rows| rows.sorted());
    let rows = rows.unwrap_or_default().into_iter();
    let named = rows.filter_map(|row| {
        let scope = row.values.get(SCOPE)?.as_int()?;
        match (row.values.get(NAME)?, row.values.get(VALUE)?) {
            (Value::Text(name), Value::Text(text)) => {
                Some(((Key(scope), name.clone()), (Key(row.key), text.clone())))
            }
            _ => None,
        }
    });
    named.collect()
}

/// The list with replaced and appended items. `None`: the text is not a list and stays as it is.
fn spliced(text: &str, items: &BTreeMap<u32, String>) -> Option<String> {
    let mut list: Vec<Box<RawValue>> = serde_json::from_str(text).ok()?;
    for (index, value) in items {
        // An appended item is logged with the comma in front of it.
        let value = value.strip_prefix(',').unwrap_or(value);
        let value = RawValue::from_string(value.to_string()).ok()?;
        let index = *index as usize;
        match list.len() {
            count if count == index => list.push(value),
            _ => *list.get_mut(index)? = value,
        }
    }
    let texts: Vec<&str> = list.iter().map(|item| item.get()).collect();
    Some(format!("[{}]", texts.join(",")))
}
