//! What users of the web interface keep.

use http::header::ETAG;
use http::{HeaderValue, Response};
use skep_protocol::Key;
use skep_protocol::value::KeptValue;
use skep_query::render_time;

use crate::rest::RestBody;
use crate::rest::json::Object;

/// An object with its body, if it was read, and its revision as `ETag`.
pub fn one(revision: Key, kept: &KeptValue) -> Response<RestBody> {
    let mut out = String::with_capacity(256 + kept.body.len());
    Object::write(&mut out, |o| {
        described(o, revision, kept);
        if !kept.body.is_empty() {
            o.raw("body", &kept.body);
        }
    });
    let mut response = super::json(out);
    if let Ok(tag) = HeaderValue::try_from(format!("\"{revision}\"")) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

pub fn list(out: &mut String, all: &[(Key, KeptValue)]) {
    Object::write(out, |o| {
        o.array("items", all, |out, (revision, kept)| {
            Object::write(out, |o| described(o, *revision, kept));
        });
    });
}

fn described(o: &mut Object, revision: Key, kept: &KeptValue) {
    o.text("name", &kept.id.name);
    o.text("title", &kept.title);
    o.key("revision", revision);
    o.text("owner", kept.id.owner.name());
    o.raw("shared", if kept.shared { "true" } else { "false" });
    o.text("changed", &render_time(kept.changed));
}
