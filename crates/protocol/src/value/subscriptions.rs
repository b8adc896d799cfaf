//! Subscriptions of definitions and instances, except timers and messages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::document::JsonText;
use crate::key::Key;
use crate::tenant::TenantId;

/// A message start event of the latest version of a process. It is on every partition, as each owns some of the messages.
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

/// An event that waits for a signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignalSubscriptionValue {
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub signal_name: Arc<str>,
    pub catch_event: u32,
    /// The element instance that waits; none for a start event of the process.
    pub catch_event_instance_key: Key,
}

/// A signal goes to all that wait for it. CONTINUED: more than fit into one turn; DELIVERED: they have had it now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignalValue {
    pub signal_name: Arc<str>,
    pub variables: Vec<(Arc<str>, JsonText)>,
}

/// An escalation was thrown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EscalationValue {
    pub process_instance_key: Key,
    pub process_definition_key: Key,
    pub escalation_code: Arc<str>,
    pub throw_element: u32,
    /// The event that catches it, and its definition; none if nothing does.
    pub catch_element: Option<(Key, u32)>,
}
