//! COMMAND_DISTRIBUTION events; the record key names the distribution.

use skep_protocol::Key;
use skep_protocol::intent::CommandDistributionIntent as Intent;
use skep_protocol::value::CommandDistributionValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<CommandDistributionValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &CommandDistributionValue, _: i64) {
        match intent {
            Intent::Started => self.distributions.start(key, value.command_value.to_vec()),
            Intent::Distributing => self.distributions.add_pending(key, value.partition_id),
            Intent::Acknowledged => self.distributions.acknowledge(key, value.partition_id),
            Intent::Finished => self.distributions.finish(key),
            // From now on everything up to this key is a duplicate.
            Intent::Received => {
                self.counters.received.insert(value.partition_id, key);
            }
            Intent::Acknowledge => {}
        }
    }
}
