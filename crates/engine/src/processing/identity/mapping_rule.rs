//! MAPPING_RULE CREATE, UPDATE and DELETE.

use skep_identity::Entry;
use skep_protocol::intent::{Intent as _, MappingRuleIntent as Intent};
use skep_protocol::value::MappingRuleValue;
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::events::{Decided, IdentityEvent};
use super::{deletion, directory, exists, fits, may_grow, not_found};
use crate::processing::{Context, Outcome, reject};

pub(super) fn create(cx: &mut Context<'_>, rule: &MappingRuleValue) -> Outcome {
    let mut decided = Decided::default();
    let rule = created(cx, rule, &mut decided)?;
    Ok(decided.spread(cx, Response::MappingRule(rule)))
}

pub(super) fn created(
    cx: &mut Context<'_>,
    rule: &MappingRuleValue,
    decided: &mut Decided,
) -> Result<MappingRuleValue, Rejection> {
    let what = described(&rule.mapping_rule_id);
    if directory(cx).rule(&rule.mapping_rule_id).is_some() {
        return Err(exists("CREATE", &what));
    }
    claim_is_free(cx, "CREATE", rule)?;
    let rule = MappingRuleValue {
        mapping_rule_key: cx.next_key(),
        ..rule.clone()
    };
    fits(cx, "CREATE", &what, &Entry::MappingRule(rule.clone()))?;
    let key = rule.mapping_rule_key;
    let event = IdentityEvent::MappingRule(key, Intent::Created.id(), rule.clone());
    decided.event(cx, event);
    Ok(rule)
}

pub(super) fn update(cx: &mut Context<'_>, rule: &MappingRuleValue) -> Outcome {
    let what = described(&rule.mapping_rule_id);
    let old = directory(cx).rule(&rule.mapping_rule_id);
    let old = old.ok_or_else(|| not_found("UPDATE", "update", &what))?;
    let (before, key) = (old.weight(), old.mapping_rule_key);
    deletion::stays(cx, key, "UPDATE", "update", &what)?;
    claim_is_free(cx, "UPDATE", rule)?;
    may_grow(cx, &what, rule.weight().saturating_sub(before))?;
    let rule = MappingRuleValue {
        mapping_rule_key: key,
        ..rule.clone()
    };
    // The record has no key, as in the reference; its value tells the stores which row it is.
    let mut decided = Decided::default();
    let event = IdentityEvent::MappingRule(Key::NONE, Intent::Updated.id(), rule.clone());
    decided.event(cx, event);
    Ok(decided.spread(cx, Response::MappingRule(rule)))
}

pub(super) fn delete(cx: &mut Context<'_>, id: &str) -> Outcome {
    let what = described(id);
    let found = directory(cx).rule(id);
    let rule = found.ok_or_else(|| not_found("DELETE", "delete", &what))?;
    let row = rule.mapping_rule_key;
    deletion::stays(cx, row, "DELETE", "delete", &what)?;
    deletion::begin(cx, row, &what)
}

/// Checks that no other rule has the same claim and value.
fn claim_is_free(
    cx: &Context<'_>,
    intent: &'static str,
    rule: &MappingRuleValue,
) -> Result<(), Rejection> {
    let taken = directory(cx).rule_about(&rule.claim_name, &rule.claim_value);
    match taken {
        Some(by) if *by != rule.mapping_rule_id => Err(reject(
            RejectionType::AlreadyExists,
            intent,
            format!(
                "Expected a mapping rule with claim name '{}' and claim value '{}', but the mapping rule '{by}' has them",
                rule.claim_name, rule.claim_value
            ),
        )),
        _ => Ok(()),
    }
}

fn described(id: &str) -> String {
    format!("mapping rule with id '{id}'")
}
