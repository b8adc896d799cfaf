//! Regular expressions as XPath and Java write them.

use std::cell::RefCell;
use std::sync::Arc;

use fancy_regex::{Captures, Regex, RegexBuilder};

use super::Failure;

/// Compiled patterns kept per thread.
const KEPT: usize = 64;
/// Steps that a pattern with back references or look-around may take.
const MAX_BACKTRACKS: usize = 20_000;
/// Size of a compiled pattern, in bytes.
const MAX_SIZE: usize = 1 << 20;
/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 10_000;

thread_local! {
    /// Most recently used last. Patterns are nearly always constants of an expression.
    static COMPILED: RefCell<Vec<(String, Arc<Regex>)>> = const { RefCell::new(Vec::new()) };
}

/// The compiled pattern; flags are `s` (dot matches line ends), `m` (lines), `i` (case), `x` (spaces ignored).
pub(super) fn pattern(source: &str, flags: &str) -> Result<Arc<Regex>, Failure> {
    if source.len() > MAX_PATTERN {
        return Err(Failure::new(format!(
            "The pattern is longer than {MAX_PATTERN} bytes"
        )));
    }
    if !flags.chars().all(|flag| "smix".contains(flag)) {
        return Err(Failure::new(format!(
            "The flags '{flags:.20}' are not among s, m, i and x"
        )));
    }
    let key = if flags.is_empty() {
        translate(source)
    } else {
        format!("(?{flags}){}", translate(source))
    };
    let known = COMPILED.with_borrow_mut(|cache| {
        let position = cache.iter().position(|(text, _)| *text == key)?;
        let entry = cache.remove(position);
        let regex = Arc::clone(&entry.1);
        cache.push(entry);
        Some(regex)
    });
    if let Some(regex) = known {
        return Ok(regex);
    }
    let regex = RegexBuilder::new(&key)
        .backtrack_limit(MAX_BACKTRACKS)
        .delegate_size_limit(MAX_SIZE)
        .delegate_dfa_size_limit(MAX_SIZE)
        .build()
        .map_err(|error| Failure::new(format!("Invalid pattern: {error}")))?;
    let regex = Arc::new(regex);
    COMPILED.with_borrow_mut(|cache| {
        if cache.len() >= KEPT {
            cache.remove(0);
        }
        cache.push((key, Arc::clone(&regex)));
    });
    Ok(regex)
}

/// Writes what XPath has and the library has not in its terms: `[a-z-[aeiou]]`, `\i`, `\c`.
fn translate(source: &str) -> String {
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

/// Refuses a `$` that names no group, and a backslash at the end.
pub(super) fn check_replacement(replacement: &str) -> Result<(), Failure> {
    let mut chars = replacement.chars();
    while let Some(c) = chars.next() {
        let valid = match c {
            '\\' => chars.next().is_some(),
            '$' => chars
                .clone()
                .next()
                .is_some_and(|next| next.is_ascii_digit()),
            _ => true,
        };
        if !valid {
            return Err(Failure::new(
                "In the replacement, '$' stands before the number of a group; write '\\$' for a dollar sign",
            ));
        }
    }
    Ok(())
}

/// Appends a replacement: `$1` is a group, `\$` a dollar sign.
pub(super) fn expand(found: &Captures<'_, str>, replacement: &str, out: &mut String) {
    let mut chars = replacement.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            '$' if chars.peek().is_some_and(char::is_ascii_digit) => {
                // As many digits as still name a group.
                let mut group = 0usize;
                let mut any = false;
                while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                    let next = group * 10 + digit as usize;
                    if any && next >= found.len() {
                        break;
                    }
                    group = next;
                    any = true;
                    chars.next();
                }
                if let Some(part) = found.get(group) {
                    out.push_str(part.as_str());
                }
            }
            c => out.push(c),
        }
    }
}
