//! Writing JSON request bodies. Variables are copied in as the text they are.

use std::io::Write as _;

use bytes::Bytes;

/// A JSON object being written.
#[derive(Debug)]
pub(super) struct JsonObject {
    buffer: Vec<u8>,
}

impl JsonObject {
    /// `capacity` in bytes, to be near the final size.
    pub(super) fn new(capacity: usize) -> Self {
        let mut buffer = Vec::with_capacity(capacity);
        buffer.push(b'{');
        Self { buffer }
    }

    /// Names are our own and need no escapes.
    fn name(&mut self, name: &str) {
        if self.buffer.len() > 1 {
            self.buffer.push(b',');
        }
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.extend_from_slice(b"\":");
    }

    fn text(&mut self, value: &str) {
        // writing a str to a Vec cannot fail
        let _ = serde_json::to_writer(&mut self.buffer, value);
    }

    pub(super) fn string(mut self, name: &str, value: &str) -> Self {
        self.name(name);
        self.text(value);
        self
    }

    pub(super) fn string_if(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.string(name, value),
            None => self,
        }
    }

    pub(super) fn number(mut self, name: &str, value: i64) -> Self {
        self.name(name);
        let _ = write!(self.buffer, "{value}");
        self
    }

    pub(super) fn bool(mut self, name: &str, value: bool) -> Self {
        self.name(name);
        let _ = write!(self.buffer, "{value}");
        self
    }

    /// A key: a string of digits.
    pub(super) fn key(mut self, name: &str, value: i64) -> Self {
        self.name(name);
        let _ = write!(self.buffer, "\"{value}\"");
        self
    }

    /// JSON text, taken as it is: the server checks it.
    pub(super) fn json(mut self, name: &str, value: &str) -> Self {
        self.name(name);
        self.buffer.extend_from_slice(value.as_bytes());
        self
    }

    pub(super) fn json_if(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.json(name, value),
            None => self,
        }
    }

    /// A list of strings, left out when empty.
    pub(super) fn strings(mut self, name: &str, values: &[String]) -> Self {
        if values.is_empty() {
            return self;
        }
        self.name(name);
        for (index, value) in values.iter().enumerate() {
            self.buffer.push(if index == 0 { b'[' } else { b',' });
            self.text(value);
        }
        self.buffer.push(b']');
        self
    }

    pub(super) fn finish(mut self) -> Bytes {
        self.buffer.push(b'}');
        self.buffer.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_commas_between_members_and_escapes_in_strings() {
        let body = JsonObject::new(16)
            .string("a", "x\"\n")
            .number("b", -1)
            .bool("c", true)
            .key("d", 2251799813685249)
            .json("e", r#"{"n":1.50}"#)
            .strings("f", &["1".into(), "2".into()])
            .strings("g", &[])
            .string_if("h", None)
            .json_if("i", Some("null"))
            .finish();
        assert_eq!(
            body,
            r#"{"a":"x\"\n","b":-1,"c":true,"d":"2251799813685249","e":{"n":1.50},"f":["1","2"],"i":null}"#
        );
        assert_eq!(JsonObject::new(2).finish(), "{}");
    }
}
