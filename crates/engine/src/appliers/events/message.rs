//! MESSAGE events.

use skep_protocol::Key;
use skep_protocol::intent::MessageIntent as Intent;
use skep_protocol::value::MessageValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<MessageValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &MessageValue, _timestamp: i64) {
        match intent {
            Intent::Published => self.messages.insert(key, value),
            Intent::Expired => self.messages.remove(key),
            Intent::Publish | Intent::Expire => {}
        }
    }
}
