//! Heads of HTTP/1.1 messages: writing those of requests, reading those of answers (RFC 9112).

use std::io::Write as _;

use http::{HeaderValue, StatusCode};

use super::Call;
use crate::Error;

/// Maximum number of headers of an answer.
const MAX_HEADERS: usize = 64;

/// How the body of an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length(usize),
    Chunked,
    /// At the end of the connection.
    Close,
}

/// The head of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Its size in the buffer, in bytes.
    pub(super) bytes: usize,
    pub(super) status: StatusCode,
    pub(super) framing: Framing,
    /// Whether the server keeps the connection open.
    pub(super) keep: bool,
}

/// The whole request as bytes: one write sends it.
pub(super) fn write(call: &Call<'_>, host: &HeaderValue) -> Result<Vec<u8>, Error> {
    // what ends a request line or a header early could smuggle in another request
    if call.path.bytes().any(|b| b <= b' ' || b == 0x7f) {
        return Err(Error::Invalid("a path that is no URI".into()));
    }
    let mut bytes = Vec::with_capacity(256 + call.path.len() + call.body.len());
    let mut header = |name: &str, value: &[u8]| {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(value);
    };
    header(call.method.as_str(), b" ");
    header(call.path, b" HTTP/1.1\r\n");
    header("host: ", host.as_bytes());
    if let Some(content_type) = call.content_type {
        header("\r\ncontent-type: ", content_type.as_bytes());
    }
    if let Some(authorization) = call.authorization {
        header("\r\nauthorization: ", authorization.as_bytes());
    }
    if call.content_type.is_some() || !call.body.is_empty() {
        // writing to a Vec cannot fail
        let _ = write!(bytes, "\r\ncontent-length: {}", call.body.len());
    }
    bytes.extend_from_slice(b"\r\n\r\n");
    bytes.extend_from_slice(call.body);
    Ok(bytes)
}

/// Reads a head; `None` when it has not arrived whole.
pub(super) fn read(buffer: &[u8]) -> Result<Option<Head>, Error> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut answer = httparse::Response::new(&mut headers);
    let bytes = match answer.parse(buffer) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(invalid(error)),
    };
    let code = answer.code.unwrap_or_default();
    let status = StatusCode::from_u16(code).map_err(invalid)?;
    let mut framing = None;
    let mut keep = answer.version == Some(1);
    for header in answer.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("content-length") && framing != Some(Framing::Chunked) {
            let length = std::str::from_utf8(header.value).map(str::trim).ok();
            let length = length.and_then(|text| text.parse().ok());
            let length = length.ok_or_else(|| invalid("a content-length that is no number"))?;
            framing = Some(Framing::Length(length));
        } else if is("transfer-encoding") {
            if !last_token(header.value).eq_ignore_ascii_case(b"chunked") {
                return Err(invalid("a transfer-encoding other than chunked"));
            }
            framing = Some(Framing::Chunked);
        } else if is("connection") {
            let mut tokens = header.value.split(|b| *b == b',').map(<[u8]>::trim_ascii);
            keep &= !tokens.any(|token| token.eq_ignore_ascii_case(b"close"));
        }
    }
    let empty = status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED;
    let framing = match framing {
        _ if empty => Framing::Length(0),
        Some(framing) => framing,
        None => Framing::Close,
    };
    Ok(Some(Head {
        bytes,
        status,
        framing,
        keep: keep && framing != Framing::Close,
    }))
}

fn last_token(value: &[u8]) -> &[u8] {
    let last = value.rsplit(|b| *b == b',').next();
    last.unwrap_or_default().trim_ascii()
}

pub(super) fn invalid(why: impl std::fmt::Display) -> Error {
    Error::Protocol(format!("the answer is no HTTP/1.1: {why}"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Method;

    use super::*;

    fn head(text: &str) -> (u16, Framing, bool) {
        let head = read(text.as_bytes()).unwrap().expect("whole");
        assert_eq!(head.bytes, text.len(), "{text}");
        (head.status.as_u16(), head.framing, head.keep)
    }

    #[test]
    fn a_request_is_one_piece_of_text() {
        let host = HeaderValue::from_static("h:1");
        let (json, secret) = (
            HeaderValue::from_static("application/json"),
            HeaderValue::from_static("Bearer x"),
        );
        let mut call = Call {
            method: &Method::POST,
            path: "/v2/jobs/1/completion",
            content_type: Some(&json),
            authorization: Some(&secret),
            body: &Bytes::from_static(b"{}"),
        };
        assert_eq!(
            String::from_utf8(write(&call, &host).unwrap()).unwrap(),
            "POST /v2/jobs/1/completion HTTP/1.1\r\nhost: h:1\r\ncontent-type: application/json\r\n\
             authorization: Bearer x\r\ncontent-length: 2\r\n\r\n{}"
        );
        call.path = "/v2/x HTTP/1.1\r\nhost: other";
        assert!(write(&call, &host).is_err());
        let get = Call {
            method: &Method::GET,
            path: "/v2/topology",
            content_type: None,
            authorization: None,
            body: &Bytes::new(),
        };
        assert_eq!(
            write(&get, &host).unwrap(),
            b"GET /v2/topology HTTP/1.1\r\nhost: h:1\r\n\r\n"
        );
    }

    #[test]
    fn a_head_says_how_the_body_ends_and_whether_the_connection_stays() {
        let length = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n";
        assert_eq!(head(length), (200, Framing::Length(12), true));
        let chunked = "HTTP/1.1 500 x\r\ntransfer-encoding: Chunked\r\ncontent-length: 1\r\n\r\n";
        assert_eq!(head(chunked), (500, Framing::Chunked, true));
        let closing = "HTTP/1.1 204 No Content\r\nconnection: x, Close\r\n\r\n";
        assert_eq!(head(closing), (204, Framing::Length(0), false));
        let open_end = "HTTP/1.1 200 OK\r\n\r\n";
        assert_eq!(head(open_end), (200, Framing::Close, false));
        let old = "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n";
        assert_eq!(head(old), (200, Framing::Length(1), false));
        for part in 1..length.len() {
            assert_eq!(read(&length.as_bytes()[..part]).unwrap(), None, "{part}");
        }
        for bad in [
            "SSH-2.0-x\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
        ] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
