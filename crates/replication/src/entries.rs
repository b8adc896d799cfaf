//! The library's view of the log: terms of all entries, payloads of recent ones, a reader for the rest.
//!
//! The library asks for entries in two ways. To send them to a follower it gets them with their payloads. To learn which
//! are committed it gets stubs without payload, because [`crate::Group::poll`] does the delivery. So nothing is read or
//! copied twice, and a read error is an error instead of a panic.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use raft::eraftpb;
use raft::{GetEntriesContext, RaftState, StorageError as RaftStorageError};
use skep_storage::StorageError;
use skep_storage::log::{Entry, EntryId};

use crate::config::EntrySource;
use crate::members::{Members, Planned};

/// An entry proposed through [`crate::Group::propose`].
pub(crate) const TAG_NORMAL: u8 = 0;
/// An entry of the group itself, without payload.
pub(crate) const TAG_INTERNAL: u8 = 1;
/// A change of the members.
pub(crate) const TAG_MEMBERS: u8 = 2;

struct Cached {
    payload: Bytes,
    term: u64,
    tag: u8,
}

/// Snapshots that followers wait for, and those on offer.
#[derive(Default)]
pub(crate) struct SnapshotDesk {
    pub(crate) wanted: BTreeSet<u64>,
    pub(crate) offered: BTreeMap<u64, EntryId>,
}

pub(crate) struct Entries {
    source: Box<dyn EntrySource>,
    initial: RaftState,
    /// The members, as far as entries were applied.
    pub(crate) members: Members,
    base: EntryId,
    last: u64,
    /// The first index of each term above the base, ascending.
    terms: VecDeque<EntryId>,
    /// Consecutive entries that end at `last`.
    cache: VecDeque<Cached>,
    cached_bytes: usize,
    max_cached_bytes: usize,
    /// Entries up to here may leave the cache.
    persisted: u64,
    pub(crate) desk: RefCell<SnapshotDesk>,
    read_error: Cell<Option<StorageError>>,
}

impl Entries {
    pub(crate) fn new(
        source: Box<dyn EntrySource>,
        initial: RaftState,
        members: Members,
        base: EntryId,
        last: u64,
        terms: &[EntryId],
        max_cached_bytes: usize,
    ) -> Self {
        Self {
            source,
            initial,
            members,
            base,
            last,
            terms: terms.iter().copied().collect(),
            cache: VecDeque::new(),
            cached_bytes: 0,
            max_cached_bytes,
            persisted: last,
            desk: RefCell::default(),
            read_error: Cell::new(None),
        }
    }

    pub(crate) fn base(&self) -> EntryId {
        self.base
    }

    pub(crate) fn last(&self) -> EntryId {
        EntryId {
            index: self.last,
            term: self.term_of(self.last).unwrap_or(self.base.term),
        }
    }

    /// Takes the error of a read that the library asked for.
    pub(crate) fn take_read_error(&self) -> Option<StorageError> {
        self.read_error.take()
    }

    /// The term of an entry, or of the base.
    pub(crate) fn term_of(&self, index: u64) -> Option<u64> {
        if index == self.base.index {
            return Some(self.base.term);
        }
        if index < self.base.index || index > self.last {
            return None;
        }
        let after = self.terms.partition_point(|run| run.index <= index);
        self.terms.get(after.checked_sub(1)?).map(|run| run.term)
    }

    fn cache_first(&self) -> u64 {
        self.last + 1 - self.cache.len() as u64
    }

    fn cached(&self, index: u64) -> Option<&Cached> {
        let at = index.checked_sub(self.cache_first())?;
        self.cache.get(usize::try_from(at).ok()?)
    }

