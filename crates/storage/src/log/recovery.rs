//! Opening a log: verify every frame, cut a torn tail, refuse corruption.
//!
//! A place where no verifiable frame begins is a torn tail if nothing later shows that this place was durable once.
//! Each frame carries the position up to which the log was durable when it was written, and a segment's header (durable
//! before the first frame of the segment is written) says where the segment before it ended. So a bad place is
//! corruption if it lies in any but the last segment, or if a later verifiable frame claims a durable position behind it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;

use super::append::{create_segment, random_salt};
use super::frame::{Frame, HeaderState, Position, SEGMENT_HEADER, Seed, SegmentHeader};
use super::index::{EntryId, Index};
use super::segment::{
    SPARE_SUFFIX, Scanner, Segment, Spare, Step, parse_segment_name, segment_path,
};
use super::{Log, LogConfig, Recovered};
use crate::StorageError;
use crate::disk::Disk;

/// Bytes read at once.
const WINDOW: usize = 1 << 20;

struct SegmentFiles {
    segments: Vec<(Segment, SegmentHeader)>,
    spares: Vec<Spare>,
}

pub(super) fn open(
    disk: Arc<dyn Disk>,
    directory: &Path,
    mut config: LogConfig,
) -> Result<(Log, Recovered), StorageError> {
    config.segment_bytes = config.segment_bytes.clamp(4096, 1 << 30);
    disk.create_dir(directory)
        .map_err(|error| StorageError::io("creating", directory, error))?;
    let SegmentFiles { segments, spares } = find(&disk, directory)?;
    // A file that a killed process renamed must not lose its name again when it holds acknowledged entries.
    disk.sync_dir(directory)
        .map_err(|error| StorageError::io("flushing", directory, error))?;
    let (mut replay, mut opened) = (Replay::default(), VecDeque::new());
    let mut previous_ends: Vec<u64> = segments
        .iter()
        .skip(1)
        .map(|(_, header)| header.previous_end)
        .collect();
    previous_ends.reverse();
    let mut end = SEGMENT_HEADER;
    let mut allocated = 0;
    for (segment, _) in segments {
        let segment = Arc::new(segment);
        match previous_ends.pop() {
            Some(sealed_end) => replay.sealed(&segment, sealed_end)?,
            None => {
                end = replay.last(&segment)?;
                allocated = segment
                    .file
                    .len()
                    .map_err(|error| StorageError::io("reading", &segment.path, error))?;
            }
        }
        opened.push_back(segment);
    }
    replay.finish().map_err(|reason| {
        let first = opened.front();
        let path = first.map_or(directory, |segment| segment.path.as_path());
        StorageError::corrupt(path, SEGMENT_HEADER, reason)
    })?;
    if opened.is_empty() {
        let (segment, length) = first_segment(&disk, directory, &config)?;
        allocated = length;
        opened.push_back(Arc::new(segment));
    }
    let generation = opened.back().map_or(1, |segment| segment.generation);
    let recovered = Recovered {
        base: replay.index.base(),
        last: replay.index.last(),
        state: replay.state.clone(),
        terms: replay.terms(),
        tagged: replay.tagged(),
    };
    let log = Log {
        disk,
        directory: directory.to_path_buf(),
        config,
        segments: opened,
        end,
        allocated,
        durable: Position::new(generation, end),
        index: Arc::new(RwLock::new(replay.index)),
        state: replay.state,
        spares,
        poisoned: None,
        buffer: Vec::new(),
    };
    Ok((log, recovered))
}

/// The segment of an empty log. It begins small, because opening must be quick.
fn first_segment(
    disk: &Arc<dyn Disk>,
    directory: &Path,
    config: &LogConfig,
) -> Result<(Segment, u64), StorageError> {
    let header = SegmentHeader {
        generation: 1,
        previous_end: 0,
        salt: config.salt.unwrap_or_else(random_salt),
    };
    create_segment(disk, directory, config, header, None, SEGMENT_HEADER)
}

