//! Plain HTTP/1.1 requests that do not need the client crate.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::uri::Authority;
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use skep_client::Authorization;
use skep_tls::{ClientTls, NotTrusted};
use tokio::net::TcpStream;

use super::{Usage, login};
use crate::errors::{Coded, code_of};

const MAX_ANSWER: usize = 64 << 20;

static AUTHORITIES: OnceLock<PathBuf> = OnceLock::new();

/// Sets the file of certificate authorities trusted for `https` (`--ca-certificate`): once, when the command begins.
pub fn believe(authorities: Option<PathBuf>) {
    if let Some(file) = authorities {
        AUTHORITIES.get_or_init(|| file);
    }
}

/// The file of trusted authorities; without one, the trust store of the machine applies.
pub fn authorities() -> Option<&'static Path> {
    AUTHORITIES.get().map(PathBuf::as_path)
}

/// Flags with which another call of this program trusts the same authorities, from any directory.
pub fn words() -> Vec<String> {
    let file = authorities().and_then(|file| std::path::absolute(file).ok());
    let flag = file.map(|file| format!("--ca-certificate={}", file.display()));
    flag.into_iter().collect()
}

pub async fn get(base: &str, path: &str, timeout: Duration) -> anyhow::Result<(StatusCode, Bytes)> {
    say_behind(send(Method::GET, base, path, Bytes::new(), timeout).await?)
}

/// Like [`get`], for repeated polling: does not warn about stale rows.
pub async fn look(
    base: &str,
    path: &str,
    timeout: Duration,
) -> anyhow::Result<(StatusCode, Bytes)> {
    let answer = send(Method::GET, base, path, Bytes::new(), timeout).await?;
    Ok((answer.status, answer.body))
}

/// Posts a JSON text.
pub async fn post(
    base: &str,
    path: &str,
    body: String,
    timeout: Duration,
) -> anyhow::Result<(StatusCode, Bytes)> {
    request(Method::POST, base, path, body, timeout).await
}

/// Sends a JSON text with any method.
pub async fn request(
    method: Method,
    base: &str,
    path: &str,
    body: String,
    timeout: Duration,
) -> anyhow::Result<(StatusCode, Bytes)> {
    say_behind(send(method, base, path, body.into(), timeout).await?)
}

/// Sends a DELETE for this path.
pub async fn delete(
    base: &str,
    path: &str,
    timeout: Duration,
) -> anyhow::Result<(StatusCode, Bytes)> {
    say_behind(send(Method::DELETE, base, path, Bytes::new(), timeout).await?)
}

struct Answer {
    status: StatusCode,
    body: Bytes,
    behind: Option<String>,
}

fn say_behind(answer: Answer) -> anyhow::Result<(StatusCode, Bytes)> {
    if let Some(behind) = answer.behind {
        complain!("{behind}");
    }
    Ok((answer.status, answer.body))
}

/// Connect timeout when there are several servers to choose from.
const REACHED: Duration = Duration::from_secs(2);

/// The address to use: of several, separated by commas, one that accepts a connection. They are tried starting with the last one that did,
/// or with a random one, so that not all callers use the first.
///
/// # Errors
/// None of them accepts a connection.
pub async fn one_of(addresses: &str, default_port: u16) -> anyhow::Result<String> {
    static LAST: AtomicUsize = AtomicUsize::new(usize::MAX);
    let all: Vec<&str> = addresses.split(',').map(str::trim).collect();
    if let [only] = all[..] {
        return Ok(only.to_string());
    }
    let first = match LAST.load(Ordering::Relaxed) {
        usize::MAX => rand::random_range(0..all.len()),
        last => last,
    };
    for (number, address) in all
        .iter()
        .enumerate()
        .cycle()
        .skip(first % all.len())
        .take(all.len())
    {
        let uri = uri_of(address)?;
        let host = uri.host().context("the address has no host")?;
        let port = uri.port_u16().unwrap_or(default_port);
        let connected = TcpStream::connect((host.trim_matches(['[', ']']), port));
        if let Ok(Ok(_)) = tokio::time::timeout(REACHED, connected).await {
            LAST.store(number, Ordering::Relaxed);
            return Ok(address.to_string());
        }
    }
    let text = format!("none of {addresses} accepts a connection");
    Err(Coded::new("NO_SERVER", text).into())
}

