//! gRPC statuses, in headers or trailers.

use http::{HeaderMap, StatusCode};

use crate::{Code, Error, Problem};

/// Judges the head of an answer: it may already carry the status ("trailers only").
pub(super) fn check_head(status: StatusCode, headers: &HeaderMap) -> Result<(), Error> {
    if headers.contains_key("grpc-status") {
        return check(headers);
    }
    if status != StatusCode::OK {
        // the mapping of the gRPC documentation ("HTTP to gRPC status code mapping")
        let code = match status.as_u16() {
            400 => Code::Internal,
            401 => Code::Unauthenticated,
            403 => Code::PermissionDenied,
            404 => Code::Unimplemented,
            429 | 502..=504 => Code::Unavailable,
            _ => Code::Unknown,
        };
        let advice = match status {
            StatusCode::NOT_FOUND => ": this may be the port of REST; gRPC is on 26500 by default",
            _ => "",
        };
        return Err(Error::Refused(Problem {
            code,
            detail: format!("HTTP {status} instead of a gRPC answer{advice}"),
        }));
    }
    Ok(())
}

/// Judges the trailers.
pub(super) fn check_end(trailers: Option<&HeaderMap>) -> Result<(), Error> {
    match trailers {
        Some(trailers) => check(trailers),
        None => Err(Error::broken("the answer ended without a gRPC status")),
    }
}

fn check(headers: &HeaderMap) -> Result<(), Error> {
    let number = headers
        .get("grpc-status")
        .and_then(|value| value.to_str().ok());
    let code = match number {
        Some("0") => return Ok(()),
        Some("3" | "11") => Code::InvalidArgument,
        Some("4") => Code::DeadlineExceeded,
        Some("5") => Code::NotFound,
        Some("6") => Code::AlreadyExists,
        Some("7") => Code::PermissionDenied,
        Some("8") => Code::ResourceExhausted,
        Some("9") => Code::FailedPrecondition,
        Some("1" | "10") => Code::Aborted,
        Some("12") => Code::Unimplemented,
        Some("13" | "15") => Code::Internal,
        Some("14") => Code::Unavailable,
        Some("16") => Code::Unauthenticated,
        _ => Code::Unknown,
    };
    let detail = headers
        .get("grpc-message")
        .map(|value| percent_decoded(value.as_bytes()))
        .unwrap_or_default();
    Err(Error::Refused(Problem { code, detail }))
}

/// The gRPC message encoding: `%XX` for bytes that a header cannot hold.
fn percent_decoded(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let decoded = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(h, l)| h * 16 + l),
            _ => None,
        };
        bytes.push(decoded.unwrap_or(*first));
        rest = match decoded {
            Some(_) => tail.get(2..).unwrap_or_default(),
            None => tail,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trailers(status: &str, message: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-status", status.parse().unwrap());
        headers.insert("grpc-message", message.parse().unwrap());
        headers
    }

    #[test]
    fn a_status_becomes_a_code_and_its_message_is_decoded() {
        assert!(check_end(Some(&trailers("0", ""))).is_ok());
        let error = check_end(Some(&trailers("8", "partition%201 is f%C3%BCll 5%"))).unwrap_err();
        assert_eq!(error.code(), Some(Code::ResourceExhausted));
        assert_eq!(
            error.to_string(),
            "RESOURCE_EXHAUSTED: partition 1 is füll 5%"
        );
    }

    #[test]
    fn an_answer_without_a_status_is_ambiguous() {
        assert!(check_end(None).unwrap_err().is_ambiguous());
    }

    #[test]
    fn a_proxy_that_does_not_speak_grpc_is_named() {
        let error = check_head(StatusCode::SERVICE_UNAVAILABLE, &HeaderMap::new()).unwrap_err();
        assert!(error.is_retryable(), "{error}");
        let error = check_head(StatusCode::NOT_FOUND, &HeaderMap::new()).unwrap_err();
        assert_eq!(error.code(), Some(Code::Unimplemented));
        assert!(error.to_string().contains("26500"), "{error}");
    }
}
