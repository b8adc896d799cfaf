//! The replacement of `replace`.

use fancy_regex::Captures;

use crate::builtins::Failure;

/// Refuses a `$` that names none of so many groups, and a backslash at the end.
pub(in crate::builtins) fn check_replacement(
    replacement: &str,
    groups: usize,
) -> Result<(), Failure> {
    let mut chars = replacement.chars();
    while let Some(c) = chars.next() {
        let valid = match c {
            '\\' => chars.next().is_some(),
            '$' => chars
                .clone()
                .next()
                .and_then(|next| next.to_digit(10))
                .is_some_and(|group| (group as usize) < groups),
            _ => true,
        };
        if !valid {
            return Err(Failure::new(
                "In the replacement, '$' stands before the number of a group of the pattern; write '\\$' for a dollar sign",
            ));
        }
    }
    Ok(())
}

/// Appends a replacement: `$1` is a group, `\$` a dollar sign.
pub(in crate::builtins) fn expand(found: &Captures<'_, str>, replacement: &str, out: &mut String) {
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
