//! Where a page begins or ends: the sort values of its first or last row.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::entity::Kind;
use crate::value::Value;

/// The values of the sort fields and, at the end, the key of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cursor(pub Vec<Value>);

/// Characters of a cursor at most: sort values may be long texts.
const MAX_LENGTH: usize = 256 << 10;

impl Cursor {
    pub fn encode(&self) -> String {
        let values = self.0.iter().map(|value| match value {
            Value::Null => Json::Null,
            Value::Int(number) => json!(number),
            Value::Text(text) => json!(text),
        });
        STANDARD.encode(Json::Array(values.collect()).to_string())
    }

    /// Reads a cursor with values of these kinds; `None` if it is no cursor of such a search.
    pub fn decode(text: &str, kinds: &[Kind]) -> Option<Cursor> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let bytes = STANDARD_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
        let Json::Array(values) = serde_json::from_slice(&bytes).ok()? else {
            return None;
        };
        let values: Option<Vec<Value>> = values
            .into_iter()
            .map(|value| match value {
                Json::Null => Some(Value::Null),
                Json::Number(number) => number.as_i64().map(Value::Int),
                Json::String(text) => Some(Value::Text(text.into())),
                _ => None,
            })
            .collect();
        let values = values?;
        let has_key = values.last().is_some_and(|key| *key != Value::Null);
        let mut pairs = values.iter().zip(kinds);
        let fits = values.len() == kinds.len() && pairs.all(|(value, kind)| is_of(value, *kind));
        (fits && has_key).then_some(Cursor(values))
    }
}

fn is_of(value: &Value, kind: Kind) -> bool {
    let is_text = matches!(kind, Kind::Text | Kind::Enum(_) | Kind::Json);
    match value {
        Value::Null => true,
        Value::Int(_) => !is_text,
        Value::Text(_) => is_text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_text() {
        let cursor = Cursor(vec![Value::Null, Value::text("ä\""), Value::Int(-3)]);
        let kinds = [Kind::Time, Kind::Text, Kind::Key];
        assert_eq!(
            Cursor::decode(&cursor.encode(), &kinds),
            Some(cursor.clone())
        );
        assert_eq!(Cursor::decode(&cursor.encode(), &kinds[..2]), None);
        // A cursor of another sort.
        let others = [Kind::Time, Kind::Int, Kind::Key];
        assert_eq!(Cursor::decode(&cursor.encode(), &others), None);
        assert_eq!(Cursor::decode("no cursor", &[Kind::Key]), None);
        assert_eq!(Cursor::decode("", &[Kind::Key]), None);
    }
}
