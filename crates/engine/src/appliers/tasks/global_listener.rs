//! GLOBAL_LISTENER events.

use skep_protocol::Key;
use skep_protocol::intent::GlobalListenerIntent as Intent;
use skep_protocol::value::GlobalListenerValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<GlobalListenerValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &GlobalListenerValue, _timestamp: i64) {
        match intent {
            Intent::Created | Intent::Updated => self.global_listeners.set(key, value.clone()),
            Intent::Deleted => self.global_listeners.remove(key),
            Intent::Create | Intent::Update | Intent::Delete => {}
        }
    }
}
