//! PROCESS_INSTANCE_CREATION CREATED: the options of the creation, kept with the instance.

use skep_protocol::Key;
use skep_protocol::intent::ProcessInstanceCreationIntent as Intent;
use skep_protocol::value::ProcessInstanceCreationValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<ProcessInstanceCreationValue> for State {
    fn apply(&mut self, _key: Key, intent: Intent, value: &ProcessInstanceCreationValue, _: i64) {
        let plain = value.tags.is_empty()
            && value.business_id.is_none()
            && value.terminate_after.is_empty();
        if intent != Intent::Created || plain {
            return;
        }
        let extra = self.elements.extra_of_process(value.process_instance_key);
        extra.tags.clone_from(&value.tags);
        extra.business_id.clone_from(&value.business_id);
        extra.terminate_after.clone_from(&value.terminate_after);
    }
}
