//! The bytes of the log: segment header and frames. All numbers are little endian, frames begin at multiples of 8.
//!
//! ```text
//! segment: header (64 bytes) frame frame … (zeros or stale bytes)
//! header:  "SKEPLOG1" | version u32 | crc u32 | generation u64 | previous end u64 | salt u64 | reserved
//! frame:   "SKPF" | crc u32 | payload length u32 | kind u8 | flags u8 | tag u8 | reserved u8
//!          | term u64 | index u64 | durable up to u64 | payload | padding to 8
//! ```
//! The checksum of a frame covers everything after itself and is seeded with the segment's generation and a random salt:
//! bytes left over from an earlier life of a recycled file never verify, and nobody can put bytes into a payload that
//! pass for a frame. The header is durable before the first frame is written.

use bytes::Bytes;

pub(super) const SEGMENT_HEADER: u64 = 64;
pub(super) const FRAME_HEADER: usize = 40;
pub(super) const FRAME_MAGIC: [u8; 4] = *b"SKPF";
const SEGMENT_MAGIC: [u8; 8] = *b"SKEPLOG1";
const FORMAT_VERSION: u32 = 1;

/// The largest payload of one frame.
pub const MAX_PAYLOAD: usize = 256 << 20;

const KIND_ENTRY: u8 = 1;
const KIND_STATE: u8 = 2;
const KIND_BASE: u8 = 3;
const KIND_MARK: u8 = 4;
const FLAG_RESET: u8 = 1;
const FLAG_LZ4: u8 = 2;

/// An item that is appended to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// An entry. An index at or below the last one replaces the log from there on. The tag belongs to the owner: it is returned unchanged.
    Entry {
        index: u64,
        term: u64,
        tag: u8,
        payload: Bytes,
    },
    /// A small state that the owner wants back at recovery (the latest one wins), for example term and vote.
    State(Bytes),
    /// Entries up to and including `index` (which had this term) are gone: they exist in a checkpoint. With `reset`, all entries are gone
    /// and the log continues after `index` (a snapshot was installed).
    Base { index: u64, term: u64, reset: bool },
    /// Nothing but a statement that everything before it is durable.
    Mark,
}

/// A position in the log that grows with every byte: segment generation in the upper half, offset in the lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Position(u64);

impl Position {
    pub(super) fn new(generation: u64, offset: u64) -> Self {
        Self((generation << 32) | (offset & 0xffff_ffff))
    }

    /// The offset, if the position is in this segment.
    pub(super) fn offset_in(self, generation: u64) -> Option<u64> {
        (self.0 >> 32 == generation).then_some(self.0 & 0xffff_ffff)
    }
}

/// The start value of all checksums in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seed(u32);

impl Seed {
    pub(super) fn new(generation: u64, salt: u64) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&generation.to_le_bytes());
        hasher.update(&salt.to_le_bytes());
        Self(hasher.finalize())
    }
}

fn checksum(seed: Seed, covered: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(seed.0);
    hasher.update(covered);
    hasher.update(payload);
    hasher.finalize()
}

/// Bytes that a frame with a payload of this size takes.
pub(super) fn frame_size(payload: usize) -> usize {
    (FRAME_HEADER + payload).next_multiple_of(8)
}

/// Payloads from this size on are compressed when that makes them smaller by at least an eighth.
pub(super) const COMPRESS_FROM: usize = 4096;

