//! Variable values are JSON texts, compared as texts. They are normalized when received, and so are the values in filters. Rows
//! of earlier versions contain the escapes of their senders, so filters also match the ways in which JSON writers spell a text.

use std::sync::Arc;

use serde_json::value::RawValue;
use skep_protocol::document::in_one_form;

use crate::entity::Field;
use crate::search::{Condition, Op};
use crate::value::Value;

/// The conditions for an operator on a field.
pub fn conditions(field: &Field, at: usize, op: Op) -> Vec<Condition> {
    let one = |op| Condition::Field { field: at, op };
    let any = |mut ops: Vec<Op>| match ops.len() {
        1 => ops.drain(..).map(one).collect(),
        _ => vec![Condition::Any(
            ops.into_iter().map(|op| vec![one(op)]).collect(),
        )],
    };
    if !field.holds_json {
        return vec![one(op)];
    }
    let of_all = |values: Vec<Value>| values.iter().flat_map(of_value).collect();
    match op {
        Op::Eq(value) => any(of_value(&value).into_iter().map(Op::Eq).collect()),
        Op::Neq(value) => of_value(&value).into_iter().map(Op::Neq).map(one).collect(),
        Op::In(values) => vec![one(Op::In(of_all(values)))],
        Op::NotIn(values) => vec![one(Op::NotIn(of_all(values)))],
        Op::Like(pattern) => any(of_pattern(&pattern).into_iter().map(Op::Like).collect()),
        op => vec![one(op)],
    }
}

/// All spellings of a value, the normalized one first.
fn of_value(value: &Value) -> Vec<Value> {
    let Some(text) = value.as_text() else {
        return vec![value.clone()];
    };
    // A text that is not JSON is compared as it is, and matches no value.
    let text = match serde_json::from_str::<&RawValue>(text) {
        Ok(_) => in_one_form(text.trim_ascii()),
        Err(_) => text.into(),
    };
    let all = spelled(&text, "\\");
    all.iter().map(|text| Value::text(text)).collect()
}

fn of_pattern(pattern: &str) -> Vec<Arc<str>> {
    // In a pattern, a backslash escapes the next character, including a backslash.
    let all = spelled(pattern, "\\\\");
    all.iter().map(|text| text.as_str().into()).collect()
}

/// A JSON writer, by the characters it escapes without need.
struct Writer {
    escapes: fn(char) -> bool,
    upper: bool,
    slash: bool,
}

const WRITERS: [Writer; 7] = [
    // Python and Ruby (if configured so), and PHP, which escapes slashes, with and without the option to keep other characters.
    Writer {
        escapes: beyond_ascii,
        upper: false,
        slash: false,
    },
    Writer {
        escapes: beyond_ascii,
        upper: false,
        slash: true,
    },
    Writer {
        escapes: |_| false,
        upper: false,
        slash: true,
    },
    // Java.
    Writer {
        escapes: beyond_ascii,
        upper: true,
        slash: false,
    },
    // Go, and Java's Gson.
    Writer {
        escapes: of_markup,
        upper: false,
        slash: false,
    },
    Writer {
        escapes: |c| of_markup(c) || c == '=' || c == '\'',
        upper: false,
        slash: false,
    },
    // .NET.
    Writer {
        escapes: |c| beyond_ascii(c) || of_markup(c) || "'\"+`\u{7f}".contains(c),
        upper: true,
        slash: false,
    },
];

fn beyond_ascii(c: char) -> bool {
    !c.is_ascii()
}

fn of_markup(c: char) -> bool {
    matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

fn spelled(text: &str, backslash: &str) -> Vec<String> {
    let mut all = vec![text.to_string()];
    for writer in WRITERS {
        let spelled = respelled(text, backslash, &writer);
        if !all.contains(&spelled) {
            all.push(spelled);
        }
    }
    all
}

fn respelled(text: &str, backslash: &str, writer: &Writer) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        // A quote after a backslash belongs to the text; other quotes delimit it.
        let (escaped, c) = match c {
            '\\' => match chars.next() {
                Some(next) => (true, next),
                None => (false, c),
            },
            c => (false, c),
        };
        let is_part = (c != '"' || escaped) && (writer.escapes)(c);
        match c {
            '/' if writer.slash => out.extend([backslash, "/"]),
            c if is_part => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(backslash);
                    out.push_str(&if writer.upper {
                        format!("u{unit:04X}")
                    } else {
                        format!("u{unit:04x}")
                    });
                }
            }
            c => {
                out.extend(escaped.then_some('\\'));
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(value: &str) -> Vec<String> {
        let values = of_value(&Value::text(value));
        values
            .iter()
            .filter_map(|v| v.as_text().map(str::to_string))
            .collect()
    }

    #[test]
    fn a_plain_text_has_one_spelling() {
        for text in [
            r#""plain""#,
            "1.50",
            r#"{"a":[1,"b c"]}"#,
            "no JSON",
            r#""a\nb""#,
        ] {
            assert_eq!(texts(text), [text]);
        }
        assert_eq!(texts(r#" { "a" : [ 1 ] } "#), [r#"{"a":[1]}"#]);
    }

    #[test]
    fn a_text_is_looked_for_as_json_writers_spell_it() {
        let of = ["\"Jürgen\"", r#""J\u00fcrgen""#, r#""J\u00FCrgen""#];
        for sent in of {
            assert_eq!(texts(sent), of);
        }
        assert_eq!(texts(r#""a\/b""#), [r#""a/b""#, r#""a\/b""#]);
        assert_eq!(
            texts(r#""<b>""#),
            [r#""<b>""#, r#""\u003cb\u003e""#, r#""\u003Cb\u003E""#]
        );
        assert_eq!(texts(r#""\"""#), [r#""\"""#, r#""\u0022""#]);
    }

    #[test]
    fn a_pattern_is_too() {
        let patterns = of_pattern("*ü?/\\*");
        let patterns: Vec<&str> = patterns.iter().map(|pattern| &**pattern).collect();
        assert_eq!(
            patterns,
            [
                "*ü?/\\*",
                "*\\\\u00fc?/\\*",
                "*\\\\u00fc?\\\\/\\*",
                "*ü?\\\\/\\*",
                "*\\\\u00FC?/\\*"
            ]
        );
        let is_like = |text: &str| {
            patterns
                .iter()
                .any(|p| Op::Like((*p).into()).holds_for(&Value::text(text)))
        };
        assert!(is_like(r#""ün/*"#) && is_like(r#""\u00fcn/*"#) && is_like(r#""\u00fcn\/*"#));
        assert!(!is_like(r#""u00fcn/*"#));
    }
}
