//! HTTP/1.1: a pool of kept-alive connections, one request at a time on each.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::http1::{Builder, SendRequest},
};
use hyper_util::rt::TokioIo;

use super::{ByteStream, Endpoint};
use crate::Error;

type Sender = SendRequest<Full<Bytes>>;

/// Connections to one server. At most `keep` of them stay open unused.
#[derive(Debug)]
pub(crate) struct Http1Pool {
    endpoint: Endpoint,
    host: HeaderValue,
    keep: usize,
    idle: Arc<Mutex<Vec<Sender>>>,
}

impl Http1Pool {
    pub(crate) fn new(endpoint: Endpoint, keep: usize) -> Result<Self, Error> {
        let host = HeaderValue::from_str(&endpoint.address)
            .map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Self {
            endpoint,
            host,
            keep,
            idle: Arc::default(),
        })
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn call(
        &self,
        mut request: Request<Full<Bytes>>,
        limit: usize,
    ) -> Result<Response<Bytes>, Error> {
        request
            .headers_mut()
            .insert(header::HOST, self.host.clone());
        // A kept connection may have been closed by the server meanwhile: hyper then gives the
        // request back unsent, and the next connection (at last a new one) takes it.
        let (mut sender, response) = loop {
            let (mut sender, fresh) = match self.take() {
                Some(sender) => (sender, false),
                None => (self.open(None).await?, true),
            };
            if let Err(error) = sender.ready().await {
                if fresh {
                    return Err(self.endpoint.unreachable(error));
                }
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => break (sender, response),
                Err(mut failure) => match failure.take_message() {
                    Some(unsent) if !fresh => request = unsent,
                    Some(_) => return Err(self.endpoint.unreachable(failure.into_error())),
                    None => return Err(Error::broken(failure.into_error())),
                },
            }
        };
        let (head, body) = response.into_parts();
        let (bytes, _) = ByteStream::http1(body, None).read_all(limit).await?;
        if !sender.is_closed() && sender.is_ready() {
            self.put(sender);
        } else if !sender.is_closed() && sender.ready().await.is_ok() {
            // the end of the body was read a moment before the connection noticed it
            self.put(sender);
        }
        Ok(Response::from_parts(head, bytes))
    }

    /// Sends a request on a connection of its own and leaves the body to be read.
    /// `receive_buffer` bounds what the kernel takes in ahead of the reader.
    pub(crate) async fn stream(
        &self,
        mut request: Request<Full<Bytes>>,
        receive_buffer: u32,
    ) -> Result<Response<Incoming>, Error> {
        request
            .headers_mut()
            .insert(header::HOST, self.host.clone());
        let mut sender = self.open(Some(receive_buffer)).await?;
        sender.send_request(request).await.map_err(Error::broken)
    }

    async fn open(&self, receive_buffer: Option<u32>) -> Result<Sender, Error> {
        let stream = self.endpoint.connect(receive_buffer).await?;
        let (sender, connection) = Builder::new()
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.endpoint.unreachable(error))?;
        tokio::spawn(async move {
            // errors reach the caller through the request
            let _ = connection.await;
        });
        Ok(sender)
    }

    fn take(&self) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(sender) = idle.pop() {
            if !sender.is_closed() {
                return Some(sender);
            }
        }
        None
    }

    fn put(&self, sender: Sender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.keep {
            idle.push(sender);
        }
    }
}
