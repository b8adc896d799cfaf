//! Banned process instances: the engine failed on them, or an operator stopped them. Nothing happens in them until they are
//! cancelled. A partition may also ban an instance of another one whose subscription it cannot handle.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::ErrorValue;

use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;
use crate::state::{Jobs, State, Timers};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BannedInstance {
    /// The engine's failure message, or a note that an operator banned it.
    pub reason: Arc<str>,
    /// The engine failed again, on its cancellation: that is no longer tried either.
    pub frozen: bool,
}

impl Row for BannedInstance {
    const TABLE: u8 = 14;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.reason.len()
    }
}

pub struct Banned {
    pub table: Table<BannedInstance>,
    /// All rows, resident or not, with [`BannedInstance::frozen`]: each command checks this.
    keys: FxHashMap<Key, bool>,
    /// Number of changes since the start.
    revision: u64,
}

impl Banned {
    pub fn open(tables: &Arc<Tables>) -> Result<Banned, StoreError> {
        let mut keys = FxHashMap::default();
        let table = Table::open_with(tables, |key, row: BannedInstance| {
            keys.insert(key, row.frozen);
        })?;
        Ok(Banned {
            table,
            keys,
            revision: 0,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn contains(&self, process_instance: Key) -> bool {
        self.keys.contains_key(&process_instance)
    }

    pub fn is_frozen(&self, process_instance: Key) -> bool {
        self.keys.get(&process_instance).copied().unwrap_or(false)
    }

    /// `limit` of the instances, in no order.
    pub fn keys(&self, limit: usize) -> Vec<Key> {
        self.keys.keys().copied().take(limit).collect()
    }

    /// Increases with each change since the start.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The first `limit` instances by key, with their reasons.
    pub fn list(&mut self, limit: usize) -> Vec<(Key, Arc<str>)> {
        let mut keys: Vec<Key> = self.keys.keys().copied().collect();
        keys.sort_unstable();
        keys.truncate(limit);
        let row = |key| {
            let row = self.table.get(key)?;
            Some((key, row.reason.clone()))
        };
        keys.into_iter().filter_map(row).collect()
    }

    /// Bans an instance. If it is already banned, it becomes frozen; a further ban by an operator lets its cancellation be
    /// tried again.
    fn insert(&mut self, process_instance: Key, reason: &Arc<str>) {
        let was_frozen = self.keys.get(&process_instance);
        let frozen = was_frozen.is_some_and(|frozen| !frozen);
        let row = BannedInstance {
            reason: reason.clone(),
            frozen,
        };
        self.keys.insert(process_instance, frozen);
        self.table.insert(process_instance, row);
        self.revision += 1;
    }

    /// Removes an instance that has ended.
    pub(in crate::appliers) fn remove(&mut self, process_instance: Key) {
        if !self.keys.is_empty() && self.keys.remove(&process_instance).is_some() {
            self.table.remove(process_instance);
            self.revision += 1;
        }
    }
}

impl Indexed<BannedInstance> for Banned {
    fn rows(&mut self) -> &mut Table<BannedInstance> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &BannedInstance) {
        self.keys.insert(key, row.frozen);
        self.revision += 1;
    }

    fn take_from_index(&mut self, key: Key, _row: &BannedInstance) {
        self.keys.remove(&key);
        self.revision += 1;
    }
}

impl State {
    pub(in crate::appliers) fn ban(&mut self, error: &ErrorValue) {
        let instance = error.process_instance_key;
        if instance.some().is_some() {
            self.banned.insert(instance, &error.exception_message);
            self.give_up_migration(instance);
            self.hold_work_of(instance);
        }
    }

    /// Takes the jobs and timers of banned instances out of the indices: they wait for nothing. Runs after the rows were
    /// read.
    pub(in crate::appliers::state) fn hold_work_of_banned(&mut self) {
        let banned: Vec<Key> = self.banned.keys.keys().copied().collect();
        for instance in banned {
            self.hold_work_of(instance);
        }
    }

    fn hold_work_of(&mut self, instance: Key) {
        self.each_work_of(instance, Timers::hold, Jobs::hold);
    }

    /// Puts the work of an instance back into the indices: it was not banned after all.
    pub(in crate::appliers::state) fn release_work_of(&mut self, instance: Key) {
        self.each_work_of(instance, Timers::release, Jobs::release);
    }

    fn each_work_of(
        &mut self,
        instance: Key,
        with_timer: fn(&mut Timers, Key),
        with_job: fn(&mut Jobs, Key),
    ) {
        let mut scopes = vec![instance];
        while let Some(scope) = scopes.pop() {
            let Some(element) = self.elements.get(scope) else {
                continue;
            };
            let job = element.job_key;
            let extra = element.extra.as_ref();
            for timer in extra.map(|extra| extra.timers.clone()).unwrap_or_default() {
                with_timer(&mut self.timers, timer);
            }
            if let Some(job) = job.some() {
                with_job(&mut self.jobs, job);
            }
            let mut child = self.elements.child_after(scope, Key::NONE);
            while let Some(next) = child.some() {
                scopes.push(next);
                child = self.elements.child_after(scope, next);
            }
        }
    }
}
