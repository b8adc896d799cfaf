//! Failures as problem bodies (RFC 9457).

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use skep_protocol::{Failure, Rejection, RejectionType};

use super::RestBody;
use super::json::Object;
use crate::door::Scheme;
use crate::failure_text;

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// On answers that lack something: how many milliseconds they are behind.
pub const BEHIND: HeaderName = HeaderName::from_static("skep-behind-ms");

/// An error answer to a request.
#[derive(Debug, PartialEq)]
pub struct Problem {
    pub status: StatusCode,
    /// The internal name of the status, by which clients tell problems of one status apart.
    pub title: &'static str,
    pub detail: String,
    /// For 405: the methods that the path has.
    pub allow: Option<String>,
    /// For 401: the scheme that the caller should use.
    pub asks_for: Option<Scheme>,
    /// The request's body was not read to its end.
    pub unread_body: bool,
    /// For how many milliseconds the rows that were read have lacked something: what was not found may be there.
    pub behind: u64,
}

impl Problem {
    pub fn new(status: StatusCode, title: &'static str, detail: impl Into<String>) -> Problem {
        Problem {
            status,
            title,
            detail: failure_text::bounded(&detail.into(), failure_text::plain).into_owned(),
            allow: None,
            asks_for: None,
            unread_body: false,
            behind: 0,
        }
    }

    /// The same after a read of rows that lack something.
    pub fn read_behind(self, behind: u64) -> Problem {
        Problem { behind, ..self }
    }

    pub fn unknown_path(path: &str) -> Problem {
        Problem::new(
            StatusCode::NOT_FOUND,
            "NOT_FOUND",
            format!("The API has no path '{path}'. Its paths are listed at /v2/openapi.json."),
        )
    }

    /// The head of the request breaks the rules of HTTP, so where the request ends may be in doubt, too.
    pub fn bad_head(fault: &str) -> Problem {
        Problem {
            unread_body: true,
            ..Problem::new(StatusCode::BAD_REQUEST, "Bad Request", fault)
        }
    }

    pub fn wrong_method(method: &str, path: &str, allowed: &[&str]) -> Problem {
        let allow = allowed.join(", ");
        let detail = format!("The path '{path}' does not support {method}; it supports {allow}.");
        Problem {
            allow: Some(allow),
            ..Problem::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", detail)
        }
    }

    pub fn not_yet(operation: &str) -> Problem {
        Problem::new(
            StatusCode::NOT_IMPLEMENTED,
            "NOT_IMPLEMENTED",
            format!(
                "The operation '{operation}' belongs to the API but is not supported by this release yet. Nothing was done. Supported \
                 operations are listed at /v2/openapi.json."
            ),
        )
    }

    /// The operation is switched off.
    pub fn no_access(path: &str, why: &str) -> Problem {
        let detail = format!("The path '{path}' is not accessible: {why}.");
        Problem::new(StatusCode::FORBIDDEN, "Access issue", detail)
    }

