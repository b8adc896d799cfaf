//! The message side of subscriptions: instances that wait for a message on this partition.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::value::MessageSubscriptionValue;
use skep_protocol::{Key, TenantId};

use super::super::sharded::{Name, Sharded};
use crate::remote::Variables;
use crate::state::table::{Row, StoreError, Table, Tables, weight_of};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageSubscription {
    pub process_instance_key: Key,
    pub element_instance_key: Key,
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub message_name: Arc<str>,
    pub correlation_key: Arc<str>,
    pub tenant: TenantId,
    pub interrupting: bool,
    /// See [`MessageSubscriptionValue::revision`].
    pub revision: u32,
    /// The message in transit to the instance. It is kept so that it can be sent again after it has expired.
    pub under_way: Option<UnderWay>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnderWay {
    pub message_key: Key,
    pub variables: Variables,
}

impl MessageSubscription {
    fn of(value: &MessageSubscriptionValue) -> MessageSubscription {
        MessageSubscription {
            process_instance_key: value.process_instance_key,
            element_instance_key: value.element_instance_key,
            process_definition_key: value.process_definition_key,
            bpmn_process_id: value.bpmn_process_id.clone(),
            message_name: value.message_name.clone(),
            correlation_key: value.correlation_key.clone(),
            tenant: value.tenant.clone(),
            interrupting: value.interrupting,
            revision: value.revision,
            under_way: None,
        }
    }

    /// The record value, with the message in transit.
    pub fn value(&self) -> MessageSubscriptionValue {
        let under_way = self.under_way.as_ref();
        MessageSubscriptionValue {
            process_instance_key: self.process_instance_key,
            element_instance_key: self.element_instance_key,
            process_definition_key: self.process_definition_key,
            bpmn_process_id: self.bpmn_process_id.clone(),
            message_name: self.message_name.clone(),
            correlation_key: self.correlation_key.clone(),
            interrupting: self.interrupting,
            message_key: under_way.map_or(Key::NONE, |message| message.message_key),
            variables: under_way.map_or_else(Vec::new, |message| message.variables.clone()),
            tenant: self.tenant.clone(),
            revision: self.revision,
        }
    }

    fn awaited(&self) -> Name {
        let (name, key) = (self.message_name.clone(), self.correlation_key.clone());
        (self.tenant.clone(), name, key)
    }
}

impl Row for MessageSubscription {
    const TABLE: u8 = 7;

    fn weight(&self) -> usize {
        let texts = [
            &self.bpmn_process_id,
            &self.message_name,
            &self.correlation_key,
        ];
        let under_way = self.under_way.as_ref();
        size_of::<Self>()
            + texts.iter().map(|text| text.len()).sum::<usize>()
            + self.tenant.weight()
            + under_way.map_or(0, |message| weight_of(&message.variables))
    }
}

/// Subscriptions by process id, oldest first.
type ByProcess = BTreeMap<Arc<str>, BTreeSet<Key>>;

pub struct MessageSubscriptions {
    pub table: Table<MessageSubscription>,
    /// Waiting subscriptions of each process that have no message in transit.
    waiting: Sharded<ByProcess>,
    by_element: HashMap<(Key, Arc<str>), Key>,
    /// Those with a message in transit, with their correlation keys.
    correlating: BTreeMap<Key, Arc<str>>,
    /// Number of subscriptions that each message is in transit to.
    under_way: HashMap<Key, usize>,
}

impl MessageSubscriptions {
    pub fn open(tables: &Arc<Tables>) -> Result<Self, StoreError> {
        let mut subscriptions = MessageSubscriptions {
            table: Table::open(tables)?,
            waiting: Sharded::default(),
            by_element: HashMap::new(),
            correlating: BTreeMap::new(),
            under_way: HashMap::new(),
        };
        tables.scan_by_key::<MessageSubscription>(&mut |key, row| {
            subscriptions.add_to_index(key, &row)
        })?;
        Ok(subscriptions)
    }

    fn sent(&mut self, key: Key, correlation_key: Arc<str>, message_key: Key) {
        self.correlating.insert(key, correlation_key);
        *self.under_way.entry(message_key).or_default() += 1;
    }

    fn answered(&mut self, key: Key, message_key: Key) {
        self.correlating.remove(&key);
        if let Entry::Occupied(mut count) = self.under_way.entry(message_key) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    fn waits(&mut self, key: Key, message: Name, bpmn_process_id: &Arc<str>) {
        let processes = self.waiting.or_default(message);
        let keys = processes.entry(bpmn_process_id.clone()).or_default();
        keys.insert(key);
    }

    fn waits_no_more(&mut self, key: Key, message: Name, bpmn_process_id: &Arc<str>) {
        let Some(processes) = self.waiting.get_mut(&message) else {
            return;
        };
        if let Some(keys) = processes.get_mut(bpmn_process_id) {
            keys.remove(&key);
            if keys.is_empty() {
                processes.remove(bpmn_process_id);
            }
        }
        if processes.is_empty() {
            self.waiting.remove(&message);
        }
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, value: &MessageSubscriptionValue) {
        let row = MessageSubscription::of(value);
        self.add_to_index(key, &row);
        self.table.insert(key, row);
    }

    /// Inserts a subscription as another partition had it, with the message in transit. It may be here already, if that partition has lost
    /// its knowledge of that in a recovery.
    pub(in crate::appliers) fn arrive(&mut self, key: Key, value: &MessageSubscriptionValue) {
        self.remove(key);
        let message = value.message_key.some();
        let row = MessageSubscription {
            under_way: message.map(|message_key| UnderWay {
                message_key,
                variables: value.variables.clone(),
            }),
            ..MessageSubscription::of(value)
        };
        self.add_to_index(key, &row);
        self.table.insert(key, row);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        if let Some(row) = self.table.remove(key) {
            self.take_from_index(key, &row);
        }
    }

    /// Moves the subscription to an event of another definition, because its instance was migrated. The awaited message
    /// stays.
    pub(in crate::appliers) fn migrate(&mut self, key: Key, value: &MessageSubscriptionValue) {
        let Some(row) = self.table.must_get_mut(key) else {
            return;
        };
        let waits = row.under_way.is_none();
        let (message, before) = (row.awaited(), row.bpmn_process_id.clone());
        row.process_definition_key = value.process_definition_key;
        row.bpmn_process_id = value.bpmn_process_id.clone();
        row.interrupting = value.interrupting;
        row.revision = value.revision;
        if waits {
            self.waits_no_more(key, message.clone(), &before);
            self.waits(key, message, &value.bpmn_process_id);
        }
    }

    /// Sets the message in transit to the instance. `None`: the correlation has ended, and the subscription waits again.
    pub(in crate::appliers) fn set_under_way(&mut self, key: Key, message: Option<UnderWay>) {
        let Some(row) = self.table.must_get_mut(key) else {
            return;
        };
        let weight = message.as_ref().map_or(0, |m| weight_of(&m.variables));
        let after = message.as_ref().map(|m| m.message_key);
        let before = std::mem::replace(&mut row.under_way, message);
        let (name, process) = (row.awaited(), row.bpmn_process_id.clone());
        self.table.add_weight(weight);
        match before {
            Some(before) => self.answered(key, before.message_key),
            None => self.waits_no_more(key, name.clone(), &process),
        }
        match after {
            Some(message_key) => self.sent(key, name.2, message_key),
            None => self.waits(key, name, &process),
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

    /// The oldest waiting subscription of each process for a message, oldest first.
    pub fn takers(
        &self,
        tenant: &TenantId,
        name: &Arc<str>,
        correlation_key: &Arc<str>,
    ) -> Vec<Key> {
        let message = (tenant.clone(), name.clone(), correlation_key.clone());
        let processes = self.waiting.get(&message);
        let first = |keys: &BTreeSet<Key>| keys.first().copied();
        let mut takers: Vec<Key> = processes
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter_map(first)
            .collect();
        takers.sort_unstable();
        takers
    }

    /// Whether any subscription waits for the message.
    pub fn is_awaited(
        &self,
        tenant: &TenantId,
        name: &Arc<str>,
        correlation_key: &Arc<str>,
    ) -> bool {
        let message = (tenant.clone(), name.clone(), correlation_key.clone());
        self.waiting.contains(&message)
    }

    /// The oldest subscription of this process that waits for the same message as `like`.
    pub fn another_taker(&self, like: &MessageSubscriptionValue) -> Option<Key> {
        let (name, key) = (like.message_name.clone(), like.correlation_key.clone());
        let message = (like.tenant.clone(), name, key);
        let keys = self.waiting.get(&message)?.get(&like.bpmn_process_id)?;
        keys.first().copied()
    }

    /// The subscriptions with correlation keys of these shards that have no message in transit, each with its correlation key.
    pub fn waiting_of_shards(
        &self,
        shards: RangeInclusive<u16>,
    ) -> impl Iterator<Item = (&Arc<str>, Key)> {
        let waiting = self.waiting.of_shards(shards);
        waiting.flat_map(|(correlation_key, processes)| {
            let keys = processes.values().flatten();
            keys.map(move |key| (correlation_key, *key))
        })
    }

    /// The subscriptions that have a message in transit, each with its correlation key.
    pub fn correlating(&self) -> impl Iterator<Item = (&Arc<str>, Key)> {
        let correlating = self.correlating.iter();
        correlating.map(|(key, correlation_key)| (correlation_key, *key))
    }

    /// Whether the message is in transit to any subscription.
    pub fn is_under_way(&self, message_key: Key) -> bool {
        self.under_way.contains_key(&message_key)
    }

    /// Unanswered correlations with keys after this one.
    pub fn pending_after(&self, key: Key) -> impl Iterator<Item = Key> + '_ {
        let rest = (Bound::Excluded(key), Bound::Unbounded);
        self.correlating.range(rest).map(|(key, _)| *key)
    }
}

impl Indexed<MessageSubscription> for MessageSubscriptions {
    fn rows(&mut self) -> &mut Table<MessageSubscription> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &MessageSubscription) {
        let element = (row.element_instance_key, row.message_name.clone());
        self.by_element.insert(element, key);
        match &row.under_way {
            Some(message) => self.sent(key, row.correlation_key.clone(), message.message_key),
            None => self.waits(key, row.awaited(), &row.bpmn_process_id),
        }
    }

    fn take_from_index(&mut self, key: Key, row: &MessageSubscription) {
        match &row.under_way {
            Some(message) => self.answered(key, message.message_key),
            None => self.waits_no_more(key, row.awaited(), &row.bpmn_process_id),
        }
        let element = (row.element_instance_key, row.message_name.clone());
        self.by_element.remove(&element);
    }
}
