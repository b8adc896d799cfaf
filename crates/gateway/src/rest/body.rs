//! Reading a request body, and the bodies of the answers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::problem::Problem;
use super::stream::JobLines;
use crate::admission::{self, FREE_BODY_BYTES, Gate};
use crate::undelivered::Undelivered;

/// Body of an answer.
pub enum RestBody {
    /// `None` once it was sent, or when there is nothing to send.
    Whole(Option<Bytes>),
    /// The same, with the jobs that go back if it is never sent.
    Activation(Option<Bytes>, Undelivered),
    Jobs(JobLines),
}

impl RestBody {
    pub fn empty() -> RestBody {
        RestBody::Whole(None)
    }

    /// This body tells of jobs that somebody else may work on when it does not reach the client.
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
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
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
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, RestBody::Whole(None) | RestBody::Activation(None, _))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            RestBody::Whole(bytes) | RestBody::Activation(bytes, _) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64))
            }
            RestBody::Jobs(_) => SizeHint::default(),
        }
    }
}

/// A whole request body with its part of the budget.
pub struct Received {
    pub bytes: Bytes,
    pub budget: Option<admission::Bytes>,
}

/// Reads a body of at most `limit` bytes. A larger one waits for budget before more than [`FREE_BODY_BYTES`] of it are read.
pub async fn read(
    body: &mut Incoming,
    limit: usize,
    gate: &Gate,
    timeout: Duration,
) -> Result<Received, Problem> {
    if body.is_end_stream() {
        return Ok(Received {
            bytes: Bytes::new(),
            budget: None,
        });
    }
    let announced = body
        .size_hint()
        .exact()
        .map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    if announced.is_some_and(|n| n > limit) {
        return Err(Problem::too_large(limit));
    }
    let mut collected = Collected {
        limit,
        announced: announced.unwrap_or(0),
        ..Collected::default()
    };
    let mut budget = None;
    if let Some(announced) = announced {
        budget = gate.reserve(announced).await?;
    } else {
        let free = FREE_BODY_BYTES.min(limit);
        if !in_time(timeout, collected.fill(body, free)).await? {
            budget = gate.reserve(limit).await?;
        }
    }
    in_time(timeout, collected.fill(body, usize::MAX)).await?;
    let bytes = collected.finish();
    if let Some(budget) = &mut budget {
        budget.shrink_to(bytes.len());
    }
    Ok(Received { bytes, budget })
}

/// Bytes and time for which a body that is too large is taken in and thrown away.
const DRAIN_BYTES: usize = 64 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// Lets a client send the rest of a body that is refused already: many look at the answer only then, and would see nothing but
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

async fn in_time<T>(
    timeout: Duration,
    read: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let read = tokio::time::timeout(timeout, read).await;
    read.unwrap_or_else(|_| Err(Problem::body_timeout(timeout.as_secs())))
}

/// What of a body has arrived. A body that arrives in one piece, as nearly all do, is not copied.
#[derive(Default)]
struct Collected {
    limit: usize,
    /// 0 when the client does not tell.
    announced: usize,
    first: Bytes,
    rest: BytesMut,
    ended: bool,
}

impl Collected {
    fn len(&self) -> usize {
        if self.rest.is_empty() {
            self.first.len()
        } else {
            self.rest.len()
        }
    }

    /// Reads until the end (true) or until at least `enough` bytes are there (false).
    async fn fill(&mut self, body: &mut Incoming, enough: usize) -> Result<bool, Problem> {
        while !self.ended && self.len() < enough {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
            match frame {
                None => self.ended = true,
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.push(data)?;
                    }
                    self.ended = body.is_end_stream();
                }
                Some(Err(e)) => {
                    return Err(Problem::new(
                        http::StatusCode::BAD_REQUEST,
                        "INVALID_ARGUMENT",
                        format!("The request body broke off: {e}. Send the request again."),
                    ));
                }
            }
        }
        Ok(self.ended)
    }

    fn push(&mut self, data: Bytes) -> Result<(), Problem> {
        if data.len() > self.limit - self.len() {
            return Err(Problem::too_large(self.limit));
        }
        if self.first.is_empty() && self.rest.is_empty() {
            self.first = data;
            return Ok(());
        }
        if self.rest.is_empty() {
            self.rest
                .reserve(self.announced.max(self.first.len() + data.len()));
            self.rest.extend_from_slice(&self.first);
            self.first = Bytes::new();
        }
        self.rest.extend_from_slice(&data);
        Ok(())
    }

    fn finish(self) -> Bytes {
        if self.rest.is_empty() {
            self.first
        } else {
            self.rest.freeze()
        }
    }
}
