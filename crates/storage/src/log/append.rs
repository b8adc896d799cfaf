//! Writing: append, roll to the next segment, compact.

use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::frame::{self, Frame, MAX_PAYLOAD, Position, SEGMENT_HEADER, Seed, SegmentHeader};
use super::index::EntryId;
use super::segment::{Segment, Spare, segment_path, spare_path};
use super::{Log, LogConfig};
use crate::StorageError;
use crate::disk::{Disk, DiskFile};

/// The write buffer is freed above this size.
const BUFFER_KEPT: usize = 1 << 20;

/// How long the two halves of an append took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AppendTimes {
    /// Encoding and writing.
    pub write: Duration,
    /// `fdatasync`.
    pub sync: Duration,
    /// Bytes written.
    pub bytes: usize,
}

impl Log {
    /// Appends all frames with one write and makes them durable with one flush. When this returns `Ok`, they are.
    ///
    /// # Errors
    /// [`StorageError::DiskFull`]: nothing was appended; the same call may be repeated later.
    /// [`StorageError::Invalid`]: a frame breaks a rule; nothing was appended.
    /// Anything else: the contents of the disk are unknown; every later call fails with [`StorageError::Poisoned`], and only opening the
    /// log again tells.
    pub fn append(&mut self, frames: &[Frame]) -> Result<AppendTimes, StorageError> {
        if let Some(cause) = &self.poisoned {
            return Err(StorageError::Poisoned {
                directory: self.directory.clone(),
                cause: cause.clone(),
            });
        }
        if frames.is_empty() {
            return Ok(AppendTimes::default());
        }
        let started = Instant::now();
        let size = self.validate(frames)?;
        if self.end > SEGMENT_HEADER && self.is_to_roll(size) {
            self.roll(size)?;
        }
        let Some(segment) = self.segments.back().cloned() else {
            return Err(StorageError::Invalid("the log has no segment".into()));
        };

        let compress = size >= self.config.compress_from;
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let mut offsets = Vec::with_capacity(frames.len());
        for frame in frames {
            offsets.push(self.end + buffer.len() as u64);
            frame::encode(frame, segment.seed, self.durable, compress, &mut buffer);
        }
        debug_assert!(
            buffer.len() as u64 <= size,
            "frames take no more than was reckoned with"
        );
        debug_assert!(offsets.is_sorted_by(|one, next| one < next));
        let outcome = self.write(&segment, &buffer);
        let bytes = buffer.len();
        if buffer.capacity() <= BUFFER_KEPT {
            self.buffer = buffer;
        }
        outcome?;
        let written = Instant::now();
        if let Err(source) = segment.file.sync_data() {
            // Whatever the reason, even a full disk: the contents of the disk are unknown, so waiting for space is no remedy.
            return Err(self.poison(StorageError::Io {
                operation: "flushing",
                file: segment.path.clone(),
                source,
            }));
        }
        let times = AppendTimes {
            write: written.duration_since(started),
            sync: written.elapsed(),
            bytes,
        };

        self.end += bytes as u64;
        debug_assert!(
            self.end <= self.allocated,
            "the log ends within its segment"
        );
        let durable = Position::new(segment.generation, self.end);
        debug_assert!(durable > self.durable, "what is durable stays so");
        self.durable = durable;
        self.enter(frames, &offsets, &segment);
        Ok(times)
    }

    /// Makes durable frames known to readers.
    fn enter(&mut self, frames: &[Frame], offsets: &[u64], segment: &Arc<Segment>) {
        debug_assert_eq!(frames.len(), offsets.len());
        let mut index = self.index.write();
        for (frame, offset) in frames.iter().zip(offsets) {
            match frame {
                Frame::Entry {
                    index: at, term, ..
                } => {
                    let id = EntryId {
                        index: *at,
                        term: *term,
                    };
                    index.append(id, segment, *offset);
                }
                Frame::State(state) => self.state = Some(state.clone()),
                Frame::Base {
                    index: at,
                    term,
                    reset,
                } => {
                    let id = EntryId {
                        index: *at,
                        term: *term,
                    };
                    index.rebase(id, *reset);
                }
                Frame::Mark => {}
            }
        }
    }

    /// Checks the rules for all frames before anything is written; returns the maximum number of bytes they can take.
    fn validate(&self, frames: &[Frame]) -> Result<u64, StorageError> {
        let index = self.index.read();
        let (mut base, mut last) = (index.base(), index.last());
        let mut fresh = index.check(u64::MAX).is_ok();
        let mut size = 0_u64;
        for frame in frames {
            let payload = match frame {
                Frame::Entry { index, payload, .. } => {
                    if *index == 0
                        || !fresh && (*index <= base.index || *index > last.index.saturating_add(1))
                    {
                        return Err(StorageError::Invalid(format!(
                            "entry {index} does not follow a log from {} to {}",
                            base.index + 1,
                            last.index
                        )));
                    }
                    if fresh && *index != 1 {
                        return Err(StorageError::Invalid(format!(
                            "the first entry of a log has index 1, not {index}"
                        )));
                    }
                    fresh = false;
                    last.index = *index;
                    payload.len()
                }
                Frame::State(payload) => payload.len(),
                Frame::Base { index, reset, .. } => {
                    if *reset || *index >= last.index {
                        last.index = *index;
                    }
                    base.index = *index;
                    fresh = false;
                    0
                }
                Frame::Mark => 0,
            };
            if payload > MAX_PAYLOAD {
                return Err(StorageError::Invalid(format!(
                    "a payload of {payload} bytes is larger than the limit of {MAX_PAYLOAD}"
                )));
            }
            size += frame::frame_size(payload) as u64;
        }
        if size > 1 << 30 {
            return Err(StorageError::Invalid(format!(
                "one append of {size} bytes is larger than the limit of 1 GiB"
            )));
        }
        Ok(size)
    }

