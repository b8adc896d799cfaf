//! CLUSTER_VARIABLE events.

use skep_protocol::Key;
use skep_protocol::intent::ClusterVariableIntent as Intent;
use skep_protocol::value::ClusterVariableValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<ClusterVariableValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &ClusterVariableValue, _: i64) {
        match intent {
            Intent::Created | Intent::Updated => self.cluster_variables.set(key, value),
            Intent::Deleted => self.cluster_variables.remove(key, value),
            Intent::Create | Intent::Update | Intent::Delete => {}
        }
    }
}
