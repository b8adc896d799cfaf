//! Finds out which requests a server that is going away has not processed.
//!
//! A GOAWAY frame names the last stream that the server processes; later requests were not carried
//! out and may be sent again (RFC 9113, section 6.8). The `h2` crate reports the error but not the
//! number, so the frame is read here, as it arrives.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const GOAWAY: u8 = 7;
const HEADER: usize = 9;
/// Length of a frame header plus the number with which a GOAWAY frame begins.
const HEAD: usize = HEADER + 4;

/// The last stream that the server processes, as far as announced.
#[derive(Debug, Clone)]
pub(crate) struct LastStream(Arc<AtomicU32>);

impl LastStream {
    /// True when the server has announced that it does not process this stream.
    pub(crate) fn excludes(&self, stream: h2::StreamId) -> bool {
        stream.as_u32() > self.0.load(Ordering::Acquire)
    }
}

/// A connection that watches for the server's GOAWAY.
#[derive(Debug)]
pub(crate) struct Listening<S> {
    stream: S,
    last: LastStream,
    frames: Frames,
}

impl<S> Listening<S> {
    pub(crate) fn new(stream: S) -> (Listening<S>, LastStream) {
        let last = LastStream(Arc::new(AtomicU32::new(u32::MAX)));
        let listening = Listening {
            stream,
            last: last.clone(),
            frames: Frames::default(),
        };
        (listening, last)
    }
}

/// The reading position within the stream of frames.
#[derive(Debug, Default)]
struct Frames {
    head: [u8; HEAD],
    /// Bytes of the head received so far.
    known: usize,
    /// Remaining bytes of the frame after its head.
    rest: usize,
}

impl Frames {
    /// The last GOAWAY frame's stream in these bytes.
    fn read(&mut self, mut bytes: &[u8]) -> Option<u32> {
        let mut last = None;
        while !bytes.is_empty() {
            if self.rest > 0 {
                let skipped = self.rest.min(bytes.len());
                self.rest -= skipped;
                bytes = bytes.get(skipped..).unwrap_or_default();
                continue;
            }
            let wanted = if self.known < HEADER { HEADER } else { HEAD };
            let taken = (wanted - self.known).min(bytes.len());
            let (taken, left) = bytes.split_at(taken);
            for byte in taken {
                if let Some(place) = self.head.get_mut(self.known) {
                    *place = *byte;
                }
                self.known += 1;
            }
            bytes = left;
            let [a, b, c, kind, _, _, _, _, _, stream @ ..] = self.head;
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            if self.known == HEADER && (kind != GOAWAY || length < HEAD - HEADER) {
                (self.known, self.rest) = (0, length);
            } else if self.known == HEAD {
                last = Some(u32::from_be_bytes(stream) & !(1 << 31));
                (self.known, self.rest) = (0, length - (HEAD - HEADER));
            }
        }
        last
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Listening<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buf);
        let new = buf.filled().get(before..).unwrap_or_default();
        if let Some(last) = this.frames.read(new) {
            this.last.0.store(last, Ordering::Release);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Listening<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        bytes.extend([kind, 0, 0, 0, 0, 0]);
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn a_goaway_is_found_however_the_bytes_come() {
        let mut bytes = frame(4, &[]);
        bytes.extend(frame(0, &[GOAWAY; 40]));
        bytes.extend(frame(GOAWAY, &[0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]));
        bytes.extend(frame(6, &[0; 8]));
        bytes.extend(frame(
            GOAWAY,
            &[0x80, 0, 1, 5, 0, 0, 0, 0, b'b', b'y', b'e'],
        ));
        for size in 1..bytes.len() {
            let mut frames = Frames::default();
            let found: Vec<u32> = bytes.chunks(size).filter_map(|c| frames.read(c)).collect();
            assert_eq!(found.last(), Some(&261), "in pieces of {size}");
            assert_eq!((frames.known, frames.rest), (0, 0));
        }
    }
}
