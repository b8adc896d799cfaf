//! Finds a part of valid JSON text by skipping over the rest.

/// The text of the value at a path of keys; `None` when a key is missing or a value on the way is no object.
pub(crate) fn find_path<'a, K: AsRef<str>>(json: &'a str, path: &[K]) -> Option<&'a str> {
    let mut current = json;
    for key in path {
        current = members(current)
            .find(|(name, _)| name_equals(name, key.as_ref()))
            .map(|(_, value)| value)?;
    }
    Some(current)
}

/// Whether the raw text of a key (between the quotes) reads as this name.
pub(crate) fn name_equals(raw: &str, name: &str) -> bool {
    if raw.contains('\\') {
        unescape(raw).is_some_and(|text| text == name)
    } else {
        raw == name
    }
}

/// The members of a JSON object: raw key and raw value. Empty when the text is no object.
pub(crate) fn members(json: &str) -> Members<'_> {
    let text = json.trim_start();
    match text.strip_prefix('{') {
        Some(_) => Members { text, at: 1 },
        None => Members { text: "", at: 0 },
    }
}

pub(crate) struct Members<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while matches!(bytes.get(at)?, b' ' | b'\n' | b'\r' | b'\t' | b',') {
            at += 1;
        }
        if bytes.get(at) != Some(&b'"') {
            return None;
        }
        let end = skip_string(bytes, at)?;
        let key = self.text.get(at + 1..end - 1)?;
        at = end;
        while matches!(bytes.get(at)?, b' ' | b'\n' | b'\r' | b'\t' | b':') {
            at += 1;
        }
        let end = skip_value(bytes, at)?;
        self.at = end;
        Some((key, self.text.get(at..end)?))
    }
}

/// The position after the string that starts at a quote.
fn skip_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn skip_value(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    match bytes.get(at)? {
        b'"' => skip_string(bytes, at),
        b'{' | b'[' => {
            let mut depth = 0usize;
            loop {
                match bytes.get(at)? {
                    b'"' => {
                        at = skip_string(bytes, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
        }
        _ => {
            while let Some(byte) = bytes.get(at) {
                if matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t') {
                    break;
                }
                at += 1;
            }
            Some(at)
        }
    }
}

/// The text of a JSON string without its quotes; lone surrogates become the replacement character.
pub(crate) fn unescape(raw: &str) -> Option<String> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(rest.get(..at)?);
        let mut chars = rest.get(at + 1..)?.chars();
        match chars.next()? {
            '"' => out.push('"'),
            '\\' => out.push('\\'),
            '/' => out.push('/'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'u' => {
                let tail = chars.as_str();
                let (unit, tail) = hex(tail)?;
                let mut after = tail;
                let c = if (0xD800..0xDC00).contains(&unit) {
                    match tail.strip_prefix("\\u").and_then(hex) {
                        Some((low @ 0xDC00..0xE000, tail)) => {
                            after = tail;
                            char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
                        }
                        _ => None,
                    }
                } else {
                    char::from_u32(unit)
                };
                out.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
                rest = after;
                continue;
            }
            _ => return None,
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    Some(out)
}

fn hex(text: &str) -> Option<(u32, &str)> {
    let digits = text.get(..4)?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    Some((u32::from_str_radix(digits, 16).ok()?, text.get(4..)?))
}
