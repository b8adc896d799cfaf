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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::settings::{Flavor, Retention, SearchSettings};
use super::templates;
use crate::status::Status;
use crate::tls::Trust;

/// Bytes of an answer that are read at most.
const MAX_ANSWER: usize = 16 << 20;
/// What a request may take that has no limit of its own.
const TIMEOUT: Duration = Duration::from_secs(30);
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
    trust: Trust,
    /// The setting that says whom to trust.
    trust_setting: String,
    /// Who stops does not wait for a server that is silent.
    status: Option<Arc<Status>>,
    runtime: Option<Runtime>,
    connection: Option<SendRequest<Full<Bytes>>>,
    /// Bytes of an answer that are read at most.
    max_answer: usize,
    /// Where the last answer says that another one is.
    location: Option<HeaderValue>,
}

/// What becomes of a bulk request.
#[derive(Debug)]
pub enum Bulked {
    Done(Bytes),
    /// The server does not take so many bytes at once.
    TooLarge(String),
}

/// What a request comes to when its answer has more bytes than are read.
pub const TOO_LARGE: &str = "length limit exceeded";

/// Where a server listens.
#[derive(Debug, PartialEq)]
pub struct Host {
    pub name: String,
    pub port: u16,
    pub is_secure: bool,
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
        let (is_secure, name) = match (uri.scheme_str(), uri.host()) {
            (Some("http"), Some(name)) => (false, name),
            (Some("https"), Some(name)) => (true, name),
            _ => return Err(format!("'{url}': {expected}")),
        };
        if uri
            .authority()
            .is_some_and(|all| all.as_str().contains('@'))
        {
            return Err(
                "the URL has a user in it: say who sends in authentication.username and authentication.password".to_string(),
            );
        }
        Ok(Host {
            name: name.trim_matches(['[', ']']).to_string(),
            port: uri.port_u16().unwrap_or(if is_secure { 443 } else { 9200 }),
            is_secure,
            path: uri.path().trim_end_matches('/').to_string(),
        })
    }
}

impl Client {
    pub fn new(settings: &SearchSettings, status: Arc<Status>) -> Client {
        let mut client = Client::of(
            settings.urls.clone(),
            settings.login.as_ref(),
            settings.trust.clone(),
            Some(status),
        );
        client.limit(settings.request_timeout, MAX_ANSWER);
        client
    }

    /// Asks one of these servers, as long as `status` is not told to stop.
    pub fn of(
        urls: Vec<String>,
        login: Option<&(String, String)>,
        trust: Trust,
        status: Option<Arc<Status>>,
    ) -> Client {
        let login = login.map(|(name, password)| {
            let text =
                base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
            let value = HeaderValue::try_from(format!("Basic {text}")).ok();
            value.map(|mut value| {
                value.set_sensitive(true);
                value
            })
        });
        Client {
            urls,
            at: 0,
            timeout: TIMEOUT,
            authorization: login.flatten(),
            trust,
            trust_setting: "security.certificatePath of the exporter".to_string(),
            status,
            runtime: None,
            connection: None,
            max_answer: MAX_ANSWER,
            location: None,
        }
    }

    /// How long the next requests may take, and how many bytes their answers may have.
    pub fn limit(&mut self, timeout: Duration, max_answer: usize) {
        (self.timeout, self.max_answer) = (timeout, max_answer);
    }

    /// Names the setting that says whom to trust, for messages.
    pub fn name_trust(&mut self, setting: String) {
        self.trust_setting = setting;
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
    pub fn bulk(&mut self, body: Vec<u8>) -> Result<Bulked, String> {
        let path =
            "/_bulk?filter_path=errors,items.*.error,items.*.status,items.*._id,items.*._index";
        let path = format!("{path}&timeout={}ms", self.timeout.as_millis());
        let (code, answer) = self.send(Method::POST, &path, "application/x-ndjson", body)?;
        let too_large = code == StatusCode::PAYLOAD_TOO_LARGE;
        match self.successful("/_bulk", code, answer) {
            Err(reason) if too_large => Ok(Bulked::TooLarge(reason)),
            done => done.map(Bulked::Done),
        }
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
        // No redirection is followed: a login is not for everybody.
        let said = match self.location.as_ref().filter(|_| code.is_redirection()) {
            Some(place) => format!(
                " to {}; name that address in url",
                place.to_str().unwrap_or("?")
            ),
            None => String::new(),
        };
        Err(format!(
            "{} answers {path} with {code}{hint}{said}: {text}",
            self.url()
        ))
    }

    /// The server that is asked now.
    pub fn url(&self) -> &str {
        self.urls.get(self.at).map_or("no server", String::as_str)
    }

    /// Sends a request; whatever is answered is no error.
    pub fn send(
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
                () = stopped(status.as_deref()) => Err("the node stops".to_string()),
            }
        });
        if exchanged.is_err() {
            self.connection = None;
        }
        self.runtime = Some(runtime);
        exchanged
    }

    async fn connect(&self, host: &Host) -> Result<Box<dyn Stream>, String> {
        let stream = TcpStream::connect((host.name.as_str(), host.port)).await;
        let stream = stream.map_err(|e| e.to_string())?;
        let _ = stream.set_nodelay(true);
        if !host.is_secure {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(host.name.clone()).map_err(|e| e.to_string())?;
        let connector = TlsConnector::from(self.trust.config()?);
        let secured = connector.connect(name, stream).await;
        let secured = secured.map_err(|e| format!("TLS: {e}; see {}", self.trust_setting))?;
        Ok(Box::new(secured))
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
                let stream = self.connect(&host).await?;
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
        self.location = answer.headers().get(header::LOCATION).cloned();
        let body = Limited::new(answer.into_body(), self.max_answer)
            .collect()
            .await;
        let body = body.map_err(|e| e.to_string())?.to_bytes();
        self.connection = Some(connection);
        Ok((code, body))
    }
}

/// A connection, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Waits until the exporter is told to end, and a little longer.
async fn stopped(status: Option<&Status>) {
    while !status.is_some_and(Status::is_stopping) {
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
                is_secure: false,
                path: path.into(),
            })
        };
        assert_eq!(Host::parse("http://search"), host("search", 9200, ""));
        assert_eq!(Host::parse("http://[::1]:80/a/"), host("::1", 80, "/a"));
        let secure = Host::parse("https://search/a").unwrap();
        assert_eq!((secure.is_secure, secure.port), (true, 443));
        for (url, said) in [
            ("https://ada:secret@search", "authentication.username"),
            ("search:9200", "expected the address"),
            ("", "expected the address"),
        ] {
            let error = Host::parse(url).unwrap_err();
            assert!(error.contains(said), "{url}: {error}");
        }
    }
}
