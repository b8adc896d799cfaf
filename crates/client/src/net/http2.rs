//! HTTP/2 over clear text: requests multiplexed on few connections.
//!
//! The `h2` crate is used directly: each request is polled in the caller's own task, where a
//! general client adds a task and two channels per request.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use h2::{PingPong, client::SendRequest};
use http::{Request, Response};

use super::Endpoint;
use super::goaway::{LastStream, Listening};
use crate::Error;

const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(15);

/// Flow control windows of a connection, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Windows {
    pub(crate) stream: u32,
    pub(crate) connection: u32,
}

impl Windows {
    /// For short answers on shared connections.
    pub(crate) const UNARY: Self = Self {
        stream: 1 << 20,
        connection: 8 << 20,
    };

    /// For one job stream on a connection of its own.
    pub(crate) fn one_stream(bytes: u32) -> Self {
        // a window below a frame would only cost round trips
        let bytes = bytes.clamp(16 * 1024, 1 << 30);
        Self {
            stream: bytes,
            connection: bytes.max(65_535),
        }
    }
}

/// A fixed number of connections to one server, opened on first use and again after a failure.
#[derive(Debug)]
pub(crate) struct Http2Channel {
    endpoint: Endpoint,
    windows: Windows,
    slots: Box<[Slot]>,
    next: AtomicUsize,
}

#[derive(Debug, Default)]
struct Slot {
    open: Arc<Mutex<Open>>,
    /// Held while connecting, so that waiting requests share one attempt.
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Open {
    sender: Option<(SendRequest<Bytes>, LastStream)>,
    /// Counts connections, so that the end of an old one does not remove its successor.
    generation: u64,
}

impl Http2Channel {
    pub(crate) fn new(endpoint: Endpoint, connections: usize, windows: Windows) -> Self {
        Self {
            endpoint,
            windows,
            slots: (0..connections.max(1)).map(|_| Slot::default()).collect(),
            next: AtomicUsize::new(0),
        }
    }

    /// Sends a request and returns the head of the answer; the body is to be read.
    pub(crate) async fn send(
        &self,
        request: impl Fn() -> Result<Request<()>, Error>,
        body: Bytes,
    ) -> Result<Response<h2::RecvStream>, Error> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.slots.len().max(1);
        let Some(slot) = self.slots.get(turn) else {
            return Err(Error::Invalid("a channel without connections".into()));
        };
        let mut retried = false;
        loop {
            let (sender, last, generation) = self.sender(slot).await?;
            // Failing up to here means that not all was sent: a new connection may try it.
            let answer = match sender.ready().await {
                Ok(mut sender) => match sender.send_request(request()?, body.is_empty()) {
                    Ok((answer, mut upload)) => {
                        if body.is_empty() {
                            Ok(answer)
                        } else {
                            upload.send_data(body.clone(), true).map(|()| answer)
                        }
                    }
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            };
            let failure = match answer {
                Ok(answer) => {
                    let stream = answer.stream_id();
                    match answer.await {
                        Ok(response) => return Ok(response),
                        Err(error) if error.reason() == Some(h2::Reason::REFUSED_STREAM) => error,
                        Err(error) if last.excludes(stream) => {
                            forget(&slot.open, generation);
                            error
                        }
                        Err(error) => return Err(Error::broken(error)),
                    }
                }
                Err(error) => {
                    forget(&slot.open, generation);
                    error
                }
            };
            if retried {
                return Err(self.endpoint.unreachable(failure));
            }
            retried = true;
        }
    }

    async fn sender(&self, slot: &Slot) -> Result<(SendRequest<Bytes>, LastStream, u64), Error> {
        if let Some(found) = current(&slot.open) {
            return Ok(found);
        }
        let _turn = slot.connecting.lock().await;
        if let Some(found) = current(&slot.open) {
            return Ok(found);
        }
        let (stream, last) = Listening::new(self.endpoint.connect(None).await?);
        let handshake = h2::client::Builder::new()
            .initial_window_size(self.windows.stream)
            .initial_connection_window_size(self.windows.connection)
            .max_send_buffer_size(1 << 20)
            .enable_push(false)
            .handshake::<_, Bytes>(stream);
        let (sender, mut connection) = handshake
            .await
            .map_err(|error| self.endpoint.unreachable(error))?;
        let generation = {
            let mut open = slot.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.generation += 1;
            open.sender = Some((sender.clone(), last.clone()));
            open.generation
        };
        let open = Arc::downgrade(&slot.open);
        let pings = connection.ping_pong();
        tokio::spawn(async move {
            // errors reach the callers through their requests
            tokio::select! {
                _ = connection => {}
                () = watch(pings) => {}
            }
            if let Some(open) = open.upgrade() {
                forget(&open, generation);
            }
        });
        Ok((sender, last, generation))
    }
}

impl Drop for Http2Channel {
    fn drop(&mut self) {
        // the connection tasks end once the last sender and the last answer are gone
        for slot in &self.slots {
            let mut open = slot.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.sender = None;
        }
    }
}

fn current(open: &Mutex<Open>) -> Option<(SendRequest<Bytes>, LastStream, u64)> {
    let open = open.lock().unwrap_or_else(PoisonError::into_inner);
    let (sender, last) = open.sender.clone()?;
    Some((sender, last, open.generation))
}

fn forget(open: &Mutex<Open>, generation: u64) {
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    if open.generation == generation {
        open.sender = None;
    }
}

/// Returns when the peer no longer answers pings.
async fn watch(pings: Option<PingPong>) {
    let Some(mut pings) = pings else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(PING_EVERY).await;
        let pong = tokio::time::timeout(PONG_WITHIN, pings.ping(h2::Ping::opaque())).await;
        if !matches!(pong, Ok(Ok(_))) {
            return;
        }
    }
}
