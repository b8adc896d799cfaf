//! Subscriptions of definitions and instances, except timers and messages.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use super::RecordValue;
use crate::document::JsonText;
use crate::intent::{SignalIntent, SignalSubscriptionIntent, ValueType};
use crate::key::Key;
use crate::record::decode;
use crate::tenant::TenantId;

/// A message start event of the latest version of a process. It is on every partition, as each owns some of the messages.
///
/// MIGRATED is Skep's own: the instance, which a message had started, belongs to another process now. Without a process id it
/// no longer keeps messages with its correlation key from starting other instances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageStartEventSubscriptionValue {
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub message_name: Arc<str>,
    pub start_event: u32,
    /// On CORRELATED: the instance that begins, and the message that began it.
    pub process_instance_key: Key,
    pub message_key: Key,
    pub correlation_key: Arc<str>,
    pub variables: Vec<(Arc<str>, JsonText)>,
    pub tenant: TenantId,
}

/// An event that waits for a signal. Its second version has the tenant; that of the default tenant is written as the first.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SignalSubscriptionValue {
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub signal_name: Arc<str>,
    pub catch_event: u32,
    /// The element instance that waits; none for a start event of the process.
    pub catch_event_instance_key: Key,
    /// That of the definition: signals of others do not reach it.
    pub tenant: TenantId,
}

impl Serialize for SignalSubscriptionValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let first = (
            self.process_definition_key,
            &self.bpmn_process_id,
            &self.signal_name,
            self.catch_event,
            self.catch_event_instance_key,
        );
        match self.version() {
            1 => first.serialize(serializer),
            _ => (first, &self.tenant).serialize(serializer),
        }
    }
}

impl RecordValue for SignalSubscriptionValue {
    const VALUE_TYPE: ValueType = ValueType::SignalSubscription;
    const VERSION: u8 = 2;
    type Intent = SignalSubscriptionIntent;

    fn version(&self) -> u8 {
        with_tenant(&self.tenant)
    }

    fn read_earlier(version: u8, body: &[u8]) -> Option<SignalSubscriptionValue> {
        type First = (Key, Arc<str>, Arc<str>, u32, Key);
        let first: First = (version == 1).then(|| decode(body).ok())??;
        let (process_definition_key, bpmn_process_id, signal_name, catch_event, waits) = first;
        Some(SignalSubscriptionValue {
            process_definition_key,
            bpmn_process_id,
            signal_name,
            catch_event,
            catch_event_instance_key: waits,
            tenant: TenantId::default(),
        })
    }
}

/// The first version knew the default tenant only.
fn with_tenant(tenant: &TenantId) -> u8 {
    if tenant.is_default() { 1 } else { 2 }
}

/// A signal goes to all subscriptions of its tenant. CONTINUED: more than fit into one turn; DELIVERED: these have received
/// it. Versions as those of [`SignalSubscriptionValue`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SignalValue {
    pub signal_name: Arc<str>,
    pub variables: Vec<(Arc<str>, JsonText)>,
    pub tenant: TenantId,
}

impl Serialize for SignalValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let first = (&self.signal_name, &self.variables);
        match self.version() {
            1 => first.serialize(serializer),
            _ => (first, &self.tenant).serialize(serializer),
        }
    }
}

impl RecordValue for SignalValue {
    const VALUE_TYPE: ValueType = ValueType::Signal;
    const VERSION: u8 = 2;
    type Intent = SignalIntent;

    fn version(&self) -> u8 {
        with_tenant(&self.tenant)
    }

    fn read_earlier(version: u8, body: &[u8]) -> Option<SignalValue> {
        let (signal_name, variables) = (version == 1).then(|| decode(body).ok())??;
        Some(SignalValue {
            signal_name,
            variables,
            tenant: TenantId::default(),
        })
    }
}

/// An escalation was thrown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EscalationValue {
    pub process_instance_key: Key,
    pub process_definition_key: Key,
    pub escalation_code: Arc<str>,
    pub throw_element: u32,
    /// The event that catches it, and its definition; none if it is not caught.
    pub catch_element: Option<(Key, u32)>,
}
