//! Batch operations that have not ended, with the remaining items of this partition.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{
    BatchOperationCreationValue, BatchOperationError, BatchOperationItem, BatchOperationType,
    BatchProgress, ItemResources,
};

use crate::state::table::{ReadEarlier, Row, StoreError, Table, Tables, read_without_list};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchOperation {
    pub value: BatchOperationCreationValue,
    pub phase: BatchPhase,
    pub suspended: bool,
    /// Keys from this one on were created after the operation, so their entities are not affected.
    pub before: Key,
    /// The key up to which this partition has searched for items.
    pub chosen_up_to: Key,
    /// Progress of this partition.
    pub progress: BatchProgress,
    /// The chunk whose items are being carried out.
    pub announced: Key,
    /// The reason why this partition could not do its part.
    pub error: Option<BatchOperationError>,
    /// Report of each partition; only where the operation was created.
    pub parts: BTreeMap<u32, BatchPart>,
}

/// Phase of this partition's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BatchPhase {
    /// The broker is searching for items: the engine cannot search.
    Choosing,
    Executing,
    /// All items are done, and this is reported to the coordinating partition until it ends the operation.
    Done,
    /// Items could not be chosen. Those already chosen are dropped, and it is reported as when all are done.
    Failed,
    /// Only items to be dropped are left.
    Ended,
}

/// Report of a partition to the coordinating one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchPart {
    pub progress: BatchProgress,
    pub ended: bool,
    pub error: Option<BatchOperationError>,
}

impl BatchOperation {
    /// The sum of the reports of all partitions.
    pub fn sum(&self) -> BatchProgress {
        let parts = self.parts.values();
        parts.fold(BatchProgress::default(), |sum, part| BatchProgress {
            total: sum.total + part.progress.total,
            completed: sum.completed + part.progress.completed,
            failed: sum.failed + part.progress.failed,
        })
    }

    pub fn is_over_everywhere(&self) -> bool {
        self.parts.values().all(|part| part.ended)
    }
}

impl Row for BatchOperation {
    const TABLE: u8 = 46;

    fn weight(&self) -> usize {
        let parts = self.parts.len() * (size_of::<BatchPart>() + 32);
        size_of::<Self>() + self.value.weight() + parts
    }
}

/// Items that were chosen together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchChunk {
    pub batch_operation_key: Key,
    pub items: Vec<BatchOperationItem>,
    /// Number of items that are done.
    pub done: u32,
    /// Only the second version of the row has them.
    #[serde(skip_serializing_if = "ItemResources::is_empty")]
    pub resources: ItemResources,
}

/// The version of the protocol between nodes since which nodes know the second version of chunks.
pub(crate) const RESOURCES_SINCE: u32 = 8;

impl Row for BatchChunk {
    const TABLE: u8 = 47;
    const VERSION: u8 = 2;

    fn version(&self) -> u8 {
        if self.resources.is_empty() { 1 } else { 2 }
    }

    fn read_earlier(version: u8, bytes: &[u8]) -> ReadEarlier<Self> {
        read_without_list(version, bytes)
    }

    fn known_to(&self, protocol: u32) -> Option<Self> {
        let is_new = protocol < RESOURCES_SINCE && !self.resources.is_empty();
        is_new.then(|| BatchChunk {
            resources: ItemResources::default(),
            ..self.clone()
        })
    }

    fn weight(&self) -> usize {
        let items = self.items.len() * size_of::<BatchOperationItem>();
        size_of::<Self>() + items + self.resources.weight()
    }
}

pub struct BatchOperations {
    pub table: Table<BatchOperation>,
    pub chunks: Table<BatchChunk>,
    open: BTreeMap<Key, Open>,
    ready: Ready,
}

/// Operations with something to do in the engine.
#[derive(Debug, Default)]
struct Ready {
    cancellations: BTreeSet<Key>,
    others: BTreeSet<Key>,
}

