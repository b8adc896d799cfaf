//! Converts rows to documents and back.
//!
//! A text is stored in a field if an index accepts its length. For a longer text the field contains a stand-in by which it is
//! found: its beginning and a hash. The whole text, and the preview for lists, are stored next to it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::OnceLock;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use skep_query::access;
use skep_query::entities::{self, PREVIEW};
use skep_query::{Entity, Field, Kind, RelatedFilter, Row, Value, answer};

/// Field with the whole long texts.
pub const WHOLE: &str = "long_texts";
/// Field with the previews of long texts, as lists show them.
pub const BRIEF: &str = "brief_texts";

/// Maximum bytes of text in a field. Indices accept 32,766.
const MAX_TEXT: usize = 32_000;
/// Separates the beginning of a text from its hash.
const MARK: char = '\u{1}';
/// Maximum bytes of a document ID; servers accept 512.
const MAX_ID: usize = 200;

/// The name of the field with the individual items of a list.
pub fn items_name(list: &str) -> String {
    format!("{list}_items")
}

pub fn is_list(entity: &Entity, field: &Field) -> bool {
    entity.items.iter().any(|(_, list, _)| *list == field.name)
}

pub fn is_text(field: &Field) -> bool {
    matches!(field.kind, Kind::Text | Kind::Enum(_) | Kind::Json)
}

/// Returns for each field whether searches use it.
pub fn indexed(entity: &Entity) -> &'static [bool] {
    static ALL: OnceLock<Vec<Vec<bool>>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let of = |entity: &&Entity| {
            let fields = entity.fields.iter().enumerate();
            fields.map(|(at, _)| is_indexed(entity, at)).collect()
        };
        entities::ALL.iter().map(of).collect()
    });
    let found = all.get(entities::number(entity));
    found.map_or(&[], Vec::as_slice)
}

fn is_indexed(entity: &Entity, at: usize) -> bool {
    let field = entity.field(at);
    let is_content = field.kind == Kind::Json
        || (field.kind == Kind::Text && field.ops.is_none() && !field.sortable);
    let mut filters = entities::ALL.iter().flat_map(|other| other.related);
    let is_compared = |filter: &RelatedFilter| {
        (filter.entity)().table == entity.table && filter.field == field.name
    };
    let has_index = entity
        .indices
        .iter()
        .any(|columns| columns.contains(&field.name));
    let narrows = || access::columns(entity).contains(&field.name);
    at == 0 || !is_content || has_index || narrows() || filters.any(is_compared)
}

