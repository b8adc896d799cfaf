//! IDENTITY_SETUP INITIALIZE: creates configured entities that do not exist. Existing entities stay as they are, even if
//! they are no longer configured.

use std::sync::Arc;

use skep_identity::{Limits, Parent};
use skep_protocol::command::NewParent;
use skep_protocol::intent::IdentitySetupIntent;
use skep_protocol::value::{IdentitySetupValue, Member, ParentType, ParentValue};
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
        let known = directory(cx);
        let is_there = known.rule(&rule.mapping_rule_id).is_some()
            || known
                .rule_about(&rule.claim_name, &rule.claim_value)
                .is_some();
        if !is_there {
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

/// Checks that there is room for all of it, regardless of what already exists.
fn fits(cx: &Context<'_>, setup: &IdentitySetupValue) -> Result<(), Rejection> {
    let parents = setup.groups.len() + setup.roles.len() + setup.tenants.len();
    let more = Limits {
        entities: setup.users.len() + setup.mapping_rules.len() + parents,
        memberships: setup.group_members.len()
            + setup.role_members.len()
            + setup.tenant_members.len(),
        // Each user may read their own entry.
        authorizations: setup.authorizations.len() + setup.users.len(),
        bytes: 2 * setup.weight(),
    };
    match directory(cx).exceeds_with(&Limits::STANDARD, &more) {
        None => Ok(()),
        Some(why) => Err(reject(
            RejectionType::InvalidState,
            "INITIALIZE",
            format!(
                "Expected to create what is configured under camunda.security.initialization, but {why}"
            ),
        )),
    }
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
