//! DECISION_REQUIREMENTS, DECISION, FORM and RESOURCE events: created and deleted resources. The record key is the
//! resource's own key only on CREATED.

use skep_protocol::Key;
use skep_protocol::intent::{
    DecisionIntent, DecisionRequirementsIntent, FormIntent, ResourceIntent,
};
use skep_protocol::value::{DecisionRequirementsValue, DecisionValue, FormValue, ResourceValue};

use crate::appliers::Apply;
use crate::state::State;

impl Apply<DecisionRequirementsValue> for State {
    fn apply(
        &mut self,
        _key: Key,
        intent: DecisionRequirementsIntent,
        value: &DecisionRequirementsValue,
        _timestamp: i64,
    ) {
        let key = value.metadata.key;
        match intent {
            DecisionRequirementsIntent::Created => self.decisions.insert_requirements(key, value),
            DecisionRequirementsIntent::Deleted => self.decisions.remove_requirements(key),
        }
    }
}

impl Apply<DecisionValue> for State {
    fn apply(&mut self, _key: Key, intent: DecisionIntent, value: &DecisionValue, _: i64) {
        match intent {
            DecisionIntent::Created => self.decisions.insert_decision(value.key, value),
            DecisionIntent::Deleted => self.decisions.remove_decision(value.key),
        }
    }
}

impl Apply<FormValue> for State {
    fn apply(&mut self, _key: Key, intent: FormIntent, value: &FormValue, _timestamp: i64) {
        let key = value.0.metadata.key;
        match intent {
            FormIntent::Created => self.forms.insert(key, value.clone()),
            FormIntent::Deleted => self.forms.remove(key),
        }
    }
}

impl Apply<ResourceValue> for State {
    fn apply(&mut self, _key: Key, intent: ResourceIntent, value: &ResourceValue, _: i64) {
        let key = value.0.metadata.key;
        match intent {
            ResourceIntent::Created => self.resources.insert(key, value.clone()),
            ResourceIntent::Deleted => self.resources.remove(key),
        }
    }
}
