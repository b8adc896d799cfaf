//! Where entries are: a sparse map from index to file offset, shared between the writer and all readers.
//!
//! A point is kept for the first entry of each segment, for each entry that replaces an earlier one, and about every
//! 64 KiB, so the map stays small (under 1 MiB for 1 GiB of log) whatever the size of the entries.

use std::collections::VecDeque;
use std::sync::Arc;

use super::segment::Segment;

const POINT_EVERY: u64 = 64 * 1024;

/// The entries `index`, `index + 1`, … up to the next point's index are stored from here on.
#[derive(Clone)]
pub(super) struct Point {
    pub(super) index: u64,
    pub(super) segment: Arc<Segment>,
    pub(super) offset: u64,
}

/// An index and its term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EntryId {
    pub index: u64,
    pub term: u64,
}

#[derive(Default)]
pub(super) struct Index {
    points: VecDeque<Point>,
    /// Entries up to here are gone.
    base: EntryId,
    last: EntryId,
    /// False until a first entry or base was seen: recovery may begin at any index, see `tentative`.
    started: bool,
    /// True while `base` was only concluded from the first entry found, and no base frame has confirmed it.
    tentative: bool,
}

/// A stretch of consecutive entries in one segment.
pub(super) struct Run {
    pub(super) segment: Arc<Segment>,
    pub(super) offset: u64,
    /// The index of the entry at `offset`.
    pub(super) first: u64,
    /// The index after the last entry of the run.
    pub(super) end: u64,
}

impl Index {
    pub(super) fn base(&self) -> EntryId {
        self.base
    }

    pub(super) fn last(&self) -> EntryId {
        self.last
    }

    /// True once the position of the log is known from an entry or a base.
    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// Whether nothing is missing after `index`.
    pub(super) fn knows(&self, index: u64) -> bool {
        self.started && index >= self.base.index
    }

    /// Whether entries before the first one are missing without a base frame that accounts for them.
    pub(super) fn is_headless(&self) -> bool {
        self.tentative && self.base.index > 0
    }

    /// Whether an entry may be appended, as a text if not.
    pub(super) fn check(&self, index: u64) -> Result<(), String> {
        if index <= self.base.index && self.started && !self.tentative {
            Err(format!(
                "entry {index} was compacted; the log begins after {}",
                self.base.index
            ))
        } else if self.started && index > self.last.index.saturating_add(1) {
            Err(format!(
                "entry {index} would leave a gap after {}",
                self.last.index
            ))
        } else if index == 0 {
            Err("entry indices begin at 1".into())
        } else {
            Ok(())
        }
    }

    /// Adds an entry that passed `check`.
    pub(super) fn append(&mut self, id: EntryId, segment: &Arc<Segment>, offset: u64) {
        debug_assert_eq!(self.check(id.index), Ok(()));
        if !self.started {
            self.started = true;
            self.tentative = true;
            self.base.index = id.index.saturating_sub(1);
            self.last = self.base;
        }
        let replaces = id.index <= self.last.index;
        while self
            .points
            .back()
            .is_some_and(|point| point.index >= id.index)
        {
            self.points.pop_back();
        }
        let needed = replaces
            || self.points.back().is_none_or(|point| {
                !Arc::ptr_eq(&point.segment, segment) || offset >= point.offset + POINT_EVERY
            });
        if needed {
            debug_assert!(
                (self.points.back()).is_none_or(|before| {
                    before.index < id.index && before.segment.generation <= segment.generation
                }),
                "points are in the order of entries and segments"
            );
            self.points.push_back(Point {
                index: id.index,
                segment: Arc::clone(segment),
                offset,
            });
        }
        self.last = id;
        if self.tentative && id.index <= self.base.index {
            self.base.index = id.index - 1;
        }
        debug_assert!(self.base.index < self.last.index);
    }

    /// Everything up to `base` is gone; with `reset` everything else too.
    pub(super) fn rebase(&mut self, base: EntryId, reset: bool) {
        self.started = true;
        self.tentative = false;
        if reset || base.index >= self.last.index {
            self.points.clear();
            self.last = base;
        }
        self.base = base;
        while self
            .points
            .get(1)
            .is_some_and(|second| second.index <= base.index.saturating_add(1))
        {
            self.points.pop_front();
        }
        debug_assert!(self.base.index <= self.last.index);
    }

    /// The oldest generation that still holds a live entry.
    pub(super) fn oldest_generation(&self) -> Option<u64> {
        self.points.front().map(|point| point.segment.generation)
    }

    /// The run that holds `index`; `None` if it is not in the log.
    pub(super) fn run(&self, index: u64) -> Option<Run> {
        if index <= self.base.index || index > self.last.index {
            return None;
        }
        let after = self.points.partition_point(|point| point.index <= index);
        let point = self.points.get(after.checked_sub(1)?)?;
        let end = match self.points.get(after) {
            Some(next) => next.index,
            None => self.last.index + 1,
        };
        debug_assert!((point.index..end).contains(&index));
        Some(Run {
            segment: Arc::clone(&point.segment),
            offset: point.offset,
            first: point.index,
            end,
        })
    }
}
