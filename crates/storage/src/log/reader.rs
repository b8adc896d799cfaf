//! Reading entries, from any thread.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;

use super::frame::{Frame, frame_size};
use super::index::{EntryId, Index};
use super::segment::{Scanner, Step};
use crate::StorageError;

const WINDOW: usize = 128 * 1024;

/// An entry as it was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub index: u64,
    pub term: u64,
    pub tag: u8,
    pub payload: Bytes,
}

impl Entry {
    /// Payload for the log's user; empty for entries with a tag other than 0, which are internal to replication.
    pub fn content(&self) -> Bytes {
        match self.tag {
            0 => self.payload.clone(),
            _ => Bytes::new(),
        }
    }
}

/// A handle that reads the durable entries of a log. Cheap to clone; usable from any thread while the log is written.
#[derive(Clone)]
pub struct LogReader {
    pub(super) index: Arc<RwLock<Index>>,
}

impl LogReader {
    /// The index before the first entry that can be read, with its term.
    pub fn base(&self) -> EntryId {
        self.index.read().base()
    }

    /// The last durable entry (the base if there is none).
    pub fn last(&self) -> EntryId {
        self.index.read().last()
    }

    /// Reads entries from `from` to before `to`, stopping after about `max_bytes` of payload but never before the first
    /// entry. Fewer are returned where the log ends.
    ///
    /// Memory: the payloads share read buffers of up to 128 KiB (or one frame, if larger), so keeping one small payload keeps
    /// its buffer.
    ///
    /// # Errors
    /// [`StorageError::Compacted`] if `from` is gone; [`StorageError::Corrupt`] if the disk returns damaged data.
    pub fn read(&self, from: u64, to: u64, max_bytes: usize) -> Result<Vec<Entry>, StorageError> {
        let mut entries = Vec::new();
        let mut bytes = 0_usize;
        let mut next = from;
        while next < to && (bytes < max_bytes || entries.is_empty()) {
            let (run, base) = {
                let index = self.index.read();
                (index.run(next), index.base())
            };
            let Some(run) = run else {
                if next <= base.index {
                    return Err(StorageError::Compacted {
                        index: next,
                        first: base.index + 1,
                    });
                }
                break;
            };
            let file = &run.segment.path;
            let mut scanner = Scanner::new(&run.segment, run.offset, u64::MAX, WINDOW);
            let mut expected = run.first;
            while expected < run.end.min(to) && (bytes < max_bytes || entries.is_empty()) {
                let step = scanner
                    .step()
                    .map_err(|error| StorageError::io("reading", file, error))?;
                let found = match step {
                    Step::Frame {
                        header,
                        bytes,
                        offset,
                    } => {
                        if !header.is_entry() {
                            continue;
                        }
                        if header.index == expected && expected < next {
                            expected += 1;
                            continue;
                        }
                        header.decode(&bytes).map_err(|reason| (offset, reason))
                    }
                    Step::Bad { offset } => Err((offset, "the checksum does not match".into())),
                    Step::End => Err((run.offset, "the segment ends too early".into())),
                };
                match found {
                    Ok(Frame::Entry {
                        index,
                        term,
                        tag,
                        payload,
                    }) if index == expected => {
                        bytes = bytes.saturating_add(frame_size(payload.len()));
                        entries.push(Entry {
                            index,
                            term,
                            tag,
                            payload,
                        });
                        expected += 1;
                        next = expected;
                    }
                    Ok(_) => {
                        return Err(self.damaged(
                            next,
                            &run,
                            run.offset,
                            "an entry is missing".into(),
                        ));
                    }
                    Err((offset, reason)) => return Err(self.damaged(next, &run, offset, reason)),
                }
            }
        }
        Ok(entries)
    }

    /// A frame that does not verify is damage only if its segment still belongs to the log: a compacted file may be
    /// overwritten while an old reader looks at it.
    fn damaged(
        &self,
        index: u64,
        run: &super::index::Run,
        offset: u64,
        reason: String,
    ) -> StorageError {
        let now = self.index.read();
        match now.run(index) {
            Some(current)
                if Arc::ptr_eq(&current.segment, &run.segment) && current.offset == run.offset =>
            {
                StorageError::corrupt(&run.segment.path, offset, reason)
            }
            _ => StorageError::Compacted {
                index,
                first: now.base().index + 1,
            },
        }
    }
}
