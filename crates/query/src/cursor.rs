//! Cursors: where a page begins or ends, given by the sort values of its first or last row.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::entity::{Entity, Kind};
use crate::value::Value;

/// The values of a row's sort fields, followed by its key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cursor(pub Vec<Value>);

/// Maximum length of a cursor in characters. Sort values may be long texts.
const MAX_LENGTH: usize = 256 << 10;

impl Cursor {
    /// Encodes the cursor as text, including the entity it belongs to.
    pub fn encode(&self, of: &Entity) -> String {
        let values = self.0.iter().map(|value| match value {
            Value::Null => Json::Null,
            Value::Int(number) => json!(number),
            Value::Text(text) => json!(text),
        });
        let all = std::iter::once(json!({ "of": of.table })).chain(values);
        STANDARD.encode(Json::Array(all.collect()).to_string())
    }

    /// Decodes a cursor of this entity with values of these kinds; `None` if it does not fit the search.
    pub fn decode(text: &str, of: &Entity, kinds: &[Kind]) -> Option<Cursor> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let bytes = STANDARD_NO_PAD.decode(text.trim_end_matches('=')).ok()?;
        let Json::Array(values) = serde_json::from_slice(&bytes).ok()? else {
            return None;
        };
        // Cursors of earlier versions do not contain the entity.
        let says_so = values.first().is_some_and(Json::is_object);
        let mut values = values.into_iter();
        if says_so && values.next()? != json!({ "of": of.table }) {
            return None;
        }
        let values: Option<Vec<Value>> = values
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
    use crate::entities::{INCIDENT, JOB};

    #[test]
    fn a_cursor_survives_its_text() {
        let cursor = Cursor(vec![Value::Null, Value::text("ä\""), Value::Int(-3)]);
        let kinds = [Kind::Time, Kind::Text, Kind::Key];
        let text = cursor.encode(&JOB);
        assert_eq!(Cursor::decode(&text, &JOB, &kinds), Some(cursor.clone()));
        assert_eq!(Cursor::decode(&text, &JOB, &kinds[..2]), None);
        // A cursor of another sort, and a cursor of another entity.
        let others = [Kind::Time, Kind::Int, Kind::Key];
        assert_eq!(Cursor::decode(&text, &JOB, &others), None);
        assert_eq!(Cursor::decode(&text, &INCIDENT, &kinds), None);
        assert_eq!(Cursor::decode("no cursor", &JOB, &[Kind::Key]), None);
        assert_eq!(Cursor::decode("", &JOB, &[Kind::Key]), None);
        // A cursor of an earlier version.
        let former = Cursor(vec![Value::Int(1)]);
        assert_eq!(Cursor::decode("WzFd", &JOB, &[Kind::Key]), Some(former));
    }
}
