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
    /// Number of elements to be activated, by scope.
    activations: HashMap<Key, usize>,
}

impl Continuations {
    pub fn open(tables: &Arc<Tables>) -> Result<Continuations, StoreError> {
        let (mut keys, mut activations) = (BTreeSet::new(), HashMap::new());
        let table = Table::open_with(tables, |key, row: Continuation| {
            keys.insert(key);
            count(&mut activations, row.steps.iter());
        })?;
        Ok(Continuations {
            table,
            keys,
            activations,
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
        self.activations.contains_key(&scope)
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
        count(&mut self.activations, value.steps.iter());
        for step in row.steps.drain(..taken) {
            count_down(&mut self.activations, &step);
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

/// The scope in which this step activates an element. The step refers to the element through the scope's definition.
fn activates_in(step: &QueuedStep) -> Option<Key> {
    match &step.step {
        Step::Activate(activation) => Some(activation.scope),
        _ => None,
    }
}

impl Indexed<Continuation> for Continuations {
    fn rows(&mut self) -> &mut Table<Continuation> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &Continuation) {
        self.keys.insert(key);
        count(&mut self.activations, row.steps.iter());
    }

    fn take_from_index(&mut self, key: Key, row: &Continuation) {
        self.keys.remove(&key);
        for step in &row.steps {
            count_down(&mut self.activations, step);
        }
    }
}

/// Counts the steps that activate something, by its scope.
fn count<'a>(counts: &mut HashMap<Key, usize>, steps: impl Iterator<Item = &'a QueuedStep>) {
    for scope in steps.filter_map(activates_in) {
        *counts.entry(scope).or_default() += 1;
    }
}

fn count_down(counts: &mut HashMap<Key, usize>, step: &QueuedStep) {
    if let Some(scope) = activates_in(step)
        && let Entry::Occupied(mut count) = counts.entry(scope)
    {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}
