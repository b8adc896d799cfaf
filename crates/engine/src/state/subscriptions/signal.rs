//! Signals: the events that wait for one, and signals in progress to very many receivers.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::SignalSubscriptionValue;

use crate::remote::Variables;
use crate::state::table::{Row, StoreError, Table, Tables, weight_of};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignalSubscription {
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub signal_name: Arc<str>,
    /// The event that the signal triggers.
    pub catch_event: u32,
    /// Whose subscription it is; none: that of the definition, for its start event.
    pub element_instance_key: Key,
}

impl SignalSubscription {
    fn of(value: &SignalSubscriptionValue) -> SignalSubscription {
        SignalSubscription {
            process_definition_key: value.process_definition_key,
            bpmn_process_id: value.bpmn_process_id.clone(),
            signal_name: value.signal_name.clone(),
            catch_event: value.catch_event,
            element_instance_key: value.catch_event_instance_key,
        }
    }

    /// What its records say.
    pub fn value(&self) -> SignalSubscriptionValue {
        SignalSubscriptionValue {
            process_definition_key: self.process_definition_key,
            bpmn_process_id: self.bpmn_process_id.clone(),
            signal_name: self.signal_name.clone(),
            catch_event: self.catch_event,
            catch_event_instance_key: self.element_instance_key,
        }
    }

    /// It starts instances.
    pub fn is_of_definition(&self) -> bool {
        self.element_instance_key.is_none()
    }
}

impl Row for SignalSubscription {
    const TABLE: u8 = 27;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.bpmn_process_id.len() + self.signal_name.len()
    }
}

/// A signal that has not reached all that waited for it when it was broadcast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignalOnItsWay {
    pub signal_name: Arc<str>,
    pub variables: Variables,
    /// The newest subscription that may get it.
    pub last: Key,
}

impl Row for SignalOnItsWay {
    const TABLE: u8 = 28;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.signal_name.len() + weight_of(&self.variables)
    }
}

pub struct SignalSubscriptions {
    pub table: Table<SignalSubscription>,
    pub on_their_way: Table<SignalOnItsWay>,
    by_name: HashMap<Arc<str>, BTreeSet<Key>>,
    by_definition: HashMap<Key, BTreeSet<Key>>,
}

impl SignalSubscriptions {
    pub fn open(tables: &Arc<Tables>) -> Result<SignalSubscriptions, StoreError> {
        let mut rows = Vec::new();
        let mut subscriptions = SignalSubscriptions {
            table: Table::open_with(tables, |key, row: SignalSubscription| rows.push((key, row)))?,
            on_their_way: Table::open(tables)?,
            by_name: HashMap::new(),
            by_definition: HashMap::new(),
        };
        for (key, row) in rows {
            subscriptions.add_to_index(key, &row);
        }
        Ok(subscriptions)
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, value: &SignalSubscriptionValue) {
        let row = SignalSubscription::of(value);
        self.add_to_index(key, &row);
        self.table.insert(key, row);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        if let Some(row) = self.table.remove(key) {
            self.take_from_index(key, &row);
        }
    }

    /// It triggers another event of another definition. Those of definitions are not migrated.
    pub(in crate::appliers) fn migrate(&mut self, key: Key, value: &SignalSubscriptionValue) {
        if let Some(row) = self.table.must_get_mut(key) {
            *row = SignalSubscription::of(value);
        }
    }

    pub fn get(&mut self, key: Key) -> Option<&SignalSubscription> {
        self.table.get(key)
    }

    /// The oldest subscription for this signal that is newer than `after` and not newer than `last`.
    pub fn next(&self, signal_name: &str, after: Key, last: Key) -> Option<Key> {
        let keys = self.by_name.get(signal_name)?;
        let later = (Bound::Excluded(after), Bound::Included(last));
        (after < last).then(|| keys.range(later).next().copied())?
    }

    /// The newest subscription for this signal.
    pub fn newest(&self, signal_name: &str) -> Option<Key> {
        self.by_name.get(signal_name)?.last().copied()
    }

    /// Start events of one version of a process.
    pub fn of_definition(&self, definition: Key) -> Vec<Key> {
        super::copied(self.by_definition.get(&definition))
    }

    /// How many wait for the start events of definitions.
    pub fn of_definitions(&self) -> usize {
        self.by_definition.values().map(BTreeSet::len).sum()
    }
}

impl Indexed<SignalSubscription> for SignalSubscriptions {
    fn rows(&mut self) -> &mut Table<SignalSubscription> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &SignalSubscription) {
        let names = self.by_name.entry(row.signal_name.clone());
        names.or_default().insert(key);
        if row.is_of_definition() {
            let definitions = self.by_definition.entry(row.process_definition_key);
            definitions.or_default().insert(key);
        }
    }

    fn take_from_index(&mut self, key: Key, row: &SignalSubscription) {
        super::remove_from(&mut self.by_name, &row.signal_name, key);
        if row.is_of_definition() {
            super::remove_from(&mut self.by_definition, &row.process_definition_key, key);
        }
    }
}