/// Opens the segment files in order and reads their headers.
fn find(disk: &Arc<dyn Disk>, directory: &Path) -> Result<SegmentFiles, StorageError> {
    let names = disk
        .list(directory)
        .map_err(|error| StorageError::io("listing", directory, error))?;
    let mut generations: Vec<u64> = names
        .iter()
        .filter_map(|name| parse_segment_name(name))
        .collect();
    generations.sort_unstable();
    let mut spares = Vec::new();
    for name in names.iter().filter(|name| name.ends_with(SPARE_SUFFIX)) {
        let path = directory.join(name);
        let length = disk.open(&path, false).and_then(|file| file.len());
        let length = length.map_err(|error| StorageError::io("opening", &path, error))?;
        spares.push(Spare { path, length });
    }
    spares.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    let mut segments: Vec<(Segment, SegmentHeader)> = Vec::with_capacity(generations.len());
    for generation in generations {
        let path = segment_path(directory, generation);
        if let Some((before, _)) = segments.last()
            && before.generation + 1 != generation
        {
            return Err(StorageError::corrupt(
                &before.path,
                0,
                format!(
                    "the file after it is missing; the next one is {}",
                    path.display()
                ),
            ));
        }
        let failed = |operation| {
            let path = path.clone();
            move |error| StorageError::io(operation, &path, error)
        };
        let file = disk.open(&path, false).map_err(failed("opening"))?;
        let mut head = [0; SEGMENT_HEADER as usize];
        file.read_at(&mut head, 0).map_err(failed("reading"))?;
        let bad = |reason: String| Err(StorageError::corrupt(&path, 0, reason));
        match SegmentHeader::read(&head) {
            HeaderState::Valid(header) if header.generation == generation => {
                let segment = Segment {
                    generation,
                    seed: Seed::new(generation, header.salt),
                    path: path.clone(),
                    file,
                };
                segments.push((segment, header));
            }
            HeaderState::Valid(other) => {
                return bad(format!("its header names generation {}", other.generation));
            }
            HeaderState::UnknownVersion(version) => {
                return bad(format!(
                    "format version {version} is not known to this version of skep; use the version that wrote it"
                ));
            }
            HeaderState::Damaged => return bad("its header is damaged".into()),
        }
    }
    Ok(SegmentFiles { segments, spares })
}

/// The state that the frames add up to.
#[derive(Default)]
struct Replay {
    index: Index,
    state: Option<bytes::Bytes>,
    terms: VecDeque<EntryId>,
    tagged: VecDeque<u64>,
    /// A base frame that has not settled anything yet.
    declared: Option<EntryId>,
    /// The frames say that everything up to here is durable.
    durable: Position,
}

impl Replay {
    /// A segment that was completed: every byte up to its end was durable.
    fn sealed(&mut self, segment: &Arc<Segment>, end: u64) -> Result<(), StorageError> {
        match self.frames(segment, end)? {
            stopped if stopped == end => Ok(()),
            offset => Err(StorageError::corrupt(
                &segment.path,
                offset,
                format!("no valid frame here, though the segment is complete up to offset {end}"),
            )),
        }
    }

    /// Reads the segment that was being written. Returns where its frames end; anything after that is cut off if it could be mistaken for
    /// frames later.
    fn last(&mut self, segment: &Arc<Segment>) -> Result<u64, StorageError> {
        let failed = |operation| move |error| StorageError::io(operation, &segment.path, error);
        let length = segment.file.len().map_err(failed("reading"))?;
        let end = self
            .frames(segment, length)?
            .min(length.max(SEGMENT_HEADER));
        let claim = Scanner::new(segment, end, length, WINDOW)
            .claims_after(end)
            .map_err(failed("reading"))?;
        match claim {
            Some(durable) if durable > Position::new(segment.generation, end) => {
                return Err(StorageError::corrupt(
                    &segment.path,
                    end,
                    "no valid frame here, though later frames prove that there was one",
                ));
            }
            Some(_) => segment.file.set_len(end).map_err(failed("cutting"))?,
            None => {}
        }
        self.make_durable(segment, end)?;
        Ok(end)
    }

    /// From now on all frames count as durable, but the last append may have been read from the cache without having reached the disk. A
    /// flush alone does not help if an earlier process had one that failed: the kernel has told that process and treats the pages as clean.
    /// So they are written again first.
    fn make_durable(&self, segment: &Arc<Segment>, end: u64) -> Result<(), StorageError> {
        let failed = |operation| move |error| StorageError::io(operation, &segment.path, error);
        let mut at = self
            .durable
            .offset_in(segment.generation)
            .map_or(SEGMENT_HEADER, |offset| offset.max(SEGMENT_HEADER));
        let mut buffer = vec![0; WINDOW];
        while at < end {
            let length = usize::try_from(end - at).map_or(WINDOW, |left| left.min(WINDOW));
            let Some(piece) = buffer.get_mut(..length) else {
                break;
            };
            let read = segment.file.read_at(piece, at).map_err(failed("reading"))?;
            if read < length {
                let reason = "the file became shorter while it was read";
                return Err(StorageError::corrupt(&segment.path, at, reason));
            }
            segment
                .file
                .write_at(piece, at)
                .map_err(failed("writing"))?;
            at += length as u64;
        }
        segment.file.sync_data().map_err(failed("flushing"))
    }

