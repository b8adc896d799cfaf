//! CONTINUATION events: steps deferred to a later batch.

use skep_protocol::Key;
use skep_protocol::intent::ContinuationIntent as Intent;
use skep_protocol::value::ContinuationValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<ContinuationValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &ContinuationValue, _timestamp: i64) {
        match intent {
            Intent::Continued => self.continuations.advance(key, value),
            Intent::Continue => {}
        }
    }
}