impl Ready {
    fn of<'a>(open: impl Iterator<Item = (&'a Key, &'a Open)>) -> Ready {
        let mut ready = Ready::default();
        for (key, open) in open.filter(|(_, open)| open.is_ready()) {
            ready.insert(*key, open.cancels);
        }
        ready
    }

    fn insert(&mut self, key: Key, cancels: bool) {
        if cancels {
            self.cancellations.insert(key)
        } else {
            self.others.insert(key)
        };
    }

    fn remove(&mut self, key: Key) {
        self.cancellations.remove(&key);
        self.others.remove(&key);
    }
}

/// The next one after `last`, in round-robin order.
fn next_after(ready: &BTreeSet<Key>, last: Key) -> Option<Key> {
    let mut later = ready.range((Bound::Excluded(last), Bound::Unbounded));
    later.next().or_else(|| ready.first()).copied()
}

/// In-memory facts about an operation, available without its row.
#[derive(Debug)]
struct Open {
    /// It cancels process instances.
    cancels: bool,
    phase: BatchPhase,
    suspended: bool,
    /// Chunks of this partition, oldest first.
    chunks: BTreeSet<Key>,
}

impl Open {
    fn of(row: &BatchOperation) -> Open {
        Open {
            cancels: row.value.kind == BatchOperationType::CancelProcessInstance,
            phase: row.phase,
            suspended: row.suspended,
            chunks: BTreeSet::new(),
        }
    }

    fn is_ready(&self) -> bool {
        match self.phase {
            BatchPhase::Choosing | BatchPhase::Done => false,
            BatchPhase::Executing => !self.suspended,
            BatchPhase::Failed | BatchPhase::Ended => !self.chunks.is_empty(),
        }
    }
}

impl BatchOperations {
    pub fn open(tables: &Arc<Tables>) -> Result<BatchOperations, StoreError> {
        let mut open = BTreeMap::new();
        let table = Table::open_with(tables, |key, row: BatchOperation| {
            open.insert(key, Open::of(&row));
        })?;
        let chunks = Table::open_with(tables, |key, row: BatchChunk| {
            if let Some(of) = open.get_mut(&row.batch_operation_key) {
                of.chunks.insert(key);
            }
        })?;
        let ready = Ready::of(open.iter());
        Ok(BatchOperations {
            table,
            chunks,
            open,
            ready,
        })
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// An operation that has not ended.
    pub fn get(&mut self, key: Key) -> Option<&BatchOperation> {
        let row = self.table.get(key)?;
        (row.phase != BatchPhase::Ended).then_some(row)
    }

    /// Operations whose items are still to be chosen here.
    pub fn to_choose(&self) -> impl Iterator<Item = Key> + '_ {
        let open = self.open.iter();
        let open = open.filter(|(_, open)| open.phase == BatchPhase::Choosing && !open.suspended);
        open.map(|(key, _)| *key)
    }

