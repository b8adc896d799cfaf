//! Message start events: the definitions that messages start, and the instances started by them.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::value::MessageStartEventSubscriptionValue;
use skep_protocol::{Key, TenantId};

use super::super::sharded::{self, Sharded};
use super::{copied, remove_from};
use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

/// A start event of the latest version of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageStart {
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub message_name: Arc<str>,
    pub start_event: u32,
    pub tenant: TenantId,
}

impl MessageStart {
    fn of(value: &MessageStartEventSubscriptionValue) -> MessageStart {
        MessageStart {
            process_definition_key: value.process_definition_key,
            bpmn_process_id: value.bpmn_process_id.clone(),
            message_name: value.message_name.clone(),
            start_event: value.start_event,
            tenant: value.tenant.clone(),
        }
    }

    /// The record value, without a message.
    pub fn value(&self) -> MessageStartEventSubscriptionValue {
        MessageStartEventSubscriptionValue {
            process_definition_key: self.process_definition_key,
            bpmn_process_id: self.bpmn_process_id.clone(),
            message_name: self.message_name.clone(),
            start_event: self.start_event,
            process_instance_key: Key::NONE,
            message_key: Key::NONE,
            correlation_key: Arc::default(),
            variables: Vec::new(),
            tenant: self.tenant.clone(),
        }
    }
}

impl Row for MessageStart {
    const TABLE: u8 = 25;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.bpmn_process_id.len() + self.message_name.len()
    }
}

/// Stored by the key of a process instance that a message has started: while the instance lives, no other instance of the
/// process starts with the same correlation key. It is on the partition of that correlation key, like the messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartedByMessage {
    pub tenant: TenantId,
    pub bpmn_process_id: Arc<str>,
    pub correlation_key: Arc<str>,
}

impl StartedByMessage {
    pub(in crate::appliers) fn of(value: &MessageStartEventSubscriptionValue) -> StartedByMessage {
        StartedByMessage {
            tenant: value.tenant.clone(),
            bpmn_process_id: value.bpmn_process_id.clone(),
            correlation_key: value.correlation_key.clone(),
        }
    }

    fn keeps_others(&self) -> sharded::Name {
        let (id, key) = (self.bpmn_process_id.clone(), self.correlation_key.clone());
        (self.tenant.clone(), id, key)
    }
}

/// Tenant and name, or process id.
type Name = (TenantId, Arc<str>);

impl Row for StartedByMessage {
    const TABLE: u8 = 26;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.bpmn_process_id.len() + self.correlation_key.len()
    }
}

pub struct MessageStarts {
    pub table: Table<MessageStart>,
    pub started: Table<StartedByMessage>,
    by_name: HashMap<Name, BTreeSet<Key>>,
    by_process: HashMap<Name, BTreeSet<Key>>,
    by_definition: HashMap<Key, BTreeSet<Key>>,
    running: Sharded<Key>,
}

impl MessageStarts {
    pub fn open(tables: &Arc<Tables>) -> Result<MessageStarts, StoreError> {
        let mut rows = Vec::new();
        let mut running = Sharded::default();
        let mut starts = MessageStarts {
            table: Table::open_with(tables, |key, row: MessageStart| rows.push((key, row)))?,
            started: Table::open_with(tables, |key, row: StartedByMessage| {
                running.insert(row.keeps_others(), key);
            })?,
            by_name: HashMap::new(),
            by_process: HashMap::new(),
            by_definition: HashMap::new(),
            running,
        };
        for (key, row) in rows {
            starts.add_to_index(key, &row);
        }
        Ok(starts)
    }

    pub(in crate::appliers) fn insert(
        &mut self,
        key: Key,
        value: &MessageStartEventSubscriptionValue,
    ) {
        let row = MessageStart::of(value);
        self.add_to_index(key, &row);
        self.table.insert(key, row);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        if let Some(row) = self.table.remove(key) {
            self.take_from_index(key, &row);
        }
    }

