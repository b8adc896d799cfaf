//! ERROR events.

use skep_protocol::Key;
use skep_protocol::intent::ErrorIntent as Intent;
use skep_protocol::value::ErrorValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<ErrorValue> for State {
    fn apply(&mut self, _key: Key, intent: Intent, value: &ErrorValue, _timestamp: i64) {
        match intent {
            Intent::Created => self.ban(value),
        }
    }
}
