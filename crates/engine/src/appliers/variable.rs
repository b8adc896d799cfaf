//! VARIABLE events.

use skep_protocol::Key;
use skep_protocol::intent::VariableIntent as Intent;
use skep_protocol::value::VariableValue;

use super::Apply;
use crate::state::{State, Variable};

impl Apply<VariableValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &VariableValue, _timestamp: i64) {
        let Some(scope) = self.elements.get_mut(value.scope_key) else {
            return;
        };
        match intent {
            Intent::Created => scope.variables.push(Variable {
                key,
                name: value.name.clone(),
                value: value.value.clone(),
            }),
            Intent::Updated => {
                if let Some(variable) = scope.variables.iter_mut().find(|v| v.name == value.name) {
                    variable.value = value.value.clone();
                }
            }
        }
    }
}
