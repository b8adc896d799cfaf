//! Message subscriptions: the process side lives with the instance, the message side where the correlation key hashes to.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{MessageSubscriptionValue, ProcessMessageSubscriptionValue};

use super::table::{Row, StoreError, Table, Tables, weight_of};
use crate::remote::Variables;

/// The message side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageSubscription {
    pub value: MessageSubscriptionValue,
    /// A message is on its way to the instance.
    pub correlating: bool,
}

impl Row for MessageSubscription {
    const TABLE: u8 = 7;

    fn weight(&self) -> usize {
        let value = &self.value;
        let texts = [
            &value.bpmn_process_id,
            &value.message_name,
            &value.correlation_key,
        ];
        size_of::<Self>()
            + texts.iter().map(|text| text.len()).sum::<usize>()
            + weight_of(&value.variables)
    }
}

/// Subscriptions by process id, oldest first.
type ByProcess = BTreeMap<Arc<str>, BTreeSet<Key>>;

pub struct MessageSubscriptions {
    pub table: Table<MessageSubscription>,
    /// By message name and correlation key: those of each process that wait, and have no message on its way to them.
    waiting: HashMap<(Arc<str>, Arc<str>), ByProcess>,
    by_element: HashMap<(Key, Arc<str>), Key>,
    correlating: BTreeSet<Key>,
    /// Subscriptions that each message is on its way to.
    under_way: HashMap<Key, usize>,
}

impl MessageSubscriptions {
    pub fn open(tables: &Arc<Tables>) -> Result<Self, StoreError> {
        let mut subscriptions = MessageSubscriptions {
            table: Table::open(tables)?,
            waiting: HashMap::new(),
            by_element: HashMap::new(),
            correlating: BTreeSet::new(),
            under_way: HashMap::new(),
        };
        tables.scan::<MessageSubscription>(&mut |key, row| {
            if let Ok(key) = <[u8; 8]>::try_from(key) {
                subscriptions.index(Key(i64::from_be_bytes(key)), &row);
            }
        })?;
        Ok(subscriptions)
    }

    fn index(&mut self, key: Key, row: &MessageSubscription) {
        let value = &row.value;
        let element = (value.element_instance_key, value.message_name.clone());
        self.by_element.insert(element, key);
        self.index_state(key, row.correlating, value);
    }

    fn index_state(&mut self, key: Key, correlating: bool, value: &MessageSubscriptionValue) {
        if correlating {
            self.correlating.insert(key);
            *self.under_way.entry(value.message_key).or_default() += 1;
            return;
        }
        let name = (value.message_name.clone(), value.correlation_key.clone());
        let processes = self.waiting.entry(name).or_default();
        let keys = processes.entry(value.bpmn_process_id.clone()).or_default();
        keys.insert(key);
    }

    fn unindex_state(&mut self, key: Key, correlating: bool, value: &MessageSubscriptionValue) {
        if correlating {
            self.correlating.remove(&key);
            if let Entry::Occupied(mut count) = self.under_way.entry(value.message_key) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
            return;
        }
        let name = (value.message_name.clone(), value.correlation_key.clone());
        let Some(processes) = self.waiting.get_mut(&name) else {
            return;
        };
        if let Some(keys) = processes.get_mut(&value.bpmn_process_id) {
            keys.remove(&key);
            if keys.is_empty() {
                processes.remove(&value.bpmn_process_id);
            }
        }
        if processes.is_empty() {
            self.waiting.remove(&name);
        }
    }

    pub fn insert(&mut self, key: Key, value: MessageSubscriptionValue) {
        let row = MessageSubscription {
            value,
            correlating: false,
        };
        self.index(key, &row);
        self.table.insert(key, row);
    }

    pub fn remove(&mut self, key: Key) {
        let Some(row) = self.table.remove(key) else {
            return;
        };
        self.unindex_state(key, row.correlating, &row.value);
        self.by_element
            .remove(&(row.value.element_instance_key, row.value.message_name));
    }

    /// `message_key` none: the correlation has ended.
    pub fn set_correlating(&mut self, key: Key, message_key: Key, variables: Variables) {
        let Some(row) = self.table.get_mut(key) else {
            return;
        };
        let before = (row.correlating, row.value.clone());
        let weight = weight_of(&variables);
        row.correlating = message_key.some().is_some();
        row.value.message_key = message_key;
        row.value.variables = variables;
        let after = (row.correlating, row.value.clone());
        self.unindex_state(key, before.0, &before.1);
        self.index_state(key, after.0, &after.1);
        self.table.add_weight(weight);
    }

    pub fn get(&mut self, key: Key) -> Option<&MessageSubscription> {
        self.table.get(key)
    }

