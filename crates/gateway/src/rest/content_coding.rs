//! Content codings: what a caller accepts, and answers that browsers get compressed.
//!
//! Only a page of this server gets compressed answers (`Sec-Fetch-Site: same-origin`), which keeps two promises:
//!
//! - API clients pay nothing but the look for this header. They are near, and their time is worth more than their bytes.
//! - A page of another site cannot measure how a text of its own compresses beside something secret (BREACH). The tokens of
//!   sessions are in headers only, which are not compressed.
//!
//! Browsers send the header over TLS and to the same machine.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use tokio::sync::Semaphore;

use crate::rest::RestBody;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const GZIP: HeaderValue = HeaderValue::from_static("gzip");
const DEPENDS_ON: HeaderValue = HeaderValue::from_static("accept-encoding, sec-fetch-site");

/// Maximum size of an answer that is left as it is: most fit into a few packets.
const SMALL: usize = 4 << 10;
/// Maximum size of an answer that is compressed at once; this takes well below a millisecond.
const AT_ONCE: usize = 32 << 10;
/// Maximum size of an answer that is compressed, by a thread for such work.
const LARGE: usize = 8 << 20;

/// Answers above [`AT_ONCE`] that are compressed at a time, by the process. Others are meanwhile sent as they are.
static TURNS: Semaphore = Semaphore::const_new(2);

/// Whether the caller accepts gzip (RFC 9110, section 12.5.3).
pub fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).into_iter();
    let codings = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    let (mut gzip, mut others) = (None, None);
    for coding in codings {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let accepted = parts.all(accepts);
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            gzip = Some(accepted);
        } else if name == "*" {
            others = Some(accepted);
        }
    }
    gzip.or(others).unwrap_or_default()
}

/// Whether a coding with this parameter is accepted: it is not with the weight 0.
fn accepts(parameter: &str) -> bool {
    match parameter.split_once('=') {
        Some((name, weight)) if name.trim().eq_ignore_ascii_case("q") => weight
            .trim()
            .parse::<f32>()
            .is_ok_and(|weight| weight > 0.0),
        _ => true,
    }
}

/// The bytes of an answer that is to be compressed if the caller accepts it: JSON for a page of this server.
pub fn candidate(request: &HeaderMap, response: &Response<RestBody>) -> Option<Bytes> {
    if request.get(SEC_FETCH_SITE)? != "same-origin" {
        return None;
    }
    let RestBody::Whole(Some(plain)) = response.body() else {
        return None;
    };
    let headers = response.headers();
    // A strong entity tag names these very bytes.
    let is_bound = headers.contains_key(CONTENT_ENCODING) || headers.contains_key(ETAG);
    let is_json = headers.get(CONTENT_TYPE)? == "application/json";
    let fits = SMALL < plain.len() && plain.len() <= LARGE;
    (is_json && fits && !is_bound).then(|| plain.clone())
}

/// Compresses a [`candidate`] for a caller that accepts it.
pub async fn compress(accepted: bool, plain: Bytes, response: &mut Response<RestBody>) {
    response.headers_mut().append(VARY, DEPENDS_ON);
    if !accepted {
        return;
    }
    let packed = if plain.len() <= AT_ONCE {
        gzip(&plain)
    } else if let Ok(_turn) = TURNS.try_acquire() {
        let packed = tokio::task::spawn_blocking(move || gzip(&plain)).await;
        packed.ok().flatten()
    } else {
        None
    };
    if let Some(packed) = packed {
        *response.body_mut() = RestBody::from(packed);
        response.headers_mut().insert(CONTENT_ENCODING, GZIP);
    }
}

/// `None`: it would not be smaller.
fn gzip(plain: &[u8]) -> Option<Bytes> {
    let packed = Vec::with_capacity(plain.len() / 4);
    let mut encoder = GzEncoder::new(packed, Compression::fast());
    encoder.write_all(plain).ok()?;
    let packed = encoder.finish().ok()?;
    (packed.len() < plain.len()).then(|| Bytes::from(packed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_accepts_gzip_by_name_or_with_all_others_but_not_with_weight_0() {
        for (accepted, takes) in [
            (&["gzip, deflate, br"][..], true),
            (&["br;q=1.0, GZIP;q=0.8"], true),
            (&["br", "x-gzip"], true),
            (&["*"], true),
            (&["gzip;q=0"], false),
            (&["gzip; Q = 0.000, br"], false),
            (&["gzip;q=0, *"], false),
            (&["*;q=0, gzip"], true),
            (&["*;q=0"], false),
            (&["gzip;q=many"], false),
            (&["identity, gzipped"], false),
            (&[""], false),
            (&[], false),
        ] {
            let mut headers = HeaderMap::new();
            for list in accepted {
                headers.append(ACCEPT_ENCODING, HeaderValue::from_static(list));
            }
            assert_eq!(takes_gzip(&headers), takes, "{accepted:?}");
        }
    }

    fn from(site: &'static str) -> HeaderMap {
        [(SEC_FETCH_SITE, HeaderValue::from_static(site))]
            .into_iter()
            .collect()
    }

    fn answer(bytes: usize, headers: &[(HeaderName, &'static str)]) -> Response<RestBody> {
        let mut response = Response::new(RestBody::from(Bytes::from(vec![b'1'; bytes])));
        for (name, value) in headers {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
        response
    }

    const JSON: (HeaderName, &str) = (CONTENT_TYPE, "application/json");

    #[test]
    fn only_json_of_some_size_for_a_page_of_this_server_is_compressed() {
        let is_one =
            |site, response: &Response<RestBody>| candidate(&from(site), response).is_some();
        let json = answer(SMALL + 1, &[JSON]);
        assert!(is_one("same-origin", &json));
        for site in ["cross-site", "same-site", "none", ""] {
            assert!(!is_one(site, &json), "{site}");
        }
        assert!(candidate(&HeaderMap::new(), &json).is_none());
        for (bytes, headers) in [
            (SMALL, &[JSON][..]),
            (LARGE + 1, &[JSON]),
            (SMALL + 1, &[]),
            (SMALL + 1, &[(CONTENT_TYPE, "text/xml")]),
            (SMALL + 1, &[JSON, (ETAG, "\"1\"")]),
            (SMALL + 1, &[JSON, (CONTENT_ENCODING, "gzip")]),
        ] {
            assert!(
                !is_one("same-origin", &answer(bytes, headers)),
                "{headers:?}"
            );
        }
        let mut without_body = answer(SMALL + 1, &[JSON]);
        *without_body.body_mut() = RestBody::empty();
        assert!(!is_one("same-origin", &without_body));
    }

    #[test]
    fn what_would_not_become_smaller_is_left() {
        assert!(gzip(b"7").is_none());
        assert!(gzip(&[b'7'; 5_000]).is_some_and(|packed| packed.len() < 100));
    }
}
