//! One connection: its bytes on their way between the socket and hyper.
//!
//! hyper parses requests and frames. This code sees what hyper does not report: that a header has begun and does not
//! continue, and how often a client pings. Looking costs a few nanoseconds per read, where a timer per request would cost a
//! microsecond.

mod activity;
mod frames;
mod linger;
mod pings;
mod serve;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub use self::activity::{Activity, LastingBody, UnderWay, Verdict, Watch};
use self::frames::{DATA, Frames, GOAWAY, HEADERS, PREFACE};
use self::linger::Linger;
use self::pings::Pings;
pub use self::serve::{Accepted, Connection, LAST_ANSWER, serve};

/// The protocol that the client speaks, known by its first bytes.
#[derive(Debug)]
enum Spoken {
    /// This many bytes have matched the HTTP/2 preface.
    Unknown(usize),
    Http1,
    Http2(Frames),
}

/// A socket whose bytes are inspected in passing.
#[derive(Debug)]
pub struct Watched<S> {
    socket: S,
    activity: Arc<Activity>,
    spoken: Spoken,
    /// Only where the client's pings are judged.
    guard: Option<Guard>,
    /// Nothing more is written.
    linger: Option<Linger>,
}

/// Keeps a client from pinging too often.
#[derive(Debug)]
struct Guard {
    pings: Pings,
    written: Frames,
    /// The newest stream of the client.
    last_stream: u32,
    goaway: Goaway,
}

#[derive(Debug)]
enum Goaway {
    None,
    /// A GOAWAY goes out as soon as the frame before it is whole.
    Due,
    Going {
        bytes: Vec<u8>,
        sent: usize,
    },
    Gone,
}

impl<S> Watched<S> {
    /// `ping_interval`: pings that come more often end the connection; `None` lets all pass.
    pub fn new(socket: S, activity: Arc<Activity>, ping_interval: Option<Duration>) -> Watched<S> {
        Watched {
            socket,
            activity,
            spoken: Spoken::Unknown(0),
            guard: ping_interval.map(|interval| Guard {
                pings: Pings::new(interval),
                written: Frames::outbound(),
                last_stream: 0,
                goaway: Goaway::None,
            }),
            linger: None,
        }
    }

    fn read(&mut self, bytes: &[u8]) {
        if let Spoken::Unknown(seen) = &mut self.spoken {
            let rest = PREFACE.get(*seen..).unwrap_or_default();
            let same = rest.iter().zip(bytes).all(|(a, b)| a == b);
            *seen += bytes.len();
            if !same {
                self.spoken = Spoken::Http1;
            } else if bytes.len() >= rest.len() {
                // From here on heads are frames; the preface is done with.
                let mut frames = Frames::inbound();
                frames.scan(PREFACE.as_slice(), |_| {});
                self.spoken = Spoken::Http2(frames);
                self.activity.is_http2();
                return self.read(bytes.get(rest.len()..).unwrap_or_default());
            }
        }
        match &mut self.spoken {
            Spoken::Unknown(_) => {}
            Spoken::Http1 => {
                if !self.activity.is_busy() {
                    self.activity.partial(true, false);
                }
            }
            Spoken::Http2(frames) => {
                let guard = &mut self.guard;
                let began = frames.scan(bytes, |frame| {
                    let Some(guard) = guard else { return };
                    if frame.kind == HEADERS {
                        guard.last_stream = guard.last_stream.max(frame.stream);
                    }
                    if frame.is_ping()
                        && !guard.pings.received(Instant::now())
                        && matches!(guard.goaway, Goaway::None)
                    {
                        guard.goaway = Goaway::Due;
                    }
                });
                self.activity.partial(frames.is_partial(), began);
            }
        }
    }
}

impl Guard {
    fn is_leaving(&self) -> bool {
        !matches!(self.goaway, Goaway::None)
    }

