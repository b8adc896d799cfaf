//! HTTP/1.1: a pool of kept-alive connections, one request at a time on each.
//!
//! A call owns its connection and reads and writes it in its own task. A task per connection, as hyper's client has it, would
//! cost two thread-safe hand-overs and two turns of the scheduler for each request.

mod exchange;
mod head;

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, client::conn::http1::Builder};
use hyper_util::rt::TokioIo;

use self::exchange::{Connection, Failure};
use super::Endpoint;
use crate::Error;

/// A request with a whole body.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) method: &'a Method,
    /// Path and query, as they are to be sent.
    pub(crate) path: &'a str,
    pub(crate) content_type: Option<&'a HeaderValue>,
    pub(crate) authorization: Option<&'a HeaderValue>,
    pub(crate) body: &'a Bytes,
}

/// Connections to one server. At most `keep` of them stay open unused.
#[derive(Debug)]
pub(crate) struct Http1Pool {
    endpoint: Endpoint,
    host: HeaderValue,
    keep: usize,
    idle: Mutex<Vec<Connection>>,
}

impl Http1Pool {
    pub(crate) fn new(endpoint: Endpoint, keep: usize) -> Result<Self, Error> {
        let host = HeaderValue::from_str(&endpoint.address)
            .map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Self {
            endpoint,
            host,
            keep,
            idle: Mutex::default(),
        })
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn call(
        &self,
        call: &Call<'_>,
        limit: usize,
    ) -> Result<(StatusCode, Bytes), Error> {
        let request = head::write(call, &self.host)?;
        // A kept connection may have been closed by the server meanwhile: while nothing was sent, the next connection
        // (at last a new one) may take the request.
        loop {
            let (mut connection, fresh) = match self.take() {
                Some(connection) => (connection, false),
                None => (
                    Connection::new(self.endpoint.connect(None).await?, limit),
                    true,
                ),
            };
            match connection.exchange(&request).await {
                Ok(answer) => {
                    if answer.reusable {
                        self.put(connection);
                    }
                    return Ok((answer.status, answer.body));
                }
                Err(Failure::NothingSent(error)) if fresh => {
                    return Err(self.endpoint.unreachable(error));
                }
                Err(Failure::NothingSent(_)) => {}
                Err(Failure::Lost(error)) => return Err(error),
            }
        }
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
        let stream = self.endpoint.connect(Some(receive_buffer)).await?;
        let (mut sender, connection) = Builder::new()
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.endpoint.unreachable(error))?;
        tokio::spawn(async move {
            // errors reach the caller through the request
            let _ = connection.await;
        });
        sender.send_request(request).await.map_err(Error::broken)
    }

    fn take(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(mut connection) = idle.pop() {
            if connection.is_open() {
                return Some(connection);
            }
        }
        None
    }

    fn put(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.keep {
            idle.push(connection);
        }
    }
}
