//! COMPENSATION_SUBSCRIPTION: a completed activity that can be compensated.

use serde::{Deserialize, Serialize};

use crate::key::Key;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompensationSubscriptionValue {
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    /// The activity that has completed, and the scope that it was in.
    pub activity: u32,
    pub activity_instance_key: Key,
    pub scope_key: Key,
    /// The activity that compensates. `None` for a scope that is compensated by its content.
    pub handler: Option<u32>,
    /// From TRIGGERED on: the instance of the handler, if there is one, and the event that has thrown the compensation.
    pub handler_instance_key: Key,
    pub thrower: Option<u32>,
    pub thrower_instance_key: Key,
}
