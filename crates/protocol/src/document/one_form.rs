//! The canonical form of JSON texts: no white space between tokens, and in strings only necessary escapes, in their
//! shortest spelling. Numbers stay as they were sent. Equal values then have equal texts, and searches compare texts.

use std::borrow::Cow;

use super::check::{end_of_string, is_space, unit};
use super::write_json_string;

/// A valid JSON text in the one form.
pub fn in_one_form(json: &str) -> Cow<'_, str> {
    // Nearly all texts are plain in all of their bytes.
    let may_change = |byte: &u8| *byte == b'\\' || is_space(*byte);
    if !json.as_bytes().iter().any(may_change) {
        return Cow::Borrowed(json);
    }
    let text = rewritten(json);
    if text == json {
        Cow::Borrowed(json)
    } else {
        Cow::Owned(text)
    }
}

/// Whether an escape is written as the one form has it: its length if so. It stands where the backslash is.
pub(super) fn needed_escape(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => {
            let has_no_name = |unit: &u32| *unit < 0x20 && !matches!(unit, 8 | 9 | 10 | 12 | 13);
            unit(bytes, at).filter(has_no_name)?;
            let digits = bytes.get(at + 2..at + 6)?;
            (!digits.iter().any(u8::is_ascii_uppercase)).then_some(6)
        }
        _ => None,
    }
}

/// The text in the one form, whether it has it already or not.
pub(super) fn rewritten(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut out = String::with_capacity(json.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'"' => end_of_string(bytes, at + 1).unwrap_or(bytes.len()),
            byte if is_space(*byte) => {
                at += 1;
                continue;
            }
            _ => {
                let rest = bytes.get(at..).unwrap_or_default();
                let next = rest.iter().position(|b| *b == b'"' || is_space(*b));
                at + next.unwrap_or(rest.len())
            }
        };
        let part = json.get(at..end).unwrap_or_default();
        let text: Option<Cow<'_, str>> = if *byte == b'"' && part.contains('\\') {
            serde_json::from_str(part).ok().map(Cow::Owned)
        } else {
            None
        };
        match text {
            Some(text) => write_json_string(&text, &mut out),
            None => out.push_str(part),
        }
        at = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use skep_random::Random;

    use super::*;
    use crate::document::Document;

    #[test]
    fn escapes_that_are_not_needed_and_white_space_go() {
        for (sent, expected) in [
            (r#""J\u00fcrgen""#, r#""Jürgen""#),
            (r#""a\/b""#, r#""a/b""#),
            (r#""\ud83d\ude00""#, r#""😀""#),
            (
                r#""\u0022\u005C\u000A\u0008\u000c\u001F""#,
                r#""\"\\\n\b\f\u001f""#,
            ),
            (
                "{ \"a b\" : [1.50 , \"\\\" \" ] }",
                r#"{"a b":[1.50,"\" "]}"#,
            ),
            (r#"{"\u00e4":{"b":1}}"#, r#"{"ä":{"b":1}}"#),
            (r#""\\u00fc""#, r#""\\u00fc""#),
        ] {
            assert_eq!(in_one_form(sent), expected);
            let document = Document::parse(&format!("{{\"v\" : {sent}\n}}")).expect("an object");
            assert_eq!(&**document.get("v").expect("the variable"), expected);
        }
        assert!(matches!(
            in_one_form(r#""a \"b\"\u0001""#),
            Cow::Borrowed(_)
        ));
    }

    /// A value with the spelling of its numbers.
    #[derive(Clone, Debug)]
    enum Meant {
        Word(&'static str),
        Text(String),
        List(Vec<Meant>),
        Object(Vec<(String, Meant)>),
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![".{0,8}", "[\\x00-\\x1f\"\\\\/ü😀<\u{2028}\u{7f} ]{0,6}"]
    }

    fn meant() -> impl Strategy<Value = Meant> {
        let word = prop::sample::select(vec!["1", "1.50", "-0", "1e3", "1E+3", "true", "null"]);
        let leaf = prop_oneof![word.prop_map(Meant::Word), text().prop_map(Meant::Text)];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Meant::List),
                prop::collection::vec((text(), inner), 0..4).prop_map(Meant::Object),
            ]
        })
    }

    /// One sender's way to write: a seed determines what it does next.
    struct Sender(Random);

    impl Sender {
        fn space(&mut self, out: &mut String) {
            for _ in 0..self.0.below(3) {
                out.push_str([" ", "\n", "\t", "\r"][self.0.below(4) as usize]);
            }
        }

        fn string(&mut self, text: &str, out: &mut String) {
            out.push('"');
            for c in text.chars() {
                let needed = matches!(c, '"' | '\\') || c < ' ';
                match (self.0.below(3), c) {
                    (0, '"' | '\\' | '/') => out.extend(['\\', c]),
                    (0, '\n') => out.push_str("\\n"),
                    (0, '\u{8}') => out.push_str("\\b"),
                    (choice, c) if needed || choice == 1 => {
                        for unit in c.encode_utf16(&mut [0; 2]) {
                            out.push_str(&match self.0.below(2) {
                                0 => format!("\\u{unit:04x}"),
                                _ => format!("\\u{unit:04X}"),
                            });
                        }
                    }
                    _ => out.push(c),
                }
            }
            out.push('"');
        }

        fn write(&mut self, meant: &Meant, out: &mut String) {
            self.space(out);
            match meant {
                Meant::Word(word) => out.push_str(word),
                Meant::Text(text) => self.string(text, out),
                Meant::List(items) => {
                    out.push('[');
                    for (at, item) in items.iter().enumerate() {
                        out.push_str(if at > 0 { "," } else { "" });
                        self.write(item, out);
                    }
                    self.space(out);
                    out.push(']');
                }
                Meant::Object(members) => {
                    out.push('{');
                    for (at, (name, value)) in members.iter().enumerate() {
                        out.push_str(if at > 0 { "," } else { "" });
                        self.space(out);
                        self.string(name, out);
                        self.space(out);
                        out.push(':');
                        self.write(value, out);
                    }
                    self.space(out);
                    out.push('}');
                }
            }
            self.space(out);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The text does not depend on the sender or on the spelling of the value.
        #[test]
        fn the_same_value_has_the_same_text(value in meant(), one: u64, other: u64) {
            let texts = [one, other].map(|seed| {
                let mut text = String::new();
                Sender(Random(seed)).write(&value, &mut text);
                let document = Document::parse(&format!("{{\"v\":{text}}}")).expect("an object");
                let stored = document.get("v").expect("the variable").to_string();
                assert_eq!(in_one_form(text.trim()), stored, "{text:?}");
                assert_eq!(in_one_form(&stored), stored, "once is enough");
                stored
            });
            prop_assert_eq!(&texts[0], &texts[1]);
            let read: serde_json::Value = serde_json::from_str(&texts[0]).expect("JSON");
            if let Meant::Text(text) = &value {
                prop_assert_eq!(read.as_str(), Some(&**text));
            }
        }
    }
}
