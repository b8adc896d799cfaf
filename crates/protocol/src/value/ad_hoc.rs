//! Records of ad-hoc sub-processes.

use serde::{Deserialize, Serialize};

use super::ActivateElement;
use crate::key::Key;

/// What an ad-hoc sub-process is told by a command, or by its job.
///
/// ACTIVATED: these elements are activated, each in an instance of its own. COMPLETED: it has what it is for, and completes as
/// soon as nothing runs in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdHocSubProcessInstructionValue {
    pub ad_hoc_sub_process_instance_key: Key,
    pub activate_elements: Vec<ActivateElement>,
    /// What ran in it before ends.
    pub cancel_remaining_instances: bool,
    pub completion_condition_fulfilled: bool,
}