fn uri_of(address: &str) -> anyhow::Result<Uri> {
    let uri: Result<Uri, _> = if address.contains("://") {
        address.parse()
    } else {
        format!("http://{address}").parse()
    };
    let invalid = |why: &str| Usage(format!("'{address}' is not an address: {why}"));
    let uri = uri.map_err(|why| invalid(&why.to_string()))?;
    // Otherwise a port that is none would be taken for the default port, where another server may run.
    let authority = uri.authority().map_or("", Authority::as_str);
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    match port.filter(|port| !port.contains(']')) {
        Some(port) if port.parse::<u16>().is_err() => {
            Err(invalid("a port is a number up to 65535").into())
        }
        _ => Ok(uri),
    }
}

/// The port of REST, or of the management.
fn default_port(path: &str) -> u16 {
    if path.starts_with("/v2/") || path.starts_with("/skep/") {
        8080
    } else {
        9600
    }
}

async fn send(
    method: Method,
    base: &str,
    path: &str,
    body: Bytes,
    timeout: Duration,
) -> anyhow::Result<Answer> {
    let base = one_of(base, default_port(path)).await?;
    if path.starts_with("/v2/") {
        let login = login::at(&base)?;
        return ask(method, &base, (path, body), login.as_ref(), timeout).await;
    }
    // The management port usually requires no login: credentials are sent only if it does.
    let asked = (path, body.clone());
    let answer = ask(method.clone(), &base, asked, None, timeout).await?;
    match login::at(&base)? {
        Some(login) if answer.status == StatusCode::UNAUTHORIZED => {
            ask(method, &base, (path, body), Some(&login), timeout).await
        }
        _ => Ok(answer),
    }
}

async fn ask(
    method: Method,
    base: &str,
    (path, body): (&str, Bytes),
    login: Option<&Authorization>,
    timeout: Duration,
) -> anyhow::Result<Answer> {
    let uri = uri_of(base)?;
    let tls = tls_of(&uri, base)?;
    let host = uri.host().context("the address has no host")?;
    let port = uri.port_u16().unwrap_or(default_port(path));
    let connection = async {
        let connected = TcpStream::connect((host.trim_matches(['[', ']']), port)).await;
        let stream = connected.map_err(|error| Coded::new("NO_SERVER", error.to_string()))?;
        let stream = match &tls {
            Some(tls) => {
                let connected = tls.connect(host, stream).await;
                connected.map_err(|error| handshake(error, host, port))?
            }
            None => stream.into(),
        };
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let below = skep_client::base_path(uri.path());
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{below}{path}"));
        request = request.header(header::HOST, format!("{host}:{port}"));
        if let Some(login) = login {
            request = request.header(header::AUTHORIZATION, login.header()?);
        }
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(body))?;
        let answer = sender.send_request(request).await;
        let answer = answer.map_err(|error| unanswered(error, host, port))?;
        let status = answer.status();
        let behind = behind(answer.headers());
        let body = whole(answer.into_body(), host, port).await?;
        if let Some(why) = misdirected(path, status, &body) {
            return Err(Coded::new("NOT_UNDERSTOOD", format!("{host}:{port} {why}")).into());
        }
        anyhow::Ok(Answer {
            status,
            body,
            behind,
        })
    };
    let answer = tokio::time::timeout(timeout, connection).await;
    let late = |_| {
        Coded::new(
            "NO_ANSWER",
            format!("no response from {host}:{port} in time"),
        )
    };
    answer.map_err(late)?.map_err(|error| match code_of(&error) {
        "NO_SERVER" => error.context(format!("{host}:{port} cannot be reached; start a server with `skep serve`, or give the address of a running one")),
        _ => error,
    })
}

/// The TLS of an https address.
fn tls_of(uri: &Uri, base: &str) -> Result<Option<ClientTls>, Usage> {
    match uri.scheme_str() {
        Some("http") => Ok(None),
        Some("https") => match ClientTls::open(authorities(), &["http/1.1"]) {
            Ok(tls) => Ok(Some(tls)),
            Err(why) => Err(Usage(format!("'{base}': {why}"))),
        },
        _ => {
            let text = format!("'{base}': expected http://host:port or https://host:port");
            Err(Usage(text))
        }
    }
}

async fn whole(body: Incoming, host: &str, port: u16) -> Result<Bytes, Coded> {
    match Limited::new(body, MAX_ANSWER).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(why) if why.is::<LengthLimitError>() => {
            let text = format!("the answer is larger than {MAX_ANSWER} bytes");
            Err(Coded::new("NOT_UNDERSTOOD", text))
        }
        Err(why) => Err(broken(host, port, why)),
    }
}

/// The server was reached, but the connection ended too early.
fn broken(host: &str, port: u16, why: impl std::fmt::Display) -> Coded {
    let text = format!(
        "{host}:{port}: the connection broke before the answer arrived ({why}); the request may have been carried out"
    );
    Coded::new("CONNECTION_LOST", text)
}

