//! CLOCK events.

use skep_protocol::Key;
use skep_protocol::intent::ClockIntent as Intent;
use skep_protocol::value::ClockValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<ClockValue> for State {
    fn apply(&mut self, _key: Key, intent: Intent, value: &ClockValue, _timestamp: i64) {
        match intent {
            Intent::Pinned => self.counters.pinned_clock = Some(value.time),
            Intent::Resetted => self.counters.pinned_clock = None,
            Intent::Pin | Intent::Reset => {}
        }
    }
}
