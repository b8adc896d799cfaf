//! Completed activities that can be compensated, and compensation in progress.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::CompensationSubscriptionValue;

use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compensation {
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    pub activity: u32,
    pub activity_instance_key: Key,
    pub scope_key: Key,
    pub handler: Option<u32>,
    pub handler_instance_key: Key,
    pub thrower: Option<u32>,
    /// None until the compensation is thrown.
    pub thrower_instance_key: Key,
}

impl Compensation {
    pub fn of(value: &CompensationSubscriptionValue) -> Compensation {
        Compensation {
            process_definition_key: value.process_definition_key,
            process_instance_key: value.process_instance_key,
            activity: value.activity,
            activity_instance_key: value.activity_instance_key,
            scope_key: value.scope_key,
            handler: value.handler,
            handler_instance_key: value.handler_instance_key,
            thrower: value.thrower,
            thrower_instance_key: value.thrower_instance_key,
        }
    }

    /// The record value.
    pub fn value(&self) -> CompensationSubscriptionValue {
        CompensationSubscriptionValue {
            process_definition_key: self.process_definition_key,
            process_instance_key: self.process_instance_key,
            activity: self.activity,
            activity_instance_key: self.activity_instance_key,
            scope_key: self.scope_key,
            handler: self.handler,
            handler_instance_key: self.handler_instance_key,
            thrower: self.thrower,
            thrower_instance_key: self.thrower_instance_key,
        }
    }
}

impl Row for Compensation {
    const TABLE: u8 = 45;

    fn weight(&self) -> usize {
        size_of::<Self>()
    }
}

pub struct Compensations {
    pub table: Table<Compensation>,
    index: Index,
}

/// Keys of compensations, by search criterion.
#[derive(Default)]
struct Index {
    /// By scope: not thrown yet.
    waiting: BTreeSet<(Key, Key)>,
    by_instance: BTreeSet<(Key, Key)>,
    by_activity: HashMap<Key, Key>,
    by_handler: HashMap<Key, Key>,
    /// By throwing event and scope: in progress.
    thrown: BTreeSet<(Key, Key, Key)>,
    /// By throwing event: instances of the handlers.
    handlers: BTreeSet<(Key, Key)>,
}

impl Index {
    fn add(&mut self, key: Key, row: &Compensation) {
        self.by_instance.insert((row.process_instance_key, key));
        self.by_activity.insert(row.activity_instance_key, key);
        let thrower = row.thrower_instance_key;
        if thrower.is_none() {
            self.waiting.insert((row.scope_key, key));
            return;
        }
        self.thrown.insert((thrower, row.scope_key, key));
        if row.handler_instance_key.some().is_some() {
            self.by_handler.insert(row.handler_instance_key, key);
            self.handlers.insert((thrower, row.handler_instance_key));
        }
    }

    fn remove(&mut self, key: Key, row: &Compensation) {
        let (thrower, handler) = (row.thrower_instance_key, row.handler_instance_key);
        self.by_instance.remove(&(row.process_instance_key, key));
        self.by_activity.remove(&row.activity_instance_key);
        self.waiting.remove(&(row.scope_key, key));
        self.thrown.remove(&(thrower, row.scope_key, key));
        self.by_handler.remove(&handler);
        self.handlers.remove(&(thrower, handler));
    }
}

impl Compensations {
    pub fn open(tables: &Arc<Tables>) -> Result<Compensations, StoreError> {
        let mut index = Index::default();
        let table = Table::open_with(tables, |key, row: Compensation| index.add(key, &row))?;
        Ok(Compensations { table, index })
    }

    pub fn is_empty(&self) -> bool {
        self.index.by_instance.is_empty()
    }

    pub fn get(&mut self, key: Key) -> Option<&Compensation> {
        self.table.get(key)
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, row: Compensation) {
        self.remove(key);
        self.index.add(key, &row);
        self.table.insert(key, row);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        if let Some(row) = self.table.remove(key) {
            self.index.remove(key, &row);
        }
    }

    /// Drops the compensations of a process instance that has ended.
    pub(in crate::appliers) fn forget(&mut self, instance: Key) {
        if self.is_empty() {
            return;
        }
        let keys: Vec<Key> = self.of_instance(instance).collect();
        keys.into_iter().for_each(|key| self.remove(key));
    }

    /// Compensations of a process instance, oldest first.
    pub fn of_instance(&self, instance: Key) -> impl Iterator<Item = Key> + '_ {
        of(&self.index.by_instance, instance, Key::NONE)
    }

    /// Compensations of a process instance after `after`, oldest first.
    pub fn after(&self, instance: Key, after: Key) -> impl Iterator<Item = Key> + '_ {
        of(&self.index.by_instance, instance, after)
    }

    /// Compensations not thrown yet, of activities in this scope, after `after`, oldest first.
    pub fn waiting(&self, scope: Key, after: Key) -> impl Iterator<Item = Key> + '_ {
        of(&self.index.waiting, scope, after)
    }

    pub fn of_activity(&self, activity_instance: Key) -> Option<Key> {
        self.index.by_activity.get(&activity_instance).copied()
    }

    pub fn of_handler(&self, handler_instance: Key) -> Option<Key> {
        self.index.by_handler.get(&handler_instance).copied()
    }

    /// Whether compensation thrown by this event is in progress; with a scope, that of an activity in it.
    pub fn goes_on(&self, thrower: Key, scope: Option<Key>) -> bool {
        let least = Key(i64::MIN);
        let mut from = self
            .index
            .thrown
            .range((thrower, scope.unwrap_or(least), least)..);
        from.next()
            .is_some_and(|(event, of, _)| *event == thrower && scope.is_none_or(|s| s == *of))
    }

    /// The first compensation thrown by this event.
    pub fn first_thrown(&self, thrower: Key) -> Option<Key> {
        let least = Key(i64::MIN);
        let mut from = self.index.thrown.range((thrower, least, least)..);
        let (event, _, key) = from.next()?;
        (*event == thrower).then_some(*key)
    }

    /// The next handler that this event activates, in the order in which they were thrown.
    pub fn handler_after(&self, thrower: Key, handler: Key) -> Option<Key> {
        of(&self.index.handlers, thrower, handler).next()
    }
}

/// Keeps the index beside the table.
impl Indexed<Compensation> for Compensations {
    fn rows(&mut self) -> &mut Table<Compensation> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &Compensation) {
        self.index.add(key, row);
    }

    fn take_from_index(&mut self, key: Key, row: &Compensation) {
        self.index.remove(key, row);
    }
}

/// The keys of this owner after `after`; all of them if that is none.
fn of(keys: &BTreeSet<(Key, Key)>, owner: Key, after: Key) -> impl Iterator<Item = Key> + '_ {
    let from = match after.some() {
        Some(after) => Key(after.0.saturating_add(1)),
        None => Key(i64::MIN),
    };
    let range = keys.range((owner, from)..=(owner, Key(i64::MAX)));
    range.map(|(_, key)| *key)
}
