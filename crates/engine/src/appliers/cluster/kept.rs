//! KEPT events.

use skep_protocol::Key;
use skep_protocol::intent::KeptIntent as Intent;
use skep_protocol::value::KeptValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<KeptValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &KeptValue, _timestamp: i64) {
        match intent {
            Intent::Created | Intent::Replaced => self.kept.set(key, value.clone()),
            Intent::Deleted => self.kept.remove(&value.id),
            Intent::Put | Intent::Delete => {}
        }
    }
}
