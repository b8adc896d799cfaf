//! PROCESS_EVENT TRIGGERING: a boundary event interrupts its activity; it is remembered until the activity has terminated.

use skep_protocol::Key;
use skep_protocol::intent::ProcessEventIntent as Intent;
use skep_protocol::value::ProcessEventValue;

use super::Apply;
use crate::state::State;

impl Apply<ProcessEventValue> for State {
    fn apply(&mut self, _key: Key, intent: Intent, value: &ProcessEventValue, _timestamp: i64) {
        if intent == Intent::Triggering
            && let Some(activity) = self.elements.get_mut(value.scope_key)
        {
            activity.extra().interrupted_by = Some((value.target_element, value.variables.clone()));
        }
    }
}
