//! The path under which a proxy exposes this server to browsers. It becomes part of pages and of redirects, so only paths
//! that are harmless there are valid.

use http::{HeaderMap, HeaderName};

const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-prefix");

/// Maximum bytes of a prefix.
const LONGEST: usize = 256;

/// The prefix without a slash at its end, which is empty for `/`. `None`: the text is none, such as `//host` (which browsers take for
/// another host), `/../a` and what contains other characters than letters, digits, `-`, `_` and `.`.
pub fn of(text: &str) -> Option<&str> {
    let path = text.strip_suffix('/').unwrap_or(text);
    if text == "/" {
        return Some(path);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_segment = |s: &str| !matches!(s, "" | "." | "..") && s.chars().all(is_plain);
    let is_valid = path.len() <= LONGEST && path.strip_prefix('/')?.split('/').all(is_segment);
    is_valid.then_some(path)
}

/// The valid prefix in the header of a proxy. Several headers are none: it is unknown which of them the proxy has checked.
pub fn forwarded(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(FORWARDED).iter();
    match (all.next(), all.next()) {
        (Some(only), None) => of(only.to_str().ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// Texts that are no prefix.
    const HOSTILE: [&str; 20] = [
        "",
        "bpm",
        "//",
        "//evil.example",
        "//evil.example/",
        "/a//b",
        "/a//",
        "/..",
        "/../a",
        "/a/./b",
        "/\\evil.example",
        "/\"><script>",
        "/'onload='",
        "/a b",
        "/a?b",
        "/a#b",
        "/%2e%2e",
        "/a\r\nset-cookie: a=b",
        "/{{nonce}}",
        "/a, /b",
    ];

    #[test]
    fn a_prefix_is_a_plain_path() {
        for (text, prefix) in [
            ("/", ""),
            ("/bpm", "/bpm"),
            ("/bpm/", "/bpm"),
            ("/a-1/B_2/c.d", "/a-1/B_2/c.d"),
            ("/..a/...", "/..a/..."),
        ] {
            assert_eq!(of(text), Some(prefix), "{text}");
        }
        let longest = format!("/{}", "a".repeat(LONGEST - 1));
        assert_eq!(of(&longest), Some(&*longest));
    }

    #[test]
    fn nothing_else_is_a_prefix() {
        for text in HOSTILE {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(of(&format!("/{}", "a".repeat(LONGEST))), None);
    }

    #[test]
    fn a_header_has_one_valid_prefix_or_none() {
        let sent = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
                headers.append(FORWARDED, value);
            }
            forwarded(&headers).map(str::to_string)
        };
        assert_eq!(sent(&["/bpm/"]).as_deref(), Some("/bpm"));
        assert_eq!(sent(&[]), None);
        assert_eq!(sent(&["/a", "/b"]), None);
        assert_eq!(sent(&["/bpm", "/bpm"]), None);
        assert_eq!(sent(&["/ä"]), None);
    }
}
