//! COMPENSATION_SUBSCRIPTION events.

use skep_protocol::Key;
use skep_protocol::intent::CompensationSubscriptionIntent as Intent;
use skep_protocol::value::CompensationSubscriptionValue;

use crate::appliers::Apply;
use crate::state::{Compensation, State};

impl Apply<CompensationSubscriptionValue> for State {
    fn apply(
        &mut self,
        key: Key,
        intent: Intent,
        value: &CompensationSubscriptionValue,
        _timestamp: i64,
    ) {
        match intent {
            Intent::Created | Intent::Triggered | Intent::Migrated => {
                self.compensations.insert(key, Compensation::of(value));
                // The key is given to the handler when it is activated.
                if value.handler_instance_key.some().is_some() {
                    self.observe_key(value.handler_instance_key);
                }
            }
            Intent::Completed | Intent::Deleted => self.compensations.remove(key),
        }
    }
}
