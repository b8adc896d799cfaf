//! Conditional events: subscriptions to conditions, and the evaluation of the conditions that start processes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::document::JsonText;
use crate::key::Key;
use crate::tenant::TenantId;

/// An event that waits for its condition to hold. On MIGRATED: its new state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalSubscriptionValue {
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub process_instance_key: Key,
    /// The element instance that waits, for itself, its boundary events or its event sub-processes; none for a start event of
    /// the process.
    pub element_instance_key: Key,
    /// The scope of the condition: changes of variables there and in the enclosing scopes count.
    pub scope_key: Key,
    pub catch_event: u32,
    pub interrupting: bool,
    pub condition: Arc<str>,
    /// The variables whose changes count; empty for all.
    pub variable_names: Vec<Arc<str>>,
    /// `create`, `update` or both; empty for both.
    pub variable_events: Vec<Arc<str>>,
    pub tenant: TenantId,
}

/// Evaluates the conditions of start events for a client. CONTINUED: there are more than fit into one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalEvaluationValue {
    /// The requested definition; none for all of the tenant.
    pub process_definition_key: Key,
    pub tenant: TenantId,
    /// On CONTINUED: set once, when it begins.
    pub variables: Vec<(Arc<str>, JsonText)>,
    /// Definition and instance of each that was started; on CONTINUED, of one turn.
    pub started: Vec<(Key, Key)>,
    /// On CONTINUED, when it begins: the newest subscription to check.
    pub last: Key,
}

/// Variables of a scope have changed, and more conditions listen there than are checked in one step. ENDED: all were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionCheckValue {
    pub process_instance_key: Key,
    pub scope_key: Key,
    /// Names of variables, and whether they are new.
    pub changes: Vec<(Arc<str>, bool)>,
    /// The newest subscription to check.
    pub last: Key,
}
