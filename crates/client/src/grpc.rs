//! The gRPC transport: protobuf messages framed over HTTP/2 as the gRPC protocol says.

mod calls;
mod jobs;
mod status;

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderValue, Method, Request, Uri, header, uri};
use prost::Message;

use crate::{
    Authorization, ClientConfig, Error,
    net::{ByteStream, Endpoint, Framed, Http2Channel, Windows},
};

pub(crate) use jobs::GrpcJobs;
use jobs::Messages;

const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/grpc");
const TRAILERS: HeaderValue = HeaderValue::from_static("trailers");
const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("skep-client/", env!("CARGO_PKG_VERSION")));
/// One byte for compression, four for the length.
const PREFIX: usize = 5;

/// Requests to one gateway.
#[derive(Debug)]
pub(crate) struct GrpcClient {
    channel: Http2Channel,
    endpoint: Endpoint,
    authorization: Option<Authorization>,
    config: ClientConfig,
}

impl GrpcClient {
    pub(crate) fn new(config: ClientConfig) -> Result<Self, Error> {
        let endpoint = Endpoint::parse(&config, 26500, "h2")?;
        if !endpoint.base_path.is_empty() {
            let address = &config.address;
            return Err(Error::Invalid(format!(
                "address {address:?}: gRPC is not offered below a path; give http://host:port or https://host:port"
            )));
        }
        Ok(Self {
            channel: Http2Channel::new(endpoint.clone(), config.connections, Windows::UNARY),
            endpoint,
            authorization: config
                .authorization
                .as_ref()
                .map(Authorization::ready)
                .transpose()?,
            config,
        })
    }

    fn head(&self, path: &'static str) -> Result<Request<()>, Error> {
        let mut parts = uri::Parts::default();
        parts.scheme = Some(uri::Scheme::HTTP);
        parts.authority = Some(self.endpoint.authority.clone());
        parts.path_and_query = Some(uri::PathAndQuery::from_static(path));
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() =
            Uri::from_parts(parts).map_err(|error| Error::Invalid(error.to_string()))?;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, CONTENT_TYPE);
        headers.insert(header::TE, TRAILERS);
        headers.insert(header::USER_AGENT, USER_AGENT);
        if let Some(value) = &self.authorization {
            headers.insert(header::AUTHORIZATION, value.header()?);
        }
        Ok(request)
    }

    /// Sends one message, receives one.
    async fn unary<T: Message + Default>(
        &self,
        path: &'static str,
        body: Bytes,
        timeout: Duration,
    ) -> Result<T, Error> {
        let exchange = async {
            let (head, body) = self
                .channel
                .send(|| self.head(path), body)
                .await?
                .into_parts();
            status::check_head(head.status, &head.headers)?;
            let limit = self.config.max_message_size + PREFIX;
            let (bytes, trailers) = ByteStream::http2(body, None).read_all(limit).await?;
            status::check_end(trailers.as_ref())?;
            let mut buffer = bytes;
            let message = jobs::split_message(&mut buffer)?
                .ok_or_else(|| Error::Protocol("a gRPC answer without a message".into()))?;
            T::decode(message).map_err(|error| Error::Protocol(error.to_string()))
        };
        tokio::time::timeout(timeout, exchange)
            .await
            .map_err(|_| Error::Timeout(timeout))?
    }

    /// A unary call with the usual time-out.
    async fn call<T: Message + Default>(
        &self,
        path: &'static str,
        request: &impl Message,
    ) -> Result<T, Error> {
        self.unary(path, framed(request), self.config.request_timeout)
            .await
    }

    /// Opens a stream of messages on `channel`.
    async fn stream<T: Message + Default>(
        &self,
        channel: &Http2Channel,
        path: &'static str,
        body: Bytes,
    ) -> Result<Framed<ByteStream, Messages<T>>, Error> {
        let response = channel.send(|| self.head(path), body).await?;
        let (head, body) = response.into_parts();
        status::check_head(head.status, &head.headers)?;
        Ok(Framed::new(
            ByteStream::http2(body, None),
            Messages::default(),
            self.config.max_message_size + PREFIX,
        ))
    }
}

/// A message with its gRPC prefix.
fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut body = BytesMut::with_capacity(PREFIX + length);
    body.put_u8(0);
    body.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    // a BytesMut grows as needed, so that encoding cannot fail
    let _ = message.encode(&mut body);
    body.freeze()
}
