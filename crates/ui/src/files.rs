//! Files of the web interface, stored compressed in the binary.

use std::io::Read;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Response, StatusCode};

/// A file of `ui/dist`.
#[derive(Debug)]
pub struct Embedded {
    /// Path relative to `/ui/`.
    pub name: &'static str,
    pub gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Version of the web interface in this binary; `none` if there is none.
pub fn version() -> &'static str {
    BUILT
}

pub fn find(name: &str) -> Option<&'static Embedded> {
    EMBEDDED.iter().find(|file| file.name == name)
}

/// The uncompressed file. `None` if the embedded data is damaged, which no build produces.
pub fn unpacked(file: &Embedded) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(file.gzip)
        .read_to_end(&mut plain)
        .ok()?;
    Some(plain)
}

/// The answer to a request for a file, compressed or not. File names change with the content, so browsers may cache them forever.
pub fn answer(name: &str, packed: bool) -> Response<Bytes> {
    let Some(file) = find(name) else {
        return crate::status(StatusCode::NOT_FOUND);
    };
    let body = if packed {
        Some(Bytes::from_static(file.gzip))
    } else {
        unpacked(file).map(Bytes::from)
    };
    let Some(body) = body else {
        return crate::status(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let mut response = Response::new(body);
    let answered = response.headers_mut();
    answered.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(name)));
    answered.insert(CACHE_CONTROL, FOR_GOOD);
    answered.insert(VARY, HeaderValue::from_static("accept-encoding"));
    answered.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if packed {
        answered.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

const FOR_GOOD: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("woff2") => "font/woff2",
        Some("svg") => "image/svg+xml",
        Some("eot") => "application/vnd.ms-fontobject",
        Some("json") => "application/json",
        Some("bpmn" | "xml") => "text/xml; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_file_unpacks_and_has_a_type() {
        for file in EMBEDDED {
            assert!(
                unpacked(file).is_some_and(|b| !b.is_empty()),
                "{}",
                file.name
            );
            let known = content_type(file.name) != "application/octet-stream";
            assert!(known || file.name == "index.html", "{}", file.name);
        }
    }
}
