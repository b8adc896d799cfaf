//! AUTHORIZATION CREATE, UPDATE and DELETE.

use skep_identity::{Entry, defaults};
use skep_protocol::intent::AuthorizationIntent as Intent;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{AuthorizationValue, OwnerType, ResourceMatcher};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::events::{Decided, IdentityEvent};
use super::{directory, fits, is_known, may_grow, not_found};
use crate::processing::{Context, Outcome, reject};

/// Properties that an authorization by property may name.
const PROPERTIES: [&str; 3] = ["assignee", "candidateUsers", "candidateGroups"];

pub(super) fn create(cx: &mut Context<'_>, value: &AuthorizationValue) -> Outcome {
    is_changeable("CREATE", value)?;
    owner_exists(cx, "CREATE", value)?;
    let mut decided = Decided::default();
    let value = created(cx, value, &mut decided)?;
    let answer = Response::AuthorizationCreated {
        authorization_key: value.authorization_key,
    };
    Ok(decided.spread(cx, answer))
}

pub(super) fn created(
    cx: &mut Context<'_>,
    value: &AuthorizationValue,
    decided: &mut Decided,
) -> Result<AuthorizationValue, Rejection> {
    can_be_granted("CREATE", value)?;
    if let Some(key) = same(cx, value) {
        return Err(granted_already("CREATE", value, key));
    }
    let value = AuthorizationValue {
        authorization_key: cx.next_key(),
        ..value.clone()
    };
    let more = Entry::Authorization(value.clone());
    fits(cx, "CREATE", "an authorization", &more)?;
    let event = IdentityEvent::authorization(Intent::Created, value.clone());
    decided.event(cx, event);
    Ok(value)
}

pub(super) fn update(cx: &mut Context<'_>, value: &AuthorizationValue) -> Outcome {
    let old = found(cx, value.authorization_key, "UPDATE", "update")?;
    is_changeable("UPDATE", &old)?;
    is_changeable("UPDATE", value)?;
    owner_exists(cx, "UPDATE", value)?;
    can_be_granted("UPDATE", value)?;
    if let Some(key) = same(cx, value).filter(|key| *key != value.authorization_key) {
        return Err(granted_already("UPDATE", value, key));
    }
    let what = format!("authorization with key '{}'", value.authorization_key);
    may_grow(cx, &what, value.weight().saturating_sub(old.weight()))?;
    let mut decided = Decided::default();
    let event = IdentityEvent::authorization(Intent::Updated, value.clone());
    decided.event(cx, event);
    Ok(decided.spread(cx, Response::Empty))
}

pub(super) fn delete(cx: &mut Context<'_>, key: Key) -> Outcome {
    let old = found(cx, key, "DELETE", "delete")?;
    is_changeable("DELETE", &old)?;
    let mut decided = Decided::default();
    decided.event(cx, IdentityEvent::authorization(Intent::Deleted, old));
    Ok(decided.spread(cx, Response::Empty))
}

/// The authorization that the owner already has on the same resources.
pub(super) fn same(cx: &Context<'_>, value: &AuthorizationValue) -> Option<Key> {
    directory(cx).authorization_like(value)
}

fn granted_already(intent: &'static str, value: &AuthorizationValue, key: Key) -> Rejection {
    reject(
        RejectionType::AlreadyExists,
        intent,
        format!(
            "Expected to grant {} to {}, but the authorization {key} is about the same resources. Update that one",
            on(value),
            owner(value)
        ),
    )
}

fn found(
    cx: &Context<'_>,
    key: Key,
    intent: &'static str,
    verb: &str,
) -> Result<AuthorizationValue, Rejection> {
    let found = directory(cx).authorization(key);
    let found =
        found.ok_or_else(|| not_found(intent, verb, &format!("authorization with key '{key}'")))?;
    Ok((**found).clone())
}

pub(super) fn can_be_granted(
    intent: &'static str,
    value: &AuthorizationValue,
) -> Result<(), Rejection> {
    let supported = value.resource_type.permissions();
    let is_supported =
        |permission: &&PermissionType| !supported.iter().any(|(known, _)| known == *permission);
    let wrong: Vec<&str> = (value.permissions.iter().filter(is_supported))
        .map(|permission| permission.name())
        .collect();
    let invalid = |why: String| Err(reject(RejectionType::InvalidArgument, intent, why));
    if !wrong.is_empty() {
        let supported: Vec<&str> = supported.iter().map(|(known, _)| known.name()).collect();
        return invalid(format!(
            "Expected permissions that can be granted on {}, but got [{}]. Those are [{}]",
            value.resource_type.name(),
            wrong.join(", "),
            supported.join(", ")
        ));
    }
    if value.permissions.is_empty() {
        return invalid("Expected at least one permission, but got none".to_string());
    }
    match &value.matcher {
        ResourceMatcher::Property(name) if value.resource_type != ResourceType::UserTask => {
            invalid(format!(
                "Expected no property of {}, but got '{name}'. Only those of USER_TASK can be named",
                value.resource_type.name()
            ))
        }
        ResourceMatcher::Property(name) if !PROPERTIES.contains(&&**name) => invalid(format!(
            "Expected a property out of [{}], but got '{name}'",
            PROPERTIES.join(", ")
        )),
        ResourceMatcher::Any | ResourceMatcher::Id(_) | ResourceMatcher::Property(_) => Ok(()),
    }
}

/// Checks that the owner exists.
fn owner_exists(
    cx: &Context<'_>,
    intent: &'static str,
    value: &AuthorizationValue,
) -> Result<(), Rejection> {
    if is_known(cx, value.owner_type.entity_type(), &value.owner_id) {
        return Ok(());
    }
    Err(reject(
        RejectionType::NotFound,
        intent,
        format!(
            "Expected to grant {} to {}, but there is no such owner",
            on(value),
            owner(value)
        ),
    ))
}

/// Refuses changes to the authorizations of default roles, which every start restores.
fn is_changeable(intent: &'static str, value: &AuthorizationValue) -> Result<(), Rejection> {
    if value.owner_type != OwnerType::Role || !defaults::is_role(&value.owner_id) {
        return Ok(());
    }
    Err(reject(
        RejectionType::Forbidden,
        intent,
        format!(
            "Expected to change the permissions of {}, but that is a default role. Create a role of your own",
            owner(value)
        ),
    ))
}

fn owner(value: &AuthorizationValue) -> String {
    format!("{} '{}'", value.owner_type.name(), value.owner_id)
}

fn on(value: &AuthorizationValue) -> String {
    let which = match &value.matcher {
        ResourceMatcher::Any => "*".to_string(),
        ResourceMatcher::Id(id) => format!("'{id}'"),
        ResourceMatcher::Property(name) => format!("those whose {name} is the caller"),
    };
    format!("permissions on {} {which}", value.resource_type.name())
}
