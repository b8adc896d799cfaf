//! The process side of message subscriptions: messages that element instances wait for.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::ProcessMessageSubscriptionValue;

use crate::state::table::{ReadEarlier, Row, StoreError, Table, Tables, read_without_list};
use crate::state::undo::Indexed;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SubscriptionState {
    Opening,
    Opened,
    Closing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessMessageSubscription {
    /// The partition of the message side.
    pub subscription_partition: u32,
    pub process_instance_key: Key,
    pub element_instance_key: Key,
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub message_name: Arc<str>,
    pub correlation_key: Arc<str>,
    pub interrupting: bool,
    /// The event (or receive task) that the message triggers.
    pub element: u32,
    pub state: SubscriptionState,
    /// See [`ProcessMessageSubscriptionValue::revision`].
    pub revision: u32,
    /// The last correlated message: the same one again is acknowledged, but not taken twice.
    pub last_message: Key,
    /// Earlier correlated messages, ascending, at most [`REMEMBERED`]: a node that was paused may send a message that was
    /// resent another way long ago. Only the second version of the row has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<Key>,
}

/// The version of the protocol between nodes since which nodes know the second version of the row.
const EARLIER_SINCE: u32 = 2;

/// Number of earlier messages that a subscription remembers. A message older than all of them counts as taken. It could
/// only be new if another instance refused it while this one took that many newer ones: one round trip against more than
/// thirty.
const REMEMBERED: usize = 64;

impl ProcessMessageSubscription {
    fn of(value: &ProcessMessageSubscriptionValue) -> ProcessMessageSubscription {
        ProcessMessageSubscription {
            subscription_partition: value.subscription_partition,
            process_instance_key: value.process_instance_key,
            element_instance_key: value.element_instance_key,
            process_definition_key: value.process_definition_key,
            bpmn_process_id: value.bpmn_process_id.clone(),
            message_name: value.message_name.clone(),
            correlation_key: value.correlation_key.clone(),
            interrupting: value.interrupting,
            element: value.element,
            state: SubscriptionState::Opening,
            revision: value.revision,
            last_message: Key::NONE,
            earlier: Vec::new(),
        }
    }

    /// Whether the message was correlated before.
    pub fn has_taken(&self, message: Key) -> bool {
        let is_forgotten = |oldest: &Key| self.earlier.len() >= REMEMBERED && message < *oldest;
        message == self.last_message
            || self.earlier.binary_search(&message).is_ok()
            || self.earlier.first().is_some_and(is_forgotten)
    }

    /// Records a message. True if one more is remembered than before.
    fn take(&mut self, message: Key) -> bool {
        let last = std::mem::replace(&mut self.last_message, message);
        if last.is_none() {
            return false;
        }
        let Err(place) = self.earlier.binary_search(&last) else {
            return false;
        };
        self.earlier.insert(place, last);
        let is_full = self.earlier.len() > REMEMBERED;
        if is_full {
            self.earlier.remove(0);
        }
        !is_full
    }

    /// The record value, without a message.
    pub fn value(&self) -> ProcessMessageSubscriptionValue {
        ProcessMessageSubscriptionValue {
            subscription_partition: self.subscription_partition,
            process_instance_key: self.process_instance_key,
            element_instance_key: self.element_instance_key,
            process_definition_key: self.process_definition_key,
            bpmn_process_id: self.bpmn_process_id.clone(),
            message_name: self.message_name.clone(),
            correlation_key: self.correlation_key.clone(),
            interrupting: self.interrupting,
            element: self.element,
            message_key: Key::NONE,
            variables: Vec::new(),
            revision: self.revision,
        }
    }
}

impl Row for ProcessMessageSubscription {
    const TABLE: u8 = 8;
    const VERSION: u8 = 2;

    fn version(&self) -> u8 {
        if self.earlier.is_empty() { 1 } else { 2 }
    }

    fn read_earlier(version: u8, bytes: &[u8]) -> ReadEarlier<Self> {
        read_without_list(version, bytes)
    }

    fn known_to(&self, protocol: u32) -> Option<Self> {
        let is_new = protocol < EARLIER_SINCE && !self.earlier.is_empty();
        is_new.then(|| ProcessMessageSubscription {
            earlier: Vec::new(),
            ..self.clone()
        })
    }

    fn weight(&self) -> usize {
        let texts = [
            &self.bpmn_process_id,
            &self.message_name,
            &self.correlation_key,
        ];
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        size_of::<Self>() + texts + self.earlier.len() * size_of::<Key>()
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
        tables.scan_by_key::<ProcessMessageSubscription>(&mut |key, row| {
            subscriptions.add_to_index(key, &row)
        })?;
        Ok(subscriptions)
    }

    pub(in crate::appliers) fn insert(
        &mut self,
        key: Key,
        value: &ProcessMessageSubscriptionValue,
    ) {
        let row = ProcessMessageSubscription::of(value);
        self.add_to_index(key, &row);
        self.table.insert(key, row);
    }

    pub(in crate::appliers) fn set_state(&mut self, key: Key, state: SubscriptionState) {
        if let Some(row) = self.table.must_get_mut(key) {
            row.state = state;
            if state == SubscriptionState::Opened {
                self.pending.remove(&key);
            } else {
                self.pending.insert(key);
            }
        }
    }

    /// Moves the subscription to an event of another definition, because its instance was migrated. The message side must
    /// be notified.
    pub(in crate::appliers) fn migrate(
        &mut self,
        key: Key,
        value: &ProcessMessageSubscriptionValue,
    ) {
        if let Some(row) = self.table.must_get_mut(key) {
            let (last_message, earlier) = (row.last_message, std::mem::take(&mut row.earlier));
            *row = ProcessMessageSubscription::of(value);
            (row.last_message, row.earlier) = (last_message, earlier);
            self.pending.insert(key);
        }
    }

    pub(in crate::appliers) fn take(&mut self, key: Key, message: Key) {
        if let Some(row) = self.table.must_get_mut(key)
            && row.take(message)
        {
            self.table.add_weight(size_of::<Key>());
        }
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        if let Some(row) = self.table.remove(key) {
            self.take_from_index(key, &row);
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

    /// Subscriptions awaiting an answer from the message partition, with keys after this one.
    pub fn pending_after(&self, key: Key) -> impl Iterator<Item = Key> + '_ {
        let rest = (Bound::Excluded(key), Bound::Unbounded);
        self.pending.range(rest).copied()
    }
}

impl Indexed<ProcessMessageSubscription> for ProcessMessageSubscriptions {
    fn rows(&mut self) -> &mut Table<ProcessMessageSubscription> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &ProcessMessageSubscription) {
        let element = (row.element_instance_key, row.message_name.clone());
        self.by_element.insert(element, key);
        if row.state != SubscriptionState::Opened {
            self.pending.insert(key);
        }
    }

    fn take_from_index(&mut self, key: Key, row: &ProcessMessageSubscription) {
        let element = (row.element_instance_key, row.message_name.clone());
        self.by_element.remove(&element);
        self.pending.remove(&key);
    }
}
