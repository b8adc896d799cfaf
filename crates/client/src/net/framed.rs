//! Cutting a response body into messages, reading only as fast as the caller takes them.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use hyper::body::{Body as _, Incoming};
use tokio::time::{Instant, Sleep};

use crate::Error;

/// The body of a streaming answer.
#[derive(Debug)]
pub(crate) enum ByteStream {
    Http1(Incoming, Option<Idle>),
    Http2 {
        body: h2::RecvStream,
        /// Bytes handed to the caller and not yet given back to the window.
        unreleased: usize,
        data_ended: bool,
        idle: Option<Idle>,
    },
}

/// The next part of a body.
pub(crate) enum Chunk {
    Data(Bytes),
    End(Option<HeaderMap>),
}

impl ByteStream {
    pub(crate) fn http1(body: Incoming, idle: Option<Duration>) -> Self {
        Self::Http1(body, idle.map(Idle::new))
    }

    pub(crate) fn http2(body: h2::RecvStream, idle: Option<Duration>) -> Self {
        Self::Http2 {
            body,
            unreleased: 0,
            data_ended: false,
            idle: idle.map(Idle::new),
        }
    }

    /// The next piece. Asking for it gives the previous piece's bytes back to the flow control window.
    pub(crate) fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Chunk, Error>> {
        match self {
            Self::Http1(body, idle) => loop {
                match Pin::new(&mut *body).poll_frame(context) {
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(data) => {
                            touch(idle);
                            return Poll::Ready(Ok(Chunk::Data(data)));
                        }
                        Err(_) => continue,
                    },
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(Error::broken(error))),
                    Poll::Ready(None) => return Poll::Ready(Ok(Chunk::End(None))),
                    Poll::Pending => return poll_idle(idle, context),
                }
            },
            Self::Http2 {
                body,
                unreleased,
                data_ended,
                idle,
            } => {
                if *unreleased > 0 {
                    let _ = body.flow_control().release_capacity(*unreleased);
                    *unreleased = 0;
                }
                if !*data_ended {
                    match body.poll_data(context) {
                        Poll::Ready(Some(Ok(data))) => {
                            *unreleased = data.len();
                            touch(idle);
                            return Poll::Ready(Ok(Chunk::Data(data)));
                        }
                        Poll::Ready(Some(Err(error))) => {
                            return Poll::Ready(Err(Error::broken(error)));
                        }
                        Poll::Ready(None) => *data_ended = true,
                        Poll::Pending => return poll_idle(idle, context),
                    }
                }
                let trailers = ready!(body.poll_trailers(context)).map_err(Error::broken)?;
                Poll::Ready(Ok(Chunk::End(trailers)))
            }
        }
    }

    /// Reads a whole body of at most `limit` bytes.
    pub(crate) async fn read_all(
        &mut self,
        limit: usize,
    ) -> Result<(Bytes, Option<HeaderMap>), Error> {
        let mut first = Bytes::new();
        let mut joined: Option<BytesMut> = None;
        loop {
            match std::future::poll_fn(|context| self.poll_chunk(context)).await? {
                Chunk::End(trailers) => {
                    return Ok((joined.map_or(first, BytesMut::freeze), trailers));
                }
                Chunk::Data(data) => {
                    let so_far = joined.as_ref().map_or(first.len(), BytesMut::len);
                    if so_far + data.len() > limit {
                        return Err(too_large(limit));
                    }
                    // most answers are one piece, which is then passed on as it is
                    match &mut joined {
                        Some(all) => all.extend_from_slice(&data),
                        None if first.is_empty() => first = data,
                        None => {
                            let mut all = BytesMut::with_capacity(first.len() + data.len());
                            all.extend_from_slice(&first);
                            all.extend_from_slice(&data);
                            joined = Some(all);
                        }
                    }
                }
            }
        }
    }
}