    pub(in crate::appliers::state) fn undo(&mut self, position: u64) {
        Indexed::<MessageStart>::undo(self, position);
        Indexed::<StartedByMessage>::undo(self, position);
    }

    pub fn get(&mut self, key: Key) -> Option<&MessageStart> {
        self.table.get(key)
    }

    /// Start events triggered by messages of this name, oldest first.
    pub fn named(&self, tenant: &TenantId, message_name: &Arc<str>) -> Vec<Key> {
        copied(self.by_name.get(&(tenant.clone(), message_name.clone())))
    }

    /// Start events of a process.
    pub fn of_process(&self, tenant: &TenantId, bpmn_process_id: &Arc<str>) -> Vec<Key> {
        let process = (tenant.clone(), bpmn_process_id.clone());
        copied(self.by_process.get(&process))
    }

    /// Start events of one version of a process.
    pub fn of_definition(&self, definition: Key) -> Vec<Key> {
        copied(self.by_definition.get(&definition))
    }

    /// Records that a message has started this instance.
    pub(in crate::appliers) fn begin(&mut self, instance: Key, started: StartedByMessage) {
        self.add_to_index(instance, &started);
        self.started.insert(instance, started);
    }

    /// Removes an instance that has ended.
    pub(in crate::appliers) fn end(&mut self, instance: Key) {
        if self.running.is_empty() {
            return;
        }
        if let Some(row) = self.started.remove(instance) {
            self.take_from_index(instance, &row);
        }
    }

    /// Whether an instance of the process started by a message with this correlation key is active.
    pub fn is_running(
        &self,
        tenant: &TenantId,
        bpmn_process_id: &Arc<str>,
        correlation_key: &Arc<str>,
    ) -> bool {
        let (id, key) = (bpmn_process_id.clone(), correlation_key.clone());
        self.running.contains(&(tenant.clone(), id, key))
    }

    /// The instances that were started with correlation keys of these shards, each with its correlation key.
    pub fn of_shards(&self, shards: RangeInclusive<u16>) -> impl Iterator<Item = (&Arc<str>, Key)> {
        let running = self.running.of_shards(shards);
        running.map(|(correlation_key, instance)| (correlation_key, *instance))
    }

    /// The process id and correlation key that the instance occupies, if a message has started it.
    pub fn started_by(&mut self, instance: Key) -> Option<StartedByMessage> {
        if self.running.is_empty() {
            return None;
        }
        self.started.get(instance).cloned()
    }
}

impl Indexed<MessageStart> for MessageStarts {
    fn rows(&mut self) -> &mut Table<MessageStart> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &MessageStart) {
        let tenant = row.tenant.clone();
        let names = self.by_name.entry((tenant, row.message_name.clone()));
        names.or_default().insert(key);
        let tenant = row.tenant.clone();
        let processes = self.by_process.entry((tenant, row.bpmn_process_id.clone()));
        processes.or_default().insert(key);
        let definitions = self.by_definition.entry(row.process_definition_key);
        definitions.or_default().insert(key);
    }

    fn take_from_index(&mut self, key: Key, row: &MessageStart) {
        let name = (row.tenant.clone(), row.message_name.clone());
        remove_from(&mut self.by_name, &name, key);
        let process = (row.tenant.clone(), row.bpmn_process_id.clone());
        remove_from(&mut self.by_process, &process, key);
        remove_from(&mut self.by_definition, &row.process_definition_key, key);
    }
}

impl Indexed<StartedByMessage> for MessageStarts {
    fn rows(&mut self) -> &mut Table<StartedByMessage> {
        &mut self.started
    }

    fn add_to_index(&mut self, key: Key, row: &StartedByMessage) {
        self.running.insert(row.keeps_others(), key);
    }

    fn take_from_index(&mut self, _key: Key, row: &StartedByMessage) {
        self.running.remove(&row.keeps_others());
    }
}