/// Whether the address is wrong, so that it is of no use to ask again.
pub fn is_final(error: &anyhow::Error) -> bool {
    matches!(
        code_of(error),
        "USAGE" | "NOT_UNDERSTOOD" | "CERTIFICATE_NOT_TRUSTED"
    )
}

/// Why the answer is of another port of the server than the path: only REST refuses with problem documents, which have a title.
fn misdirected(path: &str, status: StatusCode, body: &[u8]) -> Option<&'static str> {
    if status != StatusCode::NOT_FOUND {
        return None;
    }
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    match (default_port(path), answer.get("title").is_some()) {
        (9600, true) => Some(
            "is the port of REST, but the address of the management port is needed here (port 9600 by default)",
        ),
        (_, false) if path.starts_with("/v2/") => Some(
            "has no REST API: this may be the management port, but the address of REST is needed here (port 8080 by default)",
        ),
        _ => None,
    }
}

fn unanswered(error: hyper::Error, host: &str, port: u16) -> anyhow::Error {
    if !error.is_parse() && !is_of_http2(&error) {
        let cause = std::error::Error::source(&error);
        let why = cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
        return broken(host, port, why).into();
    }
    let text = format!(
        "{host}:{port} does not answer in HTTP/1.1 ({error}): this may be the gRPC port, but the address of REST is needed here (port \
         8080 by default), with https:// if it uses TLS"
    );
    Coded::new("NOT_UNDERSTOOD", text).into()
}

/// An HTTP/2 server, as on the gRPC port, sends its settings without being asked.
fn is_of_http2(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    error.is_canceled() && cause.is_some_and(|cause| cause.contains("unexpected message"))
}

/// A server whose certificate is not trusted, or that speaks no TLS, does run.
fn handshake(error: std::io::Error, host: &str, port: u16) -> Coded {
    match error.get_ref() {
        Some(inner) if inner.is::<NotTrusted>() => {
            Coded::new("CERTIFICATE_NOT_TRUSTED", error.to_string())
        }
        _ if error.kind() == std::io::ErrorKind::InvalidData => {
            Coded::new("NOT_UNDERSTOOD", format!("{host}:{port}: {error}"))
        }
        _ => broken(host, port, error),
    }
}

/// A warning that the rows lack recent changes.
fn behind(headers: &HeaderMap) -> Option<String> {
    let millis: u64 = headers.get("skep-behind-ms")?.to_str().ok()?.parse().ok()?;
    let age = match millis {
        0..1_000 => format!("{millis} ms"),
        _ => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
    };
    Some(format!(
        "The data shown is {age} old: secondary storage is behind. `skep status` shows the reason."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_none_is_not_the_default_port() {
        for address in ["localhost:99999", "http://a:", "https://[::1]:x/v2"] {
            let refused = uri_of(address).unwrap_err();
            assert_eq!(code_of(&refused), "USAGE", "{address}: {refused}");
        }
        for address in ["localhost", "http://a:1/v2", "https://[::1]", "[::1]:8080"] {
            assert!(uri_of(address).is_ok(), "{address}");
        }
    }

    #[test]
    fn another_port_of_the_server_is_recognized_by_how_it_refuses() {
        let rest = br#"{"title": "NOT_FOUND", "detail": "none"}"#;
        let management = br#"{"message": "there is nothing at /v2/topology"}"#;
        let not_found = StatusCode::NOT_FOUND;
        for (path, body, part) in [
            ("/actuator/cluster", &rest[..], Some("is the port of REST")),
            ("/actuator/backupRuntime/7", management, None),
            ("/v2/topology", management, Some("has no REST API")),
            (
                "/v2/topology",
                b"404 page not found",
                Some("has no REST API"),
            ),
            ("/v2/user-tasks/1", rest, None),
            ("/skep/v1/job-types", b"", None),
        ] {
            let said = misdirected(path, not_found, body);
            assert_eq!(said.is_some(), part.is_some(), "{path}");
            assert!(said.unwrap_or("").contains(part.unwrap_or("")), "{said:?}");
        }
        assert_eq!(
            misdirected("/actuator/cluster", StatusCode::FORBIDDEN, rest),
            None
        );
    }

    #[test]
    fn rows_that_lack_something_are_said_to_be_old() {
        let said = |millis: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("skep-behind-ms", millis.parse().unwrap());
            behind(&headers).unwrap()
        };
        assert!(said("42").contains("is 42 ms old"), "{}", said("42"));
        assert!(said("61950").contains("is 61.9 s old"), "{}", said("61950"));
        assert_eq!(behind(&HeaderMap::new()), None);
    }
}
