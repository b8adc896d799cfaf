//! Streams the content of a document, piece by piece.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

use crate::PIECE;

type Pieces = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// The content of a document. It is read as fast as it is taken.
pub struct Content {
    /// Bytes not taken yet.
    left: u64,
    from: From,
    /// The permit of the download.
    held: Option<OwnedSemaphorePermit>,
}

enum From {
    Memory(Bytes),
    File(FilePieces),
    Stream(Pieces),
}

impl Content {
    pub fn whole(bytes: Bytes) -> Content {
        Content::new(bytes.len() as u64, From::Memory(bytes))
    }

    /// The next `size` bytes of a file, from its current position.
    pub fn file(file: File, size: u64) -> Content {
        Content::new(size, From::File(FilePieces::Idle(Some(file))))
    }

    /// The first `size` bytes of a stream.
    pub fn stream(
        pieces: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
        size: u64,
    ) -> Content {
        Content::new(size, From::Stream(Box::pin(pieces)))
    }

    fn new(left: u64, from: From) -> Content {
        Content {
            left,
            from,
            held: None,
        }
    }

    pub(crate) fn hold(&mut self, permit: OwnedSemaphorePermit) {
        self.held = Some(permit);
    }

    /// Bytes still to come.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The store broke off, or delivers a different number of bytes than announced. The bytes taken are incomplete then.
    pub fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.left == 0 {
            self.held = None;
            return Poll::Ready(None);
        }
        let piece = match &mut self.from {
            From::Memory(bytes) => Some(Ok(bytes.split_to(bytes.len().min(PIECE)))),
            From::File(file) => match file.poll(self.left, cx) {
                Poll::Ready(piece) => Some(piece),
                Poll::Pending => return Poll::Pending,
            },
            From::Stream(pieces) => match pieces.as_mut().poll_next(cx) {
                Poll::Ready(piece) => piece,
                Poll::Pending => return Poll::Pending,
            },
        };
        let piece = match piece {
            Some(Ok(piece)) => piece,
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => Bytes::new(),
        };
        match self.left.checked_sub(piece.len() as u64) {
            Some(left) if !piece.is_empty() => {
                self.left = left;
                Poll::Ready(Some(Ok(piece)))
            }
            _ => Poll::Ready(Some(Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the size of the document differs from the one that its store recorded",
            )))),
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({} bytes)", self.left)
    }
}

/// Reads a file without holding a thread while nobody takes the data.
enum FilePieces {
    Idle(Option<File>),
    Reading(JoinHandle<(File, io::Result<Bytes>)>),
}

impl FilePieces {
    fn poll(&mut self, left: u64, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        loop {
            match self {
                FilePieces::Idle(file) => {
                    let Some(mut file) = file.take() else {
                        return Poll::Ready(Err(io::Error::other("an earlier read has failed")));
                    };
                    let size = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
                    let read = move || {
                        let mut piece = vec![0; size];
                        let read = file.read(&mut piece).map(|length| {
                            piece.truncate(length);
                            Bytes::from(piece)
                        });
                        (file, read)
                    };
                    *self = FilePieces::Reading(tokio::task::spawn_blocking(read));
                }
                FilePieces::Reading(job) => {
                    let Poll::Ready(done) = Pin::new(job).poll(cx) else {
                        return Poll::Pending;
                    };
                    let (file, read) = done.map_err(io::Error::other)?;
                    *self = FilePieces::Idle(read.is_ok().then_some(file));
                    return Poll::Ready(read);
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The remaining content.
    pub async fn all(mut content: Content) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while let Some(piece) = std::future::poll_fn(|cx| content.poll_piece(cx)).await {
            bytes.extend_from_slice(&piece?);
        }
        Ok(bytes)
    }

    #[tokio::test]
    async fn content_comes_in_pieces() {
        let whole: Vec<u8> = (0..3 * PIECE + 5).map(|i| i as u8).collect();
        let content = Content::whole(whole.clone().into());
        assert_eq!(all(content).await.unwrap(), whole);
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &whole).unwrap();
        io::Seek::rewind(&mut file).unwrap();
        assert_eq!(
            all(Content::file(file, whole.len() as u64)).await.unwrap(),
            whole
        );
    }

    #[tokio::test]
    async fn content_that_ends_early_or_late_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        assert!(all(Content::file(file, 1)).await.is_err());
        for (pieces, size) in [(&["ab"][..], 3), (&["ab", "cd"], 3), (&[], 1)] {
            let stream = futures_util::stream::iter(pieces.iter().map(|p| Ok(Bytes::from(*p))));
            assert!(all(Content::stream(stream, size)).await.is_err());
        }
        let failing = futures_util::stream::iter([Err(io::Error::other("away"))]);
        assert!(all(Content::stream(failing, 3)).await.is_err());
    }
}