/// Appends the encoding of a frame to `out`.
pub(super) fn encode(
    frame: &Frame,
    seed: Seed,
    durable: Position,
    compress: bool,
    out: &mut Vec<u8>,
) {
    let mut flags = 0;
    let mut entry_tag = 0;
    let (kind, term, index, payload): (_, _, _, &[u8]) = match frame {
        Frame::Entry {
            index,
            term,
            tag,
            payload,
        } => {
            entry_tag = *tag;
            (KIND_ENTRY, *term, *index, payload)
        }
        Frame::State(payload) => (KIND_STATE, 0, 0, payload),
        Frame::Base { index, term, reset } => {
            flags = if *reset { FLAG_RESET } else { 0 };
            (KIND_BASE, *term, *index, &[])
        }
        Frame::Mark => (KIND_MARK, 0, 0, &[]),
    };
    let packed;
    let mut stored = payload;
    if compress && payload.len() >= COMPRESS_FROM {
        packed = lz4_flex::compress_prepend_size(payload);
        if packed.len() <= payload.len() - payload.len() / 8 {
            stored = &packed;
            flags |= FLAG_LZ4;
        }
    }
    let mut covered = [0_u8; FRAME_HEADER - 8];
    covered[0..4].copy_from_slice(&(stored.len() as u32).to_le_bytes());
    covered[4] = kind;
    covered[5] = flags;
    covered[6] = entry_tag;
    covered[8..16].copy_from_slice(&term.to_le_bytes());
    covered[16..24].copy_from_slice(&index.to_le_bytes());
    covered[24..32].copy_from_slice(&durable.0.to_le_bytes());
    out.extend_from_slice(&FRAME_MAGIC);
    out.extend_from_slice(&checksum(seed, &covered, stored).to_le_bytes());
    out.extend_from_slice(&covered);
    out.extend_from_slice(stored);
    out.resize(out.len().next_multiple_of(8), 0);
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The header of a frame, not verified yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameHeader {
    pub(super) payload_len: usize,
    pub(super) term: u64,
    pub(super) index: u64,
    pub(super) durable: Position,
    kind: u8,
    flags: u8,
    pub(super) tag: u8,
}

impl FrameHeader {
    /// Reads a header; `None` if there is none here.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.get(..4)? != FRAME_MAGIC {
            return None;
        }
        let payload_len = u32_at(bytes, 8)? as usize;
        if payload_len > MAX_PAYLOAD {
            return None;
        }
        Some(Self {
            payload_len,
            kind: *bytes.get(12)?,
            flags: *bytes.get(13)?,
            tag: *bytes.get(14)?,
            term: u64_at(bytes, 16)?,
            index: u64_at(bytes, 24)?,
            durable: Position(u64_at(bytes, 32)?),
        })
    }

    /// Bytes of the whole frame with padding.
    pub(super) fn size(&self) -> usize {
        frame_size(self.payload_len)
    }

    /// Checks the checksum over a whole frame.
    pub(super) fn verify(&self, frame: &[u8], seed: Seed) -> bool {
        let Some(crc) = u32_at(frame, 4) else {
            return false;
        };
        let end = FRAME_HEADER + self.payload_len;
        match (frame.get(8..FRAME_HEADER), frame.get(FRAME_HEADER..end)) {
            (Some(covered), Some(payload)) => crc == checksum(seed, covered, payload),
            _ => false,
        }
    }

    /// Whether this frame carries an entry.
    pub(super) fn is_entry(&self) -> bool {
        self.kind == KIND_ENTRY
    }

    /// Decodes a verified frame; an error text if this version does not know it.
    pub(super) fn decode(&self, frame: &Bytes) -> Result<Frame, String> {
        let end = FRAME_HEADER + self.payload_len;
        if frame.len() < end {
            return Err("the frame is shorter than its length says".into());
        }
        let mut payload = frame.slice(FRAME_HEADER..end);
        if self.flags & FLAG_LZ4 != 0 {
            let size = u32_at(&payload, 0).unwrap_or(u32::MAX) as usize;
            if size > MAX_PAYLOAD {
                return Err("the unpacked payload would be larger than allowed".into());
            }
            payload = lz4_flex::decompress_size_prepended(&payload)
                .map_err(|error| format!("the payload cannot be unpacked: {error}"))?
                .into();
        }
        match self.kind {
            KIND_ENTRY => Ok(Frame::Entry {
                index: self.index,
                term: self.term,
                tag: self.tag,
                payload,
            }),
            KIND_STATE => Ok(Frame::State(payload)),
            KIND_BASE => Ok(Frame::Base {
                index: self.index,
                term: self.term,
                reset: self.flags & FLAG_RESET != 0,
            }),
            KIND_MARK => Ok(Frame::Mark),
            kind => Err(format!(
                "frames of kind {kind} are not known to this version; use the version that wrote the log"
            )),
        }
    }
}

/// The header of a segment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) generation: u64,
    /// Where the frames of the segment before this one end.
    pub(super) previous_end: u64,
    pub(super) salt: u64,
}

/// Contents of a segment's first 64 bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeaderState {
    Valid(SegmentHeader),
    /// A future format version.
    UnknownVersion(u32),
    Damaged,
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> [u8; SEGMENT_HEADER as usize] {
        let mut header = [0_u8; SEGMENT_HEADER as usize];
        header[0..8].copy_from_slice(&SEGMENT_MAGIC);
        header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[16..24].copy_from_slice(&self.generation.to_le_bytes());
        header[24..32].copy_from_slice(&self.previous_end.to_le_bytes());
        header[32..40].copy_from_slice(&self.salt.to_le_bytes());
        let crc = crc32fast::hash(&header[16..]);
        header[12..16].copy_from_slice(&crc.to_le_bytes());
        header
    }

    pub(super) fn read(bytes: &[u8]) -> HeaderState {
        let parse = || {
            let crc = u32_at(bytes, 12)?;
            let body = bytes.get(16..SEGMENT_HEADER as usize)?;
            if bytes.get(..8)? != SEGMENT_MAGIC || crc != crc32fast::hash(body) {
                return None;
            }
            let header = Self {
                generation: u64_at(bytes, 16)?,
                previous_end: u64_at(bytes, 24)?,
                salt: u64_at(bytes, 32)?,
            };
            Some((u32_at(bytes, 8)?, header))
        };
        match parse() {
            None => HeaderState::Damaged,
            Some((FORMAT_VERSION, header)) => HeaderState::Valid(header),
            Some((version, _)) => HeaderState::UnknownVersion(version),
        }
    }
}
