//! Holds JSON against the schemas of the OpenAPI document (the part of JSON Schema that it uses).

use serde_json::{Map, Value};

/// Says how `value` differs from `schema`; empty when it does not. `root` is the document that `$ref`s point into.
pub fn differences(root: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(root, schema, value, "$", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#'));
        return check(
            root,
            target.expect("a $ref leads nowhere"),
            value,
            at,
            found,
        );
    }
    if value.is_null()
        && (schema["nullable"] == true
            || schema.get("type").is_none() && schema.get("allOf").is_none())
    {
        return;
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        check(root, part, value, at, found);
    }
    let right_type = match schema["type"].as_str() {
        None => true,
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some(other) => panic!("the validator does not know type {other}"),
    };
    if !right_type {
        found.push(format!("{at} is {value}, not {}", schema["type"]));
        return;
    }
    if let Some(allowed) = schema["enum"].as_array().filter(|a| !a.contains(value)) {
        found.push(format!("{at} is {value}, not one of {allowed:?}"));
    }
    if let (Some(min), Some(n)) = (schema["minimum"].as_i64(), value.as_i64())
        && n < min
    {
        found.push(format!("{at} is {n}, below {min}"));
    }
    if let (Some(min), Some(text)) = (schema["minLength"].as_u64(), value.as_str())
        && (text.chars().count() as u64) < min
    {
        found.push(format!("{at} is shorter than {min}"));
    }
    if schema["pattern"] == "^-?[0-9]+$" && value.as_str().is_none_or(|t| t.parse::<i64>().is_err())
    {
        found.push(format!("{at} is {value}, not a key"));
    }
    if let Some(object) = value.as_object() {
        check_object(root, schema, object, at, found);
    }
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        check(root, &schema["items"], item, &format!("{at}[{i}]"), found);
    }
}

fn check_object(
    root: &Value,
    schema: &Value,
    object: &Map<String, Value>,
    at: &str,
    found: &mut Vec<String>,
) {
    for name in schema["required"].as_array().into_iter().flatten() {
        if !object.contains_key(name.as_str().expect("a name")) {
            found.push(format!("{at} lacks {name}"));
        }
    }
    for (name, value) in object {
        match schema["properties"].get(name) {
            Some(property) => check(root, property, value, &format!("{at}.{name}"), found),
            None if schema["additionalProperties"] == false => {
                found.push(format!("{at} has {name}, which its schema does not know"));
            }
            None => {}
        }
    }
}

#[test]
fn the_validator_finds_differences() {
    let root = serde_json::json!({"s": {"type": "object", "required": ["a"], "additionalProperties": false, "properties": {
        "a": {"type": "string", "pattern": "^-?[0-9]+$"},
        "b": {"type": "array", "items": {"type": "integer"}},
        "c": {"nullable": true, "allOf": [{"$ref": "#/s"}]},
        "d": {"type": "string", "enum": ["x"]},
    }}});
    let schema = serde_json::json!({"$ref": "#/s"});
    let count = |value: Value| differences(&root, &schema, &value).len();
    assert_eq!(
        count(serde_json::json!({"a": "1", "b": [1], "c": null, "d": "x"})),
        0
    );
    for bad in [
        serde_json::json!([]),
        serde_json::json!({}),
        serde_json::json!({"a": 1}),
        serde_json::json!({"a": "x"}),
        serde_json::json!({"a": "1", "b": ["1"]}),
        serde_json::json!({"a": "1", "c": {}}),
        serde_json::json!({"a": "1", "d": "y"}),
        serde_json::json!({"a": "1", "e": 1}),
        serde_json::json!({"a": null}),
    ] {
        assert_eq!(count(bad.clone()), 1, "{bad}");
    }
}
