//! Converts YAML to JSON values and back: the subset that plans need, without references and tags.

use std::fmt::Write as _;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

const MAX_DEPTH: usize = 64;

enum Frame {
    Map(Map<String, Value>, Option<String>),
    List(Vec<Value>),
}

/// Reads one document.
pub fn read(text: &str) -> Result<Value, String> {
    let mut stack: Vec<Frame> = Vec::new();
    let mut document = Value::Null;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let line = error.marker().line();
            format!("line {line}: this is not YAML: {}", error.info())
        })?;
        let bad = |why: &str| format!("line {}: {why}", span.start.line());
        if stack.len() > MAX_DEPTH {
            return Err(bad("nested too deeply"));
        }
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
                None => return Err(bad("an end without a beginning")),
            },
            Event::Scalar(text, style, ..) => {
                if let Some(Frame::Map(_, key @ None)) = stack.last_mut() {
                    *key = Some(text.into_owned());
                    continue;
                }
                scalar(&text, style == ScalarStyle::Plain)
            }
            Event::Alias(_) => return Err(bad("references (*name) are not supported here")),
            _ => continue,
        };
        match stack.last_mut() {
            Some(Frame::Map(map, key)) => {
                let key = key
                    .take()
                    .ok_or_else(|| bad("a name must be a plain text"))?;
                if map.contains_key(&key) {
                    return Err(bad(&format!("{key} is there twice")));
                }
                map.insert(key, value);
            }
            Some(Frame::List(list)) => list.push(value),
            None => document = value,
        }
    }
    Ok(document)
}

fn scalar(text: &str, plain: bool) -> Value {
    match text {
        _ if !plain => Value::from(text),
        "" | "~" | "null" => Value::Null,
        "true" => Value::from(true),
        "false" => Value::from(false),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            let number = text.parse::<i64>().ok().map(Value::from);
            let number = number.or_else(|| text.parse::<f64>().ok().map(Value::from));
            number.unwrap_or_else(|| Value::from(text))
        }
        _ => Value::from(text),
    }
}

/// Writes a document: a collection of plain values is written on one line.
pub fn write(value: &Value) -> String {
    let mut text = String::new();
    block(&mut text, value, 0);
    text
}

/// Keys to write first, for the reader; JSON objects have no order of their own.
const ORDER: [&str; 14] = [
    "name",
    "hypothesis",
    "nodes",
    "count",
    "words",
    "steps",
    "after-s",
    "of",
    "take",
    "window",
    "from",
    "measure",
    "limit",
    "until",
];

fn ordered(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = map.iter().collect();
    let rank = |key: &String| ORDER.iter().position(|known| known == key);
    members.sort_by_key(|(key, _)| rank(key).unwrap_or(ORDER.len()));
    members
}

fn block(out: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (number, (key, value)) in ordered(map).into_iter().enumerate() {
                // The first one follows the hyphen of its list.
                if number > 0 || depth == 0 {
                    out.push_str(&indent);
                }
                let _ = write!(out, "{key}:");
                member(out, value, depth);
            }
        }
        Value::Array(list) => {
            for value in list {
                let _ = write!(out, "{indent}- ");
                if is_flat(value) {
                    let _ = writeln!(out, "{}", flow(value));
                } else {
                    block(out, value, depth + 1)
                }
            }
        }
        plain => {
            let _ = writeln!(out, "{}", flow(plain));
        }
    }
}

fn member(out: &mut String, value: &Value, depth: usize) {
    match value {
        _ if is_flat(value) => {
            let _ = writeln!(out, " {}", flow(value));
        }
        Value::Array(_) => {
            out.push('\n');
            block(out, value, depth);
        }
        value => {
            out.push('\n');
            out.push_str(&"  ".repeat(depth + 1));
            block(out, value, depth + 1);
        }
    }
}

/// Maximum width of a value on one line.
const WIDTH: usize = 90;

fn is_flat(value: &Value) -> bool {
    match value {
        Value::Object(_) | Value::Array(_) => flow(value).chars().count() <= WIDTH,
        _ => true,
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members = ordered(map)
                .into_iter()
                .map(|(key, value)| format!("{key}: {}", flow(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) if needs_quotes(text) => Value::from(text.as_str()).to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether a text would be read as something else without quotes.
fn needs_quotes(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " -_./÷%≤≥×()".contains(c);
    !text.starts_with(char::is_alphabetic)
        || text.ends_with(' ')
        || !text.chars().all(plain)
        || ["true", "false", "null"].contains(&text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn written_yaml_reads_back_the_same() {
        let value = json!({
            "name": "a", "flat": {"x": 1, "y": [1.5, "b c", true, null]},
            "text": "with: a colon, \"quotes\" and 12", "number": "12", "empty": "", "word": "true",
            "list": [{"name": "one", "do": {"load": {"per-second": 2}}, "long": "x".repeat(100)}, {"a": [{"b": ["c".repeat(99)]}]}],
        });
        let text = write(&value);
        assert_eq!(read(&text), Ok(value), "{text}");
    }

    #[test]
    fn invalid_yaml_is_refused_with_its_line() {
        for (text, said) in [
            ("a: 1\nb: [", "line "),
            ("a: 1\na: 2", "line 2: a is there twice"),
            ("a: &x 1\nb: *x", "line 2: references"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        assert!(read(&"[".repeat(100)).is_err());
        assert_eq!(read("- -3\n- 1e3\n- -x"), Ok(json!([-3, 1000.0, "-x"])));
    }
}
