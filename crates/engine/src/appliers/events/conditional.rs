//! CONDITIONAL_SUBSCRIPTION, CONDITION_CHECK and CONDITIONAL_EVALUATION events.

use skep_protocol::Key;
use skep_protocol::intent::{
    ConditionCheckIntent, ConditionalEvaluationIntent, ConditionalSubscriptionIntent as Intent,
};
use skep_protocol::value::{
    ConditionCheckValue, ConditionalEvaluationValue, ConditionalSubscriptionValue,
};

use crate::appliers::Apply;
use crate::state::State;
use crate::state::subscriptions::{ConditionCheck, ConditionalSubscription};

impl Apply<ConditionalSubscriptionValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &ConditionalSubscriptionValue, _: i64) {
        let element = self.elements.must_get_mut(value.element_instance_key);
        match intent {
            Intent::Created => {
                if let Some(element) = element {
                    element.extra().conditions.push(key);
                }
                let row = ConditionalSubscription {
                    process_definition_key: value.process_definition_key,
                    process_instance_key: value.process_instance_key,
                    element_instance_key: value.element_instance_key,
                    catch_event: value.catch_event,
                    scopes: self.elements.scopes_from(value.scope_key),
                    tenant: value.tenant.clone(),
                };
                self.conditions.insert(key, row);
            }
            Intent::Deleted => {
                if let Some(element) = element {
                    element.extra().conditions.retain(|k| *k != key);
                }
                self.conditions.remove(key);
            }
            Intent::Migrated => {
                let definition = value.process_definition_key;
                self.conditions.migrate(key, definition, value.catch_event);
            }
            Intent::Trigger | Intent::Triggered => {}
        }
    }
}

impl Apply<ConditionCheckValue> for State {
    fn apply(
        &mut self,
        key: Key,
        intent: ConditionCheckIntent,
        value: &ConditionCheckValue,
        _: i64,
    ) {
        let checks = &mut self.conditions.checks;
        match intent {
            ConditionCheckIntent::Begun => checks.insert(key, ConditionCheck(value.clone())),
            ConditionCheckIntent::Ended => drop(checks.remove(key)),
        }
    }
}

impl Apply<ConditionalEvaluationValue> for State {
    fn apply(
        &mut self,
        key: Key,
        intent: ConditionalEvaluationIntent,
        value: &ConditionalEvaluationValue,
        _: i64,
    ) {
        match intent {
            ConditionalEvaluationIntent::Continued => self.conditions.go_on(key, value),
            ConditionalEvaluationIntent::Evaluated => drop(self.conditions.evaluations.remove(key)),
            ConditionalEvaluationIntent::Evaluate => {}
        }
    }
}
