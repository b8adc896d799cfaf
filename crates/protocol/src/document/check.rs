//! Refuses JSON that no expression could read: deep nesting, numbers beyond the range, broken characters. The same pass
//! over the bytes finds whether the text is canonical.
//!
//! If it were accepted, such a value would silently be null for every expression.

use std::fmt::Write as _;

use super::one_form::needed_escape;

/// Lists and objects in a value nest at most this deep: the limit of the FEEL reader.
pub const MAX_DEPTH: u32 = 200;

/// A number is below 10 to the power of one more than this: the range of FEEL numbers.
pub const MAX_NUMBER_EXPONENT: i64 = 6144;

/// Digits that a FEEL number keeps.
const DIGITS: usize = 34;

/// Beginning of every error text of [`readable`].
const BEGINS: &str = "the variable '";

/// Whether an expression can read this value; its text is valid JSON. The error names the place in the value. The result
/// tells whether the text has the one form.
pub fn readable(name: &str, json: &str) -> Result<bool, String> {
    let (offset, reason) = match scan(json.as_bytes()) {
        Ok(has_one_form) => return Ok(has_one_form),
        Err(found) => found,
    };
    let path = path(name, json, offset);
    Err(match reason {
        Reason::Depth => format!(
            "{BEGINS}{path}' is nested deeper than the {MAX_DEPTH} levels that expressions read"
        ),
        Reason::Number => format!(
            "{BEGINS}{path}' is a number beyond 10^{}, the largest that expressions read",
            MAX_NUMBER_EXPONENT + 1
        ),
        Reason::Surrogate => format!(
            "{BEGINS}{path}' holds half of a surrogate pair (\\uD800 to \\uDFFF), which is no character"
        ),
    })
}

/// The text of [`readable`] out of the message of a JSON error that carries it.
pub fn unreadable(message: &str) -> Option<String> {
    let text = message.strip_prefix(BEGINS)?;
    let text = text.rsplit_once(" at line ").map_or(text, |(text, _)| text);
    Some(format!("{BEGINS}{text}"))
}

enum Reason {
    Depth,
    Number,
    Surrogate,
}

fn scan(bytes: &[u8]) -> Result<bool, (usize, Reason)> {
    let (mut at, mut depth, mut has_one_form) = (0, 0u32, true);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string(bytes, at + 1, &mut has_one_form)?;
                continue;
            }
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err((at, Reason::Depth));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'-' | b'0'..=b'9' => {
                let rest = bytes.get(at..).unwrap_or_default();
                let length = rest.iter().position(|b| !in_number(*b));
                let length = length.unwrap_or(rest.len());
                if !in_range(rest.get(..length).unwrap_or_default()) {
                    return Err((at, Reason::Number));
                }
                at += length;
                continue;
            }
            byte => has_one_form &= !is_space(*byte),
        }
        at += 1;
    }
    Ok(has_one_form)
}

/// White space between tokens.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// The position after the closing quote of a string that can be read.
pub(super) fn end_of_string(bytes: &[u8], at: usize) -> Option<usize> {
    string(bytes, at, &mut true).ok()
}

/// The position after the closing quote.
fn string(bytes: &[u8], mut at: usize, has_one_form: &mut bool) -> Result<usize, (usize, Reason)> {
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(next) = rest.iter().position(|b| matches!(b, b'"' | b'\\')) else {
            return Ok(bytes.len());
        };
        at += next;
        if rest.get(next) == Some(&b'"') {
            return Ok(at + 1);
        }
        *has_one_form &= needed_escape(bytes, at).is_some();
        match unit(bytes, at) {
            Some(0xD800..0xDC00) if matches!(unit(bytes, at + 6), Some(0xDC00..0xE000)) => at += 12,
            Some(0xD800..0xE000) => return Err((at, Reason::Surrogate)),
            Some(_) => at += 6,
            None => at += 2,
        }
    }
}

/// The number of a `\uXXXX` that stands here.
pub(super) fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn in_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E')
}

