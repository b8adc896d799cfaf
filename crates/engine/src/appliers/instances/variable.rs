//! VARIABLE events.

use skep_protocol::Key;
use skep_protocol::intent::VariableIntent as Intent;
use skep_protocol::value::VariableValue;

use crate::appliers::Apply;
use crate::state::{State, Variable};

impl Apply<VariableValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &VariableValue, _timestamp: i64) {
        match intent {
            // A variable belongs to its scope, whichever definition that scope is of.
            Intent::Migrated => {}
            Intent::Created => {
                // Each request brings its own copy.
                let name = self.names.share(&value.name);
                let variable = Variable::new(key, name, value.value.clone());
                self.elements.add_variable(value.scope_key, variable);
            }
            Intent::Updated => {
                self.elements
                    .set_variable(value.scope_key, &value.name, &value.value);
            }
        }
    }
}
