//! Requests to a provider over HTTP, within limits: its answers are not trusted.

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::Refused;

/// Timeout of one answer, from the connection to its last byte.
const LIMIT: Duration = Duration::from_secs(5);
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
const IDLE: Duration = Duration::from_secs(30);
const JSON: &str = "application/json";
const MAX_ANSWER: usize = 1 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Fetcher(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl Fetcher {
    /// With the certificates that the machine trusts.
    pub(crate) fn new() -> std::io::Result<Fetcher> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_LIMIT));
        let https = HttpsConnectorBuilder::new()
            .with_native_roots()?
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(https);
        Ok(Fetcher(client))
    }

    /// The body of a 200. Redirects are not followed.
    ///
    /// # Errors
    /// The reason why there is none.
    pub(crate) async fn get(&self, uri: &Uri) -> Result<Bytes, String> {
        self.get_as(uri, None).await
    }

    /// Likewise, with credentials.
    pub(crate) async fn get_as(
        &self,
        uri: &Uri,
        authorization: Option<HeaderValue>,
    ) -> Result<Bytes, String> {
        let mut request = Request::get(uri).header(ACCEPT, JSON);
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let (status, body) = self.ask(uri, request.body(Full::default())).await?;
        refusal(uri, status).map_or(Ok(body), Err)
    }

    /// Sends a form, with credentials unless the form has them; likewise.
    pub(crate) async fn post(
        &self,
        uri: &Uri,
        authorization: Option<HeaderValue>,
        form: String,
    ) -> Result<Bytes, String> {
        let request = posted(uri, authorization, form);
        let (status, body) = self.ask(uri, request).await?;
        refusal(uri, status).map_or(Ok(body), Err)
    }

    /// Likewise; also the body of a 400, which explains the error (RFC 6749, section 5.2).
    pub(crate) async fn post_for_all(
        &self,
        uri: &Uri,
        authorization: Option<HeaderValue>,
        form: String,
    ) -> Result<(StatusCode, Bytes), Refused> {
        let request = posted(uri, authorization, form);
        self.ask(uri, request).await.map_err(Refused::Unknown)
    }

    async fn ask(
        &self,
        uri: &Uri,
        request: Result<Request<Full<Bytes>>, http::Error>,
    ) -> Result<(StatusCode, Bytes), String> {
        let request = request.map_err(|error| error.to_string())?;
        let answered = tokio::time::timeout(LIMIT, self.answer(request)).await;
        answered
            .unwrap_or_else(|_| Err(format!("no answer within {} s", LIMIT.as_secs())))
            .map_err(|why| format!("{uri}: {why}"))
    }

    /// The body of a 200 or a 400; other bodies are not used.
    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), String> {
        let answer = self.0.request(request).await.map_err(|error| {
            // The outer error only states the failure.
            let cause = error.source().map(ToString::to_string);
            cause.unwrap_or_else(|| error.to_string())
        })?;
        let status = answer.status();
        if !matches!(status, StatusCode::OK | StatusCode::BAD_REQUEST) {
            return Ok((status, Bytes::new()));
        }
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let body =
            body.map_err(|error| format!("the answer is incomplete or too large: {error}"))?;
        Ok((status, body.to_bytes()))
    }
}

fn posted(
    uri: &Uri,
    authorization: Option<HeaderValue>,
    form: String,
) -> Result<Request<Full<Bytes>>, http::Error> {
    let mut request = Request::post(uri)
        .header(ACCEPT, JSON)
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    request.body(Full::from(form))
}

/// Turns an answer other than 200 into an error.
fn refusal(uri: &Uri, status: StatusCode) -> Option<String> {
    (status != StatusCode::OK).then(|| format!("{uri}: answers {status}"))
}
