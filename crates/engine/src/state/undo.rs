//! Undo of uncommitted changes: the rows as they were before a leader's uncommitted batches.
//!
//! Followers and recovery apply committed entries only and take no notes. A leader notes each row once per batch, before it
//! changes the row, and drops the notes when the batch is committed. A deposed leader restores the rows from its notes.
//! That takes as long as the changes took, instead of reading a checkpoint and the log after it.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;
use skep_protocol::Key;

use super::table::{Row, Table};
use super::{Counters, State};

/// Slots for the rows that are known to be noted in this batch. Forgetting one costs memory and nothing else: the oldest
/// note is applied last.
const RECENT: usize = 64;

/// Undo notes for the rows of one table.
pub(super) struct Undo<V> {
    /// Position of the first record of the batch that is being written.
    mark: u64,
    changes: VecDeque<Change<V>>,
    recent: [Recent; RECENT],
}

struct Change<V> {
    /// Mark of its batch.
    mark: u64,
    key: Key,
    before: Before<V>,
}

/// Reverts the change of a part of a row.
type Part<V> = Box<dyn FnOnce(&mut V) + Send + Sync>;

enum Before<V> {
    Absent,
    /// The row without its parts, see [`Row::image`].
    Changed(V),
    Whole(V),
    Part(Part<V>),
}

#[derive(Clone, Copy, Default)]
struct Recent {
    key: Key,
    mark: u64,
    /// The whole row is noted: nothing more needs to be noted for it.
    whole: bool,
}

impl<V: Row> Undo<V> {
    pub fn new(mark: u64) -> Undo<V> {
        Undo {
            mark,
            changes: VecDeque::new(),
            recent: [Recent::default(); RECENT],
        }
    }

    #[inline]
    fn recent(&mut self, key: Key) -> Option<&mut Recent> {
        self.recent.get_mut(key.0 as usize % RECENT)
    }

    /// Whether the row is noted, as far as is known.
    #[inline]
    fn is_noted(&mut self, key: Key, whole: bool) -> bool {
        let mark = self.mark;
        let recent = self.recent(key);
        recent.is_some_and(|it| it.key == key && it.mark == mark && (it.whole || !whole))
    }

    fn note(&mut self, key: Key, before: Before<V>) {
        let mark = self.mark;
        let whole = matches!(before, Before::Absent | Before::Whole(_));
        if let Some(recent) = self.recent(key) {
            *recent = Recent { key, mark, whole };
        }
        self.changes.push_back(Change { mark, key, before });
    }

    /// Notes a row that is about to be changed in place.
    #[inline]
    pub fn changes(&mut self, key: Key, row: &V) {
        if !self.is_noted(key, false) {
            self.note(key, Before::Changed(row.image()));
        }
    }

    /// Notes that a new row takes the place of this one, if there was one.
    #[inline]
    pub fn replaces(&mut self, key: Key, before: Option<V>) {
        if !self.is_noted(key, true) {
            self.note(key, before.map_or(Before::Absent, Before::Whole));
        }
    }

    /// Notes a row that is about to be removed.
    #[inline]
    pub fn removes(&mut self, key: Key, row: &V) {
        if !self.is_noted(key, true) {
            self.note(key, Before::Whole(row.clone()));
        }
    }

    /// Notes that a part of the row is about to be changed which its image does not contain.
    pub fn changes_part(&mut self, key: Key, part: impl FnOnce() -> Part<V>) {
        if !self.is_noted(key, true) {
            let (mark, before) = (self.mark, Before::Part(part()));
            self.changes.push_back(Change { mark, key, before });
        }
    }

    /// Position of the first record of the batch that is being written.
    pub fn mark(&self) -> u64 {
        self.mark
    }

    /// Begins another batch.
    pub fn begin(&mut self, mark: u64) {
        self.mark = mark;
    }

    /// Drops the notes of batches before this position: their changes are committed.
    pub fn settle(&mut self, position: u64) {
        while self.changes.pop_front_if(|c| c.mark < position).is_some() {}
    }
}

impl<V: Row> Table<V> {
    /// Reverts the changes of batches from this position on. `visit` gets each of these rows as it was until now.
    pub(super) fn undo(&mut self, position: u64, mut visit: impl FnMut(Key, Option<&V>)) {
        let Some(mut undo) = self.undo.take() else {
            return;
        };
        let mut visited = FxHashSet::default();
        while let Some(change) = undo.changes.pop_back_if(|c| c.mark >= position) {
            let key = change.key;
            if visited.insert(key) {
                visit(key, self.get(key));
            }
            match change.before {
                Before::Absent => drop(self.remove(key)),
                Before::Whole(row) => self.insert(key, row),
                Before::Changed(image) => {
                    if let Some(row) = self.get_mut(key) {
                        row.restore(image);
                    }
                }
                Before::Part(take_back) => {
                    if let Some(row) = self.get_mut(key) {
                        take_back(row);
                    }
                }
            }
        }
        // Positions will be reused.
        undo.recent = [Recent::default(); RECENT];
        self.undo = Some(undo);
    }
}

/// Rows with an index that is kept beside the table.
pub(super) trait Indexed<V: Row> {
    fn rows(&mut self) -> &mut Table<V>;
    fn add_to_index(&mut self, key: Key, row: &V);
    fn take_from_index(&mut self, key: Key, row: &V);

