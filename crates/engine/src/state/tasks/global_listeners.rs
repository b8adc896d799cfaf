//! Global task listeners, in execution order. There are few, so all of them stay in memory.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{GlobalListenerValue, ListenerEvent};

use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GlobalListener(pub GlobalListenerValue);

impl Row for GlobalListener {
    const TABLE: u8 = 36;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.0.weight()
    }
}

/// The job properties of a listener.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListenerJob {
    pub job_type: Arc<str>,
    pub retries: i32,
}

pub struct GlobalListeners {
    pub table: Table<GlobalListener>,
    /// By priority, highest first, then by id.
    ordered: Vec<(Key, GlobalListenerValue)>,
}

impl GlobalListeners {
    pub fn open(tables: &Arc<Tables>) -> Result<GlobalListeners, StoreError> {
        let mut ordered = Vec::new();
        let table = Table::open_with(tables, |key, row: GlobalListener| {
            ordered.push((key, row.0));
        })?;
        let mut listeners = GlobalListeners { table, ordered };
        listeners.sort();
        Ok(listeners)
    }

    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.ordered.iter().map(|(key, _)| *key)
    }

    pub fn len(&self) -> usize {
        self.ordered.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ordered.is_empty()
    }

    pub fn find(&self, id: &str) -> Option<(Key, &GlobalListenerValue)> {
        let found = self.ordered.iter().find(|(_, value)| *value.id == *id);
        found.map(|(key, value)| (*key, value))
    }

    /// Adds or updates a listener.
    pub(in crate::appliers) fn set(&mut self, key: Key, value: GlobalListenerValue) {
        self.ordered.retain(|(k, _)| *k != key);
        self.ordered.push((key, value.clone()));
        self.sort();
        self.table.insert(key, GlobalListener(value));
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        self.ordered.retain(|(k, _)| *k != key);
        self.table.remove(key);
    }

    /// The listeners of this event that run before the listeners of the model, or after them.
    pub fn of(&self, event: ListenerEvent, after: bool) -> Vec<ListenerJob> {
        let all = self.ordered.iter().map(|(_, value)| value);
        let listening =
            all.filter(|value| value.after_non_global == after && value.listens_to(event));
        let job = |value: &GlobalListenerValue| ListenerJob {
            job_type: value.job_type.clone(),
            retries: value.retries,
        };
        listening.map(job).collect()
    }

    fn sort(&mut self) {
        let by = |value: &GlobalListenerValue| (-i64::from(value.priority), value.id.clone());
        self.ordered.sort_by_key(|(_, value)| by(value));
    }
}

impl Indexed<GlobalListener> for GlobalListeners {
    fn rows(&mut self) -> &mut Table<GlobalListener> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &GlobalListener) {
        self.ordered.push((key, row.0.clone()));
        self.sort();
    }

    fn take_from_index(&mut self, key: Key, _row: &GlobalListener) {
        self.ordered.retain(|(k, _)| *k != key);
    }
}
