//! Reads the fields of a record's body one by one, texts in place.
//!
//! The encoding is that of postcard: numbers as variable-length integers (signed ones in zigzag), texts and lists with their
//! length in front. Recovery reads hundreds of thousands of bodies a second and needs only the first fields of most: this is
//! several times cheaper than decoding a whole value.

use crate::intent::ValueType;
use crate::key::{self, Key};
use crate::record::{DecodeError, read_varint};

#[derive(Clone, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    value_type: ValueType,
    version: u8,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8], value_type: ValueType, version: u8) -> Fields<'a> {
        Fields {
            bytes,
            at: 0,
            value_type,
            version,
        }
    }

    #[cold]
    fn error(&self, what: &str) -> DecodeError {
        DecodeError::Body {
            value_type: self.value_type,
            version: self.version,
            reason: format!("no {what} at byte {}", self.at),
        }
    }

    #[inline]
    pub fn unsigned(&mut self) -> Result<u64, DecodeError> {
        match read_varint(self.bytes, &mut self.at) {
            Some(number) => Ok(number),
            None => Err(self.error("number")),
        }
    }

    #[inline]
    pub fn signed(&mut self) -> Result<i64, DecodeError> {
        let number = self.unsigned()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    #[inline]
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        match u32::try_from(self.unsigned()?) {
            Ok(number) => Ok(number),
            Err(_) => Err(self.error("32-bit number")),
        }
    }

    #[inline]
    pub fn i32(&mut self) -> Result<i32, DecodeError> {
        match i32::try_from(self.signed()?) {
            Ok(number) => Ok(number),
            Err(_) => Err(self.error("32-bit number")),
        }
    }

    #[inline]
    pub fn key(&mut self) -> Result<Key, DecodeError> {
        Ok(key::from_wire(self.unsigned()?))
    }

    /// Number of entries of the list that follows.
    #[inline]
    pub fn length(&mut self) -> Result<usize, DecodeError> {
        match usize::try_from(self.unsigned()?) {
            Ok(length) if length <= self.bytes.len() => Ok(length),
            _ => Err(self.error("length")),
        }
    }

    #[inline]
    pub fn text(&mut self) -> Result<&'a str, DecodeError> {
        let length = self.length()?;
        let text = self.bytes.get(self.at..self.at.saturating_add(length));
        match text.map(str::from_utf8) {
            Some(Ok(text)) => {
                self.at += length;
                Ok(text)
            }
            _ => Err(self.error("text")),
        }
    }

    /// Goes past a text; returns its length in bytes.
    #[inline]
    pub fn skip_text(&mut self) -> Result<usize, DecodeError> {
        let length = self.length()?;
        self.at += length;
        if self.at > self.bytes.len() {
            return Err(self.error("text"));
        }
        Ok(length)
    }

    /// An optional field: is it there? Its value follows.
    #[inline]
    pub fn is_some(&mut self) -> Result<bool, DecodeError> {
        match self.unsigned()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.error("option")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::encode;

    fn fields(bytes: &[u8]) -> Fields<'_> {
        Fields::new(bytes, ValueType::Job, 1)
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
            while fields.text().is_ok() && fields.at < bytes.len() {}
            proptest::prop_assert!(fields.at <= bytes.len());
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
