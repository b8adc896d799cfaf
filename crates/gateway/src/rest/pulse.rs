//! `GET /skep/v1/pulse`: which kinds of rows have changed. See [`skep_query::pulse`].

use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use skep_query::{Pulse, QueryError};

use super::json::Object;
use super::problem::Problem;
use super::{RestBody, encode};
use crate::call::FrontEnd;

/// A browser that stores the answer must still revalidate it.
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// 304 if the caller has this pulse already.
pub async fn answer(front: &FrontEnd, headers: &HeaderMap) -> Result<Response<RestBody>, Problem> {
    if front.storage.is_off() {
        return Err(QueryError::Disabled.into());
    }
    let pulse = front.storage.pulse().await;
    let tag = format!("\"{:016x}\"", pulse.tag());
    let mut response = if is_known(headers, &tag) {
        encode::status(StatusCode::NOT_MODIFIED)
    } else {
        encode::json(body(&pulse))
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(ETAG, tag);
    }
    headers.insert(CACHE_CONTROL, NO_CACHE);
    Ok(response)
}

/// RFC 9110, section 13.1.2. A proxy that compresses answers makes tags weak.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let lists = headers.get_all(IF_NONE_MATCH).into_iter();
    let mut tags = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    tags.any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    })
}

fn body(pulse: &Pulse) -> String {
    let mut body = String::with_capacity(1_200);
    Object::write(&mut body, |o| {
        o.object("versions", |o| {
            for (kind, version) in pulse.versions() {
                o.text(kind, &format!("{version:016x}"));
            }
        });
        let behind = i64::try_from(pulse.behind_ms).unwrap_or(i64::MAX);
        o.number("behindMs", behind);
    });
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pulse_is_known_by_its_tag_wherever_it_stands() {
        let known = |lists: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for list in lists {
                headers.append(IF_NONE_MATCH, HeaderValue::from_static(list));
            }
            is_known(&headers, "\"a\"")
        };
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
}