    pub fn wrong_content_type(given: Option<&str>, wanted: &str) -> Problem {
        let given = given.map_or("no Content-Type".to_string(), |g| {
            format!("Content-Type '{g}'")
        });
        Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_MEDIA_TYPE",
            format!(
                "The request has {given}, but this operation expects '{wanted}'. Send the body as {wanted}."
            ),
        )
    }

    pub fn wrong_content_encoding(given: &str) -> Problem {
        Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_MEDIA_TYPE",
            format!(
                "The request has Content-Encoding '{given}', but this server takes bodies without compression only. Send the body as it \
                 is, without the header Content-Encoding."
            ),
        )
    }

    pub fn too_large(limit: usize) -> Problem {
        Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "PAYLOAD_TOO_LARGE",
            format!(
                "The request body is larger than the {limit} bytes that are allowed. Send less, or raise the limit."
            ),
        )
    }

    pub fn body_timeout(seconds: u64) -> Problem {
        Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "REQUEST_TIMEOUT",
            format!("The request body did not arrive within {seconds} s. Send the request again."),
        )
    }

    /// The answer to a request for `path`.
    pub fn into_response(self, path: &str) -> Response<RestBody> {
        let mut body = String::with_capacity(160 + self.detail.len() + path.len());
        Object::write(&mut body, |o| {
            o.text("type", "about:blank");
            o.text("title", self.title);
            o.number("status", i64::from(self.status.as_u16()));
            o.text("detail", &self.detail);
            o.text("instance", path);
        });
        let mut response = Response::new(RestBody::from(Bytes::from(body)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, PROBLEM_JSON);
        if let Some(scheme) = self.asks_for {
            headers.insert(
                WWW_AUTHENTICATE,
                HeaderValue::from_static(scheme.challenge()),
            );
        }
        if self.behind > 0 {
            headers.insert(BEHIND, HeaderValue::from(self.behind));
        }
        if let Some(allow) = self.allow.and_then(|a| HeaderValue::try_from(a).ok()) {
            headers.insert(ALLOW, allow);
        }
        response
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        let (status, title) = match &failure {
            Failure::Rejected(Rejection { kind, .. }) => rejected(*kind),
            Failure::InvalidArgument(_) => (400, "INVALID_ARGUMENT"),
            Failure::NotFound(_) => (404, "NOT_FOUND"),
            Failure::ResourceExhausted(_) => (503, "RESOURCE_EXHAUSTED"),
            Failure::Unavailable(_) => (503, "UNAVAILABLE"),
            Failure::DeadlineExceeded(_) => (504, "DEADLINE_EXCEEDED"),
            Failure::Aborted(_) => (502, "ABORTED"),
            Failure::Internal(_) => (500, "INTERNAL"),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Problem {
            detail: failure_text::in_body(&failure),
            ..Problem::new(status, title, "")
        }
    }
}

fn rejected(kind: RejectionType) -> (u16, &'static str) {
    match kind {
        RejectionType::InvalidArgument => (400, "INVALID_ARGUMENT"),
        RejectionType::Unauthorized => (401, "UNAUTHORIZED"),
        RejectionType::Forbidden => (403, "FORBIDDEN"),
        RejectionType::NotFound => (404, "NOT_FOUND"),
        RejectionType::AlreadyExists => (409, "ALREADY_EXISTS"),
        RejectionType::InvalidState => (409, "INVALID_STATE"),
        RejectionType::ProcessingError | RejectionType::ExceededBatchRecordSize => {
            (500, "INTERNAL")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rejection_has_its_status_and_title() {
        use RejectionType::*;
        for (kind, status, title) in [
            (InvalidArgument, 400, "INVALID_ARGUMENT"),
            (NotFound, 404, "NOT_FOUND"),
            (AlreadyExists, 409, "ALREADY_EXISTS"),
            (InvalidState, 409, "INVALID_STATE"),
            (ProcessingError, 500, "INTERNAL"),
            (ExceededBatchRecordSize, 500, "INTERNAL"),
            (Unauthorized, 401, "UNAUTHORIZED"),
            (Forbidden, 403, "FORBIDDEN"),
        ] {
            let rejection = Rejection::new(kind, "CREATE", "so");
            let problem = Problem::from(Failure::from(rejection));
            let detail = format!(
                "Command 'CREATE' rejected with code '{}': so",
                kind.as_str()
            );
            let expected = Problem::new(StatusCode::from_u16(status).unwrap(), title, detail);
            assert_eq!(problem, expected);
        }
    }

    #[test]
    fn what_is_not_found_in_rows_that_lack_something_says_so() {
        let missing = || Problem::new(StatusCode::NOT_FOUND, "NOT_FOUND", "no such instance");
        let complete = missing().read_behind(0).into_response("/v2/x");
        assert!(!complete.headers().contains_key(BEHIND));
        let behind = missing().read_behind(7).into_response("/v2/x");
        assert_eq!(behind.headers()[BEHIND], "7");
    }
}
