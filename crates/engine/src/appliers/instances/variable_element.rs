//! VARIABLE_ELEMENT events: a part of a variable's value is replaced.

use skep_protocol::Key;
use skep_protocol::intent::VariableElementIntent as Intent;
use skep_protocol::value::VariableElementValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<VariableElementValue> for State {
    fn apply(&mut self, _key: Key, intent: Intent, value: &VariableElementValue, _: i64) {
        match intent {
            Intent::Updated => {
                let place = value.begin as usize..value.end as usize;
                let element = &value.value;
                self.elements
                    .splice_variable(value.scope_key, &value.name, place, element);
            }
        }
    }
}
