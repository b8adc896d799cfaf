//! MESSAGE_START_EVENT_SUBSCRIPTION events: the messages that start instances, and the instances started by them.

use skep_protocol::Key;
use skep_protocol::intent::MessageStartEventSubscriptionIntent as Intent;
use skep_protocol::value::MessageStartEventSubscriptionValue;

use crate::appliers::Apply;
use crate::state::State;
use crate::state::subscriptions::StartedByMessage;

impl Apply<MessageStartEventSubscriptionValue> for State {
    fn apply(
        &mut self,
        key: Key,
        intent: Intent,
        value: &MessageStartEventSubscriptionValue,
        _: i64,
    ) {
        match intent {
            Intent::Created => self.message_starts.insert(key, value),
            Intent::Correlated => {
                self.messages
                    .add_correlated(value.message_key, &value.bpmn_process_id);
                if !value.correlation_key.is_empty() {
                    let instance = value.process_instance_key;
                    self.message_starts
                        .begin(instance, StartedByMessage::of(value));
                }
            }
            Intent::Deleted => self.message_starts.remove(key),
            Intent::Migrated => {
                let instance = value.process_instance_key;
                self.message_starts.end(instance);
                if !value.bpmn_process_id.is_empty() {
                    self.message_starts
                        .begin(instance, StartedByMessage::of(value));
                }
            }
        }
    }
}
