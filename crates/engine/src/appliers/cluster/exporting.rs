//! EXPORTING events.

use skep_protocol::Key;
use skep_protocol::intent::ExportingIntent as Intent;
use skep_protocol::value::ExportingValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<ExportingValue> for State {
    fn apply(&mut self, _key: Key, intent: Intent, value: &ExportingValue, _timestamp: i64) {
        match intent {
            Intent::Changed => self.exporting.set(value.clone()),
            Intent::Change => {}
        }
    }
}
