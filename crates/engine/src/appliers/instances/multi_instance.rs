//! MULTI_INSTANCE events: the items for which a body runs its activity.

use skep_protocol::Key;
use skep_protocol::intent::MultiInstanceIntent as Intent;
use skep_protocol::value::MultiInstanceValue;

use crate::appliers::Apply;
use crate::state::{InputCollection, Loop, State};

impl Apply<MultiInstanceValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &MultiInstanceValue, _timestamp: i64) {
        match intent {
            Intent::InputCollectionEvaluated => {
                let items = value.input_collection.clone();
                if let Some(body) = self.elements.must_get_mut(key) {
                    body.extra().repeats = Some(Loop {
                        instances: items.len() as u32,
                        chain: value.chain,
                        ..Loop::default()
                    });
                }
                let collection = InputCollection { items };
                self.input_collections.table.insert(key, collection);
            }
        }
    }
}