    pub fn of_element(&self, element_instance_key: Key, message_name: &Arc<str>) -> Option<Key> {
        self.by_element
            .get(&(element_instance_key, message_name.clone()))
            .copied()
    }

    /// The oldest waiting subscription of each process for a message, oldest first.
    pub fn takers(&self, name: &Arc<str>, correlation_key: &Arc<str>) -> Vec<Key> {
        let processes = self.waiting.get(&(name.clone(), correlation_key.clone()));
        let first = |keys: &BTreeSet<Key>| keys.first().copied();
        let mut takers: Vec<Key> = processes
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter_map(first)
            .collect();
        takers.sort_unstable();
        takers
    }

    /// The oldest subscription of this process that waits for the same message as `like`.
    pub fn another_taker(&self, like: &MessageSubscriptionValue) -> Option<Key> {
        let name = (like.message_name.clone(), like.correlation_key.clone());
        let keys = self.waiting.get(&name)?.get(&like.bpmn_process_id)?;
        keys.first().copied()
    }

    /// The message is on its way to some subscription.
    pub fn is_under_way(&self, message_key: Key) -> bool {
        self.under_way.contains_key(&message_key)
    }

    /// Correlations whose answer has not come yet, with keys after this one.
    pub fn pending_after(&self, key: Key) -> impl Iterator<Item = Key> + '_ {
        let rest = (Bound::Excluded(key), Bound::Unbounded);
        self.correlating.range(rest).copied()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SubscriptionState {
    Opening,
    Opened,
    Closing,
}

/// The process side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessMessageSubscription {
    pub value: ProcessMessageSubscriptionValue,
    pub state: SubscriptionState,
    /// The newest message that was correlated: the same one again is acknowledged, not taken twice.
    pub last_message: Key,
}

impl Row for ProcessMessageSubscription {
    const TABLE: u8 = 8;

    fn weight(&self) -> usize {
        let value = &self.value;
        let texts = [
            &value.bpmn_process_id,
            &value.message_name,
            &value.correlation_key,
        ];
        size_of::<Self>() + texts.iter().map(|text| text.len()).sum::<usize>()
    }
}

pub struct ProcessMessageSubscriptions {
    pub table: Table<ProcessMessageSubscription>,
    by_element: HashMap<(Key, Arc<str>), Key>,
    pending: BTreeSet<Key>,
}

impl ProcessMessageSubscriptions {
    pub fn open(tables: &Arc<Tables>) -> Result<Self, StoreError> {
        let mut subscriptions = ProcessMessageSubscriptions {
            table: Table::open(tables)?,
            by_element: HashMap::new(),
            pending: BTreeSet::new(),
        };
        tables.scan::<ProcessMessageSubscription>(&mut |key, row| {
            if let Ok(key) = <[u8; 8]>::try_from(key) {
                subscriptions.index(Key(i64::from_be_bytes(key)), &row);
            }
        })?;
        Ok(subscriptions)
    }

    fn index(&mut self, key: Key, row: &ProcessMessageSubscription) {
        let element = (
            row.value.element_instance_key,
            row.value.message_name.clone(),
        );
        self.by_element.insert(element, key);
        if row.state != SubscriptionState::Opened {
            self.pending.insert(key);
        }
    }

    pub fn insert(&mut self, key: Key, value: ProcessMessageSubscriptionValue) {
        let row = ProcessMessageSubscription {
            value,
            state: SubscriptionState::Opening,
            last_message: Key::NONE,
        };
        self.index(key, &row);
        self.table.insert(key, row);
    }

    pub fn set_state(&mut self, key: Key, state: SubscriptionState) {
        if let Some(row) = self.table.get_mut(key) {
            row.state = state;
            if state == SubscriptionState::Opened {
                self.pending.remove(&key);
            } else {
                self.pending.insert(key);
            }
        }
    }

    pub fn set_last_message(&mut self, key: Key, message: Key) {
        if let Some(row) = self.table.get_mut(key) {
            row.last_message = message;
        }
    }

    pub fn remove(&mut self, key: Key) {
        if let Some(row) = self.table.remove(key) {
            self.by_element
                .remove(&(row.value.element_instance_key, row.value.message_name));
            self.pending.remove(&key);
        }
    }

    pub fn get(&mut self, key: Key) -> Option<&ProcessMessageSubscription> {
        self.table.get(key)
    }

    pub fn of_element(&self, element_instance_key: Key, message_name: &Arc<str>) -> Option<Key> {
        self.by_element
            .get(&(element_instance_key, message_name.clone()))
            .copied()
    }

    /// Subscriptions that wait for the message partition's answer, with keys after this one.
    pub fn pending_after(&self, key: Key) -> impl Iterator<Item = Key> + '_ {
        let rest = (Bound::Excluded(key), Bound::Unbounded);
        self.pending.range(rest).copied()
    }
}
