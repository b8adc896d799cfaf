//! PROCESS_INSTANCE_MODIFICATION events: the progress of an instance's modification.

use skep_protocol::Key;
use skep_protocol::intent::ProcessInstanceModificationIntent as Intent;
use skep_protocol::value::ProcessInstanceModificationValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<ProcessInstanceModificationValue> for State {
    fn apply(
        &mut self,
        key: Key,
        intent: Intent,
        value: &ProcessInstanceModificationValue,
        _timestamp: i64,
    ) {
        match intent {
            Intent::Begun => self.modifications.begin(value),
            Intent::Prepared => {
                let scopes = value.activate_instructions.iter();
                let scopes = scopes.flat_map(|instruction| &instruction.ancestor_scope_keys);
                let with_elements: Vec<(Key, u32)> = scopes
                    .filter_map(|key| Some((*key, self.elements.get(*key)?.element)))
                    .collect();
                let instance = value.process_instance_key;
                self.modifications.prepared(instance, key, &with_elements);
            }
            Intent::Modified => self.modifications.end(value.process_instance_key),
            Intent::Modify => {}
        }
    }
}
