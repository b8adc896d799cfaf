//! Reads the fields of a record's body one by one, texts in place.
//!
//! The encoding is that of postcard: numbers as variable-length integers (signed ones in zigzag), texts and lists preceded
//! by their length. Recovery reads hundreds of thousands of bodies a second and needs only the first fields of most: this
//! is several times cheaper than decoding a whole value.

use crate::header_view::Skim;
use crate::intent::ValueType;
use crate::key::Key;
use crate::record::DecodeError;

#[derive(Clone, Debug)]
pub struct Fields<'a> {
    body: Skim<'a>,
    value_type: ValueType,
    version: u8,
}

impl<'a> Fields<'a> {
    #[inline]
    pub(crate) fn new(body: Skim<'a>, value_type: ValueType, version: u8) -> Fields<'a> {
        Fields {
            body,
            value_type,
            version,
        }
    }

    #[cold]
    fn error(&self, what: &str) -> DecodeError {
        DecodeError::Body {
            value_type: self.value_type,
            version: self.version,
            reason: format!("no {what} at byte {}", self.body.at()),
        }
    }

    #[inline(always)]
    pub fn unsigned(&mut self) -> Result<u64, DecodeError> {
        match self.body.number() {
            Some(number) => Ok(number),
            None => Err(self.error("number")),
        }
    }

    #[inline(always)]
    pub fn signed(&mut self) -> Result<i64, DecodeError> {
        match self.body.signed() {
            Some(number) => Ok(number),
            None => Err(self.error("number")),
        }
    }

    #[inline(always)]
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        match self.body.u32() {
            Some(number) => Ok(number),
            None => Err(self.error("32-bit number")),
        }
    }

    #[inline(always)]
    pub fn i32(&mut self) -> Result<i32, DecodeError> {
        match self.body.i32() {
            Some(number) => Ok(number),
            None => Err(self.error("32-bit number")),
        }
    }

    #[inline(always)]
    pub fn key(&mut self) -> Result<Key, DecodeError> {
        match self.body.key() {
            Some(key) => Ok(key),
            None => Err(self.error("key")),
        }
    }

    /// Skips a number or a key.
    #[inline(always)]
    pub fn skip_number(&mut self) -> Result<(), DecodeError> {
        match self.body.skip_number() {
            Some(()) => Ok(()),
            None => Err(self.error("number")),
        }
    }

    /// Number of entries of the list that follows.
    #[inline(always)]
    pub fn length(&mut self) -> Result<usize, DecodeError> {
        match self.body.length() {
            Some(length) => Ok(length),
            None => Err(self.error("length")),
        }
    }

    /// The bytes of a text, which need not be one.
    #[inline(always)]
    pub fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        match self.body.text() {
            Some(bytes) => Ok(bytes),
            None => Err(self.error("text")),
        }
    }

    #[inline(always)]
    pub fn text(&mut self) -> Result<&'a str, DecodeError> {
        match str::from_utf8(self.bytes()?) {
            Ok(text) => Ok(text),
            Err(_) => Err(self.error("text")),
        }
    }

    /// Skips a text; returns its length in bytes.
    #[inline(always)]
    pub fn skip_text(&mut self) -> Result<usize, DecodeError> {
        match self.body.skip_text() {
            Some(length) => Ok(length),
            None => Err(self.error("text")),
        }
    }

    /// Reads whether an optional field is present. Its value follows.
    #[inline(always)]
    pub fn is_some(&mut self) -> Result<bool, DecodeError> {
        match self.body.is_some() {
            Some(is_some) => Ok(is_some),
            None => Err(self.error("option")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::encode;

    fn fields(bytes: &[u8]) -> Fields<'_> {
        Fields::new(Skim::new(bytes, bytes.len()), ValueType::Job, 1)
    }

    proptest::proptest! {
        #[test]
        fn fields_are_read_as_they_were_encoded(
            unsigned: u64, signed: i64, small: i32, text: String, key in 1i64..(1 << 62), list: Vec<u32>, some: Option<u32>
        ) {
            let bytes = encode(&(unsigned, signed, small, &text, Key(key), Key::NONE, &list, &text, some));
            let mut fields = fields(&bytes);
            proptest::prop_assert_eq!(fields.unsigned(), Ok(unsigned));
            proptest::prop_assert_eq!(fields.signed(), Ok(signed));
            proptest::prop_assert_eq!(fields.i32(), Ok(small));
            proptest::prop_assert_eq!(fields.text(), Ok(text.as_str()));
            proptest::prop_assert_eq!(fields.key(), Ok(Key(key)));
            proptest::prop_assert_eq!(fields.key(), Ok(Key::NONE));
            proptest::prop_assert_eq!(fields.length(), Ok(list.len()));
            for number in list {
                proptest::prop_assert_eq!(fields.u32(), Ok(number));
            }
            proptest::prop_assert_eq!(fields.skip_text(), Ok(text.len()));
            proptest::prop_assert_eq!(fields.is_some(), Ok(some.is_some()));
        }

        #[test]
        fn damaged_bytes_give_errors(bytes: Vec<u8>) {
            let mut fields = fields(&bytes);
            while fields.text().is_ok() && fields.body.at() < bytes.len() {}
            proptest::prop_assert!(fields.body.at() <= bytes.len());
        }
    }

    #[test]
    fn an_error_says_where_the_body_ends_too_early() {
        let bytes = encode(&"text");
        let error = fields(&bytes[..4]).text().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the body of Job (version 1) cannot be read: no text at byte 1"
        );
    }
}
