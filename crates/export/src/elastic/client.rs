//! HTTP to a search server: one connection, one request at a time, and never longer than it may take.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use super::settings::{Flavor, Retention, SearchSettings};
use super::templates;
use crate::status::Status;

/// Bytes of an answer that are read at most.
const MAX_ANSWER: usize = 16 << 20;
/// What is told of a refusal at most.
const MAX_REASON: usize = 500;
/// A stop waits this long for a request that is on its way.
const STOP_GRACE: Duration = Duration::from_secs(2);
const LOOK_FOR_STOP: Duration = Duration::from_millis(50);

pub struct Client {
    urls: Vec<String>,
    /// The one that is asked now.
    at: usize,
    timeout: Duration,
    authorization: Option<HeaderValue>,
    status: Arc<Status>,
    runtime: Option<Runtime>,
    connection: Option<SendRequest<Full<Bytes>>>,
}

/// Where a server listens.
#[derive(Debug, PartialEq)]
pub struct Host {
    pub name: String,
    pub port: u16,
    /// In front of every path.
    pub path: String,
}

impl Host {
    /// # Errors
    /// The URL is none, or one that is not spoken to; the text says why.
    pub fn parse(url: &str) -> Result<Host, String> {
        let expected = "expected the address of a server, such as http://localhost:9200";
        let uri: Uri = url
            .trim()
            .parse()
            .map_err(|e| format!("'{url}': {e}; {expected}"))?;
        if uri.scheme_str() == Some("https") {
            return Err(format!(
                "'{url}': https is not supported by this release; let a proxy on this machine speak it, and name the proxy here"
            ));
        }
        let (Some("http"), Some(name)) = (uri.scheme_str(), uri.host()) else {
            return Err(format!("'{url}': {expected}"));
        };
        Ok(Host {
            name: name.trim_matches(['[', ']']).to_string(),
            port: uri.port_u16().unwrap_or(9200),
            path: uri.path().trim_end_matches('/').to_string(),
        })
    }
}

impl Client {
    pub fn new(settings: &SearchSettings, status: Arc<Status>) -> Client {
        let login = settings.login.as_ref().map(|(name, password)| {
            let text =
                base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
            let value = HeaderValue::try_from(format!("Basic {text}")).ok();
            value.map(|mut value| {
                value.set_sensitive(true);
                value
            })
        });
        Client {
            urls: settings.urls.clone(),
            at: 0,
            timeout: settings.request_timeout,
            authorization: login.flatten(),
            status,
            runtime: None,
            connection: None,
        }
    }

    /// The next request goes over a new connection, to the next server.
    pub fn disconnect(&mut self) {
        self.connection = None;
        self.at = (self.at + 1) % self.urls.len().max(1);
    }

    /// Sends a JSON body; what is not answered with success is an error.
    pub fn ask(&mut self, method: Method, path: &str, body: Value) -> Result<Bytes, String> {
        let body = body.to_string().into_bytes();
        let (code, answer) = self.send(method, path, "application/json", body)?;
        self.successful(path, code, answer)
    }

    /// Sends documents; the answer tells which of them were refused.
    pub fn bulk(&mut self, body: Vec<u8>) -> Result<Bytes, String> {
        let path =
            "/_bulk?filter_path=errors,items.*.error,items.*.status,items.*._id,items.*._index";
        let path = format!("{path}&timeout={}ms", self.timeout.as_millis());
        let (code, answer) = self.send(Method::POST, &path, "application/x-ndjson", body)?;
        self.successful("/_bulk", code, answer)
    }

