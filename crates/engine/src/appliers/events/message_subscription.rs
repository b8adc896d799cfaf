//! MESSAGE_SUBSCRIPTION events: the message side of a subscription.

use skep_protocol::Key;
use skep_protocol::intent::MessageSubscriptionIntent as Intent;
use skep_protocol::value::MessageSubscriptionValue;

use crate::appliers::Apply;
use crate::state::State;
use crate::state::subscriptions::UnderWay;

impl Apply<MessageSubscriptionValue> for State {
    fn apply(
        &mut self,
        key: Key,
        intent: Intent,
        value: &MessageSubscriptionValue,
        _timestamp: i64,
    ) {
        match intent {
            Intent::Created => self.message_subscriptions.insert(key, value),
            Intent::Correlating => {
                let message = UnderWay {
                    message_key: value.message_key,
                    variables: value.variables.clone(),
                };
                self.message_subscriptions.set_under_way(key, Some(message));
                self.messages
                    .add_correlated(value.message_key, &value.bpmn_process_id);
            }
            Intent::Correlated => {
                if value.interrupting {
                    self.message_subscriptions.remove(key);
                } else {
                    self.message_subscriptions.set_under_way(key, None);
                }
            }
            Intent::Rejected => {
                // The message may have expired while the process's partition was asked.
                self.messages
                    .remove_correlated(value.message_key, &value.bpmn_process_id);
                self.message_subscriptions.remove(key);
            }
            Intent::Migrated => self.message_subscriptions.migrate(key, value),
            Intent::Deleted => self.message_subscriptions.remove(key),
            Intent::Create | Intent::Correlate | Intent::Reject | Intent::Delete => {}
        }
    }
}
