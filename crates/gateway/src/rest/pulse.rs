//! `GET /skep/v1/pulse`: which kinds of rows have changed. See [`skep_query::pulse`].

use http::{HeaderMap, Response};
use skep_query::{Pulse, QueryError};

use super::json::Object;
use super::problem::Problem;
use super::{RestBody, encode, etag};
use crate::call::FrontEnd;

/// 304 if the caller has this pulse already.
pub async fn answer(front: &FrontEnd, headers: &HeaderMap) -> Result<Response<RestBody>, Problem> {
    if front.storage.is_off() {
        return Err(QueryError::Disabled.into());
    }
    let pulse = front.storage.pulse().await;
    let mut response = encode::json(body(&pulse));
    etag::put(&mut response, pulse.tag());
    Ok(etag::unless_known(headers, response))
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
