//! Normalizes paths: `%31` is `1` (RFC 3986, section 6.2.2.2).

use std::borrow::Cow;

/// The path with its segments decoded. An encoded `/` stays encoded, as it does not separate segments; invalid encodings stay
/// as well, and match no route.
pub fn decoded(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        match escaped(rest) {
            Some(value) if value != b'/' => {
                bytes.push(value);
                rest = rest.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(path), Cow::Owned)
}

/// A decoded part of a query: its escapes, and `+` for a blank. Invalid encodings stay as they are.
pub fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        match (escaped(rest), byte) {
            (Some(value), _) => {
                bytes.push(value);
                rest = rest.get(3..).unwrap_or_default();
                continue;
            }
            (None, b'+') => bytes.push(b' '),
            (None, byte) => bytes.push(*byte),
        }
        rest = tail;
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_string())
}

fn escaped(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else {
        return None;
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_except_slashes_and_invalid_ones() {
        for (path, meant) in [
            ("/v2/topology", "/v2/topology"),
            ("/v2/topolog%79", "/v2/topology"),
            ("/v2/jobs/%31%32/completion", "/v2/jobs/12/completion"),
            ("/v2/%c3%A4", "/v2/ä"),
            ("/v2/a%2Fb", "/v2/a%2Fb"),
            ("/v2/%ff", "/v2/%ff"),
            ("/v2/%3", "/v2/%3"),
            ("/v2/%zz%", "/v2/%zz%"),
            ("/v2/%2531", "/v2/%31"),
        ] {
            assert_eq!(decoded(path), meant);
        }
    }
}
