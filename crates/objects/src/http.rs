//! HTTP for object stores, based on hyper like the rest of this server, with the certificates that the machine trusts.

use std::error::Error as _;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Time until an answer must begin, in addition to the time for sending the request. The same limit then applies to each piece.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Connections slower than this are given up.
const BYTES_A_SECOND: usize = 64 << 10;
const IDLE: Duration = Duration::from_secs(30);
/// Maximum bytes that a connection buffers after reading.
const BUFFER: usize = 64 << 10;

#[derive(Debug)]
pub struct HyperConnector;

/// The time limit of a request. Large objects get more time, for slow connections.
fn limit(request_bytes: usize) -> Duration {
    let seconds = u64::try_from(request_bytes / BYTES_A_SECOND).unwrap_or(u64::MAX);
    ANSWER_LIMIT.saturating_add(Duration::from_secs(seconds))
}

#[derive(Debug)]
struct Service(Client<HttpsConnector<TcpConnector>, HttpRequestBody>);

impl HttpConnector for HyperConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let mut tcp = TcpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_LIMIT));
        let failed = |error: std::io::Error| object_store::Error::Generic {
            store: "objects",
            source: format!("the certificates of this machine cannot be read: {error}").into(),
        };
        let https = HttpsConnectorBuilder::new()
            .with_native_roots()
            .map_err(failed)?
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .http1_max_buf_size(BUFFER)
            .build(https);
        Ok(HttpClient::new(Service(client)))
    }
}

fn too_slow(limit: Duration) -> HttpError {
    let text = format!("no answer within {} s", limit.as_secs());
    HttpError::new(HttpErrorKind::Timeout, std::io::Error::other(text))
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let limit = limit(request.body().content_length());
        let answer = tokio::time::timeout(limit, self.0.request(request)).await;
        let answer = answer.map_err(|_| too_slow(limit))?.map_err(|error| {
            let kind = if error.is_connect() {
                HttpErrorKind::Connect
            } else {
                HttpErrorKind::Interrupted
            };
            // The outer error only says that the request failed.
            let cause = error.source().map(ToString::to_string);
            let text = cause.unwrap_or_else(|| error.to_string());
            HttpError::new(kind, std::io::Error::other(text))
        })?;
        let broke_off = |error| HttpError::new(HttpErrorKind::Interrupted, error);
        let (head, body) = answer.into_parts();
        Ok(HttpResponse::from_parts(
            head,
            HttpResponseBody::new(body.map_err(broke_off)),
        ))
    }
}
