//! Refusals: RFC 9457 problem documents.

use http::StatusCode;
use serde::Deserialize;

use crate::{Code, Error, Problem};

#[derive(Deserialize)]
struct Document {
    title: Option<String>,
    detail: Option<String>,
}

/// Reads a problem document; a body that is none still gives an error with the status.
pub(super) fn refusal(status: StatusCode, body: &[u8]) -> Error {
    let document = serde_json::from_slice(body).unwrap_or(Document {
        title: None,
        detail: None,
    });
    if status == StatusCode::NOT_FOUND && document.title.is_none() {
        // The API refuses with a document: this is another port of the server, or another program.
        return Error::Protocol(format!("there is no REST API: {}", quoted(status, body)));
    }
    let code = document
        .title
        .as_deref()
        .and_then(by_title)
        .unwrap_or_else(|| by_status(status));
    let detail = document.detail.or(document.title);
    Error::Refused(Problem {
        code,
        detail: detail.unwrap_or_else(|| quoted(status, body)),
    })
}

/// The status and the beginning of the body.
fn quoted(status: StatusCode, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let start: String = text.chars().take(200).collect();
    format!("HTTP {status} {start}").trim_end().to_owned()
}

/// The title carries the internal status name: it tells back-pressure from other 503s.
fn by_title(title: &str) -> Option<Code> {
    Some(match title {
        "INVALID_ARGUMENT" => Code::InvalidArgument,
        "UNAUTHORIZED" => Code::Unauthenticated,
        "FORBIDDEN" => Code::PermissionDenied,
        "NOT_FOUND" => Code::NotFound,
        "ALREADY_EXISTS" => Code::AlreadyExists,
        "INVALID_STATE" => Code::FailedPrecondition,
        "INTERNAL" => Code::Internal,
        "ABORTED" => Code::Aborted,
        "RESOURCE_EXHAUSTED" => Code::ResourceExhausted,
        "UNAVAILABLE" => Code::Unavailable,
        "DEADLINE_EXCEEDED" => Code::DeadlineExceeded,
        _ => return None,
    })
}

fn by_status(status: StatusCode) -> Code {
    match status.as_u16() {
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        405 | 501 => Code::Unimplemented,
        409 => Code::FailedPrecondition,
        429 => Code::ResourceExhausted,
        502 => Code::Aborted,
        503 => Code::Unavailable,
        504 => Code::DeadlineExceeded,
        500 => Code::Internal,
        400..=499 => Code::InvalidArgument,
        _ => Code::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_and_detail(status: u16, body: &str) -> (Code, String) {
        match refusal(StatusCode::from_u16(status).unwrap(), body.as_bytes()) {
            Error::Refused(problem) => (problem.code, problem.detail),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_title_distinguishes_backpressure_from_a_missing_leader() {
        let body = r#"{"type":"about:blank","title":"RESOURCE_EXHAUSTED","status":503,"detail":"partition 1 is full","instance":"/v2/jobs"}"#;
        assert_eq!(
            code_and_detail(503, body),
            (Code::ResourceExhausted, "partition 1 is full".into())
        );
        let body = r#"{"title":"UNAVAILABLE","status":503,"detail":"no leader"}"#;
        assert_eq!(code_and_detail(503, body).0, Code::Unavailable);
    }

    #[test]
    fn conflicts_are_distinguished_by_their_title() {
        let exists = r#"{"title":"ALREADY_EXISTS","detail":"d"}"#;
        assert_eq!(code_and_detail(409, exists).0, Code::AlreadyExists);
        let state = r#"{"title":"INVALID_STATE","detail":"d"}"#;
        assert_eq!(code_and_detail(409, state).0, Code::FailedPrecondition);
    }

    #[test]
    fn a_body_that_is_no_problem_document_is_quoted() {
        assert_eq!(
            code_and_detail(503, "<html>down</html>"),
            (
                Code::Unavailable,
                "HTTP 503 Service Unavailable <html>down</html>".into()
            )
        );
        assert_eq!(code_and_detail(429, "").0, Code::ResourceExhausted);
        assert_eq!(code_and_detail(413, "").0, Code::InvalidArgument);
    }

    #[test]
    fn a_port_without_the_api_does_not_refuse_the_request() {
        let management = br#"{"message":"there is nothing at /v2/topology"}"#;
        let error = refusal(StatusCode::NOT_FOUND, management);
        assert!(matches!(error, Error::Protocol(_)), "{error}");
        let job = code_and_detail(404, r#"{"title":"NOT_FOUND","detail":"no such job"}"#);
        assert_eq!(job, (Code::NotFound, "no such job".into()));
    }
}
