//! Elements of JSON arrays, found in the text without reading the rest of it.

use std::ops::Range;

/// The place of the element at `index` (from 0) in the text of a JSON array. `None` when the text is no array, or has fewer
/// elements.
pub fn array_element(text: &str, index: usize) -> Option<Range<usize>> {
    Elements::of(text)?.nth(index)?
}

/// The places of the elements in the text of a JSON array, one after the other; `None` for one that is empty. `None` when the
/// text is no array. The iterator ends early where the text breaks off.
pub fn array_elements(text: &str) -> Option<impl Iterator<Item = Option<Range<usize>>> + '_> {
    Elements::of(text)
}

/// The place of the element at `index` (from 0) in a text of elements with commas between them, without brackets.
pub fn nth_element(text: &str, index: usize) -> Option<Range<usize>> {
    let mut elements = Elements {
        text,
        at: 0,
        is_closed: false,
        is_bare: true,
    };
    elements.nth(index)?
}

/// The end of the text of a JSON array: the place of its closing bracket, and how many elements precede it. `None` when the
/// text is no array.
pub fn array_end(text: &str) -> Option<(usize, usize)> {
    let mut elements = Elements::of(text)?;
    let mut count = 0;
    for element in elements.by_ref() {
        element?;
        count += 1;
    }
    elements.is_closed.then_some((elements.at, count))
}

/// The places of an array's elements, one after the other; `None` for one that is empty.
struct Elements<'a> {
    text: &'a str,
    at: usize,
    is_closed: bool,
    /// Without brackets: the array ends with the text.
    is_bare: bool,
}

impl Elements<'_> {
    fn of(text: &str) -> Option<Elements<'_>> {
        let begin = text.find(|c: char| !c.is_ascii_whitespace())?;
        let is_closed = text.as_bytes().get(begin) != Some(&b'[');
        (!is_closed).then_some(Elements {
            text,
            at: begin + 1,
            is_closed,
            is_bare: false,
        })
    }
}

impl Iterator for Elements<'_> {
    type Item = Option<Range<usize>>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        if self.is_closed {
            return None;
        }
        let (begin, mut depth) = (self.at, 0u32);
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => self.at = end_of_string(bytes, self.at)?,
                b'[' | b'{' => depth += 1,
                b',' if depth == 0 => {
                    let place = trimmed(self.text, begin..self.at);
                    self.at += 1;
                    return Some(place);
                }
                b']' if depth == 0 => {
                    self.is_closed = true;
                    let last = trimmed(self.text, begin..self.at);
                    // Nothing stands between the brackets.
                    return last.map(Some);
                }
                b']' | b'}' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            self.at += 1;
        }
        if !self.is_bare || depth > 0 {
            return None;
        }
        self.is_closed = true;
        trimmed(self.text, begin..self.at).map(Some)
    }
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
    fn elements_are_found_without_brackets_around_them() {
        let text = r#"1,"],",[2,3],{"x":4}"#;
        let found = |index| nth_element(text, index).map(|place| &text[place]);
        let elements: Vec<_> = (0..5).map(found).collect();
        let expected = ["1", r#""],""#, "[2,3]", r#"{"x":4}"#].map(Some);
        assert_eq!(elements[..4], expected);
        assert_eq!(elements[4], None);
        assert_eq!(nth_element("", 0), None);
    }

    #[test]
    fn only_arrays_have_elements() {
        for text in ["", "null", "{}", "\"[1]\"", "[", "[\"", "[1", "[}", "[\"\\"] {
            assert_eq!(element(text, 0), None, "{text}");
        }
        assert_eq!(element("[]", 0), None);
        assert_eq!(element("[ ]", 0), None);
    }

    #[test]
    fn the_end_of_an_array_is_where_one_more_element_goes() {
        assert_eq!(array_end("[]"), Some((1, 0)));
        assert_eq!(array_end("[ ] "), Some((2, 0)));
        assert_eq!(array_end("[1,[2,3]]"), Some((8, 2)));
        assert_eq!(array_end("{}"), None);
        assert_eq!(array_end("[1"), None);
    }
}