    fn write(&mut self, segment: &Segment, bytes: &[u8]) -> Result<(), StorageError> {
        let needed = self.end + bytes.len() as u64;
        if needed > self.allocated {
            let step = self.config.grow_bytes.max(4096);
            match grow(&*segment.file, self.allocated, needed, step) {
                Ok(allocated) => self.allocated = allocated,
                Err(error) => {
                    let error = StorageError::io("extending", &segment.path, error);
                    let full = error.is_disk_full();
                    return Err(if full { error } else { self.poison(error) });
                }
            }
        }
        let Err(error) = segment.file.write_at(bytes, self.end) else {
            return Ok(());
        };
        let error = StorageError::io("writing", &segment.path, error);
        if !error.is_disk_full() {
            return Err(self.poison(error));
        }
        // Some of the frames may be there. They were not acknowledged: remove them, so that they cannot be read as the continuation of what
        // is written next.
        if let Err(cut) = segment.file.set_len(self.end) {
            return Err(self.poison(StorageError::io("cutting", &segment.path, cut)));
        }
        self.allocated = self.end;
        Err(error)
    }

    /// Whether the segment has become too large for this many more bytes, or would have to grow for them while a segment that was written
    /// ahead is there.
    fn is_to_roll(&self, size: u64) -> bool {
        let needed = self.end + size;
        let limit = self.config.segment_bytes;
        let ahead = self
            .spares
            .last()
            .is_some_and(|spare| spare.length >= limit && size + SEGMENT_HEADER <= spare.length);
        needed > limit || needed > self.allocated && ahead
    }

    fn poison(&mut self, error: StorageError) -> StorageError {
        self.poisoned = Some(error.to_string());
        error
    }

    /// Begins the next segment. If that fails for lack of space, the log stays as it was.
    fn roll(&mut self, size: u64) -> Result<(), StorageError> {
        let Some(current) = self.segments.back() else {
            return Err(StorageError::Invalid("the log has no segment".into()));
        };
        let header = SegmentHeader {
            generation: current.generation + 1,
            previous_end: self.end,
            salt: self.config.salt.unwrap_or_else(random_salt),
        };
        let spare = self.spares.pop();
        let reserve = size + SEGMENT_HEADER;
        let made = create_segment(
            &self.disk,
            &self.directory,
            &self.config,
            header,
            spare.as_ref(),
            reserve,
        );
        match made {
            Ok((segment, allocated)) => {
                debug_assert_eq!(segment.generation, header.generation);
                debug_assert!(allocated >= SEGMENT_HEADER);
                self.segments.push_back(Arc::new(segment));
                self.end = SEGMENT_HEADER;
                self.allocated = allocated;
                self.durable = Position::new(header.generation, SEGMENT_HEADER);
                Ok(())
            }
            Err(error) if error.is_disk_full() => {
                match spare {
                    Some(spare) => self.spares.push(spare),
                    // The half-made file is not part of the log; if it cannot be removed, it is used next time.
                    None => drop(
                        self.disk
                            .remove(&spare_path(&self.directory, header.generation)),
                    ),
                }
                Err(error)
            }
            Err(error) => Err(self.poison(error)),
        }
    }

    /// Discards entries up to and including `index`, whose term is given, and frees the segments that contained only such entries. The
    /// latest state is kept. Does nothing if they were compacted before.
    ///
    /// # Errors
    /// As [`Log::append`]. After a full disk nothing has changed.
    pub fn compact(&mut self, index: u64, term: u64) -> Result<(), StorageError> {
        let (base, last) = (self.base(), self.last());
        if index <= base.index {
            return Ok(());
        }
        if index > last.index {
            return Err(StorageError::Invalid(format!(
                "cannot compact up to {index}: the log ends at {}",
                last.index
            )));
        }
        let mut frames = vec![Frame::Base {
            index,
            term,
            reset: false,
        }];
        frames.extend(self.state.clone().map(Frame::State));
        self.append(&frames)?;
        debug_assert_eq!(self.base().index, index);
        self.free_segments()
    }

