//! SIGNAL events: a signal with more receivers than fit into one turn is kept until all of them have received it.

use skep_protocol::Key;
use skep_protocol::intent::SignalIntent as Intent;
use skep_protocol::value::SignalValue;

use crate::appliers::Apply;
use crate::state::State;
use crate::state::subscriptions::SignalOnItsWay;

impl Apply<SignalValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &SignalValue, _: i64) {
        match intent {
            Intent::Continued => {
                let newest = self.signals.newest(&value.tenant, &value.signal_name);
                let row = SignalOnItsWay {
                    signal_name: value.signal_name.clone(),
                    variables: value.variables.clone(),
                    last: newest.unwrap_or(Key::NONE),
                    tenant: value.tenant.clone(),
                };
                self.signals.on_their_way.insert(key, row);
            }
            Intent::Delivered => {
                self.signals.on_their_way.remove(key);
            }
            Intent::Broadcast | Intent::Broadcasted => {}
        }
    }
}
