//! A glance at the records of a batch: their heads and, field by field, their bodies, several times cheaper than reading them.
//!
//! Whoever glances can do without what he did not understand: there are no errors here that say where and why, only `None`.

use crate::batch::Place;
use crate::key::{self, Key};
use crate::record::read_varint;

/// Goes over the records of a batch.
#[derive(Clone, Debug)]
pub struct Glances<'a> {
    bytes: &'a [u8],
    at: usize,
    position: u64,
}

/// One record.
#[derive(Clone, Copy, Debug)]
pub struct Glance<'a> {
    /// Record type, value type, intent and version of the body, by their numbers.
    pub head: [u8; 4],
    pub key: Key,
    pub body: Skim<'a>,
}

/// Reads the fields of a body one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Skim<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Glances<'a> {
    /// `place`: before the first record of the batch.
    pub fn new(batch: &'a [u8], place: Place) -> Glances<'a> {
        Glances {
            bytes: batch,
            at: place.at,
            position: place.position,
        }
    }

    pub fn place(&self) -> Place {
        Place {
            at: self.at,
            position: self.position,
        }
    }

    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next record; `None` if it cannot be read.
    #[allow(clippy::should_implement_trait)] // An iterator's `None` would be its end.
    #[inline]
    pub fn next(&mut self) -> Option<Glance<'a>> {
        let head: [u8; 4] = *self.bytes.get(self.at..)?.first_chunk()?;
        let mut at = self.at + 4;
        let key = read_varint(self.bytes, &mut at)?;
        let length = usize::try_from(read_varint(self.bytes, &mut at)?).ok()?;
        let end = at.checked_add(length)?;
        let body = Skim::new(self.bytes.get(at..end)?);
        self.at = end;
        self.position += 1;
        Some(Glance {
            head,
            key: key::from_wire(key),
            body,
        })
    }
}

impl<'a> Skim<'a> {
    pub fn new(body: &'a [u8]) -> Skim<'a> {
        Skim { bytes: body, at: 0 }
    }

    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        read_varint(self.bytes, &mut self.at)
    }

    #[inline]
    pub fn key(&mut self) -> Option<Key> {
        self.number().map(key::from_wire)
    }

    /// Goes past a text.
    #[inline]
    pub fn skip_text(&mut self) -> Option<()> {
        let length = usize::try_from(self.number()?).ok()?;
        self.at = self.at.checked_add(length)?;
        (self.at <= self.bytes.len()).then_some(())
    }
}
