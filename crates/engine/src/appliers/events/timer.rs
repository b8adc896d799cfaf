//! TIMER events.

use skep_protocol::Key;
use skep_protocol::intent::TimerIntent as Intent;
use skep_protocol::value::TimerValue;

use crate::appliers::Apply;
use crate::state::{State, Timer};

impl Apply<TimerValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &TimerValue, _timestamp: i64) {
        match intent {
            Intent::Created => {
                self.timers.insert(key, Timer::of(value));
                if let Some(element) = self.elements.must_get_mut(value.element_instance_key) {
                    element.extra().timers.push(key);
                }
            }
            Intent::Triggered | Intent::Canceled => {
                self.timers.remove(key);
                if let Some(element) = self.elements.must_get_mut(value.element_instance_key) {
                    element.extra().timers.retain(|k| *k != key);
                }
            }
            Intent::Migrated => self.timers.migrate(key, Timer::of(value)),
            Intent::Trigger => {}
        }
    }
}
