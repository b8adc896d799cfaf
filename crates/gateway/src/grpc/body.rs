//! Request messages on their way in: what is known of a call, and how much of its message is read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;
use skep_protocol::Failure;
use skep_protocol::service::BoxFuture;
use tokio::time::Sleep;
use tonic::Status;

use super::status::status;
use crate::admission::{self, FREE_BODY_BYTES};
use crate::call::{FrontEnd, Stopwatch};

/// What travels beside a message: when the call began, and its part of the budget.
#[derive(Debug)]
pub struct CallContext {
    pub watch: Stopwatch,
    budget: Mutex<Option<admission::Bytes>>,
}

impl CallContext {
    pub fn new(watch: Stopwatch) -> CallContext {
        CallContext {
            watch,
            budget: Mutex::new(None),
        }
    }

    pub fn take_budget(&self) -> Option<admission::Bytes> {
        self.budget.lock().take()
    }
}

type Reservation = BoxFuture<'static, Result<Option<admission::Bytes>, Failure>>;

/// A message that is read no further than its size limit, its part of the budget and its time allow.
pub struct MessageBody {
    inner: Incoming,
    front: Arc<FrontEnd>,
    context: Arc<CallContext>,
    stage: Stage,
    /// Only made for a message that is not there at once.
    deadline: Option<Pin<Box<Sleep>>>,
}

enum Stage {
    /// The message's length is not known yet.
    Start,
    /// The message is large: its first piece waits for budget.
    Reserving {
        reservation: Reservation,
        first: Bytes,
    },
    Reading,
}

/// A gRPC message begins with a flag and its length in four bytes.
const PREFIX: usize = 5;

impl MessageBody {
    pub fn new(inner: Incoming, front: Arc<FrontEnd>, context: Arc<CallContext>) -> MessageBody {
        MessageBody {
            inner,
            front,
            context,
            stage: Stage::Start,
            deadline: None,
        }
    }

    /// Looks at the first piece. `Some` when it may go on at once.
    fn start(&mut self, first: Bytes) -> Result<Option<Bytes>, Status> {
        let limit = self.front.config.max_message_size;
        let length = match first
            .get(1..PREFIX)
            .and_then(|l| <[u8; 4]>::try_from(l).ok())
        {
            Some(length) => u32::from_be_bytes(length) as usize,
            // Split inside its prefix: whoever does that is taken to send the largest message.
            None => limit,
        };
        if length > limit {
            return Err(Status::resource_exhausted(format!(
                "The message has {length} bytes, but at most {limit} are allowed. Send less, or raise the limit."
            )));
        }
        if length <= FREE_BODY_BYTES {
            self.stage = Stage::Reading;
            return Ok(Some(first));
        }
        let front = Arc::clone(&self.front);
        let reservation = Box::pin(async move { front.gate.reserve(length).await });
        self.stage = Stage::Reserving { reservation, first };
        Ok(None)
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<Status> {
        let timeout = self.front.config.body_timeout;
        let sleep = || Box::pin(tokio::time::sleep(timeout));
        let deadline = self.deadline.get_or_insert_with(sleep);
        deadline.as_mut().poll(cx).map(|()| {
            Status::deadline_exceeded(format!(
                "The message did not arrive within {} s. Send the request again.",
                timeout.as_secs()
            ))
        })
    }
}

impl Body for MessageBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        loop {
            if let Stage::Reserving { reservation, first } = &mut this.stage {
                let reserved = ready!(reservation.as_mut().poll(cx));
                let first = std::mem::take(first);
                this.stage = Stage::Reading;
                return Poll::Ready(Some(match reserved {
                    Ok(budget) => {
                        *this.context.budget.lock() = budget;
                        Ok(Frame::data(first))
                    }
                    Err(failure) => Err(status(failure)),
                }));
            }
            let frame = match Pin::new(&mut this.inner).poll_frame(cx) {
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(e))) => {
                    let text = format!("The message broke off: {e}");
                    return Poll::Ready(Some(Err(Status::cancelled(text))));
                }
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Pending => {
                    let late = ready!(this.poll_deadline(cx));
                    return Poll::Ready(Some(Err(late)));
                }
            };
            if !matches!(this.stage, Stage::Start) {
                return Poll::Ready(Some(Ok(frame)));
            }
            match frame.into_data() {
                Ok(first) if !first.is_empty() => match this.start(first) {
                    Ok(Some(first)) => return Poll::Ready(Some(Ok(Frame::data(first)))),
                    Ok(None) => {}
                    Err(refused) => return Poll::Ready(Some(Err(refused))),
                },
                Ok(_) => {}
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        !matches!(self.stage, Stage::Reserving { .. }) && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
