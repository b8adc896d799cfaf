//! The API's patterns: `*` matches any run of characters, `?` matches one, and a backslash escapes the next character.

use std::sync::Arc;

/// Translates an API pattern to GLOB, which also has character sets in brackets.
pub fn glob(pattern: &str) -> Arc<str> {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        let (c, literal) = match c {
            '\\' => (characters.next().unwrap_or('\\'), true),
            c => (c, false),
        };
        match c {
            '*' | '?' if !literal => out.push(c),
            '*' | '?' | '[' => {
                out.push('[');
                out.push(c);
                out.push(']');
            }
            c => out.push(c),
        }
    }
    out.into()
}

/// Translates an API pattern to LIKE.
pub fn like(pattern: &str) -> Arc<str> {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        match c {
            '*' => out.push('%'),
            '?' => out.push('_'),
            c => {
                let literal = match c {
                    '\\' => characters.next().unwrap_or('\\'),
                    c => c,
                };
                if matches!(literal, '%' | '_' | '\\') {
                    out.push('\\');
                }
                out.push(literal);
            }
        }
    }
    out.into()
}

/// The common beginning of all texts that match.
pub fn prefix(pattern: &str) -> String {
    let mut prefix = String::new();
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        match c {
            '*' | '?' => break,
            '\\' => prefix.push(characters.next().unwrap_or('\\')),
            c => prefix.push(c),
        }
    }
    prefix
}

/// The first text, in byte order, after all texts with this prefix; `None` if there is none.
pub fn after_all_that_begin_with(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        // Surrogates, which are not characters, lie between these two.
        let next = match last {
            '\u{D7FF}' => Some('\u{E000}'),
            last => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, expected) in [
            ("a*b?", "a*b?"),
            (r"a\*b\?", "a[*]b[?]"),
            ("[x]", "[[]x]"),
            (r"\\", r"\"),
            (r"end\", r"end\"),
        ] {
            assert_eq!(&*glob(pattern), expected, "{pattern}");
        }
        for (pattern, expected) in [
            ("a*b?", "a%b_"),
            (r"a\*b\?", "a*b?"),
            ("10%_", r"10\%\_"),
            (r"\\", r"\\"),
            (r"end\", r"end\\"),
        ] {
            assert_eq!(&*like(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn matching_texts_lie_between_the_prefix_and_its_successor() {
        for (pattern, from, to) in [
            ("abc*", "abc", Some("abd")),
            ("abc", "abc", Some("abd")),
            (r"a\*b?c", "a*b", Some("a*c")),
            ("*abc", "", None),
            ("a\u{D7FF}*", "a\u{D7FF}", Some("a\u{E000}")),
            ("a\u{10FFFF}*", "a\u{10FFFF}", Some("b")),
            ("\u{10FFFF}*", "\u{10FFFF}", None),
            (r"end\", r"end\", Some("end]")),
        ] {
            assert_eq!(prefix(pattern), from, "{pattern}");
            let after = after_all_that_begin_with(from);
            assert_eq!(after.as_deref(), to, "{pattern}");
            let longer = format!("{from}\u{10FFFF}z");
            assert!(after.is_none_or(|after| after > longer), "{pattern}");
        }
    }
}
