//! A request body on its way in, over either protocol.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use skep_protocol::Failure;
use tokio::time::Instant;

use crate::budget::{Budget, Share};
use crate::config::GatewayConfig;

/// Why a body is not read to its end.
#[derive(Debug)]
pub enum Broken {
    /// It exceeds this many bytes.
    TooLarge(usize),
    /// The client took longer than this to send it.
    TooSlow(Duration),
    /// There was no room for it in the budget.
    NoRoom(Failure),
    BrokeOff(hyper::Error),
}

/// The next piece of a body; `None` at its end.
type Read = Option<Result<Frame<Bytes>, hyper::Error>>;

/// The next piece, if it is there.
async fn arrived(body: &mut Incoming) -> Option<Read> {
    std::future::poll_fn(|cx| {
        Poll::Ready(match Pin::new(&mut *body).poll_frame(cx) {
            Poll::Ready(frame) => Some(frame),
            Poll::Pending => None,
        })
    })
    .await
}

/// The part of a body that has arrived. A body that arrives in one piece, as nearly all do, is not copied.
#[derive(Debug)]
pub struct IncomingBody<'a> {
    budget: &'a Budget,
    config: &'a GatewayConfig,
    began: Instant,
    /// Waiting for room is not the client's fault.
    waited: Duration,
    share: Share,
    first: Bytes,
    rest: BytesMut,
    ended: bool,
}

impl<'a> IncomingBody<'a> {
    /// `first` has been read already.
    pub fn new(budget: &'a Budget, config: &'a GatewayConfig, first: Bytes) -> IncomingBody<'a> {
        IncomingBody {
            budget,
            config,
            began: Instant::now(),
            waited: Duration::ZERO,
            share: Share::default(),
            first,
            rest: BytesMut::new(),
            ended: false,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        if self.rest.is_empty() {
            &self.first
        } else {
            &self.rest
        }
    }

    /// Reads until the end or until at least `enough` bytes are there. More than `limit` bytes are an error.
    ///
    /// # Errors
    /// [`Broken`]; the bytes read so far are lost then.
    pub async fn fill(
        &mut self,
        body: &mut Incoming,
        enough: usize,
        limit: usize,
    ) -> Result<(), Broken> {
        self.make_room().await?;
        while !self.ended && self.bytes().len() < enough {
            let frame = match arrived(body).await {
                Some(frame) => frame,
                // Boxed: the request's future stays small, and most bodies are there at once.
                None => Box::pin(self.next(body)).await?,
            };
            match frame {
                None => self.ended = true,
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        if data.len() > limit.saturating_sub(self.bytes().len()) {
                            return Err(Broken::TooLarge(limit));
                        }
                        self.push(data);
                        self.make_room().await?;
                    }
                    self.ended = body.is_end_stream();
                }
                Some(Err(error)) => return Err(Broken::BrokeOff(error)),
            }
        }
        Ok(())
    }

    /// Waits for what comes next.
    async fn next(&self, body: &mut Incoming) -> Result<Read, Broken> {
        tokio::select! {
            biased;
            frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)) => Ok(frame),
            late = self.late() => Err(Broken::TooSlow(late)),
        }
    }

    /// Resolves when the client's time is over: it has less while others wait for the room that this body holds.
    async fn late(&self) -> Duration {
        let config = self.config;
        let usual = config.body_timeout;
        let crowded = config.head_timeout.min(usual);
        let began = self.began + self.waited;
        tokio::time::sleep_until(began + crowded).await;
        tokio::select! {
            () = self.budget.crowded() => crowded,
            () = tokio::time::sleep_until(began + usual) => usual,
        }
    }

    /// Reserves room for the bytes that have arrived.
    async fn make_room(&mut self) -> Result<(), Broken> {
        self.reserve(self.bytes().len()).await
    }

    /// Room for this many bytes.
    ///
    /// # Errors
    /// [`Broken::NoRoom`]
    pub async fn reserve(&mut self, bytes: usize) -> Result<(), Broken> {
        if self.budget.try_grow(&mut self.share, bytes) {
            return Ok(());
        }
        let patience = self.config.body_timeout.saturating_sub(self.waited);
        let began = Instant::now();
        let found = Box::pin(self.budget.grow(&mut self.share, bytes, patience)).await;
        self.waited += began.elapsed();
        found.map_err(Broken::NoRoom)
    }

    fn push(&mut self, data: Bytes) {
        if self.first.is_empty() && self.rest.is_empty() {
            self.first = data;
            return;
        }
        if self.rest.is_empty() {
            self.rest.extend_from_slice(&self.first);
            self.first = Bytes::new();
        }
        self.rest.extend_from_slice(&data);
    }

    /// The body, and its share of the room.
    pub fn finish(self) -> (Bytes, Share) {
        let bytes = if self.rest.is_empty() {
            self.first
        } else {
            self.rest.freeze()
        };
        (bytes, self.share)
    }
}