fn in_range(number: &[u8]) -> bool {
    let exponent = number.iter().position(|b| matches!(b, b'e' | b'E'));
    // Nearly all numbers end here.
    if exponent.is_none() && number.len() as i64 <= MAX_NUMBER_EXPONENT {
        return true;
    }
    let (mantissa, exponent) = match exponent {
        None => (number, 0),
        Some(at) => {
            let text = number.get(at + 1..).unwrap_or_default();
            let negative = text.starts_with(b"-");
            let size = text
                .iter()
                .filter(|b| b.is_ascii_digit())
                .fold(0i64, |n, b| (n * 10 + i64::from(b - b'0')).min(1 << 40));
            let exponent = if negative { -size } else { size };
            (number.get(..at).unwrap_or_default(), exponent)
        }
    };
    let digits = || mantissa.iter().filter(|b| b.is_ascii_digit());
    let whole = mantissa.split(|b| *b == b'.').next().unwrap_or_default();
    let whole = whole.iter().filter(|b| b.is_ascii_digit()).count();
    let zeros = digits().take_while(|b| **b == b'0').count();
    let significant = digits().count().saturating_sub(zeros);
    // The exponent of the leading digit.
    let leading =
        exponent + whole as i64 - zeros.min(digits().count().saturating_sub(1)) as i64 - 1;
    leading < MAX_NUMBER_EXPONENT || leading == MAX_NUMBER_EXPONENT && significant <= DIGITS
}

/// Parts of a path that are shown; deeper ones are left out.
const SHOWN: usize = 6;

/// Names and positions on the way to an offset of the text.
fn path(name: &str, json: &str, offset: usize) -> String {
    /// An open object with the key that was read last, or an open list with its position.
    enum Open<'j> {
        Object(&'j str),
        List(usize),
    }
    let bytes = json.as_bytes();
    let (mut open, mut at, mut text) = (Vec::new(), 0, "");
    while at < offset {
        match bytes.get(at) {
            Some(b'"') => {
                // The error itself may lie in a string: then its start is the place.
                let end = string(bytes, at + 1, &mut true).unwrap_or(offset);
                text = json.get(at + 1..end.saturating_sub(1)).unwrap_or_default();
                at = end;
                continue;
            }
            Some(b':') => {
                if let Some(Open::Object(key)) = open.last_mut() {
                    *key = text;
                }
            }
            Some(b',') => {
                if let Some(Open::List(position)) = open.last_mut() {
                    *position += 1;
                }
            }
            Some(b'{') => open.push(Open::Object("")),
            Some(b'[') => open.push(Open::List(0)),
            Some(b'}' | b']') => {
                open.pop();
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = name.to_string();
    for part in open.iter().take(SHOWN) {
        // Writing into a String cannot fail.
        let _ = match part {
            Open::Object(key) => write!(path, ".{key}"),
            Open::List(position) => write!(path, "[{position}]"),
        };
    }
    if open.len() > SHOWN {
        path.push('…');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn values_readable_by_expressions_are_accepted() {
        let digits = "9".repeat(6144);
        for json in [
            "1",
            "-1.5e3",
            "1e6144",
            "0.001e6147",
            "1e-99999999999999999999",
            "9.99e6144",
            &digits,
            r#""[[{{ 1e9999 \ud83d\ude00 \\ud800 \"""#,
            r#"{"a":[1,{"b":"x"}]}"#,
            &nested(200),
        ] {
            assert_eq!(readable("v", json).map(drop), Ok(()), "{json}");
        }
    }

    #[test]
    fn unreadable_values_are_refused_with_their_path() {
        let long = format!("[1,{}]", "1".repeat(6146));
        let rounded = format!("9.{}e6144", "9".repeat(40));
        for (json, said) in [
            (nested(201).as_str(), "'v[0][0][0][0][0][0]…' is nested"),
            (r#"{"a":[1,{"b":1e7000}]}"#, "'v.a[1].b' is a number"),
            ("1e99999999999999999999", "'v' is a number"),
            (&long, "'v[1]' is a number"),
            (&rounded, "'v' is a number"),
            (r#"{"a":"x","b":["y\ud800"]}"#, "'v.b[0]' holds half"),
            (r#""\ude00""#, "'v' holds half"),
            (r#""\ud800\u0041""#, "'v' holds half"),
            (r#"{"\ud800":1}"#, "holds half"),
        ] {
            let refused = readable("v", json).expect_err(json);
            assert!(refused.contains(said), "{refused}");
            let error = format!("{refused} at line 1 column 9");
            assert_eq!(unreadable(&error), Some(refused));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_scanned(text in r#"[\[\]{}",:\\ude0189E.+-]{0,60}"#) {
            let _ = readable("v", &text);
        }
    }
}
