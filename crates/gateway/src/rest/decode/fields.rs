//! Field types that serde does not have: strings that borrow, and keys.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use skep_protocol::{Failure, Key};

use crate::check::{self, invalid};

/// A string of the body; copied only when it holds escapes.
#[derive(Clone, Debug, PartialEq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl Text<'_> {
    pub fn shared(&self) -> Arc<str> {
        Arc::from(&*self.0)
    }

    pub fn owned(self) -> String {
        self.0.into_owned()
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Strings;
        impl<'de> Visitor<'de> for Strings {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(Strings)
    }
}

/// A key in a body: a string of decimal digits, as JavaScript cannot hold 64 bits in a number.
#[derive(Clone, Copy, Debug)]
pub struct KeyText(pub Key);

impl<'de> Deserialize<'de> for KeyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = KeyText;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a key: a string of decimal digits")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<KeyText, E> {
                let key = parse_key(text);
                key.map(KeyText)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Digits)
    }
}

/// A JSON object. Read without this, a struct would be read from an array as well, field by field.
#[derive(Debug, Default)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// Zeros before a number do not make it larger, but keys are not written so.
const MAX_KEY_CHARS: usize = 25;

/// `-?[0-9]+` that fits into 64 bits.
pub fn parse_key(text: &str) -> Option<Key> {
    if text.starts_with('+') || text.len() > MAX_KEY_CHARS {
        return None;
    }
    text.parse().ok().map(Key)
}

/// The value of a field that has to be there.
pub fn present<T>(field: Option<T>, name: &str, what: &str) -> Result<T, Failure> {
    match field {
        Some(value) => Ok(value),
        None => invalid(format!("The field '{name}' is missing. {what}")),
    }
}

/// The value of a text that must be present and not empty.
pub fn said<'a>(field: Option<Text<'a>>, name: &str, what: &str) -> Result<Text<'a>, Failure> {
    let text = present(field, name, what)?;
    check::not_blank(name, &text, what)?;
    Ok(text)
}

/// A name under which something is found: it must be present, not blank, and not too long.
pub fn named<'a>(field: Option<Text<'a>>, name: &str, what: &str) -> Result<Text<'a>, Failure> {
    let text = said(field, name, what)?;
    check::length(name, &text)?;
    Ok(text)
}

/// Like [`named`], but it may be missing, which means the empty text.
pub fn bounded(field: Option<Text>, name: &str) -> Result<Arc<str>, Failure> {
    let text = field.as_deref().unwrap_or_default();
    check::length(name, text)?;
    Ok(text.into())
}

pub fn owned(texts: Option<Vec<Text>>) -> Vec<String> {
    texts.into_iter().flatten().map(Text::owned).collect()
}

pub fn shared(texts: Option<Vec<Text>>) -> Vec<Arc<str>> {
    texts.into_iter().flatten().map(|t| t.shared()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_decimal_number_of_64_bits() {
        assert_eq!(parse_key("2251799813685249"), Some(Key(2251799813685249)));
        assert_eq!(parse_key("-1"), Some(Key(-1)));
        for bad in ["", "+1", "1.0", "a", " 1", "9223372036854775808", "0x1"] {
            assert_eq!(parse_key(bad), None, "{bad}");
        }
    }

    #[test]
    fn texts_borrow_unless_they_hold_escapes() {
        let plain: Text = serde_json::from_str(r#""abc""#).unwrap();
        assert!(matches!(plain.0, Cow::Borrowed("abc")));
        let escaped: Text = serde_json::from_str(r#""a\n""#).unwrap();
        assert_eq!(&*escaped, "a\n");
        assert!(serde_json::from_str::<Text>("5").is_err());
    }
}
