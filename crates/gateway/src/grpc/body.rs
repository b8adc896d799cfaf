//! Incoming request messages: data about a call, and how much of its message is read.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;
use skep_protocol::origin::Claims;
use skep_service::BoxFuture;
use tokio::time::Sleep;
use tonic::Status;

use super::status::status;
use crate::body::{Broken, IncomingBody};
use crate::budget::{FREE_BODY_BYTES, Share};
use crate::call::{FrontEnd, Stopwatch};

/// Data about a call beside its message: when it began, and its share of the budget for bodies.
#[derive(Debug)]
pub struct CallContext {
    /// Since the head was read, without the check of the caller.
    pub watch: Stopwatch,
    pub peer: IpAddr,
    share: Mutex<Share>,
    /// The caller, and how long the check of the credentials took. `None` until the door has let the caller in.
    caller: Mutex<Option<(Claims, Duration)>>,
}

impl CallContext {
    pub fn new(watch: Stopwatch, peer: IpAddr) -> CallContext {
        CallContext {
            watch,
            peer,
            share: Mutex::default(),
            caller: Mutex::default(),
        }
    }

    /// Sets the authenticated caller, and how long the check took.
    pub fn is_of(&self, claims: Claims, took: Duration) {
        *self.caller.lock() = Some((claims, took));
    }

    /// The authenticated caller, and how long the check took. `None`: nobody has been let in.
    pub fn caller(&self) -> Option<(Claims, Duration)> {
        self.caller.lock().clone()
    }

    pub fn take_share(&self) -> Share {
        std::mem::take(&mut self.share.lock())
    }
}

/// A message that is handed on when it is whole, and read no further than its size limit, the room and its time allow.
pub struct MessageBody {
    /// `None` while the message is collected.
    inner: Option<Incoming>,
    front: Arc<FrontEnd>,
    stage: Stage,
    /// Only made for a message that has not fully arrived.
    deadline: Option<Pin<Box<Sleep>>>,
}

enum Stage {
    /// The one message of a call is expected.
    Start(Arc<CallContext>),
    /// It did not come in one piece, is large, or may become so when it is unpacked.
    Collecting(BoxFuture<'static, (Incoming, Result<Bytes, Status>)>),
    /// It was handed on; no other may follow.
    Whole,
    /// As many messages as there are; the service limits them.
    Stream,
}

/// A gRPC message begins with a flag and its length in four bytes.
const PREFIX: usize = 5;

/// No byte of deflate unpacks to more than this many.
const UNPACKED: usize = 1032;

/// The flag and the length.
fn prefix(bytes: &[u8]) -> Option<(bool, usize)> {
    let (prefix, _) = bytes.split_first_chunk::<PREFIX>()?;
    let [flag, length @ ..] = *prefix;
    Some((flag != 0, u32::from_be_bytes(length) as usize))
}

impl MessageBody {
    /// The body of a call with one message.
    pub fn of_call(
        inner: Incoming,
        front: Arc<FrontEnd>,
        context: Arc<CallContext>,
    ) -> MessageBody {
        MessageBody {
            inner: Some(inner),
            front,
            stage: Stage::Start(context),
            deadline: None,
        }
    }

    /// The body of a call whose service takes any number of small messages.
    pub fn of_stream(inner: Incoming, front: Arc<FrontEnd>) -> MessageBody {
        MessageBody {
            inner: Some(inner),
            front,
            stage: Stage::Stream,
            deadline: None,
        }
    }

    /// The next data or trailers, in time.
    fn poll_inner(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(inner) = &mut self.inner else {
            return Poll::Ready(None);
        };
        match Pin::new(inner).poll_frame(cx) {
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(frame))),
            Poll::Ready(Some(Err(error))) => {
                Poll::Ready(Some(Err(refusal(Broken::BrokeOff(error)))))
            }
            Poll::Pending => {
                let timeout = self.front.config.body_timeout;
                let sleep = || Box::pin(tokio::time::sleep(timeout));
                let deadline = self.deadline.get_or_insert_with(sleep);
                ready!(deadline.as_mut().poll(cx));
                Poll::Ready(Some(Err(refusal(Broken::TooSlow(timeout)))))
            }
        }
    }

    /// Checks the first piece. `Some` if it is the whole message and may be handed on at once.
    fn start(&mut self, context: Arc<CallContext>, first: Bytes) -> Option<Bytes> {
        let whole = prefix(&first).is_some_and(|(packed, length)| {
            !packed && length <= FREE_BODY_BYTES && first.len() == PREFIX + length
        });
        if whole {
            self.stage = Stage::Whole;
            return Some(first);
        }
        let front = Arc::clone(&self.front);
        if let Some(mut inner) = self.inner.take() {
            self.stage = Stage::Collecting(Box::pin(async move {
                let collected = collect(&mut inner, &front, &context, first).await;
                (inner, collected)
            }));
        }
        None
    }
}

/// The whole message; its share is left in the context.
async fn collect(
    inner: &mut Incoming,
    front: &FrontEnd,
    context: &CallContext,
    first: Bytes,
) -> Result<Bytes, Status> {
    let limit = front.config.max_message_size;
    let mut incoming = IncomingBody::new(&front.gate.budget, &front.config, first);
    let read = incoming.fill(inner, PREFIX, PREFIX + limit).await;
    read.map_err(refusal)?;
    if let Some((packed, length)) = prefix(incoming.bytes()) {
        if length > limit {
            return Err(refusal(Broken::TooLarge(limit)));
        }
        let all = PREFIX + length;
        let read = incoming.fill(inner, all, usize::MAX).await;
        read.map_err(refusal)?;
        if incoming.bytes().len() > all {
            return Err(second_message());
        }
        if packed {
            // The unpacked size is known only then.
            let unpacked = length.saturating_mul(UNPACKED).min(limit);
            incoming.reserve(length + unpacked).await.map_err(refusal)?;
        }
    }
    let (bytes, share) = incoming.finish();
    *context.share.lock() = share;
    Ok(bytes)
}

fn refusal(broken: Broken) -> Status {
    match broken {
        Broken::TooLarge(limit) => Status::resource_exhausted(format!(
            "The message is larger than the {limit} bytes that are allowed. Send less, or raise the limit."
        )),
        Broken::TooSlow(time) => Status::deadline_exceeded(format!(
            "The message did not arrive within {} s. Send the request again.",
            time.as_secs()
        )),
        Broken::NoRoom(failure) => status(failure),
        Broken::BrokeOff(error) => Status::cancelled(format!("The message ended early: {error}")),
    }
}

fn second_message() -> Status {
    Status::invalid_argument("The call has more than one message, but this rpc takes one.")
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
            if let Stage::Collecting(collected) = &mut this.stage {
                let (inner, collected) = ready!(collected.as_mut().poll(cx));
                this.inner = Some(inner);
                this.stage = Stage::Whole;
                return Poll::Ready(Some(collected.map(Frame::data)));
            }
            let frame = match ready!(this.poll_inner(cx)) {
                Some(Ok(frame)) => frame,
                ended => return Poll::Ready(ended),
            };
            let data = match (&this.stage, frame.into_data()) {
                (Stage::Stream, Ok(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                (_, Ok(data)) if data.is_empty() => continue,
                (_, Ok(data)) => data,
                (_, Err(trailers)) => return Poll::Ready(Some(Ok(trailers))),
            };
            let Stage::Start(context) = &this.stage else {
                return Poll::Ready(Some(Err(second_message())));
            };
            if let Some(whole) = this.start(Arc::clone(context), data) {
                return Poll::Ready(Some(Ok(Frame::data(whole))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_some_and(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
