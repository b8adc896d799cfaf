//! What definitions and instances wait for, beside timers and messages.

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
