//! The REST v2 transport.

mod answers;
mod body;
mod calls;
mod jobs;
mod multipart;
mod problem;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::Full;
use serde::de::DeserializeOwned;

use crate::{
    Authorization, ClientConfig, Error, HttpVersion,
    net::{ByteStream, Call, Endpoint, Http1Pool, Http2Channel, Windows},
};

pub(crate) use jobs::RestJobs;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Idle HTTP/1.1 connections kept whatever `connections` says.
const KEEP_AT_LEAST: usize = 64;

/// Requests to one gateway.
#[derive(Debug)]
pub(crate) struct RestClient {
    wire: Wire,
    endpoint: Endpoint,
    authorization: Option<Authorization>,
    config: ClientConfig,
}

#[derive(Debug)]
enum Wire {
    Http1(Http1Pool),
    Http2(Http2Channel),
}

impl RestClient {
    pub(crate) fn new(config: ClientConfig) -> Result<Self, Error> {
        let protocol = match config.http_version {
            HttpVersion::Http1 => "http/1.1",
            HttpVersion::Http2 => "h2",
        };
        let endpoint = Endpoint::parse(&config, 8080, protocol)?;
        let wire = match config.http_version {
            HttpVersion::Http1 => Wire::Http1(Http1Pool::new(
                endpoint.clone(),
                config.connections.max(KEEP_AT_LEAST),
            )?),
            HttpVersion::Http2 => Wire::Http2(Http2Channel::new(
                endpoint.clone(),
                config.connections,
                Windows::UNARY,
            )),
        };
        Ok(Self {
            wire,
            endpoint,
            authorization: config
                .authorization
                .as_ref()
                .map(Authorization::ready)
                .transpose()?,
            config,
        })
    }

    fn request<B>(
        &self,
        method: &Method,
        path: &str,
        content_type: Option<&HeaderValue>,
        body: B,
    ) -> Result<Request<B>, Error> {
        let uri = match &self.wire {
            Wire::Http1(_) => Uri::try_from(path),
            Wire::Http2(_) => {
                let mut parts = http::uri::Parts::default();
                parts.scheme = Some(http::uri::Scheme::HTTP);
                parts.authority = Some(self.endpoint.authority.clone());
                parts.path_and_query = path.parse().ok();
                return self.finish(method, Uri::from_parts(parts).ok(), content_type, body);
            }
        };
        self.finish(method, uri.ok(), content_type, body)
    }

    fn finish<B>(
        &self,
        method: &Method,
        uri: Option<Uri>,
        content_type: Option<&HeaderValue>,
        body: B,
    ) -> Result<Request<B>, Error> {
        let uri = uri.ok_or_else(|| Error::Invalid("a path that is no URI".into()))?;
        let mut request = Request::new(body);
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        if let Some(content_type) = content_type {
            headers.insert(header::CONTENT_TYPE, content_type.clone());
        }
        if let Some(value) = &self.authorization {
            headers.insert(header::AUTHORIZATION, value.header()?);
        }
        Ok(request)
    }

    /// Sends a request and reads the answer; anything but success becomes an error.
    async fn call(
        &self,
        method: &Method,
        path: &str,
        content_type: Option<&HeaderValue>,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, Error> {
        let limit = self.config.max_message_size;
        let path = self.endpoint.path(path);
        let path = path.as_ref();
        let exchange = async {
            match &self.wire {
                Wire::Http1(pool) => {
                    let authorization = self.authorization.as_ref();
                    let authorization = authorization.map(Authorization::header).transpose()?;
                    let call = Call {
                        method,
                        path,
                        content_type,
                        authorization: authorization.as_ref(),
                        body: &body,
                    };
                    pool.call(&call, limit).await
                }
                Wire::Http2(channel) => {
                    let head = || self.request(method, path, content_type, ());
                    let (head, body) = channel.send(head, body).await?.into_parts();
                    let (bytes, _) = ByteStream::http2(body, None).read_all(limit).await?;
                    Ok((head.status, bytes))
                }
            }
        };
        let (status, answer) = tokio::time::timeout(timeout, exchange)
            .await
            .map_err(|_| Error::Timeout(timeout))??;
        if status.is_success() {
            Ok(answer)
        } else {
            Err(problem::refusal(status, &answer))
        }
    }

    async fn post(&self, path: &str, body: Bytes) -> Result<Bytes, Error> {
        self.call(
            &Method::POST,
            path,
            Some(&JSON),
            body,
            self.config.request_timeout,
        )
        .await
    }

    /// Opens a streaming answer.
    async fn stream(&self, path: &str, body: Bytes) -> Result<ByteStream, Error> {
        let limit = self.config.max_message_size;
        let idle = Some(self.config.stream_idle_timeout);
        let path = self.endpoint.path(path);
        let path = path.as_ref();
        let opening = async {
            let (status, mut stream): (StatusCode, ByteStream) = match &self.wire {
                Wire::Http1(pool) => {
                    let request =
                        self.request(&Method::POST, path, Some(&JSON), Full::new(body))?;
                    let response = pool.stream(request, self.config.stream_window).await?;
                    let status = response.status();
                    (status, ByteStream::http1(response.into_body(), idle))
                }
                Wire::Http2(_) => {
                    let windows = Windows::one_stream(self.config.stream_window);
                    let channel = Http2Channel::new(self.endpoint.clone(), 1, windows);
                    let head = || self.request(&Method::POST, path, Some(&JSON), ());
                    let response = channel.send(head, body).await?;
                    let status = response.status();
                    (status, ByteStream::http2(response.into_body(), idle))
                }
            };
            if status.is_success() {
                return Ok(stream);
            }
            let (bytes, _) = stream.read_all(limit).await?;
            Err(problem::refusal(status, &bytes))
        };
        let timeout = self.config.request_timeout;
        tokio::time::timeout(timeout, opening)
            .await
            .map_err(|_| Error::Timeout(timeout))?
    }
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| Error::Protocol(error.to_string()))
}