    /// Takes in frames up to the limit; returns the offset of the first bad one, or the limit.
    fn frames(&mut self, segment: &Arc<Segment>, limit: u64) -> Result<u64, StorageError> {
        let mut scanner = Scanner::new(segment, SEGMENT_HEADER, limit, WINDOW);
        loop {
            let step = scanner
                .step()
                .map_err(|error| StorageError::io("reading", &segment.path, error))?;
            match step {
                Step::End => return Ok(limit),
                Step::Bad { offset } => return Ok(offset),
                Step::Frame {
                    offset,
                    header,
                    bytes,
                } => {
                    self.durable = self.durable.max(header.durable);
                    let taken = if header.is_entry() {
                        self.entry(
                            EntryId {
                                index: header.index,
                                term: header.term,
                            },
                            header.tag,
                            (segment, offset),
                        )
                    } else {
                        header.decode(&bytes).map(|frame| self.other(frame))
                    };
                    taken.map_err(|reason| StorageError::corrupt(&segment.path, offset, reason))?;
                }
            }
        }
    }

    fn entry(
        &mut self,
        id: EntryId,
        tag: u8,
        (segment, offset): (&Arc<Segment>, u64),
    ) -> Result<(), String> {
        self.index.check(id.index)?;
        while self.tagged.back().is_some_and(|index| *index >= id.index) {
            self.tagged.pop_back();
        }
        if tag != 0 {
            self.tagged.push_back(id.index);
        }
        self.index.append(id, segment, offset);
        while self.terms.back().is_some_and(|run| run.index >= id.index) {
            self.terms.pop_back();
        }
        if self.terms.back().is_none_or(|run| run.term != id.term) {
            self.terms.push_back(id);
        }
        Ok(())
    }

    fn other(&mut self, frame: Frame) {
        match frame {
            Frame::State(state) => self.state = Some(bytes::Bytes::copy_from_slice(&state)),
            Frame::Base { index, term, reset } => self.base(EntryId { index, term }, reset),
            Frame::Entry { .. } | Frame::Mark => {}
        }
    }

    /// Handles a base frame. The first segments of a log may be gone, so this one may refer to entries that were in them: then it settles
    /// nothing, and a later one must.
    fn base(&mut self, id: EntryId, reset: bool) {
        if reset || self.index.knows(id.index) {
            self.index.rebase(id, reset);
            while self
                .tagged
                .front()
                .is_some_and(|index| reset || *index <= id.index)
            {
                self.tagged.pop_front();
            }
            self.declared = None;
            if self.index.last() == id {
                self.terms.clear();
            }
        } else {
            self.declared = Some(id);
        }
    }

    /// All frames were read. An error text if entries are missing at the beginning.
    fn finish(&mut self) -> Result<(), String> {
        if let Some(declared) = self.declared.take()
            && (!self.index.is_started() || self.index.base().index == declared.index)
        {
            self.index.rebase(declared, false);
        }
        if self.index.is_headless() {
            return Err(format!(
                "the entries before {} are missing and no frame says that they were compacted",
                self.index.base().index + 1
            ));
        }
        Ok(())
    }

    /// The entries above the base whose tag is not 0.
    fn tagged(&self) -> Vec<u64> {
        let base = self.index.base().index;
        let tagged = self.tagged.iter().copied();
        tagged.filter(|index| *index > base).collect()
    }

    /// The first index of each term above the base.
    fn terms(&self) -> Vec<EntryId> {
        let first = self.index.base().index + 1;
        let mut terms = self.terms.clone();
        while terms.get(1).is_some_and(|second| second.index <= first) {
            terms.pop_front();
        }
        if let Some(front) = terms.front_mut() {
            front.index = front.index.max(first);
        }
        terms.into()
    }
}