    fn wrote(&mut self, bytes: &[u8]) {
        let pings = &mut self.pings;
        self.written.scan(bytes, |frame| {
            if matches!(frame.kind, HEADERS | DATA) {
                pings.answered();
            }
        });
    }

    /// GOAWAY with ENHANCE_YOUR_CALM (11), as gRPC servers do.
    fn goaway(&self) -> Vec<u8> {
        const WHY: &[u8] = b"too_many_pings";
        let mut bytes = vec![0, 0, 8 + WHY.len() as u8, GOAWAY, 0, 0, 0, 0, 0];
        bytes.extend(self.last_stream.to_be_bytes());
        bytes.extend(11_u32.to_be_bytes());
        bytes.extend(WHY);
        bytes
    }

    /// Sends the GOAWAY, if the bytes before it end with a frame. Ready once there is nothing more to send.
    fn poll_leave<S: AsyncWrite + Unpin>(
        &mut self,
        socket: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if matches!(self.goaway, Goaway::Due) && self.written.until_boundary() == 0 {
            let bytes = self.goaway();
            self.goaway = Goaway::Going { bytes, sent: 0 };
            tracing::debug!("a client pings too often: its connection is closed");
        }
        while let Goaway::Going { bytes, sent } = &mut self.goaway {
            let rest = bytes.get(*sent..).unwrap_or_default();
            if rest.is_empty() {
                self.goaway = Goaway::Gone;
                break;
            }
            match ready!(Pin::new(&mut *socket).poll_write(cx, rest))? {
                0 => self.goaway = Goaway::Gone,
                written => *sent += written,
            }
        }
        match self.goaway {
            Goaway::Gone => Poll::Ready(Ok(())),
            // The rest of the frame goes out by `poll_write`, which comes back here.
            _ => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        if this.guard.as_ref().is_none_or(|guard| !guard.is_leaving()) {
            ready!(Pin::new(&mut this.socket).poll_read(cx, buf))?;
            if let Some(bytes) = buf.filled().get(before..).filter(|b| !b.is_empty()) {
                this.read(bytes);
            }
        }
        match &mut this.guard {
            Some(guard) if guard.is_leaving() => {
                // Nothing more is read; a client that does not even accept the GOAWAY is cut off like one that is too slow.
                this.activity.partial(true, false);
                buf.set_filled(before);
                guard.poll_leave(&mut this.socket, cx)
            }
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Watched<S> {
    /// Before a write: `None` if all bytes may go, otherwise the number of bytes that may go before a GOAWAY.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<usize>>> {
        let Some(guard) = self.guard.as_mut().filter(|guard| guard.is_leaving()) else {
            return Poll::Ready(Ok(None));
        };
        match guard.written.until_boundary() {
            0 => {
                ready!(guard.poll_leave(&mut self.socket, cx))?;
                Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()))
            }
            rest => Poll::Ready(Ok(Some(rest))),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let room = ready!(this.poll_room(cx))?;
        let bytes = room.and_then(|room| bytes.get(..room)).unwrap_or(bytes);
        let written = ready!(Pin::new(&mut this.socket).poll_write(cx, bytes))?;
        if let Some(guard) = &mut this.guard {
            guard.wrote(bytes.get(..written).unwrap_or_default());
        }
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.guard.as_ref().is_some_and(Guard::is_leaving) {
            let first = slices.iter().find(|slice| !slice.is_empty());
            return self.poll_write(cx, first.map_or(&[], |slice| slice));
        }
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.socket).poll_write_vectored(cx, slices))?;
        if let Some(guard) = &mut this.guard {
            let mut rest = written;
            for slice in slices {
                let part = rest.min(slice.len());
                guard.wrote(slice.get(..part).unwrap_or_default());
                rest -= part;
            }
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.linger.is_none() {
            ready!(Pin::new(&mut this.socket).poll_shutdown(cx))?;
        }
        let linger = this.linger.get_or_insert_with(Linger::new);
        linger.poll(&mut this.socket, cx)
    }
}
