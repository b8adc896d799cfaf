//! `POST /v2/jobs/stream`: jobs as lines of JSON, written only as the client takes them.
//!
//! The connection asks for the next lines when it has room: HTTP/2 by its flow control, HTTP/1.1 by a bounded write buffer
//! on top of the socket's. A job returns its credit when the connection asks for it, so a client that does not read holds
//! its credit, those buffers, and no more.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep};

use super::encode;
use crate::call::JobStream;

/// Jobs are gathered into one piece up to this size, as long as they are there already.
const GATHER_BYTES: usize = 16 << 10;

pub struct JobLines {
    stream: JobStream,
    keep_alive: Duration,
    /// When a silent stream gets its next blank line.
    next_blank: Pin<Box<Sleep>>,
    ended: bool,
}

impl JobLines {
    pub fn new(stream: JobStream, keep_alive: Duration) -> JobLines {
        JobLines {
            stream,
            keep_alive,
            next_blank: Box::pin(tokio::time::sleep(keep_alive)),
            ended: false,
        }
    }

    pub fn poll_lines(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut lines = String::new();
        while !self.ended && lines.len() < GATHER_BYTES {
            match self.stream.poll_next(cx) {
                Poll::Ready(Some(job)) => {
                    encode::activated_job(&mut lines, &job);
                    lines.push('\n');
                }
                Poll::Ready(None) => self.ended = true,
                Poll::Pending => break,
            }
        }
        if !lines.is_empty() {
            self.postpone_blank();
            return Poll::Ready(Some(Bytes::from(lines)));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        if self.next_blank.as_mut().poll(cx).is_ready() {
            self.postpone_blank();
            return Poll::Ready(Some(Bytes::from_static(b"\n")));
        }
        Poll::Pending
    }

    fn postpone_blank(&mut self) {
        let next = Instant::now() + self.keep_alive;
        self.next_blank.as_mut().reset(next);
    }
}
