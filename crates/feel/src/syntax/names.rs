//! Which characters form names (DMN 1.5, grammar rules 27 to 31, without spaces and operators).

/// A character that a name can begin with.
pub(crate) fn is_name_start(c: char) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '_' | '$' => true,
        c if (c as u32) < 0xC0 => false,
        c => matches!(c as u32,
            0xC0..=0xD6 | 0xD8..=0xF6 | 0xF8..=0x2FF | 0x370..=0x37D | 0x37F..=0x167F | 0x1681..=0x180D
            | 0x180F..=0x1FFF | 0x200C..=0x200D | 0x2070..=0x218F | 0x2C00..=0x2FEF | 0x3001..=0xD7FF
            | 0xF900..=0xFDCF | 0xFDF0..=0xFEFE | 0xFF00..=0xFFFD | 0x10000..=0xEFFFF),
    }
}

/// A character that can continue a name.
pub(crate) fn is_name_part(c: char) -> bool {
    is_name_start(c)
        || c.is_ascii_digit()
        || matches!(c as u32, 0xB7 | 0x300..=0x36F | 0x203F..=0x2040)
}

/// Whether a context key needs no quotes.
pub(crate) fn is_plain_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(is_name_start) && chars.all(is_name_part) && !is_reserved(text)
}

/// Words that cannot be variables without backticks.
pub(crate) fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "null"
            | "true"
            | "false"
            | "function"
            | "if"
            | "then"
            | "else"
            | "for"
            | "between"
            | "instance"
            | "of"
            | "and"
            | "or"
            | "in"
            | "some"
            | "every"
            | "return"
            | "satisfies"
    )
}

pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c as u32, 0x180E | 0x200B | 0xFEFF)
}
