//! The JSON of answers.

use std::fmt::Write as _;

use crate::entities::PREVIEW;
use crate::entity::{Entity, Field, Kind};
use crate::merge;
use crate::search::Search;
use crate::storage::{ResultPage, Row};
use crate::time;
use crate::value::Value;

/// The answer to a search.
pub fn page(search: &Search, found: &ResultPage) -> String {
    let mut out = String::with_capacity(64 + found.rows.len() * 512);
    out.push_str(r#"{"items":["#);
    for (n, row) in found.rows.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        let fields = search.entity.fields.iter().zip(row);
        let listed = fields.filter(|(field, _)| field.shown && !field.detail);
        write_row(listed, search.whole_texts, &mut out);
    }
    let cursor = |row: Option<&Row>| match row {
        Some(row) => format!(
            "\"{}\"",
            merge::cursor_of(search, row).encode(search.entity)
        ),
        None => "null".to_string(),
    };
    let _ = write!(
        out,
        r#"],"page":{{"totalItems":{},"hasMoreTotalItems":{},"startCursor":{},"endCursor":{}}}}}"#,
        found.total,
        found.more,
        cursor(found.rows.first()),
        cursor(found.rows.last())
    );
    out
}

/// The field that tells whether a value in a list is truncated.
const IS_CUT: &str = "isTruncated";

/// The JSON of a single row. Its texts are complete, so the field that tells whether they are truncated is omitted.
pub fn row(entity: &Entity, row: &Row) -> String {
    let mut out = String::with_capacity(512);
    let fields = entity.fields.iter().zip(row);
    let said = fields.filter(|(field, _)| field.shown && field.name != IS_CUT);
    write_row(said, true, &mut out);
    out
}

fn write_row<'r>(
    fields: impl Iterator<Item = (&'static Field, &'r Value)>,
    whole: bool,
    out: &mut String,
) {
    out.push('{');
    let mut first = true;
    for (field, value) in fields {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        let _ = write!(out, "\"{}\":", field.name);
        if field.name == IS_CUT && whole {
            out.push_str("false");
        } else if field.name == "value" && !whole {
            let preview = value.as_text().map(preview).map(Value::text);
            write_value(field, preview.as_ref().unwrap_or(value), out);
        } else {
            write_value(field, value, out);
        }
    }
    out.push('}');
}

/// The beginning of a long text, as lists show it.
fn preview(text: &str) -> &str {
    let end = text.char_indices().nth(PREVIEW);
    end.map_or(text, |(at, _)| text.get(..at).unwrap_or(text))
}

/// Writes the value of a field as it appears in an answer.
pub fn write_value(field: &Field, value: &Value, out: &mut String) {
    match (field.kind, value) {
        (Kind::Json, Value::Text(text)) => out.push_str(text),
        // Empty lists are written, not omitted.
        (Kind::Json, _) => out.push_str(match field.name {
            "customHeaders" | "metadata" | "toolProperties" => "{}",
            _ => "[]",
        }),
        (Kind::Key, Value::Null) if field.never_null => out.push_str("\"-1\""),
        (Kind::Int, Value::Null) if field.never_null => out.push('0'),
        (_, Value::Null) => out.push_str("null"),
        (Kind::Bool, Value::Int(number)) => {
            out.push_str(if *number != 0 { "true" } else { "false" })
        }
        (Kind::Key, Value::Int(key)) => {
            let _ = write!(out, "\"{key}\"");
        }
        (Kind::Time, Value::Int(millis)) => {
            let _ = write!(out, "\"{}\"", time::render(*millis));
        }
        (_, Value::Int(number)) => {
            let _ = write!(out, "{number}");
        }
        (_, Value::Text(text)) => write_text(text, out),
    }
}

/// Writes a JSON string.
pub fn write_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}
