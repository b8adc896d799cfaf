//! Elements of JSON arrays, found in the text without reading the rest of it.

use std::ops::Range;

/// The place of the element at `index` (from 0) in the text of a JSON array. `None` when the text is no array, or has fewer
/// elements.
pub fn array_element(text: &str, index: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = text.find(|c: char| !c.is_ascii_whitespace())?;
    if bytes.get(at) != Some(&b'[') {
        return None;
    }
    at += 1;
    let (mut element, mut begin, mut depth) = (0, at, 0u32);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at)?,
            b'[' | b'{' => depth += 1,
            b',' | b']' if depth == 0 => {
                if element == index {
                    return trimmed(text, begin..at);
                }
                if *byte == b']' {
                    return None;
                }
                (element, begin) = (element + 1, at + 1);
            }
            b']' | b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The place of the quote that ends the string which begins at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The place without white space around it; none when nothing is left.
fn trimmed(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let inner = text.get(place.clone())?;
    let begin = place.start + (inner.len() - inner.trim_ascii_start().len());
    let end = begin + inner.trim_ascii().len();
    (begin < end).then_some(begin..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(text: &str, index: usize) -> Option<&str> {
        array_element(text, index).map(|place| &text[place])
    }

    #[test]
    fn elements_are_found_whatever_they_hold() {
        let text = r#" [1, "a,]\"\\", {"x":[2,3],"y":"}"} ,[],null] "#;
        let expected = ["1", r#""a,]\"\\""#, r#"{"x":[2,3],"y":"}"}"#, "[]", "null"];
        for (index, expected) in expected.into_iter().enumerate() {
            assert_eq!(element(text, index), Some(expected));
        }
        assert_eq!(element(text, 5), None);
    }

    #[test]
    fn what_is_no_array_has_no_elements() {
        for text in ["", "null", "{}", "\"[1]\"", "[", "[\"", "[1", "[}", "[\"\\"] {
            assert_eq!(element(text, 0), None, "{text}");
        }
        assert_eq!(element("[]", 0), None);
        assert_eq!(element("[ ]", 0), None);
    }
}
