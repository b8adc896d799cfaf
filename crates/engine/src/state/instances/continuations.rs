//! Work beyond the budget of its command: steps deferred to a later batch, in order.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::origin::Origin;
use skep_protocol::value::{ContinuationValue, QueuedStep, Step};

use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Continuation {
    pub steps: VecDeque<QueuedStep>,
    /// See [`ContinuationValue::runaway`].
    pub runaway: bool,
    /// See [`ContinuationValue::origin`].
    pub origin: Option<Box<Origin>>,
}

impl Row for Continuation {
    const TABLE: u8 = 13;

    fn weight(&self) -> usize {
        let origin = self.origin.as_ref().map_or(0, |origin| origin.weight());
        size_of::<Self>() + self.steps.len() * size_of::<QueuedStep>() + origin
    }

    /// There may be very many steps: changes to them are noted where they happen.
    fn image(&self) -> Continuation {
        Continuation {
            steps: VecDeque::new(),
            runaway: self.runaway,
            origin: self.origin.clone(),
        }
    }

    fn restore(&mut self, image: Continuation) {
        (self.runaway, self.origin) = (image.runaway, image.origin);
    }
}

pub struct Continuations {
    pub table: Table<Continuation>,
    /// Keys of all rows, resident or not.
    keys: BTreeSet<Key>,
    waiting: Waiting,
}

/// What the waiting steps are about, with the number of steps.
#[derive(Default)]
struct Waiting {
    /// Scopes in which elements are to be activated. The step refers to the element through the scope's definition.
    activations: HashMap<Key, usize>,
    /// Rows of identity that are being deleted.
    deletions: HashMap<Key, usize>,
}

impl Waiting {
    /// The counts that the step belongs to, and its key there.
    fn counts(&mut self, step: &Step) -> Option<(&mut HashMap<Key, usize>, Key)> {
        match step {
            Step::Activate(activation) => Some((&mut self.activations, activation.scope)),
            Step::DeleteIdentity(row) => Some((&mut self.deletions, *row)),
            _ => None,
        }
    }

    fn add<'a>(&mut self, steps: impl Iterator<Item = &'a QueuedStep>) {
        for queued in steps {
            if let Some((counts, key)) = self.counts(&queued.step) {
                *counts.entry(key).or_default() += 1;
            }
        }
    }

    fn remove(&mut self, queued: &QueuedStep) {
        if let Some((counts, key)) = self.counts(&queued.step)
            && let Entry::Occupied(mut count) = counts.entry(key)
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

impl Continuations {
    pub fn open(tables: &Arc<Tables>) -> Result<Continuations, StoreError> {
        let (mut keys, mut waiting) = (BTreeSet::new(), Waiting::default());
        let table = Table::open_with(tables, |key, row: Continuation| {
            keys.insert(key);
            waiting.add(row.steps.iter());
        })?;
        Ok(Continuations {
            table,
            keys,
            waiting,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The next continuation after `last`, in round-robin order.
    pub fn next_after(&self, last: Key) -> Option<Key> {
        let mut later = self.keys.range((Bound::Excluded(last), Bound::Unbounded));
        later.next().or_else(|| self.keys.first()).copied()
    }

    /// The step at `index` from the front.
    pub fn step(&mut self, key: Key, index: u32) -> Option<QueuedStep> {
        let row = self.table.get(key)?;
        row.steps.get(index as usize).copied()
    }

    /// The steps from `index` on.
    pub fn remaining(&mut self, key: Key, index: u32) -> impl Iterator<Item = &QueuedStep> + '_ {
        let steps = self.table.get(key).map(|row| &row.steps);
        steps
            .into_iter()
            .flat_map(move |steps| steps.iter().skip(index as usize))
    }

    pub fn is_runaway(&mut self, key: Key) -> bool {
        self.table.get(key).is_some_and(|row| row.runaway)
    }

    /// The origin of the command whose work this is.
    pub fn origin(&mut self, key: Key) -> Origin {
        let row = self.table.get(key);
        let origin = row.and_then(|row| row.origin.as_deref());
        origin.cloned().unwrap_or_else(Origin::internal)
    }

    /// Number of waiting steps of this continuation.
    pub fn steps(&mut self, key: Key) -> usize {
        self.table.get(key).map_or(0, |row| row.steps.len())
    }

    /// Whether an element is to be activated in this scope.
    pub fn activate_in(&self, scope: Key) -> bool {
        self.waiting.activations.contains_key(&scope)
    }

    /// Whether this row of identity is being deleted.
    pub fn deletes(&self, row: Key) -> bool {
        self.waiting.deletions.contains_key(&row)
    }

    /// Removes the finished steps from the front and appends the new ones.
    pub(in crate::appliers) fn advance(&mut self, key: Key, value: &ContinuationValue) {
        if !self.keys.contains(&key) {
            self.keys.insert(key);
            let row = Continuation {
                origin: value.origin.clone(),
                ..Continuation::default()
            };
            self.table.insert(key, row);
        }
        let (taken, added) = (value.taken as usize, value.steps.len());
        self.table.changes_part(key, |row| {
            let taken: Vec<QueuedStep> = row.steps.iter().take(taken).copied().collect();
            move |row: &mut Continuation| {
                row.steps.truncate(row.steps.len().saturating_sub(added));
                for step in taken.into_iter().rev() {
                    row.steps.push_front(step);
                }
            }
        });
        let Some(row) = self.table.must_get_mut(key) else {
            return;
        };
        let taken = taken.min(row.steps.len());
        self.waiting.add(value.steps.iter());
        for step in row.steps.drain(..taken) {
            self.waiting.remove(&step);
        }
        row.steps.extend(&value.steps);
        row.runaway = value.runaway;
        if row.steps.is_empty() {
            self.keys.remove(&key);
            self.table.remove(key);
        } else {
            self.table
                .add_weight(value.steps.len() * size_of::<QueuedStep>());
        }
    }
}

impl Indexed<Continuation> for Continuations {
    fn rows(&mut self) -> &mut Table<Continuation> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &Continuation) {
        self.keys.insert(key);
        self.waiting.add(row.steps.iter());
    }

    fn take_from_index(&mut self, key: Key, row: &Continuation) {
        self.keys.remove(&key);
        for step in &row.steps {
            self.waiting.remove(step);
        }
    }
}
