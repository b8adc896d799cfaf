//! `$KIND(name,n)`: the key of the n-th entity of a kind and name, or of the last one.

use serde_json::Value;
use skep_protocol::Key;

/// The value type and intent that create an entity of this kind, and the field with its name.
fn origin(kind: &str) -> (&'static str, &'static str, &'static str) {
    match kind {
        "PI" => ("PROCESS_INSTANCE", "ELEMENT_ACTIVATING", "bpmnProcessId"),
        "EI" => ("PROCESS_INSTANCE", "ELEMENT_ACTIVATING", "elementId"),
        "PD" => ("PROCESS", "CREATED", "bpmnProcessId"),
        "JOB" => ("JOB", "CREATED", "type"),
        "INC" => ("INCIDENT", "CREATED", "elementId"),
        "MSG" => ("MESSAGE", "PUBLISHED", "name"),
        "TIMER" => ("TIMER", "CREATED", "targetElementId"),
        "UT" => ("USER_TASK", "CREATING", "elementId"),
        "DEC" => ("DECISION", "CREATED", "decisionId"),
        "DRG" => ("DECISION_REQUIREMENTS", "CREATED", "decisionRequirementsId"),
        "FORM" => ("FORM", "CREATED", "formId"),
        "RES" => ("RESOURCE", "CREATED", "resourceId"),
        "BO" => ("BATCH_OPERATION_CREATION", "CREATED", ""),
        other => panic!("there is no kind {other}"),
    }
}

/// All keys of a kind in order of creation. An empty name matches every name where the kind allows it.
pub fn all(records: &[Value], kind: &str, name: &str) -> Vec<Key> {
    let (value_type, intent, field) = origin(kind);
    let any_name = name.is_empty() && matches!(kind, "PI" | "INC" | "BO" | "JOB");
    let mut keys = Vec::new();
    for record in records {
        let value = &record["value"];
        let is_one = record["recordType"] == "EVENT"
            && record["valueType"] == value_type
            && record["intent"] == intent
            && (any_name || value[field] == name)
            && (kind != "PI" || value["bpmnElementType"] == "PROCESS");
        let key = Key(record["key"].as_i64().unwrap_or(-1));
        if is_one && !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// The arguments of a step with references replaced by keys.
pub fn resolve(value: &Value, records: &[Value]) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => match reference(text) {
            Some((kind, name, nth)) => {
                let keys = all(records, kind, name);
                let found = match nth {
                    Some(nth) => keys.get(nth - 1),
                    None => keys.last(),
                };
                let key = found.ok_or_else(|| format!("nothing matches {text}"))?;
                Value::from(key.0)
            }
            None => value.clone(),
        },
        Value::Array(items) => items
            .iter()
            .map(|item| resolve(item, records))
            .collect::<Result<Vec<_>, _>>()?
            .into(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| Ok((name.clone(), resolve(value, records)?)));
            Value::Object(fields.collect::<Result<_, String>>()?)
        }
        _ => value.clone(),
    })
}

fn reference(text: &str) -> Option<(&str, &str, Option<usize>)> {
    let (kind, rest) = text.strip_prefix('$')?.split_once('(')?;
    let inner = rest.strip_suffix(')')?;
    match inner.split_once(',') {
        Some((name, nth)) => Some((kind, name, Some(nth.parse().ok()?))),
        None => Some((kind, inner, None)),
    }
}

/// `JOB3` in an answer: the third job in order of creation.
pub fn symbol(text: &str, records: &[Value]) -> Option<Key> {
    let digits = text.find(|c: char| c.is_ascii_digit())?;
    let (kind, nth) = text.split_at(digits);
    let nth: usize = nth.parse().ok()?;
    all(records, kind, "").get(nth.checked_sub(1)?).copied()
}
