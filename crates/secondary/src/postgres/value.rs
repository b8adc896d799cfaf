//! Converts values to statement parameters and from rows.

use std::borrow::Cow;
use std::error::Error;

use bytes::BytesMut;
use skep_query::{Row, Value};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// PostgreSQL texts cannot contain U+0000. It is stored as this character, the symbol for NULL.
const NULL_PICTURE: &str = "\u{2400}";

/// A text in a form that PostgreSQL can store.
pub fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', NULL_PICTURE))
    } else {
        Cow::Borrowed(text)
    }
}

/// A JSON list as text, in a form from which PostgreSQL can extract the items as texts.
pub fn storable_list(json: &str) -> Cow<'_, str> {
    if !json.contains("\\u0000") {
        return storable(json);
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (escape, after) = match escape.strip_prefix("\\u0000") {
            Some(after) => (NULL_PICTURE, after),
            // Escape sequences are ASCII.
            None => escape.split_at_checked(2).unwrap_or((escape, "")),
        };
        out.push_str(escape);
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// A parameter with the SQL type of its value.
#[derive(Debug)]
pub struct Bound<'a>(pub &'a Value);

impl Bound<'_> {
    pub fn kind(&self) -> Type {
        match self.0 {
            Value::Int(_) => Type::INT8,
            Value::Null | Value::Text(_) => Type::TEXT,
        }
    }
}

impl ToSql for Bound<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(number) => number.to_sql(kind, out),
            Value::Text(text) => storable(text).to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::INT8 || *kind == Type::TEXT
    }

    to_sql_checked!();
}

/// The first values of a row.
pub fn row(found: &tokio_postgres::Row, columns: usize) -> Row {
    let value = |at: usize| match found.columns().get(at).map(|column| column.type_()) {
        Some(kind) if *kind == Type::INT8 => found
            .get::<_, Option<i64>>(at)
            .map_or(Value::Null, Value::Int),
        Some(kind) if *kind == Type::TEXT => found
            .get::<_, Option<&str>>(at)
            .map_or(Value::Null, Value::text),
        // No column has another type.
        _ => Value::Null,
    };
    (0..columns).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_character_zero_is_pictured() {
        assert_eq!(storable("a\0b"), "a␀b");
        assert_eq!(storable("ab"), "ab");
        assert_eq!(
            storable_list(r#"["a\u0000","\\u0000","\"\u0000"]"#),
            r#"["a␀","\\u0000","\"␀"]"#
        );
        assert_eq!(storable_list(r#"["\u0000\"#), r#"["␀\"#);
    }
}