    /// Takes in an entry that will be written; it may replace the end of the log.
    pub(crate) fn append(&mut self, id: EntryId, tag: u8, payload: Bytes) {
        while self.last >= id.index {
            if let Some(gone) = self.cache.pop_back() {
                self.cached_bytes -= gone.payload.len();
                self.last -= 1;
            } else {
                self.last = id.index - 1;
            }
        }
        debug_assert_eq!(id.index, self.last + 1, "entries leave no gap");
        debug_assert!(
            id.index > self.base.index,
            "what was compacted is not written again"
        );
        self.persisted = self.persisted.min(self.last);
        while self.terms.back().is_some_and(|run| run.index >= id.index) {
            self.terms.pop_back();
        }
        debug_assert!(
            self.terms.back().is_none_or(|run| run.term <= id.term),
            "terms do not fall"
        );
        if self.terms.back().is_none_or(|run| run.term != id.term) {
            self.terms.push_back(id);
        }
        self.cached_bytes += payload.len();
        self.cache.push_back(Cached {
            payload,
            term: id.term,
            tag,
        });
        self.last = id.index;
    }

    /// Entries up to here are durable and applied or applicable: they may be dropped from memory.
    pub(crate) fn release(&mut self, index: u64) {
        debug_assert!(self.cache.len() as u64 <= self.last - self.base.index);
        self.persisted = self.persisted.max(index.min(self.last));
        while self.cached_bytes > self.max_cached_bytes && self.cache_first() <= self.persisted {
            let Some(gone) = self.cache.pop_front() else {
                break;
            };
            self.cached_bytes -= gone.payload.len();
        }
    }

    /// Forgets entries up to and including `index`.
    pub(crate) fn compact(&mut self, id: EntryId) {
        debug_assert!(id.index > self.base.index, "the base goes forward");
        debug_assert!(id.index <= self.last, "there is no entry behind the log");
        while self.cache_first() <= id.index {
            let Some(gone) = self.cache.pop_front() else {
                break;
            };
            self.cached_bytes -= gone.payload.len();
        }
        while self
            .terms
            .get(1)
            .is_some_and(|run| run.index <= id.index + 1)
        {
            self.terms.pop_front();
        }
        if let Some(front) = self.terms.front_mut() {
            front.index = front.index.max(id.index + 1);
        }
        if id.index >= self.last {
            self.terms.clear();
        }
        self.base = id;
    }

    /// Forgets all entries: a snapshot replaced them.
    pub(crate) fn reset(&mut self, id: EntryId) {
        self.cache.clear();
        self.cached_bytes = 0;
        self.terms.clear();
        self.base = id;
        self.last = id.index;
        self.persisted = id.index;
        // Matters if this happens at startup: the library does not accept a commit index beyond the log.
        self.initial.hard_state.commit = id.index;
    }

    /// Entries with their payloads, from `from` to before `to`, about `max_bytes` of them but at least one.
    pub(crate) fn read(
        &self,
        from: u64,
        to: u64,
        max_bytes: usize,
    ) -> Result<Vec<Entry>, StorageError> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        let mut next = from;
        if next < self.cache_first() {
            let read = self
                .source
                .read(next, to.min(self.cache_first()), max_bytes)?;
            for entry in read {
                if entry.index != next || self.term_of(next) != Some(entry.term) {
                    return Err(StorageError::Invalid(format!(
                        "the log returned entry {} where entry {} was expected",
                        crate::error::show(EntryId {
                            index: entry.index,
                            term: entry.term
                        }),
                        next
                    )));
                }
                bytes += entry.payload.len();
                entries.push(entry);
                next += 1;
            }
            if entries.is_empty() {
                return Err(StorageError::Invalid(format!(
                    "the log does not hold entry {next}"
                )));
            }
        }
        while next < to && (bytes < max_bytes || entries.is_empty()) {
            let Some(cached) = self.cached(next) else {
                break;
            };
            bytes += cached.payload.len();
            entries.push(Entry {
                index: next,
                term: cached.term,
                tag: cached.tag,
                payload: cached.payload.clone(),
            });
            next += 1;
        }
        Ok(entries)
    }
}

