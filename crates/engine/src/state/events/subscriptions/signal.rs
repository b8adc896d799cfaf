//! Signals: the events that wait for one, and signals still being delivered to very many receivers.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use skep_protocol::record::decode;
use skep_protocol::value::{RecordValue, SignalSubscriptionValue};
use skep_protocol::{Key, TenantId};

use crate::remote::Variables;
use crate::state::table::{Row, StoreError, Table, Tables, weight_of};
use crate::state::undo::Indexed;

/// A signal subscription. Like its records, that of the default tenant is stored in the format of the first version.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SignalSubscription {
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub signal_name: Arc<str>,
    /// The triggered event.
    pub catch_event: u32,
    /// The element instance that owns the subscription. None: the definition, for its start event.
    pub element_instance_key: Key,
    pub tenant: TenantId,
}

impl Serialize for SignalSubscription {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Row and value have the same fields.
        self.value().serialize(serializer)
    }
}

impl SignalSubscription {
    fn of(value: &SignalSubscriptionValue) -> SignalSubscription {
        SignalSubscription {
            process_definition_key: value.process_definition_key,
            bpmn_process_id: value.bpmn_process_id.clone(),
            signal_name: value.signal_name.clone(),
            catch_event: value.catch_event,
            element_instance_key: value.catch_event_instance_key,
            tenant: value.tenant.clone(),
        }
    }

    /// The record value.
    pub fn value(&self) -> SignalSubscriptionValue {
        SignalSubscriptionValue {
            process_definition_key: self.process_definition_key,
            bpmn_process_id: self.bpmn_process_id.clone(),
            signal_name: self.signal_name.clone(),
            catch_event: self.catch_event,
            catch_event_instance_key: self.element_instance_key,
            tenant: self.tenant.clone(),
        }
    }

    /// Whether it starts instances.
    pub fn is_of_definition(&self) -> bool {
        self.element_instance_key.is_none()
    }
}

impl Row for SignalSubscription {
    const TABLE: u8 = 27;
    const VERSION: u8 = SignalSubscriptionValue::VERSION;

    fn version(&self) -> u8 {
        version_with(&self.tenant)
    }

    fn read_earlier(version: u8, bytes: &[u8]) -> Option<Result<Self, String>> {
        let value = SignalSubscriptionValue::read_earlier(version, bytes)?;
        Some(Ok(SignalSubscription::of(&value)))
    }

    fn weight(&self) -> usize {
        let texts = self.bpmn_process_id.len() + self.signal_name.len() + self.tenant.weight();
        size_of::<Self>() + texts
    }
}

fn version_with(tenant: &TenantId) -> u8 {
    if tenant.is_default() { 1 } else { 2 }
}

/// A signal that has not yet reached all subscriptions that existed when it was broadcast.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SignalOnItsWay {
    pub signal_name: Arc<str>,
    pub variables: Variables,
    /// The newest subscription that may receive it.
    pub last: Key,
    pub tenant: TenantId,
}

impl Serialize for SignalOnItsWay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let first = (&self.signal_name, &self.variables, self.last);
        match self.version() {
            1 => first.serialize(serializer),
            _ => (first, &self.tenant).serialize(serializer),
        }
    }
}

impl Row for SignalOnItsWay {
    const TABLE: u8 = 28;
    const VERSION: u8 = 2;

    fn version(&self) -> u8 {
        version_with(&self.tenant)
    }

    fn read_earlier(version: u8, bytes: &[u8]) -> Option<Result<Self, String>> {
        let read = |(signal_name, variables, last)| SignalOnItsWay {
            signal_name,
            variables,
            last,
            tenant: TenantId::default(),
        };
        (version == 1).then(|| decode(bytes).map(read))
    }

    fn weight(&self) -> usize {
        let texts = self.signal_name.len() + self.tenant.weight();
        size_of::<Self>() + texts + weight_of(&self.variables)
    }
}

/// Tenant and name.
type Name = (TenantId, Arc<str>);

pub struct SignalSubscriptions {
    pub table: Table<SignalSubscription>,
    pub on_their_way: Table<SignalOnItsWay>,
    by_name: HashMap<Name, BTreeSet<Key>>,
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

    /// Moves the subscription to an event of another definition. Subscriptions of definitions are not migrated.
    pub(in crate::appliers) fn migrate(&mut self, key: Key, value: &SignalSubscriptionValue) {
        if let Some(row) = self.table.must_get_mut(key) {
            *row = SignalSubscription::of(value);
        }
    }

    pub fn get(&mut self, key: Key) -> Option<&SignalSubscription> {
        self.table.get(key)
    }

    fn named(&self, tenant: &TenantId, name: &Arc<str>) -> Option<&BTreeSet<Key>> {
        self.by_name.get(&(tenant.clone(), name.clone()))
    }

    /// The oldest subscription to this signal of this tenant that is newer than `after` and not newer than `last`.
    pub fn next(
        &self,
        tenant: &TenantId,
        signal_name: &Arc<str>,
        after: Key,
        last: Key,
    ) -> Option<Key> {
        let keys = self.named(tenant, signal_name)?;
        let later = (Bound::Excluded(after), Bound::Included(last));
        (after < last).then(|| keys.range(later).next().copied())?
    }

    /// The newest subscription to this signal of this tenant.
    pub fn newest(&self, tenant: &TenantId, signal_name: &Arc<str>) -> Option<Key> {
        self.named(tenant, signal_name)?.last().copied()
    }

    /// Subscriptions of the start events of one version of a process.
    pub fn of_definition(&self, definition: Key) -> Vec<Key> {
        super::copied(self.by_definition.get(&definition))
    }

    /// Number of subscriptions for start events of definitions.
    pub fn of_definitions(&self) -> usize {
        self.by_definition.values().map(BTreeSet::len).sum()
    }
}

fn name_of(row: &SignalSubscription) -> Name {
    (row.tenant.clone(), row.signal_name.clone())
}

impl Indexed<SignalSubscription> for SignalSubscriptions {
    fn rows(&mut self) -> &mut Table<SignalSubscription> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &SignalSubscription) {
        let names = self.by_name.entry(name_of(row));
        names.or_default().insert(key);
        if row.is_of_definition() {
            let definitions = self.by_definition.entry(row.process_definition_key);
            definitions.or_default().insert(key);
        }
    }

    fn take_from_index(&mut self, key: Key, row: &SignalSubscription) {
        super::remove_from(&mut self.by_name, &name_of(row), key);
        if row.is_of_definition() {
            super::remove_from(&mut self.by_definition, &row.process_definition_key, key);
        }
    }
}
