//! AD_HOC_SUB_PROCESS_INSTRUCTION events: instructions to an ad-hoc sub-process.

use skep_protocol::Key;
use skep_protocol::intent::AdHocSubProcessInstructionIntent as Intent;
use skep_protocol::value::AdHocSubProcessInstructionValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<AdHocSubProcessInstructionValue> for State {
    fn apply(
        &mut self,
        _key: Key,
        intent: Intent,
        value: &AdHocSubProcessInstructionValue,
        _timestamp: i64,
    ) {
        match intent {
            Intent::Completed => {
                let key = value.ad_hoc_sub_process_instance_key;
                if let Some(sub_process) = self.elements.must_get_mut(key) {
                    sub_process.extra().fulfilled = true;
                }
            }
            // The elements have their own events.
            Intent::Activated | Intent::Activate | Intent::Complete => {}
        }
    }
}
