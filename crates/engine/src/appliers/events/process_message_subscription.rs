//! PROCESS_MESSAGE_SUBSCRIPTION events: the process side of a subscription.

use skep_protocol::Key;
use skep_protocol::intent::ProcessMessageSubscriptionIntent as Intent;
use skep_protocol::value::ProcessMessageSubscriptionValue;

use crate::appliers::Apply;
use crate::state::State;
use crate::state::subscriptions::SubscriptionState;

impl Apply<ProcessMessageSubscriptionValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &ProcessMessageSubscriptionValue, _: i64) {
        match intent {
            Intent::Creating => {
                self.process_subscriptions.insert(key, value);
                if let Some(element) = self.elements.must_get_mut(value.element_instance_key) {
                    element.extra().subscriptions.push(key);
                }
            }
            Intent::Created => self
                .process_subscriptions
                .set_state(key, SubscriptionState::Opened),
            Intent::Correlated => {
                self.process_subscriptions.take(key, value.message_key);
                if value.interrupting {
                    // It stays until the message side is closed: the same message may arrive again.
                    self.process_subscriptions
                        .set_state(key, SubscriptionState::Closing);
                    if let Some(element) = self.elements.must_get_mut(value.element_instance_key) {
                        element.extra().subscriptions.retain(|k| *k != key);
                    }
                }
            }
            Intent::Migrated => self.process_subscriptions.migrate(key, value),
            Intent::Deleting => {
                self.process_subscriptions
                    .set_state(key, SubscriptionState::Closing);
                if let Some(element) = self.elements.must_get_mut(value.element_instance_key) {
                    element.extra().subscriptions.retain(|k| *k != key);
                }
            }
            Intent::Deleted => self.process_subscriptions.remove(key),
            Intent::Create | Intent::Correlate | Intent::Delete => {}
        }
    }
}
