//! Views of the records of a batch: their headers and, field by field, their bodies, several times cheaper than decoding
//! them.
//!
//! Errors have no place and no reason here, only `None`: the caller can do without the record.

use crate::batch::Offset;
use crate::key::{self, Key};
use crate::record::{self, Raw, RecordType};
use crate::varint;

/// Goes over the records of a batch.
#[derive(Clone, Debug)]
pub struct HeaderViews<'a> {
    bytes: &'a [u8],
    at: usize,
    position: u64,
}

/// One record, or a run of events that differ in nothing but their intents.
#[derive(Clone, Copy, Debug)]
pub struct HeaderView<'a> {
    /// Record type, value type, intent and version of the body, by their numbers.
    pub head: [u8; 4],
    pub key: Key,
    pub body: Skim<'a>,
    /// Intents of the events that follow, of the same key and body.
    pub more: &'a [u8],
}

impl<'a> HeaderView<'a> {
    #[inline(always)]
    pub(crate) fn of(raw: &Raw<'a>) -> HeaderView<'a> {
        HeaderView {
            head: raw.head,
            key: key::from_wire(raw.key),
            body: Skim::new(raw.tail, raw.length),
            more: raw.more,
        }
    }

    #[inline(always)]
    pub fn is_event(&self) -> bool {
        let [record_type, ..] = self.head;
        record_type == RecordType::Event as u8
    }

    /// The event of the run with this intent.
    #[inline(always)]
    pub fn with_intent(self, intent: u8) -> HeaderView<'a> {
        let [record_type, value_type, _, version] = self.head;
        HeaderView {
            head: [record_type, value_type, intent, version],
            ..self
        }
    }
}

/// Reads the fields of a body in order.
#[derive(Clone, Copy, Debug)]
pub struct Skim<'a> {
    /// The body and what follows it: see [`varint::read_long`].
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> HeaderViews<'a> {
    /// `offset`: before the first record of the batch.
    pub fn new(batch: &'a [u8], offset: Offset) -> HeaderViews<'a> {
        HeaderViews {
            bytes: batch,
            at: offset.at,
            position: offset.position,
        }
    }

    pub fn offset(&self) -> Offset {
        Offset {
            at: self.at,
            position: self.position,
        }
    }

    #[inline(always)]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next record; `None` if it cannot be read.
    #[allow(clippy::should_implement_trait)] // An iterator's `None` would be its end.
    #[inline(always)]
    pub fn next(&mut self) -> Option<HeaderView<'a>> {
        let raw = record::read_raw(self.bytes, &mut self.at)?;
        self.position += 1 + raw.more.len() as u64;
        Some(HeaderView::of(&raw))
    }
}

impl<'a> Skim<'a> {
    /// `tail`: the body, which has so many bytes, and what follows it in its batch.
    #[inline]
    pub(crate) fn new(tail: &'a [u8], length: usize) -> Skim<'a> {
        Skim {
            bytes: tail,
            at: 0,
            end: length,
        }
    }

    /// The whole, and what follows it.
    #[inline(always)]
    pub(crate) fn all(&self) -> (&'a [u8], usize) {
        (self.bytes, self.end)
    }

    /// Bytes that were read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    #[inline(always)]
    pub fn number(&mut self) -> Option<u64> {
        let mut at = self.at;
        let number = varint::read(self.bytes, &mut at)?;
        self.go_to(at)?;
        Some(number)
    }

    #[inline(always)]
    pub fn key(&mut self) -> Option<Key> {
        let mut at = self.at;
        let number = varint::read_long(self.bytes, &mut at)?;
        self.go_to(at)?;
        Some(key::from_wire(number))
    }

    /// Skips a key.
    #[inline(always)]
    pub fn skip_key(&mut self) -> Option<()> {
        let mut at = self.at;
        varint::read_long(self.bytes, &mut at)?;
        self.go_to(at)
    }

    #[inline(always)]
    pub fn u32(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    #[inline(always)]
    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    #[inline(always)]
    pub fn i32(&mut self) -> Option<i32> {
        i32::try_from(self.signed()?).ok()
    }

    /// Reads whether an optional field is present. Its value follows.
    #[inline(always)]
    pub fn is_some(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Skips a number.
    #[inline(always)]
    pub fn skip_number(&mut self) -> Option<()> {
        let at = varint::skip(self.bytes, self.at)?;
        self.go_to(at)
    }

    /// Number of entries of the list that follows, or of bytes of the text: no more than there are bytes.
    #[inline(always)]
    pub fn length(&mut self) -> Option<usize> {
        let length = usize::try_from(self.number()?).ok()?;
        (length <= self.end).then_some(length)
    }

    /// The bytes of a text.
    #[inline(always)]
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let (length, begin) = (self.length()?, self.at);
        self.go_to(begin + length)?;
        self.bytes.get(begin..self.at)
    }

    /// Skips a text; returns its length in bytes.
    #[inline(always)]
    pub fn skip_text(&mut self) -> Option<usize> {
        let length = self.length()?;
        self.go_to(self.at + length)?;
        Some(length)
    }

    #[inline(always)]
    fn go_to(&mut self, at: usize) -> Option<()> {
        if at > self.end {
            return None;
        }
        self.at = at;
        Some(())
    }
}
