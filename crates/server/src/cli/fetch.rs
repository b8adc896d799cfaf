//! Plain HTTP/1.1 requests that do not need the client crate.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
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
    uri.map_err(|why| Usage(format!("'{address}' is not an address: {why}")).into())
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
    let tls = match uri.scheme_str() {
        Some("http") => None,
        Some("https") => {
            let tls = ClientTls::open(authorities(), &["http/1.1"]);
            Some(tls.map_err(|why| Usage(format!("'{base}': {why}")))?)
        }
        _ => {
            let text = format!("'{base}': expected http://host:port or https://host:port");
            return Err(Usage(text).into());
        }
    };
    let host = uri.host().context("the address has no host")?;
    let port = uri.port_u16().unwrap_or(default_port(path));
    let connection = async {
        let connected = TcpStream::connect((host.trim_matches(['[', ']']), port)).await;
        let stream = connected.map_err(|error| Coded::new("NO_SERVER", error.to_string()))?;
        let stream = match &tls {
            Some(tls) => tls.connect(host, stream).await.map_err(handshake)?,
            None => stream.into(),
        };
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path);
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
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|e| anyhow::anyhow!("{e}"))?.to_bytes();
        anyhow::Ok(Answer {
            status,
            body,
            behind,
        })
    };
    tokio::time::timeout(timeout, connection)
        .await
        .with_context(|| format!("no response from {host}:{port} in time"))?
        .map_err(|error| match code_of(&error) {
            // The server was reached.
            "NOT_UNDERSTOOD" | "CERTIFICATE_NOT_TRUSTED" => error,
            _ => error.context(format!("{host}:{port} cannot be reached; start a server with `skep serve`, or give the address of a running one")),
        })
}

fn unanswered(error: hyper::Error, host: &str, port: u16) -> anyhow::Error {
    if !error.is_parse() && !is_of_http2(&error) {
        return error.into();
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

/// The server of a certificate that is not trusted does run.
fn handshake(error: std::io::Error) -> anyhow::Error {
    match error.get_ref() {
        Some(inner) if inner.is::<NotTrusted>() => {
            Coded::new("CERTIFICATE_NOT_TRUSTED", error.to_string()).into()
        }
        _ => error.into(),
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