    /// Reverts the changes of batches from this position on, in the index too. Returns the keys of those rows.
    fn undo(&mut self, position: u64) -> Vec<Key> {
        let mut keys = Vec::new();
        let mut gone = Vec::new();
        self.rows().undo(position, |key, row| {
            keys.push(key);
            gone.extend(row.map(|row| (key, row.clone())));
        });
        // All rows are removed before any is added: two of them may have had the same name.
        for (key, row) in &gone {
            self.take_from_index(*key, row);
        }
        for key in &keys {
            if let Some(row) = self.rows().get(*key).cloned() {
                self.add_to_index(*key, &row);
            }
        }
        keys
    }
}

/// The counters before the uncommitted batches.
#[derive(Default)]
pub(super) struct CountersBefore {
    /// Position of the first record of the first noted batch.
    since: Option<u64>,
    before: VecDeque<(u64, Counters)>,
}

impl State {
    /// Starts keeping changes undoable until they are settled, with `Some` position of the next record; `None` stops it.
    /// Nothing is noted while a log is being replayed.
    pub(crate) fn keep_undo(&mut self, from: Option<u64>) {
        self.undo.since = from;
        self.undo.before.clear();
        for rows in self.rows_mut() {
            rows.keep_undo(from);
        }
        if let Some(position) = from {
            self.begin_batch(position);
        }
    }

    pub(crate) fn keeps_undo(&self) -> bool {
        self.undo.since.is_some()
    }

    /// Begins a batch whose first record has this position: later changes belong to it.
    pub(crate) fn begin_batch(&mut self, position: u64) {
        let last = self.undo.before.back();
        if !self.keeps_undo() || last.is_some_and(|(mark, _)| *mark == position) {
            return;
        }
        self.undo
            .before
            .push_back((position, self.counters.clone()));
        for rows in self.rows_mut() {
            rows.begin_batch(position);
        }
    }

    /// Marks everything before this position as committed.
    pub(crate) fn settle(&mut self, position: u64) {
        let Some(since) = &mut self.undo.since else {
            return;
        };
        *since = position.max(*since);
        let before = &mut self.undo.before;
        while before.pop_front_if(|(mark, _)| *mark < position).is_some() {}
        for rows in self.rows_mut() {
            rows.settle(position);
        }
    }

    /// Restores the state from when the next record had this position. `false`: that was before notes were taken, and
    /// nothing has happened.
    pub(crate) fn undo(&mut self, position: u64) -> bool {
        if self.undo.since.is_none_or(|since| since > position) {
            return false;
        }
        while let Some((_, counters)) = self.undo.before.pop_back_if(|(mark, _)| *mark >= position)
        {
            self.counters = counters;
        }
        self.undo_instances(position);
        self.undo_subscriptions(position);
        self.undo_definitions(position);
        self.undo_operations(position);
        self.undo_bans(position);
        true
    }

    /// Reverts element instances, and the rows that belong to a single one.
    fn undo_instances(&mut self, position: u64) {
        self.elements.undo(position);
        Indexed::undo(&mut self.jobs, position);
        Indexed::undo(&mut self.timers, position);
        Indexed::undo(&mut self.incidents, position);
        Indexed::undo(&mut self.triggers, position);
        Indexed::undo(&mut self.continuations, position);
        Indexed::undo(&mut self.compensations, position);
        self.input_collections.table.undo(position, |_, _| {});
        self.user_tasks.table.undo(position, |_, _| {});
    }

    fn undo_subscriptions(&mut self, position: u64) {
        Indexed::undo(&mut self.messages, position);
        Indexed::undo(&mut self.message_subscriptions, position);
        Indexed::undo(&mut self.process_subscriptions, position);
        self.message_starts.undo(position);
        Indexed::undo(&mut self.signals, position);
        self.signals.on_their_way.undo(position, |_, _| {});
        Indexed::undo(&mut self.conditions, position);
        self.conditions.checks.undo(position, |_, _| {});
        self.conditions.evaluations.undo(position, |_, _| {});
    }

    fn undo_definitions(&mut self, position: u64) {
        self.processes.undo(position);
        self.decisions.undo(position);
        self.forms.undo(position);
        self.resources.undo(position);
        Indexed::undo(&mut self.global_listeners, position);
        Indexed::undo(&mut self.cluster_variables, position);
    }

    /// Reverts operator requests, and the state shared between partitions.
    fn undo_operations(&mut self, position: u64) {
        Indexed::undo(&mut self.distributions, position);
        self.batch_operations.undo(position);
        Indexed::undo(&mut self.migrations, position);
        self.modifications.table.undo(position, |_, _| {});
        self.exporting.undo(position);
        self.scaling.undo(position);
        Indexed::undo(&mut self.identity, position);
        Indexed::undo(&mut self.sessions, position);
        Indexed::undo(&mut self.kept, position);
        self.slots.undo(position);
    }

    /// Reverts bans. Work of banned instances is in no index, so this runs after the rows of that work are restored.
    fn undo_bans(&mut self, position: u64) {
        for instance in Indexed::undo(&mut self.banned, position) {
            if !self.banned.contains(instance) {
                self.release_work_of(instance);
            }
        }
        self.hold_work_of_banned();
    }
}
