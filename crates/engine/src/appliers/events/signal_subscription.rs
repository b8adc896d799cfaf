//! SIGNAL_SUBSCRIPTION events: which events wait for a signal.

use skep_protocol::Key;
use skep_protocol::intent::SignalSubscriptionIntent as Intent;
use skep_protocol::value::SignalSubscriptionValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<SignalSubscriptionValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &SignalSubscriptionValue, _: i64) {
        let element = self.elements.must_get_mut(value.catch_event_instance_key);
        match intent {
            Intent::Created => {
                if let Some(element) = element {
                    element.extra().signals.push(key);
                }
                self.signals.insert(key, value);
            }
            Intent::Migrated => self.signals.migrate(key, value),
            Intent::Deleted => {
                if let Some(element) = element {
                    element.extra().signals.retain(|k| *k != key);
                }
                self.signals.remove(key);
            }
        }
    }
}
