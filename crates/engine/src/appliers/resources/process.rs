//! PROCESS and RESOURCE_DELETION events: created and deleted definitions.

use skep_protocol::Key;
use skep_protocol::intent::{ProcessIntent as Intent, ResourceDeletionIntent};
use skep_protocol::value::{ProcessValue, ResourceDeletionValue};

use crate::appliers::Apply;
use crate::state::State;

impl Apply<ProcessValue> for State {
    fn apply(&mut self, _key: Key, intent: Intent, value: &ProcessValue, _timestamp: i64) {
        match intent {
            Intent::Created => self.processes.insert(value),
            Intent::Deleting => self.processes.drain(value.process_definition_key),
            Intent::Deleted => {
                self.processes.delete(value.process_definition_key);
                self.elements.running.remove(value.process_definition_key);
            }
        }
    }
}

impl Apply<ResourceDeletionValue> for State {
    fn apply(
        &mut self,
        _key: Key,
        intent: ResourceDeletionIntent,
        value: &ResourceDeletionValue,
        _timestamp: i64,
    ) {
        if intent == ResourceDeletionIntent::Deleting && value.delete_history {
            self.processes.forget(value.resource_key);
        }
    }
}