/// The document ID of a row.
pub fn id_of(key: &Value) -> String {
    match key {
        Value::Int(number) => number.to_string(),
        Value::Text(text) if text.len() <= MAX_ID => text.to_string(),
        Value::Text(text) => hash(text),
        Value::Null => String::new(),
    }
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// The field value for a text: the text itself, or its stand-in if it is too long.
pub fn stand_in(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT {
        return Cow::Borrowed(text);
    }
    let mut end = MAX_TEXT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let beginning = text.get(..end).unwrap_or_default();
    Cow::Owned(format!("{beginning}{MARK}{}", hash(text)))
}

/// Whether a text read from a field may be the stand-in of a longer text.
pub fn may_stand_in(text: &str) -> bool {
    text.len() > MAX_TEXT
}

/// Writes a row with all its columns as a document, without line breaks.
pub fn write(entity: &Entity, row: &[Value], out: &mut String) {
    out.push('{');
    let mut long: Vec<(&Field, &str)> = Vec::new();
    let fields = entity.fields.iter().zip(indexed(entity));
    for ((field, is_indexed), value) in fields.zip(row) {
        let text = match value {
            Value::Null => continue,
            Value::Int(number) => {
                let _ = write!(out, "\"{}\":{number},", field.name);
                continue;
            }
            Value::Text(text) => text,
        };
        let _ = write!(out, "\"{}\":", field.name);
        if *is_indexed {
            let shown = stand_in(text);
            if matches!(shown, Cow::Owned(_)) {
                long.push((field, text));
            }
            answer::write_text(&shown, out);
        } else {
            answer::write_text(text, out);
        }
        out.push(',');
        if is_list(entity, field)
            && let Ok(items) = serde_json::from_str::<Vec<String>>(text)
        {
            let items = items.iter().map(|item| stand_in(item));
            let items = Json::from_iter(items.map(Cow::into_owned));
            let _ = write!(out, "\"{}\":{items},", items_name(field.name));
        }
    }
    if !long.is_empty() {
        write_long(&long, out);
    }
    if out.ends_with(',') {
        out.pop();
    }
    out.push('}');
}

fn write_long(long: &[(&Field, &str)], out: &mut String) {
    for name in [WHOLE, BRIEF] {
        let _ = write!(out, "\"{name}\":{{");
        for (n, (field, text)) in long.iter().enumerate() {
            let end = text.char_indices().nth(PREVIEW + 1).map(|(at, _)| at);
            let text = match (name, end) {
                (BRIEF, Some(end)) => text.get(..end).unwrap_or_default(),
                _ => text,
            };
            let _ = write!(out, "{}\"{}\":", if n > 0 { "," } else { "" }, field.name);
            answer::write_text(text, out);
        }
        out.push_str("},");
    }
}

/// Reads the columns of a row from a document, as far as they were requested.
pub fn read(entity: &Entity, source: &Json) -> Row {
    let fields = entity.fields.iter();
    fields.map(|field| value(field, source)).collect()
}

/// Reads one column of a row.
pub fn value(field: &Field, source: &Json) -> Value {
    if !is_text(field) {
        let number = source.get(field.name).and_then(Json::as_i64);
        return number.map_or(Value::Null, Value::Int);
    }
    let of = |object: &str| source.get(object).and_then(|texts| texts.get(field.name));
    let text = of(WHOLE)
        .or_else(|| of(BRIEF))
        .or_else(|| source.get(field.name));
    text.and_then(Json::as_str).map_or(Value::Null, Value::text)
}

/// Writes the action line of a bulk request.
pub fn action(action: &str, index: &str, id: &str, version: Option<u64>, out: &mut Vec<u8>) {
    let mut line = format!("{{\"{action}\":{{\"_index\":\"{index}\",\"_id\":");
    answer::write_text(id, &mut line);
    out.extend_from_slice(line.as_bytes());
    if let Some(version) = version {
        let _ = write!(
            out,
            ",\"version\":{version},\"version_type\":\"external_gte\""
        );
    }
    out.extend_from_slice(b"}}\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_query::entities::{PROCESS_INSTANCE, VARIABLE};

    #[test]
    fn a_row_survives_its_document() {
        let mut row = vec![Value::Null; VARIABLE.fields.len()];
        row[VARIABLE.column("variableKey")] = Value::Int(7);
        row[VARIABLE.column("name")] = Value::text("a\"\n\u{0}");
        for length in [10, MAX_TEXT, MAX_TEXT + 1, 100_000] {
            row[VARIABLE.column("value")] = Value::text(&"ä𝄞".repeat(length / 6));
            let mut text = String::new();
            write(&VARIABLE, &row, &mut text);
            assert!(!text.contains('\n'));
            let source: Json = serde_json::from_str(&text).unwrap();
            assert_eq!(read(&VARIABLE, &source), row);
            let indexed = source["value"].as_str().unwrap();
            assert!(indexed.len() <= 32_766);
        }
    }

    #[test]
    fn long_texts_that_begin_alike_have_other_stand_ins() {
        let (a, b) = ("x".repeat(40_000), "x".repeat(40_001));
        assert_ne!(stand_in(&a), stand_in(&b));
        assert!(may_stand_in(&stand_in(&a)) && !may_stand_in("x"));
    }

    #[test]
    fn items_of_lists_stand_by_themselves() {
        let mut row = vec![Value::Null; PROCESS_INSTANCE.fields.len()];
        row[PROCESS_INSTANCE.column("tags")] = Value::text(r#"["a","b'"]"#);
        let mut text = String::new();
        write(&PROCESS_INSTANCE, &row, &mut text);
        let source: Json = serde_json::from_str(&text).unwrap();
        assert_eq!(source["tags_items"], serde_json::json!(["a", "b'"]));
    }
}
