//! From JSON text to values.

use std::sync::Arc;

use super::MAX_JSON_DEPTH;
use crate::number::Number;
use crate::value::{Context, KEY, List, SHARED, SLOT, Value};

/// The text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid JSON at byte {offset}: {message}")]
pub struct JsonError {
    /// Where, counted from 0.
    pub offset: usize,
    /// The expected syntax.
    pub message: &'static str,
}

impl Value {
    /// Reads JSON. Numbers keep their digits (34 significant ones), objects become contexts with the order of their keys;
    /// of equal keys the first one is read. At most 200 levels deep.
    pub fn from_json(text: &str) -> Result<Value, JsonError> {
        read(text, u64::MAX).map(Option::unwrap_or_default)
    }
}

/// Reads JSON; nothing, when the value would take more memory than there is room.
pub(crate) fn read(text: &str, room: u64) -> Result<Option<Value>, JsonError> {
    let mut reader = Reader {
        text,
        at: 0,
        keys: Vec::new(),
        next_key: 0,
        entries: 4,
        room,
    };
    reader.space();
    let value = match reader.value(0) {
        Err(error) if error.message == NO_ROOM => return Ok(None),
        other => other?,
    };
    reader.space();
    if reader.at < text.len() {
        Err(reader.error("expected the end of the text"))
    } else {
        Ok(Some(value))
    }
}

/// The value takes more memory than there is room.
const NO_ROOM: &str = "the value takes too much memory";

/// Objects in a list mostly have the same keys: the last ones are kept to be shared.
const KEPT_KEYS: usize = 64;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    keys: Vec<Arc<str>>,
    /// Where the next key stands among the kept ones, if this object is like the last one.
    next_key: usize,
    /// The number of entries of the last object.
    entries: usize,
    /// Bytes that values may still take.
    room: u64,
}

impl<'a> Reader<'a> {
    fn error(&self, message: &'static str) -> JsonError {
        JsonError {
            offset: self.at,
            message,
        }
    }

    /// Counts the memory of the value that is being built.
    #[inline]
    fn take(&mut self, bytes: u64) -> Result<(), JsonError> {
        match self.room.checked_sub(bytes) {
            Some(room) => {
                self.room = room;
                Ok(())
            }
            None => Err(self.error(NO_ROOM)),
        }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: u32) -> Result<Value, JsonError> {
        match self.peek() {
            Some(b'"') => {
                let (raw, escaped) = self.raw_string()?;
                self.take(SHARED + raw.len() as u64)?;
                Ok(Value::String(if escaped {
                    Arc::from(self.unescape(raw)?)
                } else {
                    Arc::from(raw)
                }))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b't') => self.word("true", Value::Boolean(true)),
            Some(b'f') => self.word("false", Value::Boolean(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.error("expected a value")),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if self.text.as_bytes().get(self.at..self.at + word.len()) == Some(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.error("expected a value"))
        }
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        // Short numbers, by far the most, need no second pass.
        let first = self.at;
        let mut mantissa: i64 = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            mantissa = mantissa
                .wrapping_mul(10)
                .wrapping_add(i64::from(digit - b'0'));
            self.at += 1;
        }
        let mut count = self.at - first;
        if count == 0 || (count > 1 && self.text.as_bytes().get(first) == Some(&b'0')) {
            return Err(self.error("expected a number without leading zeros"));
        }
        let mut scale = 0;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let fraction = self.at;
            while let Some(digit @ b'0'..=b'9') = self.peek() {
                mantissa = mantissa
                    .wrapping_mul(10)
                    .wrapping_add(i64::from(digit - b'0'));
                self.at += 1;
            }
            scale = self.at - fraction;
            if scale == 0 {
                return Err(self.error("expected a digit"));
            }
            count += scale;
        }
        let exponent = matches!(self.peek(), Some(b'e' | b'E'));
        if count <= 18 && !exponent {
            return Ok(Value::Number(Number::small(
                if first > start { -mantissa } else { mantissa },
                scale as i8,
            )));
        }
        if exponent {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let number: Option<Number> = self
            .text
            .get(start..self.at)
            .and_then(|text| text.parse().ok());
        number
            .map(|number| Value::Number(number.without_exponent()))
            .ok_or_else(|| self.error("the number is too large"))
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            Err(self.error("expected a digit"))
        } else {
            Ok(())
        }
    }

    /// The text between the quotes, and whether it holds escapes.
    fn raw_string(&mut self) -> Result<(&'a str, bool), JsonError> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let plain = rest
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0..=31));
            self.at += plain.unwrap_or(rest.len());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                _ => return Err(self.error("expected the end of the string")),
            }
        }
        let raw = self
            .text
            .get(start..self.at)
            .ok_or_else(|| self.error("broken escape"))?;
        self.at += 1;
        Ok((raw, escaped))
    }

    fn unescape(&self, raw: &str) -> Result<String, JsonError> {
        super::scan::unescape(raw).ok_or_else(|| self.error("broken escape"))
    }

    fn array(&mut self, depth: u32) -> Result<Value, JsonError> {
        if depth >= MAX_JSON_DEPTH {
            return Err(self.error("nested more than 200 levels"));
        }
        self.at += 1;
        self.take(List::EMPTY)?;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::List(List::new(items)));
        }
        loop {
            self.space();
            self.take(SLOT)?;
            items.push(self.value(depth + 1)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::List(List::new(items)));
                }
                _ => return Err(self.error("expected ',' or ']'")),
            }
        }
    }

    fn object(&mut self, depth: u32) -> Result<Value, JsonError> {
        if depth >= MAX_JSON_DEPTH {
            return Err(self.error("nested more than 200 levels"));
        }
        self.at += 1;
        self.take(Context::EMPTY)?;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Context(Context::new(Vec::new())));
        }
        // Objects next to each other are alike.
        let mut entries = Vec::with_capacity(self.entries);
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key"));
            }
            let key = self.key()?;
            self.take(SLOT + KEY + key.len() as u64)?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.error("expected ':'"));
            }
            self.at += 1;
            self.space();
            entries.push((key, self.value(depth + 1)?));
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    self.entries = entries.len().min(KEPT_KEYS);
                    return Ok(Value::Context(Context::new(entries)));
                }
                _ => return Err(self.error("expected ',' or '}'")),
            }
        }
    }

    fn key(&mut self) -> Result<Arc<str>, JsonError> {
        let (raw, escaped) = self.raw_string()?;
        if escaped {
            return Ok(Arc::from(self.unescape(raw)?));
        }
        if let Some(key) = self.keys.get(self.next_key)
            && **key == *raw
        {
            self.next_key += 1;
            return Ok(Arc::clone(key));
        }
        // The first key of an object follows the last one of the object before.
        if let Some(position) = self.keys.iter().position(|key| **key == *raw) {
            self.next_key = position + 1;
            return self
                .keys
                .get(position)
                .map(Arc::clone)
                .ok_or_else(|| self.error("expected a key"));
        }
        let key: Arc<str> = Arc::from(raw);
        if self.keys.len() < KEPT_KEYS {
            self.keys.push(Arc::clone(&key));
            self.next_key = self.keys.len();
        }
        Ok(key)
    }
}
