//! Sending a snapshot in chunks, with a window and repetition.

use std::collections::VecDeque;

use bytes::Bytes;
use skep_storage::log::EntryId;

/// Current output of a [`SnapshotSource`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotPoll {
    /// The next chunk; 256 KiB is a good size.
    Chunk(Bytes),
    /// The next chunk is still being read; the group asks again at the next poll or tick.
    Pending,
    /// There are no more chunks.
    End,
    /// Reading failed; the follower will be offered another snapshot later.
    Failed,
}

/// The bytes of one snapshot, chunk after chunk. Called from the partition's thread, so it should not block: read the
/// store in another thread and hand the chunks over through a bounded queue.
pub trait SnapshotSource: Send {
    /// The next chunk, if there is one now.
    fn poll_chunk(&mut self) -> SnapshotPoll;
}

/// Repetitions without an answer before a transfer is given up.
const MAX_REPEATS: u32 = 10;

struct Chunk {
    number: u64,
    bytes: Bytes,
    last: bool,
}

/// A snapshot on its way to a follower.
pub(crate) struct Outgoing {
    /// Distinguishes this transfer from others of the same leader.
    pub(crate) transfer: u64,
    pub(crate) id: EntryId,
    source: Box<dyn SnapshotSource>,
    /// False until the library decides to send it.
    pub(crate) started: bool,
    window: VecDeque<Chunk>,
    /// A chunk that was read but not sent, because it is not known yet whether it is the last one.
    held: Option<Bytes>,
    next: u64,
    ended: bool,
    silent_ticks: usize,
    repeats: u32,
}

/// Next action for a transfer.
pub(crate) enum Transfer {
    Send {
        number: u64,
        bytes: Bytes,
        last: bool,
    },
    Wait,
    Failed,
}

impl Outgoing {
    pub(crate) fn new(transfer: u64, id: EntryId, source: Box<dyn SnapshotSource>) -> Self {
        Self {
            transfer,
            id,
            source,
            started: false,
            window: VecDeque::new(),
            held: None,
            next: 0,
            ended: false,
            silent_ticks: 0,
            repeats: 0,
        }
    }

    /// The next chunk to send, if the window has room.
    pub(crate) fn advance(&mut self, window: usize) -> Transfer {
        while self.started && !self.ended && self.window.len() < window {
            let (bytes, last) = match self.source.poll_chunk() {
                SnapshotPoll::Pending => return Transfer::Wait,
                SnapshotPoll::Failed => return Transfer::Failed,
                SnapshotPoll::Chunk(bytes) => match self.held.replace(bytes) {
                    Some(earlier) => (earlier, false),
                    None => continue,
                },
                SnapshotPoll::End => {
                    self.ended = true;
                    (self.held.take().unwrap_or_default(), true)
                }
            };
            let number = self.next;
            self.next += 1;
            debug_assert!(
                (self.window.back()).is_none_or(|before| before.number + 1 == number),
                "chunks are sent without a gap"
            );
            self.window.push_back(Chunk {
                number,
                bytes: bytes.clone(),
                last,
            });
            return Transfer::Send {
                number,
                bytes,
                last,
            };
        }
        Transfer::Wait
    }

    /// The follower has all chunks below `next`. True if that was all.
    pub(crate) fn acknowledged(&mut self, next: u64) -> bool {
        // It may take long with what it has: a follower that answers is not given up.
        self.repeats = 0;
        if self.window.front().is_some_and(|chunk| chunk.number < next) {
            self.silent_ticks = 0;
        }
        while self.window.front().is_some_and(|chunk| chunk.number < next) {
            self.window.pop_front();
        }
        self.ended && self.window.is_empty()
    }

    /// A tick has passed. `Some` with the chunks to repeat if there was no answer for `patience` ticks, or with `None` inside if the
    /// follower is given up.
    pub(crate) fn tick(&mut self, patience: usize) -> Option<Option<Vec<(u64, Bytes, bool)>>> {
        if !self.started || self.window.is_empty() {
            return None;
        }
        self.silent_ticks += 1;
        if self.silent_ticks < patience {
            return None;
        }
        self.silent_ticks = 0;
        self.repeats += 1;
        if self.repeats > MAX_REPEATS {
            return Some(None);
        }
        let chunks = self.window.iter();
        Some(Some(
            chunks
                .map(|chunk| (chunk.number, chunk.bytes.clone(), chunk.last))
                .collect(),
        ))
    }
}
