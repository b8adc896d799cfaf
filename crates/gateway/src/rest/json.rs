//! Writes JSON by hand, into one buffer: the answers are flat, and user data is JSON text already.

use skep_protocol::Key;
use skep_protocol::document::write_json_string;

/// Writes the members of one JSON object.
pub struct Object<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> Object<'a> {
    /// Writes one object; `members` writes its members.
    pub fn write(out: &mut String, members: impl FnOnce(&mut Object)) {
        out.push('{');
        members(&mut Object { out, first: true });
        out.push('}');
    }

    /// Names are ours and need no escaping.
    fn name(&mut self, name: &'static str) {
        self.out.push_str(if self.first { "\"" } else { ",\"" });
        self.first = false;
        self.out.push_str(name);
        self.out.push_str("\":");
    }

    pub fn text(&mut self, name: &'static str, value: &str) {
        self.name(name);
        write_json_string(value, self.out);
    }

    pub fn optional_text(&mut self, name: &'static str, value: Option<&str>) {
        match value {
            Some(value) => self.text(name, value),
            None => self.raw(name, "null"),
        }
    }

    pub fn number(&mut self, name: &'static str, value: i64) {
        self.name(name);
        self.out.push_str(itoa::Buffer::new().format(value));
    }

    /// A key is a string of digits, as JavaScript cannot hold 64 bits in a number.
    pub fn key(&mut self, name: &'static str, key: Key) {
        self.name(name);
        self.out.push('"');
        self.out.push_str(itoa::Buffer::new().format(key.0));
        self.out.push('"');
    }

    pub fn optional_key(&mut self, name: &'static str, key: Option<Key>) {
        match key {
            Some(key) => self.key(name, key),
            None => self.raw(name, "null"),
        }
    }

    /// A value that is JSON text already.
    pub fn raw(&mut self, name: &'static str, json: &str) {
        self.name(name);
        self.out.push_str(json);
    }

    pub fn object(&mut self, name: &'static str, members: impl FnOnce(&mut Object)) {
        self.name(name);
        Object::write(self.out, members);
    }

    pub fn array<T>(
        &mut self,
        name: &'static str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut String, T),
    ) {
        self.name(name);
        self.out.push('[');
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.out.push(',');
            }
            write(self.out, item);
        }
        self.out.push(']');
    }

    pub fn texts(&mut self, name: &'static str, texts: &[String]) {
        self.array(name, texts, |out, text| write_json_string(text, out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_valid_json() {
        let mut out = String::new();
        Object::write(&mut out, |o| {
            o.text("a", "quote \" and \n");
            o.number("b", -3);
            o.key("c", Key(7));
            o.optional_key("d", None);
            o.raw("e", r#"{"x": 1.50}"#);
            o.texts("f", &["x".into(), "y".into()]);
            o.object("g", |o| o.optional_text("h", None));
        });
        assert_eq!(
            out,
            r#"{"a":"quote \" and \n","b":-3,"c":"7","d":null,"e":{"x": 1.50},"f":["x","y"],"g":{"h":null}}"#
        );
        assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok());
    }
}
