//! Translates the patterns of XPath and Java to those of the library.

/// Writes what XPath has and the library has not in its terms: `[a-z-[aeiou]]`, `\i`, `\c`.
pub(super) fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut chars = source.chars().peekable();
    let mut class = 0usize;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('i') => out.push_str("[\\p{L}_:]"),
                Some('I') => out.push_str("[^\\p{L}_:]"),
                Some('c') => out.push_str("[\\-._:\\p{L}\\p{N}]"),
                Some('C') => out.push_str("[^\\-._:\\p{L}\\p{N}]"),
                Some(next) => {
                    out.push('\\');
                    out.push(next);
                }
                None => out.push('\\'),
            },
            '[' => {
                class += 1;
                out.push('[');
            }
            ']' => {
                class = class.saturating_sub(1);
                out.push(']');
            }
            '-' if class > 0 && chars.peek() == Some(&'[') => out.push_str("--"),
            c => out.push(c),
        }
    }
    out
}
