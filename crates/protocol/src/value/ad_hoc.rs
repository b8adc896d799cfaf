//! Records of ad-hoc sub-processes.

use serde::{Deserialize, Serialize};

use super::ActivateElement;
use crate::key::Key;

/// Instruction to an ad-hoc sub-process, by a command or by its job.
///
/// ACTIVATED: these elements are activated, each in an instance of its own. COMPLETED: its completion condition is fulfilled,
/// and it completes as soon as nothing runs in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdHocSubProcessInstructionValue {
    pub ad_hoc_sub_process_instance_key: Key,
    pub activate_elements: Vec<ActivateElement>,
    /// Terminates the instances that were running in it before.
    pub cancel_remaining_instances: bool,
    pub completion_condition_fulfilled: bool,
}
