//! Reads `steps.yaml` as JSON. Plain scalars are resolved as in YAML 1.1, which the recorder used.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

enum Frame {
    Map(Map<String, Value>, Option<String>),
    List(Vec<Value>),
}

pub fn read(text: &str) -> Value {
    let mut stack: Vec<Frame> = Vec::new();
    let mut document = Value::Null;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.expect("steps.yaml is YAML");
        let value = match event {
            Event::MappingStart(..) => {
                stack.push(Frame::Map(Map::new(), None));
                continue;
            }
            Event::SequenceStart(..) => {
                stack.push(Frame::List(Vec::new()));
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => match stack.pop() {
                Some(Frame::Map(map, _)) => Value::Object(map),
                Some(Frame::List(list)) => Value::Array(list),
                None => panic!("an end without a beginning"),
            },
            Event::Scalar(text, style, ..) => {
                if let Some(Frame::Map(_, key @ None)) = stack.last_mut() {
                    *key = Some(text.into_owned());
                    continue;
                }
                scalar(&text, style == ScalarStyle::Plain)
            }
            Event::Alias(_) => panic!("the scenarios have no aliases"),
            _ => continue,
        };
        match stack.last_mut() {
            Some(Frame::Map(map, key)) => {
                let key = key.take().expect("keys are texts");
                map.insert(key, value);
            }
            Some(Frame::List(list)) => list.push(value),
            None => document = value,
        }
    }
    document
}

fn scalar(text: &str, plain: bool) -> Value {
    if !plain {
        return Value::from(text);
    }
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::from(true),
        "false" => Value::from(false),
        _ => number(text).unwrap_or_else(|| Value::from(text)),
    }
}

/// Numbers with an exponent need a decimal point in YAML 1.1; anything else is a string.
fn number(text: &str) -> Option<Value> {
    let begins = text.trim_start_matches(['-', '+']).as_bytes().first();
    if !begins.is_some_and(u8::is_ascii_digit) {
        return None;
    }
    if text.contains('.') {
        text.parse::<f64>().ok().map(Value::from)
    } else {
        text.parse::<i64>().ok().map(Value::from)
    }
}