/// The library's entry in the form used in our log and on the wire: tag and payload.
pub(crate) fn stored(entry: &eraftpb::Entry) -> (u8, Bytes) {
    if entry.get_entry_type() == eraftpb::EntryType::EntryConfChangeV2
        && let Some(change) = Planned::of_library(&entry.data)
    {
        return (TAG_MEMBERS, change.encode());
    }
    let tag = if entry.data.is_empty() {
        TAG_INTERNAL
    } else {
        TAG_NORMAL
    };
    (tag, entry.data.clone())
}

/// Whether an entry can have this tag and this payload.
pub(crate) fn is_entry(tag: u8, payload: &Bytes) -> bool {
    match tag {
        TAG_NORMAL => !payload.is_empty(),
        TAG_INTERNAL => payload.is_empty(),
        TAG_MEMBERS => Planned::decode(payload.clone()).is_some(),
        _ => false,
    }
}

/// Our entry in the library's form.
pub(crate) fn raft_entry(index: u64, term: u64, tag: u8, payload: Bytes) -> eraftpb::Entry {
    let mut entry = eraftpb::Entry {
        index,
        term,
        ..Default::default()
    };
    if tag == TAG_MEMBERS
        && let Some(change) = Planned::decode(payload.clone())
    {
        entry.set_entry_type(eraftpb::EntryType::EntryConfChangeV2);
        entry.data = change.library_bytes();
    } else {
        entry.data = payload;
    }
    entry
}

impl raft::Storage for Entries {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(self.initial.clone())
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        context: GetEntriesContext,
    ) -> raft::Result<Vec<eraftpb::Entry>> {
        if low <= self.base.index {
            return Err(raft::Error::Store(RaftStorageError::Compacted));
        }
        let max = max_size.into().and_then(|max| usize::try_from(max).ok());
        if !context.can_async() {
            // The library asks what is committed: stubs. The limit keeps a long replay from being listed at once.
            const STUBS: u64 = 4096;
            let end = if max.is_some() {
                high.min(low + STUBS)
            } else {
                high
            };
            let stubs = (low..end).map(|index| {
                let term = self.term_of(index).unwrap_or_default();
                raft_entry(index, term, TAG_NORMAL, Bytes::new())
            });
            return Ok(stubs.collect());
        }
        match self.read(low, high, max.unwrap_or(usize::MAX)) {
            Ok(entries) => Ok(entries
                .into_iter()
                .map(|entry| raft_entry(entry.index, entry.term, entry.tag, entry.payload))
                .collect()),
            Err(error) => {
                self.read_error.set(Some(error));
                // The only refusal that the library handles gracefully here: it tries again later.
                Err(raft::Error::Store(
                    RaftStorageError::LogTemporarilyUnavailable,
                ))
            }
        }
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        self.term_of(index)
            .ok_or(raft::Error::Store(if index < self.base.index {
                RaftStorageError::Compacted
            } else {
                RaftStorageError::Unavailable
            }))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.base.index + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last)
    }

    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<eraftpb::Snapshot> {
        let mut desk = self.desk.borrow_mut();
        let offer = desk.offered.get(&to).copied();
        match offer.filter(|id| id.index >= request_index.max(self.base.index)) {
            Some(id) => Ok(raft_snapshot(id, &self.members.conf_state())),
            None => {
                desk.offered.remove(&to);
                desk.wanted.insert(to);
                Err(raft::Error::Store(
                    RaftStorageError::SnapshotTemporarilyUnavailable,
                ))
            }
        }
    }
}

pub(crate) fn raft_snapshot(id: EntryId, members: &eraftpb::ConfState) -> eraftpb::Snapshot {
    let mut snapshot = eraftpb::Snapshot::default();
    let metadata = snapshot.mut_metadata();
    metadata.index = id.index;
    metadata.term = id.term;
    metadata.set_conf_state(members.clone());
    snapshot
}