    /// Removes or sets aside the segments before the oldest one with a live entry. The frame that makes them superfluous must be durable,
    /// together with the latest state, in a segment that stays.
    pub(super) fn free_segments(&mut self) -> Result<(), StorageError> {
        let oldest = self.index.read().oldest_generation();
        let mut changed = false;
        while self.segments.len() > 1 {
            let Some(segment) = self.segments.front() else {
                break;
            };
            if oldest.is_some_and(|oldest| segment.generation >= oldest) {
                break;
            }
            let path = segment.path.clone();
            let failed = |error| StorageError::io("freeing", &path, error);
            let spare = Spare {
                path: spare_path(&self.directory, segment.generation),
                length: segment.file.len().map_err(failed)?,
            };
            let keep = self.spares.len() < self.config.spare_segments
                && spare.length >= self.config.segment_bytes;
            if keep {
                self.disk.rename(&path, &spare.path).map_err(failed)?;
                self.spares.push(spare);
            } else {
                self.disk.remove(&path).map_err(failed)?;
            }
            self.segments.pop_front();
            changed = true;
        }
        debug_assert!(
            (self.segments.iter()).is_sorted_by_key(|segment| segment.generation),
            "segments are in the order in which they were written"
        );
        debug_assert!(
            oldest.is_none_or(|oldest| {
                let first = self.segments.front();
                first.is_some_and(|first| first.generation <= oldest)
            }),
            "the oldest live entry keeps its segment"
        );
        if changed {
            // A spare may be overwritten only once it has certainly lost its old name.
            if let Err(error) = self.disk.sync_dir(&self.directory) {
                return Err(self.poison(StorageError::io("flushing", &self.directory, error)));
            }
        }
        Ok(())
    }

    /// Marks the tail as durable, so that the next recovery can tell damage to it from a torn write. Call it at a graceful stop.
    pub fn close(&mut self) -> Result<(), StorageError> {
        self.append(&[Frame::Mark]).map(|_| ())
    }
}

/// Extends a file by writing zeros: with space that is only reserved, each flush would commit the file system's journal.
pub(super) fn extend(file: &dyn DiskFile, from: u64, to: u64) -> std::io::Result<()> {
    static ZEROES: [u8; 1 << 16] = [0; 1 << 16];
    // Reserves the space first: a disk without enough of it says so before anything is written.
    file.allocate(from, to.saturating_sub(from))?;
    let mut at = from;
    while at < to {
        let piece = (to - at).min(ZEROES.len() as u64);
        let zeroes = ZEROES.get(..piece as usize).unwrap_or(&ZEROES);
        file.write_at(zeroes, at)?;
        at += piece;
    }
    Ok(())
}

/// Extends a file to the next multiple of `step` after `needed` or, if the disk does not have that much space, only as far as needed.
/// Returns its new end.
fn grow(file: &dyn DiskFile, from: u64, needed: u64, step: u64) -> std::io::Result<u64> {
    let target = needed.next_multiple_of(step);
    let Err(error) = extend(file, from, target) else {
        return Ok(target);
    };
    let frugal = needed.next_multiple_of(4096);
    if error.kind() != std::io::ErrorKind::StorageFull || frugal >= target {
        return Err(error);
    }
    // The space reserved by the first attempt may be all that is left.
    file.set_len(from)?;
    extend(file, from, frugal)?;
    Ok(frugal)
}

/// A number that cannot be guessed from outside. The standard library's hasher is keyed by the operating system.
pub(super) fn random_salt() -> u64 {
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}

/// Creates a segment file with a durable header; returns it with its reserved length. The file gets its final name last, so a file with
/// such a name always has the header that belongs to it.
pub(super) fn create_segment(
    disk: &Arc<dyn Disk>,
    directory: &Path,
    config: &LogConfig,
    header: SegmentHeader,
    spare: Option<&Spare>,
    reserve: u64,
) -> Result<(Segment, u64), StorageError> {
    let path = segment_path(directory, header.generation);
    let spare = spare.map_or_else(
        || spare_path(directory, header.generation),
        |spare| spare.path.clone(),
    );
    let failed = |operation| {
        let spare = &spare;
        move |error| StorageError::io(operation, spare, error)
    };
    let file = disk.open(&spare, true).map_err(failed("creating"))?;
    let mut length = file.len().map_err(failed("reading"))?;
    if length < reserve {
        let step = config.grow_bytes.max(4096);
        length = grow(&*file, length, reserve, step).map_err(failed("extending"))?;
    }
    file.write_at(&header.encode(), 0)
        .map_err(failed("writing"))?;
    file.sync_data().map_err(failed("flushing"))?;
    disk.rename(&spare, &path).map_err(failed("renaming"))?;
    // Whatever the reason, even a full disk: the segment may be there after a crash, and then everything after the recorded end of the one
    // before it does not count. So nothing may be appended to that one any more.
    disk.sync_dir(directory)
        .map_err(|source| StorageError::Io {
            operation: "flushing the directory of",
            file: path.clone(),
            source,
        })?;
    let segment = Segment {
        generation: header.generation,
        seed: Seed::new(header.generation, header.salt),
        path,
        file,
    };
    Ok((segment, length))
}
