//! `/skep/v1/management/…`: operators' requests at the REST port, carried out by the endpoints of the management port.

use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use hyper::body::Incoming;
use serde::Deserialize;
use skep_protocol::Failure;
use skep_protocol::origin::Claims;

use super::operations::path::Texts;
use super::operations::{Operation, Takes};
use super::problem::Problem;
use super::{RestBody, receive_within, sight};
use crate::call::FrontEnd;
use crate::door::Login;
use crate::door::visitor::Visitor;

const ROOT: &str = "/skep/v1/management/";
/// Bytes of a request body; requests of operators are small.
const MAX_BODY: usize = 64 << 10;
/// Longest time for an answer: pauses of exporters and searches of a store for backups take the longest.
const TIMEOUT: Duration = Duration::from_secs(60);

pub async fn answer(
    front: &FrontEnd,
    claims: &Claims,
    (operation, texts): (&Operation, Texts<'_>),
    (parts, visitor): (&Parts, &Visitor),
    body: Incoming,
) -> Result<Response<RestBody>, Problem> {
    sight::may(front, claims, operation)?;
    let changes = ![Method::GET, Method::HEAD].contains(&parts.method);
    if changes && front.door.login() == Login::Unprotected && !is_local(parts, visitor) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "FORBIDDEN",
            "This server requires no login, so it takes changes of the cluster only from its own machine, without a proxy. Send the \
             request from there, use the management port, or turn on authentication (camunda.security.authentication.method).",
        ));
    }
    let Some(operators) = &front.config.hooks.operators else {
        return Err(Failure::Internal("This server has no management port.".to_string()).into());
    };
    let (limit, budget) = ((Takes::Json, MAX_BODY), &front.gate.budget);
    let received = receive_within(front, limit, budget, &parts.headers, body).await?;
    if changes {
        let by = match claims {
            Claims::User(principal) | Claims::Client(principal) => &*principal.id,
            Claims::Anonymous | Claims::Internal => "anybody on this machine",
        };
        tracing::info!(operation = operation.id, by, "operator's request over REST");
    }
    let path = below_root(operation.path, texts);
    let answer = operators.answer(path, parts, received.bytes);
    match tokio::time::timeout(TIMEOUT, answer).await {
        Ok(answer) => answered(answer),
        Err(_) => Err(Failure::DeadlineExceeded(format!(
            "The cluster did not answer within {} s; a change may or may not have begun. Look before sending the request again.",
            TIMEOUT.as_secs()
        ))
        .into()),
    }
}

/// Whether the request comes from this machine: not through a proxy here, and not from a page that reached this server by a name of its
/// own.
fn is_local(parts: &Parts, visitor: &Visitor) -> bool {
    let host = match parts.headers.get(HOST) {
        Some(host) => host.to_str().ok(),
        // HTTP/2 has it in the address.
        None => parts.uri.authority().map(http::uri::Authority::as_str),
    };
    let host = host.and_then(|host| host.parse::<http::uri::Authority>().ok());
    let is_name_of_this_machine = host.is_some_and(|host| {
        let name = host.host().trim_matches(['[', ']']);
        let address = name.parse::<std::net::IpAddr>();
        name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
    });
    let of_proxies = parts
        .headers
        .keys()
        .any(|name| is_of_proxies(name.as_str()));
    visitor.peer.to_canonical().is_loopback() && is_name_of_this_machine && !of_proxies
}

/// Whether only proxies add a header of this name. Not every proxy adds one.
fn is_of_proxies(name: &str) -> bool {
    matches!(name, "forwarded" | "via" | "x-real-ip" | "x-client-ip")
        || name.starts_with("x-forwarded-")
}

/// The segments of the path below the root, with the parameters' texts.
fn below_root(template: &str, texts: Texts<'_>) -> Vec<String> {
    let mut texts = texts.iter();
    let segments = template.strip_prefix(ROOT).unwrap_or_default().split('/');
    let segments = segments.map(|segment| {
        if segment.starts_with('{') {
            texts.next().unwrap_or_default()
        } else {
            segment
        }
    });
    segments.map(str::to_string).collect()
}

/// Errors of the management port.
#[derive(Deserialize)]
struct Message {
    message: String,
}

/// The same answer, with errors as those of REST.
fn answered(answer: Response<Bytes>) -> Result<Response<RestBody>, Problem> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer.map(|body| {
            if body.is_empty() {
                RestBody::empty()
            } else {
                RestBody::from(body)
            }
        }));
    }
    let message = serde_json::from_slice::<Message>(answer.body());
    let detail = message.map_or_else(|_| status.to_string(), |it| it.message);
    let title = match status {
        StatusCode::BAD_REQUEST => "INVALID_ARGUMENT",
        StatusCode::NOT_FOUND => "NOT_FOUND",
        StatusCode::CONFLICT => "INVALID_STATE",
        StatusCode::NOT_IMPLEMENTED => "NOT_IMPLEMENTED",
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE => "UNAVAILABLE",
        StatusCode::GATEWAY_TIMEOUT => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    };
    Err(Problem::new(status, title, detail))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_request_is_local_if_it_comes_from_this_machine_under_its_name_and_without_a_proxy() {
        /// The peer, its headers, and whether the request is local.
        type Case = (&'static str, &'static [(&'static str, &'static str)], bool);
        let cases: [Case; 14] = [
            ("127.0.0.1", &[("host", "localhost:8080")], true),
            ("127.0.0.1", &[("host", "LOCALHOST")], true),
            ("127.0.0.1", &[("host", "127.0.0.1:8080")], true),
            ("::1", &[("host", "[::1]:8080")], true),
            ("::ffff:127.0.0.1", &[("host", "localhost")], true),
            ("127.0.0.1", &[], false),
            ("127.0.0.1", &[("host", "evil.example.org")], false),
            ("127.0.0.1", &[("host", "localhost.example.org")], false),
            ("10.0.0.7", &[("host", "localhost:8080")], false),
            (
                "127.0.0.1",
                &[("host", "localhost"), ("x-forwarded-for", "10.0.0.7")],
                false,
            ),
            (
                "127.0.0.1",
                &[("host", "localhost"), ("forwarded", "for=10.0.0.7")],
                false,
            ),
            (
                "127.0.0.1",
                &[("host", "localhost"), ("via", "1.1 proxy")],
                false,
            ),
            (
                "127.0.0.1",
                &[("host", "localhost"), ("X-Forwarded-Proto", "https")],
                false,
            ),
            (
                "127.0.0.1",
                &[("host", "localhost"), ("x-forwarded-host", "localhost")],
                false,
            ),
        ];
        for (peer, headers, expected) in cases {
            let visitor = Visitor::new(peer.parse().unwrap());
            assert_eq!(
                is_local(&parts(headers), &visitor),
                expected,
                "{peer} {headers:?}"
            );
        }
    }

    #[test]
    fn parameters_stand_in_their_places() {
        let mut texts = Texts::default();
        texts.set(0, "a b/c");
        let path = below_root("/skep/v1/management/exporters/{exporterId}/enable", texts);
        assert_eq!(path, ["exporters", "a b/c", "enable"]);
    }
}
