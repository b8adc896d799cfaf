//! A client that checks every answer against the OpenAPI document.

use std::net::SocketAddr;
use std::sync::LazyLock;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpStream;

use crate::schema;

pub static OPENAPI: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(skep_gateway::OPENAPI).expect("the document is JSON"));

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e} in {}", self.text))
    }

    /// Status, title and detail of a problem.
    pub fn problem(&self) -> (u16, String, String) {
        let problem = self.json();
        let text = |name: &str| problem[name].as_str().unwrap_or_default().to_string();
        (self.status.as_u16(), text("title"), text("detail"))
    }
}

pub const JSON: &str = "application/json";

pub async fn post(to: SocketAddr, path: &str, body: &str) -> Answer {
    send(to, "POST", path, Some(JSON), body.to_string()).await
}

/// Sends one request on its own connection.
pub async fn send(
    to: SocketAddr,
    method: &str,
    path: &str,
    content_type: Option<&str>,
    body: impl Into<Bytes>,
) -> Answer {
    let response = open(to, method, path, content_type, body).await;
    let (parts, body) = response.into_parts();
    let bytes = body
        .collect()
        .await
        .expect("the answer broke off")
        .to_bytes();
    let text = String::from_utf8(bytes.to_vec()).expect("the answer is UTF-8");
    let answer = Answer {
        status: parts.status,
        headers: parts.headers,
        text,
    };
    check(method, path, &answer);
    answer
}

/// Sends one request and returns the answer with its body unread.
pub async fn open(
    to: SocketAddr,
    method: &str,
    path: &str,
    content_type: Option<&str>,
    body: impl Into<Bytes>,
) -> Response<hyper::body::Incoming> {
    let io = TokioIo::new(TcpStream::connect(to).await.expect("cannot connect"));
    let (mut sender, connection) = http1::handshake(io).await.expect("no handshake");
    tokio::spawn(connection);
    let request = request(to, method, path, content_type, body.into());
    sender.send_request(request).await.expect("no answer")
}

pub fn request(
    to: SocketAddr,
    method: &str,
    path: &str,
    content_type: Option<&str>,
    body: Bytes,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("http://{to}{path}"))
        .header("host", to.to_string());
    if let Some(content_type) = content_type {
        request = request.header(CONTENT_TYPE, content_type);
    }
    request.body(Full::new(body)).expect("a request")
}

/// An HTTP/2 connection with prior knowledge.
pub async fn http2(to: SocketAddr) -> http2::SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(to).await.expect("cannot connect");
    // Otherwise each small request waits for the acknowledgement of the previous one.
    stream.set_nodelay(true).expect("a socket");
    let io = TokioIo::new(stream);
    let (sender, connection) = http2::handshake(TokioExecutor::new(), io)
        .await
        .expect("no handshake");
    tokio::spawn(connection);
    sender
}

/// Fails if the answer does not match the document.
fn check(method: &str, path: &str, answer: &Answer) {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let status = answer.status.as_u16();
    let content_type = answer
        .headers
        .get(CONTENT_TYPE)
        .map(|c| c.to_str().expect("text"));
    let schema = match documented(method, path) {
        Some(operation) => {
            let response = &operation["responses"][status.to_string()];
            assert!(
                !response.is_null(),
                "{method} {path}: status {status} is not documented: {answer:?}"
            );
            let Some(content) = response["content"].as_object() else {
                assert_eq!(
                    (answer.text.as_str(), content_type),
                    ("", None),
                    "{method} {path}"
                );
                return;
            };
            let (documented_type, content) = content.iter().next().expect("a content type");
            if documented_type == "*/*" {
                assert!(content_type.is_some(), "{method} {path}");
                return;
            }
            assert_eq!(
                content_type,
                Some(documented_type.as_str()),
                "{method} {path}"
            );
            // A file, in its deployed form.
            if !documented_type.ends_with("json") {
                return;
            }
            content["schema"].clone()
        }
        None => {
            assert!(
                [404, 405, 501].contains(&status),
                "{method} {path}: {answer:?}"
            );
            assert_eq!(content_type, Some("application/problem+json"));
            serde_json::json!({"$ref": "#/components/schemas/Problem"})
        }
    };
    let value = answer.json();
    let differences = schema::differences(&OPENAPI, &schema, &value);
    assert!(
        differences.is_empty(),
        "{method} {path}: {differences:?} in {value}"
    );
    if content_type == Some("application/problem+json") {
        assert_eq!(
            (value["status"].as_u64(), value["instance"].as_str()),
            (Some(status.into()), Some(path))
        );
    }
}

fn documented(method: &str, path: &str) -> Option<&'static Value> {
    let path = path.strip_prefix("/v2").unwrap_or(path);
    let fits = |template: &str| {
        let (mut wanted, mut given) = (template.split('/'), path.split('/'));
        loop {
            match (wanted.next(), given.next()) {
                (None, None) => return true,
                (Some(w), Some(g)) if w == g || w.starts_with('{') => {}
                _ => return false,
            }
        }
    };
    let paths = OPENAPI["paths"].as_object()?;
    // A path without parameters is a better match.
    let operations = paths
        .get(path)
        .or_else(|| Some(paths.iter().find(|(t, _)| fits(t))?.1))?;
    operations.get(method.to_lowercase())
}
