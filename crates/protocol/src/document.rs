//! Variables in transit: JSON text, checked once, brought into a canonical form and split at the top level only.

mod array;
mod check;
mod one_form;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

pub use array::{array_element, array_elements, array_end, nth_element};
pub use check::{MAX_DEPTH, MAX_NUMBER_EXPONENT, readable};
pub use one_form::in_one_form;

/// JSON text of one value. Cheap to clone, so that request, log and state share one copy.
pub type JsonText = Arc<str>;

/// The variables of a request: a JSON object, split into names and the text of each value, in the one form
/// ([`in_one_form`]).
///
/// A name that occurs twice keeps its last value, as JSON readers do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    entries: Vec<(Arc<str>, JsonText)>,
}

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum DocumentError {
    #[error("it is not the text of a JSON object: {0}")]
    NotAnObject(String),
    /// A value that no expression could read.
    #[error("{0}")]
    Unreadable(String),
}

impl Document {
    pub fn new() -> Document {
        Document::default()
    }

    /// Reads a JSON object. Empty text counts as no variables, as gRPC clients leave the field unset.
    pub fn parse(text: &str) -> Result<Document, DocumentError> {
        if text.trim_ascii().is_empty() {
            return Ok(Document::default());
        }
        serde_json::from_str(text).map_err(|e| match check::unreadable(&e.to_string()) {
            Some(unreadable) => DocumentError::Unreadable(unreadable),
            None => DocumentError::NotAnObject(e.to_string()),
        })
    }

    pub fn set(&mut self, name: impl Into<Arc<str>>, value: impl Into<JsonText>) {
        let (name, value) = (name.into(), value.into());
        match self.entries.iter_mut().find(|(n, _)| *n == name) {
            Some(entry) => entry.1 = value,
            None => self.entries.push((name, value)),
        }
    }

    pub fn get(&self, name: &str) -> Option<&JsonText> {
        self.entries
            .iter()
            .find(|(n, _)| &**n == name)
            .map(|(_, v)| v)
    }

    pub fn entries(&self) -> &[(Arc<str>, JsonText)] {
        &self.entries
    }

    pub fn into_entries(self) -> impl Iterator<Item = (Arc<str>, JsonText)> {
        self.entries.into_iter()
    }

    /// About how many bytes it takes in memory.
    pub fn weight(&self) -> usize {
        const ENTRY: usize = size_of::<(Arc<str>, JsonText)>() + 2 * size_of::<[usize; 2]>();
        let entries = self.entries.iter();
        entries
            .map(|(name, value)| ENTRY + name.len() + value.len())
            .sum()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn write_json(&self, out: &mut String) {
        let pairs = self.entries.iter().map(|(n, v)| (&**n, &**v));
        write_json_object(pairs, out);
    }

    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }
}

/// Writes a JSON object from names and the JSON texts of their values.
pub fn write_json_object<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>, out: &mut String) {
    out.push('{');
    let start = out.len();
    for (name, value) in pairs {
        if out.len() > start {
            out.push(',');
        }
        write_json_string(name, out);
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
}

/// Writes a JSON string with its quotes.
pub fn write_json_string(text: &str, out: &mut String) {
    let plain = |b: &u8| *b >= 0x20 && *b != b'"' && *b != b'\\';
    if text.as_bytes().iter().all(plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    // Serializing a str to JSON cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
                let mut document = Document::default();
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    let value: &'de RawValue = map.next_value()?;
                    let value = value.get();
                    let has_one_form = check::readable(&name, value).map_err(A::Error::custom)?;
                    let value: JsonText = if has_one_form {
                        value.into()
                    } else {
                        one_form::rewritten(value).into()
                    };
                    let name: Arc<str> = Arc::from(&*name);
                    // Few names: a scan is cheaper than a set. Many names: a scan would be quadratic.
                    if document.entries.len() < 64 {
                        document.set(name, value);
                    } else {
                        document.entries.push((name, value));
                    }
                }
                if document.entries.len() > 64 {
                    document.keep_last_of_each_name();
                }
                Ok(document)
            }
        }
        if !deserializer.is_human_readable() {
            let entries = Vec::deserialize(deserializer)?;
            return Ok(Document { entries });
        }
        deserializer.deserialize_map(Entries)
    }
}

/// Between nodes: names and texts as they are. They were checked where the client sent them.
impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries.serialize(serializer)
    }
}

impl Document {
    fn keep_last_of_each_name(&mut self) {
        let mut seen = std::collections::HashSet::new();
        let mut kept: Vec<_> = self.entries.drain(..).rev().collect();
        kept.retain(|(name, _)| seen.insert(name.clone()));
        kept.reverse();
        self.entries = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_numbers_and_the_order_of_their_members() {
        let document =
            Document::parse(r#"{"a": 1.50, "b" : {"d": 1, "c": [1, 2]}, "a\"": null}"#).unwrap();
        assert_eq!(
            document.to_json(),
            r#"{"a":1.50,"b":{"d":1,"c":[1,2]},"a\"":null}"#
        );
    }

    #[test]
    fn the_last_of_equal_names_wins() {
        assert_eq!(
            Document::parse(r#"{"a":1,"a":2}"#).unwrap().to_json(),
            r#"{"a":2}"#
        );
        let many: String = (0..200).map(|i| format!("\"v{}\":{i},", i % 100)).collect();
        let document = Document::parse(&format!("{{{}\"z\":0}}", many)).unwrap();
        assert_eq!(document.entries().len(), 101);
        assert_eq!(&**document.get("v99").unwrap(), "199");
    }

    #[test]
    fn only_an_object_is_a_document() {
        assert!(Document::parse("").unwrap().is_empty());
        for text in ["[]", "1", "\"a\"", "{", "{\"a\":}", "{\"a\":1}x"] {
            assert!(Document::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn documents_that_no_expression_could_read_are_refused() {
        let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(201), "]".repeat(201));
        for (text, said) in [(deep.as_str(), "200"), (r#"{"a":1,"b":1e7000}"#, "'b'")] {
            match Document::parse(text) {
                Err(DocumentError::Unreadable(why)) => assert!(why.contains(said), "{why}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
