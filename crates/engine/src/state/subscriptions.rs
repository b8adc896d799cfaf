//! Message subscriptions: the process side lives with the instance, the message side where the correlation key hashes to.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{MessageSubscriptionValue, ProcessMessageSubscriptionValue};

use super::table::{Row, StoreError, Table, Tables};
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
}

pub struct MessageSubscriptions {
    pub table: Table<MessageSubscription>,
    by_name: HashMap<(Arc<str>, Arc<str>), BTreeSet<Key>>,
    by_element: HashMap<(Key, Arc<str>), Key>,
    correlating: BTreeSet<Key>,
}

impl MessageSubscriptions {
    pub fn open(tables: &Arc<Tables>) -> Result<Self, StoreError> {
        let mut subscriptions = MessageSubscriptions {
            table: Table::open(tables)?,
            by_name: HashMap::new(),
            by_element: HashMap::new(),
            correlating: BTreeSet::new(),
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
        let name = (value.message_name.clone(), value.correlation_key.clone());
        self.by_name.entry(name).or_default().insert(key);
        let element = (value.element_instance_key, value.message_name.clone());
        self.by_element.insert(element, key);
        if row.correlating {
            self.correlating.insert(key);
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
        let name = (
            row.value.message_name.clone(),
            row.value.correlation_key.clone(),
        );
        if let Some(keys) = self.by_name.get_mut(&name) {
            keys.remove(&key);
            if keys.is_empty() {
                self.by_name.remove(&name);
            }
        }
        self.by_element
            .remove(&(row.value.element_instance_key, row.value.message_name));
        self.correlating.remove(&key);
    }

    /// `message_key` none: the correlation has ended.
    pub fn set_correlating(&mut self, key: Key, message_key: Key, variables: Variables) {
        if let Some(row) = self.table.get_mut(key) {
            row.correlating = message_key.some().is_some();
            row.value.message_key = message_key;
            row.value.variables = variables;
            if row.correlating {
                self.correlating.insert(key);
            } else {
                self.correlating.remove(&key);
            }
        }
    }

    pub fn get(&mut self, key: Key) -> Option<&MessageSubscription> {
        self.table.get(key)
    }

    pub fn of_element(&self, element_instance_key: Key, message_name: &Arc<str>) -> Option<Key> {
        self.by_element
            .get(&(element_instance_key, message_name.clone()))
            .copied()
    }

    /// Subscriptions for a message, oldest first.
    pub fn matching(&self, name: &Arc<str>, correlation_key: &Arc<str>) -> Vec<Key> {
        self.by_name
            .get(&(name.clone(), correlation_key.clone()))
            .map(|keys| keys.iter().copied().collect())
            .unwrap_or_default()
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
