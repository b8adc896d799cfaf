//! PROCESS_INSTANCE_BATCH TERMINATED: a terminate end event ends everything else in its scope.

use skep_protocol::Key;
use skep_protocol::intent::ProcessInstanceBatchIntent as Intent;
use skep_protocol::value::ProcessInstanceBatchValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<ProcessInstanceBatchValue> for State {
    fn apply(&mut self, _key: Key, intent: Intent, value: &ProcessInstanceBatchValue, _: i64) {
        match intent {
            Intent::Terminated => {
                if let Some(scope) = self.elements.must_get_mut(value.batch_element_instance_key) {
                    scope.extra().ending = true;
                }
            }
            Intent::Terminate | Intent::Activate | Intent::Activated => {}
        }
    }
}
