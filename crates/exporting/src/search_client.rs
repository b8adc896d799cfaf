//! HTTP client for search servers: one connection, one request at a time, each with a time limit.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::shown::without_password;
use crate::status::Status;
use crate::target_error::TargetError;
use crate::tls::{Trust, TrustError};

/// Maximum bytes of an answer.
const MAX_ANSWER: usize = 16 << 20;
/// Default time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long a stop waits for a request in progress.
const STOP_GRACE: Duration = Duration::from_secs(2);
const LOOK_FOR_STOP: Duration = Duration::from_millis(50);

pub struct Client {
    urls: Vec<String>,
    /// Index of the current server.
    at: usize,
    timeout: Duration,
    authorization: Option<HeaderValue>,
    trust: Trust,
    /// Name of the setting for the trusted certificates.
    trust_setting: String,
    /// If set, a stop does not wait for a silent server.
    status: Option<Arc<Status>>,
    runtime: Option<Runtime>,
    connection: Option<SendRequest<Full<Bytes>>>,
    /// Maximum bytes of an answer.
    max_answer: usize,
    /// The redirect target in the last answer.
    location: Option<HeaderValue>,
}

/// Reasons why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The server is unreachable or silent, or broke the connection.
    #[error("{0}")]
    Unanswered(String),
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
    #[error("the node stops")]
    Stopping,
}

impl SendError {
    /// Converts the error to a failure of the target with this address.
    pub fn of(self, url: &str) -> TargetError {
        let reason = format!("{url}: {self}");
        match self {
            SendError::Host(_) | SendError::Trust(_) | SendError::TooLarge(_) => {
                TargetError::Refused(reason)
            }
            SendError::Unanswered(_) | SendError::Stopping => TargetError::Busy(reason),
        }
    }
}

/// Reasons why a server address is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error("'{url}': {reason}; {EXPECTED}")]
    Unreadable { url: String, reason: String },
    #[error("'{0}': {EXPECTED}")]
    NotAServer(String),
    #[error(
        "the URL has a user in it: set the user in authentication.username and authentication.password"
    )]
    HasUser,
}

const EXPECTED: &str = "expected the address of a server, such as http://localhost:9200";

/// The address of a server.
#[derive(Debug, PartialEq)]
pub struct Host {
    pub name: String,
    pub port: u16,
    pub is_secure: bool,
    /// Prefix of every path.
    pub path: String,
}

impl Host {
    /// # Errors
    /// The text is not a URL, its scheme is neither http nor https, or it contains a user.
    pub fn parse(url: &str) -> Result<Host, HostError> {
        let parsed: Result<Uri, _> = url.trim().parse();
        let uri = parsed.map_err(|error| HostError::Unreadable {
            url: without_password(url),
            reason: error.to_string(),
        })?;
        let (is_secure, name) = match (uri.scheme_str(), uri.host()) {
            (Some("http"), Some(name)) => (false, name),
            (Some("https"), Some(name)) => (true, name),
            _ => return Err(HostError::NotAServer(without_password(url))),
        };
        if uri
            .authority()
            .is_some_and(|all| all.as_str().contains('@'))
        {
            return Err(HostError::HasUser);
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
    /// A client for these servers. Requests end early when `status` is stopped.
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

    /// Sets the time limit and the maximum answer size of the following requests.
    pub fn limit(&mut self, timeout: Duration, max_answer: usize) {
        (self.timeout, self.max_answer) = (timeout, max_answer);
    }

    /// Sets the name of the setting for the trusted certificates, for messages.
    pub fn name_trust(&mut self, setting: String) {
        self.trust_setting = setting;
    }

    /// Makes the next request use a new connection to the next server.
    pub fn disconnect(&mut self) {
        self.connection = None;
        self.at = (self.at + 1) % self.urls.len().max(1);
    }

    /// The address of the current server.
    pub fn url(&self) -> &str {
        self.urls.get(self.at).map_or("no server", String::as_str)
    }

    /// The redirect target in the last answer.
    pub fn location(&self) -> Option<&str> {
        self.location.as_ref()?.to_str().ok()
    }

    /// Sends a request. An answer with any status is a success.
    pub fn send(
        &mut self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes), SendError> {
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|e| SendError::Unanswered(format!("requests cannot be sent: {e}")))?,
        };
        let (status, timeout) = (self.status.clone(), self.timeout);
        let exchanged = runtime.block_on(async {
            tokio::select! {
                answer = self.exchange(method, path, content_type, body) => answer,
                () = tokio::time::sleep(timeout) => Err(SendError::Unanswered(format!("does not answer within {timeout:?}"))),
                () = stopped(status.as_deref()) => Err(SendError::Stopping),
            }
        });
        if exchanged.is_err() {
            self.connection = None;
        }
        self.runtime = Some(runtime);
        exchanged
    }

    async fn connect(&self, host: &Host) -> Result<Box<dyn Stream>, SendError> {
        let stream = TcpStream::connect((host.name.as_str(), host.port)).await;
        let stream = stream.map_err(unanswered)?;
        let _ = stream.set_nodelay(true);
        if !host.is_secure {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(host.name.clone()).map_err(unanswered)?;
        let connector = TlsConnector::from(self.trust.config()?);
        let secured = connector.connect(name, stream).await;
        let secured = secured
            .map_err(|e| SendError::Unanswered(format!("TLS: {e}; see {}", self.trust_setting)))?;
        Ok(Box::new(secured))
    }

    async fn exchange(
        &mut self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes), SendError> {
        let host = Host::parse(self.url())?;
        let text = |e: hyper::Error| match std::error::Error::source(&e) {
            Some(source) => SendError::Unanswered(format!("{e}: {source}")),
            None => unanswered(e),
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
        let request = request.body(Full::from(body)).map_err(unanswered)?;
        connection.ready().await.map_err(text)?;
        let answer = connection.send_request(request).await.map_err(text)?;
        let code = answer.status();
        self.location = answer.headers().get(header::LOCATION).cloned();
        let body = Limited::new(answer.into_body(), self.max_answer)
            .collect()
            .await;
        let body = body.map_err(|error| {
            if error.is::<LengthLimitError>() {
                SendError::TooLarge(self.max_answer)
            } else {
                SendError::Unanswered(error.to_string())
            }
        })?;
        let body = body.to_bytes();
        self.connection = Some(connection);
        Ok((code, body))
    }
}

fn unanswered(error: impl std::fmt::Display) -> SendError {
    SendError::Unanswered(error.to_string())
}

/// A connection, with or without TLS.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Waits until the exporter is stopped, and a grace period after that.
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
            ("ada:secret@search:9200", "expected the address"),
            ("ftp://ada:secret@search", "expected the address"),
            ("http://ada:sec ret@search", "expected the address"),
        ] {
            let error = Host::parse(url).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(said), "{url}: {error}");
            assert!(!error.contains("sec"), "{url}: {error}");
        }
    }
}
