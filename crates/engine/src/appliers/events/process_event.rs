//! PROCESS_EVENT events: a trigger is stored until its target is activated.

use skep_protocol::Key;
use skep_protocol::intent::ProcessEventIntent as Intent;
use skep_protocol::value::ProcessEventValue;

use crate::appliers::Apply;
use crate::state::{State, Trigger};

impl Apply<ProcessEventValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &ProcessEventValue, _timestamp: i64) {
        match intent {
            Intent::Triggering => triggering(self, key, value),
            Intent::Passed => {
                let from = self.triggers.get(key).map(|row| row.flow_scope_key);
                leave(self, key, from.unwrap_or(Key::NONE));
                self.triggers.pass_on(key, value.flow_scope_key);
                if let Some(element) = self.elements.should_get_mut(value.flow_scope_key) {
                    element.extra().triggers.push(key);
                }
            }
            Intent::Migrated => {
                let (definition, target) = (value.process_definition_key, value.target_element);
                self.triggers.migrate(key, definition, target);
            }
            Intent::Triggered => {
                self.triggers.remove(key);
                leave(self, key, value.flow_scope_key);
            }
        }
    }
}

/// Removes the trigger from this scope. If it has interrupted the scope, its target is activated now.
fn leave(state: &mut State, key: Key, scope: Key) {
    // A trigger is used up also when its scope has ended before its target could be activated.
    if let Some(scope) = state.elements.get_mut(scope) {
        let extra = scope.extra();
        // There may be very many triggers, and usually the oldest one is removed.
        let place = extra.triggers.iter().position(|trigger| *trigger == key);
        if let Some(place) = place {
            extra.triggers.remove(place);
        }
        if extra.interrupted_by == key {
            extra.interrupted_by = Key::NONE;
            extra.interrupted_inside = true;
        }
    }
}

fn triggering(state: &mut State, key: Key, value: &ProcessEventValue) {
    let trigger = Trigger {
        scope_key: value.scope_key,
        flow_scope_key: value.flow_scope_key,
        interrupting: value.interrupting,
        process_instance_key: value.process_instance_key,
        process_definition_key: value.process_definition_key,
        target_element: value.target_element,
        variables: value.variables.clone(),
    };
    let scope = if trigger.begins_instance() {
        // It comes before its instance.
        state.elements.get_mut(value.flow_scope_key)
    } else {
        state.elements.should_get_mut(value.flow_scope_key)
    };
    if let Some(scope) = scope {
        scope.extra().triggers.push(key);
    }
    if value.interrupting
        && let Some(activity) = state.elements.should_get_mut(value.scope_key)
    {
        activity.extra().interrupted_by = key;
    }
    state.triggers.insert(key, trigger);
}
