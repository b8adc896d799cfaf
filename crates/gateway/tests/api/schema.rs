//! Validates JSON against the schemas of the OpenAPI document (the used part of JSON Schema).

use std::collections::BTreeMap;

use parking_lot::Mutex;
use regex::Regex;
use serde_json::{Map, Value};

/// Differences between `value` and `schema`; empty if it is valid. `root` is the document that `$ref`s point into.
pub fn differences(root: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(root, schema, value, "$", &mut found);
    found
}

/// The schema that a `$ref` points to.
pub fn resolved<'d>(root: &'d Value, schema: &'d Value) -> &'d Value {
    match schema["$ref"].as_str() {
        Some(reference) => {
            let target = root.pointer(reference.trim_start_matches('#'));
            resolved(root, target.expect("a $ref leads nowhere"))
        }
        None => schema,
    }
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let schema = resolved(root, schema);
    if value.is_null()
        && (schema["nullable"] == true
            || ["type", "allOf", "oneOf"]
                .iter()
                .all(|key| schema.get(key).is_none()))
    {
        return;
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        check(root, part, value, at, found);
    }
    for any in ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| schema[key].as_array())
    {
        let fits = |part| differences(root, part, value).is_empty();
        if !any.iter().any(fits) {
            found.push(format!("{at} fits none of the alternatives"));
        }
    }
    let right_type = match schema["type"].as_str() {
        None => true,
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
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
    match value {
        Value::Number(_) => check_integer(schema, value, at, found),
        Value::String(text) => check_text(schema, text, at, found),
        Value::Array(items) => check_array(root, schema, items, at, found),
        Value::Object(object) => check_object(root, schema, object, at, found),
        Value::Null | Value::Bool(_) => {}
    }
}

fn check_integer(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let fits = match schema["format"].as_str() {
        None => true,
        Some("int32") => value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
        Some("int64") => value.is_i64(),
        Some(other) => panic!("the validator does not know format {other}"),
    };
    if !fits {
        found.push(format!("{at} is {value}, not {}", schema["format"]));
    }
    if let (Some(min), Some(n)) = (schema["minimum"].as_i64(), value.as_i64())
        && n < min
    {
        found.push(format!("{at} is {n}, below {min}"));
    }
    if let (Some(max), Some(n)) = (schema["maximum"].as_i64(), value.as_i64())
        && n > max
    {
        found.push(format!("{at} is {n}, above {max}"));
    }
}

/// `[1]`
pub const A_CURSOR: &str = "WzFd";

fn check_text(schema: &Value, text: &str, at: &str, found: &mut Vec<String>) {
    let length = text.chars().count() as u64;
    if schema["minLength"].as_u64().is_some_and(|min| length < min) {
        found.push(format!("{at} is shorter than {}", schema["minLength"]));
    }
    if schema["maxLength"].as_u64().is_some_and(|max| length > max) {
        found.push(format!("{at} is longer than {}", schema["maxLength"]));
    }
    if let Some(pattern) = schema["pattern"].as_str().filter(|p| !matches(p, text)) {
        found.push(format!("{at} is {text:?}, not like {pattern}"));
    }
    // Only answers create cursors; this one is of a search without a sort, for the key 1.
    if schema["format"] == "cursor" && text != A_CURSOR {
        found.push(format!("{at} is {text:?}, not a cursor of an answer"));
    }
    if schema["format"] == "date-time" && text.parse::<jiff::Timestamp>().is_err() {
        found.push(format!("{at} is {text:?}, not a date-time with zone"));
    }
    if schema["format"] == "int64" && text.parse::<i64>().is_err() {
        found.push(format!("{at} is {text:?}, not a number of 64 bits"));
    }
}

/// Compiles each pattern once.
fn matches(pattern: &str, text: &str) -> bool {
    static COMPILED: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock();
    if !compiled.contains_key(pattern) {
        let regex = Regex::new(pattern).expect("a pattern is a regular expression");
        compiled.insert(pattern.to_string(), regex);
    }
    compiled[pattern].is_match(text)
}

fn check_array(root: &Value, schema: &Value, items: &[Value], at: &str, found: &mut Vec<String>) {
    let most = schema["maxItems"].as_u64();
    if most.is_some_and(|most| items.len() as u64 > most) {
        found.push(format!("{at} has more than {} items", schema["maxItems"]));
    }
    let least = schema["minItems"].as_u64();
    if least.is_some_and(|least| (items.len() as u64) < least) {
        found.push(format!("{at} has less than {} items", schema["minItems"]));
    }
    let twice = |(i, item)| items.iter().take(i).any(|other| other == item);
    if schema["uniqueItems"] == true && items.iter().enumerate().any(twice) {
        found.push(format!("{at} has an item twice"));
    }
    for (i, item) in items.iter().enumerate() {
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
    let most = schema["maxProperties"].as_u64();
    if most.is_some_and(|most| object.len() as u64 > most) {
        found.push(format!(
            "{at} has more than {} properties",
            schema["maxProperties"]
        ));
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
        "a": {"type": "string", "pattern": "^-?[0-9]+$", "format": "int64", "maxLength": 25},
        "b": {"type": "array", "items": {"type": "integer", "format": "int32", "minimum": 1}, "minItems": 1, "maxItems": 2, "uniqueItems": true},
        "c": {"nullable": true, "allOf": [{"$ref": "#/s"}]},
        "d": {"type": "string", "enum": ["x"]},
        "f": {"anyOf": [{"required": ["x"]}, {"required": ["y"]}], "type": "object", "maxProperties": 1},
        "g": {"type": "string", "minLength": 1, "pattern": "\\S"},
        "h": {"type": "integer", "maximum": 9},
    }}});
    let schema = serde_json::json!({"$ref": "#/s"});
    let count = |value: Value| differences(&root, &schema, &value).len();
    assert_eq!(
        count(
            serde_json::json!({"a": "1", "b": [1, 2], "c": null, "d": "x", "f": {"y": 1}, "g": " x", "h": 9})
        ),
        0
    );
    for bad in [
        serde_json::json!([]),
        serde_json::json!({}),
        serde_json::json!({"a": 1}),
        serde_json::json!({"a": "9223372036854775808"}),
        serde_json::json!({"a": "00000000000000000000000001"}),
        serde_json::json!({"a": "1", "b": []}),
        serde_json::json!({"a": "1", "b": ["1"]}),
        serde_json::json!({"a": "1", "b": [0]}),
        serde_json::json!({"a": "1", "b": [2_147_483_648i64]}),
        serde_json::json!({"a": "1", "b": [1, 2, 3]}),
        serde_json::json!({"a": "1", "b": [1, 1]}),
        serde_json::json!({"a": "1", "c": {}}),
        serde_json::json!({"a": "1", "d": "y"}),
        serde_json::json!({"a": "1", "e": 1}),
        serde_json::json!({"a": "1", "f": {"z": 1}}),
        serde_json::json!({"a": "1", "f": {"x": 1, "y": 1}}),
        serde_json::json!({"a": "1", "g": " "}),
        serde_json::json!({"a": "1", "h": 10}),
        serde_json::json!({"a": null}),
    ] {
        assert_eq!(count(bad.clone()), 1, "{bad}");
    }
}
