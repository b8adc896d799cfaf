//! Entity tags: a caller that has the answer already gets 304 without a body.

use std::hash::Hasher;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use rustc_hash::FxHasher;

use super::RestBody;

/// A browser that stores the answer must still revalidate it: the caller's permissions may have changed.
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// The tag of a text.
pub fn of_text(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Gives a successful answer this tag.
pub fn put(response: &mut Response<RestBody>, tag: u64) {
    if let Ok(tag) = HeaderValue::try_from(format!("\"{tag:016x}\"")) {
        let headers = response.headers_mut();
        headers.insert(ETAG, tag);
        headers.insert(CACHE_CONTROL, NO_CACHE);
    }
}

/// The answer, or 304 if it has a tag that the request names. To be called with the answer that the caller would get, so after
/// all checks of permissions.
pub fn unless_known(request: &HeaderMap, mut response: Response<RestBody>) -> Response<RestBody> {
    let tag = response.headers().get(ETAG);
    if response.status() == StatusCode::OK && tag.is_some_and(|tag| is_known(request, tag)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = RestBody::empty();
        response.headers_mut().remove(CONTENT_TYPE);
    }
    response
}

/// RFC 9110, section 13.1.2. A proxy that compresses answers makes tags weak.
fn is_known(request: &HeaderMap, tag: &HeaderValue) -> bool {
    let lists = request.get_all(IF_NONE_MATCH).into_iter();
    let mut tags = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    tags.any(|known| {
        let known = known.trim();
        known == "*" || tag == known.strip_prefix("W/").unwrap_or(known)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(lists: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for list in lists {
            headers.append(IF_NONE_MATCH, HeaderValue::from_static(list));
        }
        headers
    }

    #[test]
    fn an_answer_is_known_by_its_tag_wherever_it_stands() {
        let known =
            |lists: &[&'static str]| is_known(&asked(lists), &HeaderValue::from_static("\"a\""));
        for lists in [
            &["\"a\""][..],
            &["W/\"a\""],
            &["\"b\", \"a\""],
            &["\"b\"", "\"a\""],
            &["*"],
        ] {
            assert!(known(lists), "{lists:?}");
        }
        for lists in [&[][..], &["\"b\""], &["a"], &["\"a"], &[""], &["W/"]] {
            assert!(!known(lists), "{lists:?}");
        }
    }

    #[test]
    fn only_a_tagged_success_becomes_a_304() {
        let status = |status: StatusCode, is_tagged: bool| {
            let mut response = Response::new(RestBody::empty());
            *response.status_mut() = status;
            if is_tagged {
                put(&mut response, 1);
            }
            unless_known(&asked(&["*"]), response).status().as_u16()
        };
        assert_eq!(status(StatusCode::OK, true), 304);
        assert_eq!(status(StatusCode::OK, false), 200);
        assert_eq!(status(StatusCode::FORBIDDEN, true), 403);
    }

    #[test]
    fn other_texts_have_other_tags() {
        assert_eq!(of_text("<a/>"), of_text("<a/>"));
        assert_ne!(of_text("<a/>"), of_text("<b/>"));
        assert_ne!(of_text(""), of_text("\0"));
    }
}
