//! Reading a request body, and the bodies of the answers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use skep_documents::Content;

use super::problem::Problem;
use super::stream::JobLines;
use crate::body::{Broken, IncomingBody};
use crate::budget::{Budget, FREE_BODY_BYTES, Share};
use crate::call::FrontEnd;
use crate::undelivered::Undelivered;

/// Body of an answer.
pub enum RestBody {
    /// `None` once it was sent, or when there is nothing to send.
    Whole(Option<Bytes>),
    /// The same, with the jobs that go back if it is never sent.
    Activation(Option<Bytes>, Undelivered),
    Jobs(JobLines),
    Document(Content),
}

impl RestBody {
    pub fn empty() -> RestBody {
        RestBody::Whole(None)
    }

    /// This body contains jobs that other workers may get if it does not reach the client.
    pub fn with_jobs(self, jobs: Undelivered) -> RestBody {
        match self {
            RestBody::Whole(bytes) => RestBody::Activation(bytes, jobs),
            other => other,
        }
    }
}

impl From<Bytes> for RestBody {
    fn from(bytes: Bytes) -> RestBody {
        RestBody::Whole(Some(bytes))
    }
}

impl Body for RestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            RestBody::Whole(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            RestBody::Activation(bytes, jobs) => {
                let part = bytes.take().map(|mut whole| {
                    // The last byte goes alone: the connection asks for it when it has taken those before.
                    let most = whole.len().saturating_sub(1);
                    if most == 0 {
                        jobs.delivered();
                        return whole;
                    }
                    *bytes = Some(whole.split_off(most));
                    whole
                });
                Poll::Ready(part.map(|b| Ok(Frame::data(b))))
            }
            RestBody::Jobs(jobs) => jobs.poll_lines(cx).map(|l| l.map(|b| Ok(Frame::data(b)))),
            RestBody::Document(content) => {
                let piece = content.poll_piece(cx);
                piece.map(|piece| piece.map(|read| read.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            RestBody::Whole(bytes) | RestBody::Activation(bytes, _) => bytes.is_none(),
            RestBody::Jobs(_) => false,
            RestBody::Document(content) => content.left() == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            RestBody::Whole(bytes) | RestBody::Activation(bytes, _) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64))
            }
            RestBody::Jobs(_) => SizeHint::default(),
            RestBody::Document(content) => SizeHint::with_exact(content.left()),
        }
    }
}

/// A whole request body with its share of the room for bodies.
pub struct Received {
    pub bytes: Bytes,
    pub share: Share,
}

/// Reads a body that is complete already and needs no room, as nearly all are and do. `None`: it is not; the bytes received
/// so far are in `first`.
pub fn read_at_once(
    body: &mut Incoming,
    limit: usize,
    first: &mut Bytes,
) -> Option<Result<Received, Problem>> {
    let small = limit.min(FREE_BODY_BYTES) as u64;
    let announced = body.size_hint().exact();
    if announced.is_some_and(|size| 0 < size && size <= small) {
        // Nobody is woken: a body that is not whole is asked again.
        let mut cx = Context::from_waker(Waker::noop());
        match Pin::new(&mut *body).poll_frame(&mut cx) {
            Poll::Ready(Some(Ok(frame))) => *first = frame.into_data().unwrap_or_default(),
            Poll::Ready(Some(Err(error))) => return Some(Err(Broken::BrokeOff(error).into())),
            Poll::Ready(None) | Poll::Pending => {}
        }
    }
    body.is_end_stream().then(|| {
        Ok(Received {
            bytes: std::mem::take(first),
            share: Share::default(),
        })
    })
}

/// Reads a body of at most `limit` bytes, with room of `budget`. `first` has been read already.
pub async fn read(
    body: &mut Incoming,
    first: Bytes,
    limit: usize,
    front: &FrontEnd,
    budget: &Budget,
) -> Result<Received, Problem> {
    let announced = body.size_hint().exact();
    if announced.is_some_and(|n| n > limit.saturating_sub(first.len()) as u64) {
        return Err(Problem::too_large(limit));
    }
    let mut incoming = IncomingBody::new(budget, &front.config, first);
    incoming.fill(body, usize::MAX, limit).await?;
    let (bytes, share) = incoming.finish();
    Ok(Received { bytes, share })
}

/// Maximum bytes and time for discarding a body that is too large.
const DRAIN_BYTES: usize = 64 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// Receives the rest of a body that is refused already: many clients read the answer only afterwards, and would otherwise see
/// a broken connection. The connection ends when this ends.
pub fn drain(mut body: Incoming) {
    tokio::spawn(async move {
        let mut left = DRAIN_BYTES;
        let thrown_away = async {
            while let Some(Ok(frame)) =
                std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await
            {
                let size = frame.data_ref().map_or(0, Bytes::len);
                match left.checked_sub(size) {
                    Some(rest) => left = rest,
                    None => break,
                }
            }
        };
        // Late or not, the body is dropped.
        let _ = tokio::time::timeout(DRAIN_TIME, thrown_away).await;
    });
}

impl From<Broken> for Problem {
    fn from(broken: Broken) -> Problem {
        match broken {
            Broken::TooLarge(limit) => Problem::too_large(limit),
            Broken::TooSlow(time) => Problem::body_timeout(time.as_secs()),
            Broken::NoRoom(failure) => failure.into(),
            Broken::BrokeOff(error) => Problem::new(
                http::StatusCode::BAD_REQUEST,
                "INVALID_ARGUMENT",
                format!("The request body ended early: {error}. Send the request again."),
            ),
        }
    }
}