    /// Makes the policy that deletes old indices, or changes it.
    pub fn put_policy(
        &mut self,
        settings: &SearchSettings,
        retention: &Retention,
    ) -> Result<(), String> {
        let body = templates::policy(settings, retention);
        let name = &retention.policy_name;
        if settings.flavor == Flavor::Elasticsearch {
            let path = format!("/_ilm/policy/{name}");
            return self.ask(Method::PUT, &path, body).map(drop);
        }
        let path = format!("/_plugins/_ism/policies/{name}");
        let text = body.to_string().into_bytes();
        let (code, answer) = self.send(Method::PUT, &path, "application/json", text)?;
        if code != StatusCode::CONFLICT {
            return self.successful(&path, code, answer).map(drop);
        }
        // It is there: a change names the one that it replaces.
        let (code, found) = self.send(Method::GET, &path, "application/json", Vec::new())?;
        let found = self.successful(&path, code, found)?;
        let found: Value = serde_json::from_slice(&found)
            .map_err(|e| format!("the answer to {path} cannot be read: {e}"))?;
        let number = |name: &str| found.get(name).and_then(Value::as_i64).unwrap_or_default();
        let (number, term) = (number("_seq_no"), number("_primary_term"));
        let path = format!("{path}?if_seq_no={number}&if_primary_term={term}");
        self.ask(Method::PUT, &path, body).map(drop)
    }

    fn successful(&self, path: &str, code: StatusCode, answer: Bytes) -> Result<Bytes, String> {
        if code.is_success() {
            return Ok(answer);
        }
        let mut text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((at, _)) = text.char_indices().nth(MAX_REASON) {
            text.truncate(at);
        }
        let hint = match code {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "; see authentication.username and authentication.password of the exporter"
            }
            _ => "",
        };
        Err(format!(
            "{} answers {path} with {code}{hint}: {text}",
            self.url()
        ))
    }

    fn url(&self) -> &str {
        self.urls.get(self.at).map_or("no server", String::as_str)
    }

    fn send(
        &mut self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes), String> {
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|e| format!("requests cannot be sent: {e}"))?,
        };
        let status = self.status.clone();
        let (url, timeout) = (self.url().to_string(), self.timeout);
        let exchanged = runtime.block_on(async {
            tokio::select! {
                answer = self.exchange(method, path, content_type, body) => answer.map_err(|e| format!("{url}: {e}")),
                () = tokio::time::sleep(timeout) => Err(format!("{url} does not answer within {timeout:?}")),
                () = stopped(&status) => Err("the node stops".to_string()),
            }
        });
        if exchanged.is_err() {
            self.connection = None;
        }
        self.runtime = Some(runtime);
        exchanged
    }

    async fn exchange(
        &mut self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes), String> {
        let host = Host::parse(self.url())?;
        let text = |e: hyper::Error| match std::error::Error::source(&e) {
            Some(source) => format!("{e}: {source}"),
            None => e.to_string(),
        };
        let mut connection = match self.connection.take().filter(|c| !c.is_closed()) {
            Some(connection) => connection,
            None => {
                let stream = TcpStream::connect((host.name.as_str(), host.port)).await;
                let stream = stream.map_err(|e| e.to_string())?;
                let _ = stream.set_nodelay(true);
                let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(text)?;
                tokio::spawn(connection);
                sender
            }
        };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", host.path))
            .header(header::HOST, format!("{}:{}", host.name, host.port))
            .header(header::CONTENT_TYPE, content_type);
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let request = request.body(Full::from(body)).map_err(|e| e.to_string())?;
        connection.ready().await.map_err(text)?;
        let answer = connection.send_request(request).await.map_err(text)?;
        let code = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|e| e.to_string())?.to_bytes();
        self.connection = Some(connection);
        Ok((code, body))
    }
}

/// Waits until the exporter is told to end, and a little longer.
async fn stopped(status: &Status) {
    while !status.is_stopping() {
        tokio::time::sleep(LOOK_FOR_STOP).await;
    }
    tokio::time::sleep(STOP_GRACE).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_an_http_address() {
        let host = |name: &str, port, path: &str| {
            Ok(Host {
                name: name.into(),
                port,
                path: path.into(),
            })
        };
        assert_eq!(Host::parse("http://search"), host("search", 9200, ""));
        assert_eq!(Host::parse("http://[::1]:80/a/"), host("::1", 80, "/a"));
        for (url, said) in [
            ("https://search", "https is not supported"),
            ("search:9200", "expected the address"),
            ("", "expected the address"),
        ] {
            let error = Host::parse(url).unwrap_err();
            assert!(error.contains(said), "{url}: {error}");
        }
    }
}
