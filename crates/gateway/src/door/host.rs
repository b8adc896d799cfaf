//! The header `host` of requests over HTTP/1 (RFC 9112, section 3.2). Where it is missing or ambiguous, a proxy may have taken the request
//! to be for another host than this server does.

use http::header::HOST;
use http::{HeaderMap, HeaderValue, Version};

/// What is wrong with the header, and what to do. HTTP/2 has the host in the address, and HTTP/1.0 may leave it out.
pub fn fault(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    if version >= Version::HTTP_2 {
        return None;
    }
    let mut all = headers.get_all(HOST).iter();
    match (all.next(), all.next()) {
        (Some(host), None) if is_valid(host) => None,
        (Some(_), None) => Some(
            "The header 'host' is neither a name nor an address with an optional port. Send the one that the request is for.",
        ),
        (Some(_), Some(_)) => Some("The request has several headers 'host'. Send one."),
        (None, _) if version < Version::HTTP_11 => None,
        (None, _) => Some(
            "The request has no header 'host'. Send the name or address that the request is for.",
        ),
    }
}

/// Whether it has only characters of a host and a port (RFC 3986, section 3.2.2).
fn is_valid(host: &HeaderValue) -> bool {
    let is_allowed =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%:[]".contains(byte);
    host.as_bytes().iter().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(version: Version, hosts: &[&'static str]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_static(host));
        }
        fault(version, &headers)
    }

    #[test]
    fn http_1_1_needs_one_host() {
        for host in [
            "a",
            "skep.example:8080",
            "[::1]:8080",
            "127.0.0.1",
            "a_b",
            "",
        ] {
            assert_eq!(of(Version::HTTP_11, &[host]), None, "{host}");
        }
        for host in ["a b", "a/b", "user@a", "a?b", "http://a"] {
            let fault = of(Version::HTTP_11, &[host]);
            assert!(fault.is_some_and(|it| it.contains("neither")), "{host}");
        }
        let none = of(Version::HTTP_11, &[]);
        assert!(none.is_some_and(|it| it.contains("no header")));
        let several = of(Version::HTTP_11, &["a", "a"]);
        assert!(several.is_some_and(|it| it.contains("several")));
    }

    #[test]
    fn other_versions_may_leave_it_out() {
        assert_eq!(of(Version::HTTP_10, &[]), None);
        assert!(of(Version::HTTP_10, &["a", "b"]).is_some());
        assert_eq!(of(Version::HTTP_2, &[]), None);
        assert_eq!(of(Version::HTTP_2, &["a", "b"]), None);
    }
}
