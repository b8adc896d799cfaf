//! One file of the log, and reading its frames in order.

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::frame::{FRAME_HEADER, FRAME_MAGIC, FrameHeader, Position, Seed};
use crate::disk::DiskFile;

/// A segment file that is part of the log. Readers keep it open even after it was compacted away.
pub(super) struct Segment {
    pub(super) generation: u64,
    pub(super) seed: Seed,
    pub(super) path: PathBuf,
    pub(super) file: Box<dyn DiskFile>,
}

/// A file that waits to be written as the next segment. Its contents are meaningless.
pub(super) struct Spare {
    pub(super) path: PathBuf,
    /// All of it was written before, with arbitrary contents.
    pub(super) length: u64,
}

const LOG_SUFFIX: &str = ".log";
pub(super) const SPARE_SUFFIX: &str = ".spare";

/// The path of a segment.
pub(super) fn segment_path(directory: &Path, generation: u64) -> PathBuf {
    directory.join(format!("{generation:020}{LOG_SUFFIX}"))
}

/// The path of a file that waits to be reused.
pub(super) fn spare_path(directory: &Path, generation: u64) -> PathBuf {
    directory.join(format!("{generation:020}{SPARE_SUFFIX}"))
}

/// The generation in a segment's file name.
pub(super) fn parse_segment_name(name: &str) -> Option<u64> {
    name.strip_suffix(LOG_SUFFIX)?.parse().ok()
}

/// One step of a scan.
pub(super) enum Step {
    /// A verified frame; `bytes` are the whole frame.
    Frame {
        offset: u64,
        header: FrameHeader,
        bytes: Bytes,
    },
    /// No verifiable frame begins here.
    Bad { offset: u64 },
    /// The limit was reached exactly at the end of a frame.
    End,
}

const FIRST_WINDOW: usize = 8 * 1024;

/// Reads frame after frame from an offset up to a limit, through one buffer.
pub(super) struct Scanner<'a> {
    segment: &'a Segment,
    offset: u64,
    limit: u64,
    window: usize,
    max_window: usize,
    buffer: Bytes,
    buffer_start: u64,
}

impl<'a> Scanner<'a> {
    /// Reads a little at first, for callers that want one entry, then more and more at once, up to `max_window` bytes.
    pub(super) fn new(segment: &'a Segment, offset: u64, limit: u64, max_window: usize) -> Self {
        Self {
            segment,
            offset,
            limit,
            window: FIRST_WINDOW.min(max_window),
            max_window,
            buffer: Bytes::new(),
            buffer_start: 0,
        }
    }

    /// `length` bytes from `offset`; fewer where the limit or the file ends.
    fn bytes_at(&mut self, offset: u64, length: usize) -> io::Result<Bytes> {
        let length = length.min(usize::try_from(self.limit.saturating_sub(offset)).unwrap_or(0));
        let held = |this: &Self| -> Option<Bytes> {
            let start = usize::try_from(offset.checked_sub(this.buffer_start)?).ok()?;
            let end = start.checked_add(length)?;
            (end <= this.buffer.len()).then(|| this.buffer.slice(start..end))
        };
        if let Some(bytes) = held(self) {
            return Ok(bytes);
        }
        let want = length
            .max(self.window)
            .min(usize::try_from(self.limit.saturating_sub(offset)).unwrap_or(0));
        self.window = self.max_window.min(self.window * 2);
        let mut buffer = vec![0; want];
        let read = self.segment.file.read_at(&mut buffer, offset)?;
        buffer.truncate(read);
        self.buffer = buffer.into();
        self.buffer_start = offset;
        Ok(self.buffer.slice(..length.min(self.buffer.len())))
    }

    /// The next frame.
    pub(super) fn step(&mut self) -> io::Result<Step> {
        let offset = self.offset;
        if offset >= self.limit {
            return Ok(Step::End);
        }
        match self.frame_at(offset)? {
            Some((header, bytes)) => {
                self.offset = offset + header.size() as u64;
                debug_assert_eq!(bytes.len(), header.size());
                debug_assert!(self.offset <= self.limit);
                Ok(Step::Frame {
                    offset,
                    header,
                    bytes,
                })
            }
            None => Ok(Step::Bad { offset }),
        }
    }

    fn frame_at(&mut self, offset: u64) -> io::Result<Option<(FrameHeader, Bytes)>> {
        let head = self.bytes_at(offset, FRAME_HEADER)?;
        let Some(header) = FrameHeader::read(&head) else {
            return Ok(None);
        };
        let bytes = self.bytes_at(offset, header.size())?;
        let whole = bytes.len() == header.size() && header.verify(&bytes, self.segment.seed);
        Ok(whole.then_some((header, bytes)))
    }

    /// Searches everything after `offset` for verifiable frames. Returns the greatest position that one of them calls
    /// durable, or `None` if there is none.
    pub(super) fn claims_after(&mut self, offset: u64) -> io::Result<Option<Position>> {
        let mut claim = None;
        let mut at = (offset + 8).next_multiple_of(8);
        while at < self.limit {
            let block = self.bytes_at(at, self.window)?;
            if block.is_empty() {
                break;
            }
            let candidates: Vec<u64> = block
                .chunks_exact(8)
                .enumerate()
                .filter(|(_, chunk)| chunk.starts_with(&FRAME_MAGIC))
                .map(|(number, _)| at + 8 * number as u64)
                .collect();
            for candidate in candidates {
                if let Some((header, _)) = self.frame_at(candidate)? {
                    claim = claim.max(Some(header.durable));
                }
            }
            at += (block.len() as u64).next_multiple_of(8);
        }
        Ok(claim)
    }
}