    /// Operations whose part is over here but which continue elsewhere.
    pub fn finished_here(&self) -> impl Iterator<Item = Key> + '_ {
        let open = self.open.iter();
        let open =
            open.filter(|(_, open)| matches!(open.phase, BatchPhase::Done | BatchPhase::Failed));
        open.map(|(key, _)| *key)
    }

    pub fn has_work(&self) -> bool {
        !self.ready.cancellations.is_empty() || !self.ready.others.is_empty()
    }

    /// The next cancellation of process instances after `last`, in turn.
    pub fn next_cancellation_after(&self, last: Key) -> Option<Key> {
        next_after(&self.ready.cancellations, last)
    }

    /// Likewise for all other operations.
    pub fn next_other_after(&self, last: Key) -> Option<Key> {
        next_after(&self.ready.others, last)
    }

    pub fn is_cancellation(&self, key: Key) -> bool {
        self.open.get(&key).is_some_and(|open| open.cancels)
    }

    /// The oldest chunk of an operation.
    pub fn first_chunk(&self, key: Key) -> Option<Key> {
        self.open.get(&key)?.chunks.first().copied()
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, row: BatchOperation) {
        self.open.insert(key, Open::of(&row));
        self.table.insert(key, row);
    }

    /// Changes the row of an operation, and the in-memory facts about it. The row may be gone: the last item of an operation that has ended
    /// removes it, before the result of this item is counted.
    pub(in crate::appliers) fn change(
        &mut self,
        key: Key,
        change: impl FnOnce(&mut BatchOperation),
    ) {
        let Some(row) = self.table.get_mut(key) else {
            return;
        };
        change(row);
        let open = self.open.get_mut(&key);
        debug_assert!(open.is_some(), "the facts about an operation are in memory");
        if let Some(open) = open {
            (open.phase, open.suspended) = (row.phase, row.suspended);
        }
        self.look_at(key);
    }

    pub(in crate::appliers) fn add_chunk(&mut self, key: Key, chunk: BatchChunk) {
        let operation = chunk.batch_operation_key;
        let open = self.open.get_mut(&operation);
        debug_assert!(open.is_some(), "a chunk has its operation");
        if let Some(open) = open {
            open.chunks.insert(key);
        }
        self.chunks.insert(key, chunk);
        self.look_at(operation);
    }

    /// Counts one more item of the chunk as done.
    pub(in crate::appliers) fn item_done(&mut self, chunk: Key) {
        let Some(row) = self.chunks.should_get_mut(chunk) else {
            return;
        };
        row.done += 1;
        if row.done as usize >= row.items.len() {
            self.remove_chunk(chunk);
        }
    }

    pub(in crate::appliers) fn remove_chunk(&mut self, chunk: Key) {
        let Some(row) = self.chunks.remove(chunk) else {
            return;
        };
        let operation = row.batch_operation_key;
        let open = self.open.get_mut(&operation);
        debug_assert!(open.is_some(), "an operation stays until its last chunk");
        if let Some(open) = open {
            open.chunks.remove(&chunk);
        }
        self.look_at(operation);
    }

    /// Ends the operation: no more work is done, and it is removed once its items are.
    pub(in crate::appliers) fn end(&mut self, key: Key) {
        self.change(key, |row| row.phase = BatchPhase::Ended);
    }

    /// Updates the indices after a change of the facts about an operation.
    fn look_at(&mut self, key: Key) {
        let Some(open) = self.open.get(&key) else {
            return;
        };
        if open.phase == BatchPhase::Ended && open.chunks.is_empty() {
            self.open.remove(&key);
            self.ready.remove(key);
            self.table.remove(key);
        } else if open.is_ready() {
            self.ready.insert(key, open.cancels);
        } else {
            self.ready.remove(key);
        }
    }
}

impl BatchOperations {
    pub(in crate::appliers::state) fn undo(&mut self, position: u64) {
        Indexed::<BatchOperation>::undo(self, position);
        Indexed::<BatchChunk>::undo(self, position);
        // There are only few.
        self.ready = Ready::of(self.open.iter());
    }
}

impl Indexed<BatchOperation> for BatchOperations {
    fn rows(&mut self) -> &mut Table<BatchOperation> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &BatchOperation) {
        let open = self.open.entry(key).or_insert_with(|| Open::of(row));
        (open.phase, open.suspended) = (row.phase, row.suspended);
    }

    fn take_from_index(&mut self, key: Key, _row: &BatchOperation) {
        if !self.table.contains(key) {
            self.open.remove(&key);
            self.ready.remove(key);
        }
    }
}

impl Indexed<BatchChunk> for BatchOperations {
    fn rows(&mut self) -> &mut Table<BatchChunk> {
        &mut self.chunks
    }

    fn add_to_index(&mut self, key: Key, row: &BatchChunk) {
        if let Some(open) = self.open.get_mut(&row.batch_operation_key) {
            open.chunks.insert(key);
        }
    }

    fn take_from_index(&mut self, key: Key, row: &BatchChunk) {
        if let Some(open) = self.open.get_mut(&row.batch_operation_key) {
            open.chunks.remove(&key);
        }
    }
}