/// Detects a stream that went silent (a peer that vanished without closing).
#[derive(Debug)]
pub(crate) struct Idle {
    limit: Duration,
    last: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Idle {
    fn new(limit: Duration) -> Self {
        Self {
            limit,
            last: Instant::now(),
            timer: Box::pin(tokio::time::sleep(limit)),
        }
    }
}

fn touch(idle: &mut Option<Idle>) {
    if let Some(idle) = idle {
        idle.last = Instant::now();
    }
}

fn poll_idle<T>(idle: &mut Option<Idle>, context: &mut Context<'_>) -> Poll<Result<T, Error>> {
    let Some(idle) = idle else {
        return Poll::Pending;
    };
    // the timer is moved only when it fires, not at every message
    while idle.timer.as_mut().poll(context).is_ready() {
        let due = idle.last + idle.limit;
        if due <= Instant::now() {
            return Poll::Ready(Err(Error::broken(format_args!(
                "nothing was received for {:?}",
                idle.limit
            ))));
        }
        idle.timer.as_mut().reset(due);
    }
    Poll::Pending
}

pub(crate) fn too_large(limit: usize) -> Error {
    Error::Protocol(format!(
        "a message is larger than the limit of {limit} bytes (max_message_size)"
    ))
}

/// Cuts messages off the front of a buffer.
pub(crate) trait Decode {
    type Item;

    /// Takes one message, or `None` when more bytes are needed.
    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Self::Item>, Error>;

    /// Judges the end of the stream.
    fn end(&mut self, rest: &[u8], trailers: Option<&HeaderMap>) -> Result<(), Error>;
}

/// Source of chunks; a trait only so that tests can feed [`Framed`].
pub(crate) trait Chunks {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Chunk, Error>>;
}

impl Chunks for ByteStream {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Chunk, Error>> {
        Self::poll_chunk(self, context)
    }
}

/// Messages of a streaming answer.
#[derive(Debug)]
pub(crate) struct Framed<S, D> {
    source: S,
    decoder: D,
    buffer: BytesMut,
    limit: usize,
    ended: bool,
}

impl<S: Chunks, D: Decode> Framed<S, D> {
    /// `limit` is the largest message in bytes.
    pub(crate) fn new(source: S, decoder: D, limit: usize) -> Self {
        Self {
            source,
            decoder,
            buffer: BytesMut::new(),
            limit,
            ended: false,
        }
    }

    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<D::Item>, Error>> {
        loop {
            if self.ended {
                return Poll::Ready(Ok(None));
            }
            let step = self.step(context);
            if !matches!(step, Poll::Ready(Ok(Some(None)))) {
                self.ended |= matches!(step, Poll::Ready(Ok(None) | Err(_)));
                return step.map_ok(Option::flatten);
            }
        }
    }

    /// One message, or `Some(None)` after taking in more bytes, or `None` at the end.
    #[expect(clippy::option_option, reason = "three outcomes, private to this file")]
    fn step(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Option<D::Item>>, Error>> {
        if let Some(item) = self.decoder.decode(&mut self.buffer)? {
            return Poll::Ready(Ok(Some(Some(item))));
        }
        if self.buffer.len() > self.limit {
            return Poll::Ready(Err(too_large(self.limit)));
        }
        match ready!(self.source.poll_chunk(context))? {
            Chunk::Data(data) => {
                self.buffer.extend_from_slice(&data);
                Poll::Ready(Ok(Some(None)))
            }
            Chunk::End(trailers) => {
                self.decoder.end(&self.buffer, trailers.as_ref())?;
                Poll::Ready(Ok(None))
            }
        }
    }

    /// All messages of an answer that ends by itself.
    pub(crate) async fn collect(mut self) -> Result<Vec<D::Item>, Error> {
        let mut items = Vec::new();
        while let Some(item) = std::future::poll_fn(|context| self.poll_next(context)).await? {
            items.push(item);
        }
        Ok(items)
    }
}
