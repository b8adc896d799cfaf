//! IDENTITY_SETUP INITIALIZE: creates configured entities that do not exist. Existing entities stay as they are, even if
//! they are no longer configured.

use std::sync::Arc;

use skep_identity::{Directory, Limits, Parent};
use skep_protocol::command::NewParent;
use skep_protocol::intent::IdentitySetupIntent;
use skep_protocol::value::{IdentitySetupValue, MappingRuleValue, Member, ParentType, ParentValue};
use skep_protocol::{Rejection, RejectionType, Response};

use super::events::Decided;
use super::{authorization, directory, mapping_rule, parent, user};
use crate::processing::{Context, Outcome, reject};

pub(super) fn process(cx: &mut Context<'_>, setup: &IdentitySetupValue) -> Outcome {
    // All or nothing: after these two checks nothing can fail.
    for value in &setup.authorizations {
        authorization::can_be_granted("INITIALIZE", value)?;
    }
    fits(cx, setup)?;
    let mut decided = Decided::default();
    for value in &setup.users {
        if directory(cx).user(&value.username).is_none() {
            user::created(cx, "INITIALIZE", value, &mut decided)?;
        }
    }
    for rule in &setup.mapping_rules {
        if is_new(directory(cx), rule) {
            mapping_rule::created(cx, rule, &mut decided)?;
        }
    }
    for (kind, values) in [
        (ParentType::Group, &setup.groups),
        (ParentType::Role, &setup.roles),
        (ParentType::Tenant, &setup.tenants),
    ] {
        parents(cx, kind, values, &mut decided)?;
    }
    for value in &setup.authorizations {
        if authorization::same(cx, value).is_none() {
            authorization::created(cx, value, &mut decided)?;
        }
    }
    for (kind, all) in [
        (ParentType::Group, &setup.group_members),
        (ParentType::Role, &setup.role_members),
        (ParentType::Tenant, &setup.tenant_members),
    ] {
        members(cx, kind, all, &mut decided)?;
    }
    if decided.is_empty() {
        return Ok(Some(Response::Empty));
    }
    let key = cx.new_key();
    // The record only marks completion; the changes precede it.
    let nothing = IdentitySetupValue::default();
    cx.event(key, IdentitySetupIntent::Initialized, &nothing);
    Ok(decided.spread(cx, Response::Empty))
}

/// Checks that there is room for what is missing. At the next start, nothing is, and a full directory is no reason to refuse it.
fn fits(cx: &Context<'_>, setup: &IdentitySetupValue) -> Result<(), Rejection> {
    let more = Limits::of(&missing(cx, setup));
    match directory(cx).exceeds_with(&Limits::STANDARD, &more) {
        Some(why) if more != Limits::default() => Err(reject(
            RejectionType::InvalidState,
            "INITIALIZE",
            format!(
                "Expected to create what is configured under camunda.security.initialization, but {why}"
            ),
        )),
        _ => Ok(()),
    }
}

/// What does not exist yet.
fn missing(cx: &Context<'_>, setup: &IdentitySetupValue) -> IdentitySetupValue {
    let known = directory(cx);
    let parents = |kind, all: &[ParentValue]| -> Vec<ParentValue> {
        let all = all.iter();
        let new = all.filter(|value| known.parent_of(kind, &value.id).is_none());
        new.cloned().collect()
    };
    let members = |kind, all: &[(Arc<str>, Member)]| -> Vec<(Arc<str>, Member)> {
        let new = all.iter().filter(|(id, member)| {
            let parent = Parent::new(kind, id);
            known.membership(&parent, member).is_none()
        });
        new.cloned().collect()
    };
    let users = setup.users.iter();
    let users = users.filter(|user| known.user(&user.username).is_none());
    let rules = setup.mapping_rules.iter();
    let authorizations = setup.authorizations.iter();
    let authorizations = authorizations.filter(|value| authorization::same(cx, value).is_none());
    IdentitySetupValue {
        users: users.cloned().collect(),
        mapping_rules: rules.filter(|rule| is_new(known, rule)).cloned().collect(),
        groups: parents(ParentType::Group, &setup.groups),
        roles: parents(ParentType::Role, &setup.roles),
        tenants: parents(ParentType::Tenant, &setup.tenants),
        authorizations: authorizations.cloned().collect(),
        group_members: members(ParentType::Group, &setup.group_members),
        role_members: members(ParentType::Role, &setup.role_members),
        tenant_members: members(ParentType::Tenant, &setup.tenant_members),
    }
}

/// Whether there is no rule with this id, nor one about the same claim.
fn is_new(known: &Directory, rule: &MappingRuleValue) -> bool {
    known.rule(&rule.mapping_rule_id).is_none()
        && known
            .rule_about(&rule.claim_name, &rule.claim_value)
            .is_none()
}

fn parents(
    cx: &mut Context<'_>,
    kind: ParentType,
    values: &[ParentValue],
    decided: &mut Decided,
) -> Result<(), Rejection> {
    for value in values {
        if directory(cx).parent_of(kind, &value.id).is_none() {
            let new = NewParent {
                id: value.id.clone(),
                name: value.name.clone(),
                description: value.description.clone(),
            };
            parent::created(cx, kind, &new, decided)?;
        }
    }
    Ok(())
}

/// Adds members. A member need not exist: the first login may create the user.
fn members(
    cx: &mut Context<'_>,
    kind: ParentType,
    all: &[(Arc<str>, Member)],
    decided: &mut Decided,
) -> Result<(), Rejection> {
    for (id, member) in all {
        let name = Parent::new(kind, id);
        if directory(cx).membership(&name, member).is_some() {
            continue;
        }
        if let Some(value) = directory(cx).parent(&name).cloned() {
            parent::added(cx, kind, &value, member, decided)?;
        }
    }
    Ok(())
}
