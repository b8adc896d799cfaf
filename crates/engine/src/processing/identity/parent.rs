//! GROUP, ROLE and TENANT CREATE, UPDATE, DELETE, ADD_ENTITY and REMOVE_ENTITY.

use skep_identity::{Entry, Parent, defaults};
use skep_protocol::command::{Membership, NewParent, UpdateParent};
use skep_protocol::value::{EntityType, Member, ParentType, ParentValue};
use skep_protocol::{DEFAULT_TENANT, Rejection, RejectionType, Response};

use super::events::{Became, Decided, IdentityEvent};
use super::{deletion, directory, exists, fits, is_known, may_grow, not_found, noun};
use crate::processing::{Context, Outcome, reject};

pub(super) fn create(cx: &mut Context<'_>, kind: ParentType, new: &NewParent) -> Outcome {
    let mut decided = Decided::default();
    let value = created(cx, kind, new, &mut decided)?;
    Ok(decided.spread(cx, Response::Parent(value)))
}

pub(super) fn created(
    cx: &mut Context<'_>,
    kind: ParentType,
    new: &NewParent,
    decided: &mut Decided,
) -> Result<ParentValue, Rejection> {
    let what = described(kind, &new.id);
    if directory(cx).parent_of(kind, &new.id).is_some() {
        return Err(exists("CREATE", &what));
    }
    let value = ParentValue {
        key: cx.next_key(),
        id: new.id.clone(),
        name: new.name.clone(),
        description: new.description.clone(),
        member: None,
    };
    fits(cx, "CREATE", &what, &Entry::parent(kind, value.clone()))?;
    let event = IdentityEvent::parent(kind, Became::Created, value.clone());
    decided.event(cx, event);
    Ok(value)
}

pub(super) fn update(cx: &mut Context<'_>, kind: ParentType, update: &UpdateParent) -> Outcome {
    let old = found(cx, kind, &update.id, "UPDATE", "update")?;
    is_changeable(kind, &update.id, "UPDATE", "update")?;
    let before = old.weight();
    let value = ParentValue {
        name: update.name.clone(),
        description: update.description.clone().unwrap_or(old.description),
        ..old
    };
    let what = described(kind, &update.id);
    may_grow(cx, &what, value.weight().saturating_sub(before))?;
    let mut decided = Decided::default();
    let event = IdentityEvent::parent(kind, Became::Updated, value.clone());
    decided.event(cx, event);
    Ok(decided.spread(cx, Response::Parent(value)))
}

pub(super) fn delete(cx: &mut Context<'_>, kind: ParentType, id: &str) -> Outcome {
    let value = found(cx, kind, id, "DELETE", "delete")?;
    is_changeable(kind, id, "DELETE", "delete")?;
    deletion::begin(cx, value.key, &described(kind, id))
}

pub(super) fn add_member(cx: &mut Context<'_>, kind: ParentType, add: &Membership) -> Outcome {
    let value = found(cx, kind, &add.parent, "ADD_ENTITY", "add an entity to")?;
    must_exist(cx, kind, &add.parent, &add.member)?;
    let parent = Parent::new(kind, &add.parent);
    if directory(cx).membership(&parent, &add.member).is_some() {
        return Err(reject(
            RejectionType::AlreadyExists,
            "ADD_ENTITY",
            format!(
                "Expected to add {} to {}, but it is a member already",
                named(&add.member),
                described(kind, &add.parent)
            ),
        ));
    }
    let mut decided = Decided::default();
    added(cx, kind, &value, &add.member, &mut decided)?;
    Ok(decided.spread(cx, Response::Empty))
}

/// Writes the event of a new member.
pub(super) fn added(
    cx: &mut Context<'_>,
    kind: ParentType,
    parent: &ParentValue,
    member: &Member,
    decided: &mut Decided,
) -> Result<(), Rejection> {
    let name = Parent::new(kind, &parent.id);
    let what = format!("a membership in {}", described(kind, &parent.id));
    let more = Entry::membership(&name, member.clone());
    fits(cx, "ADD_ENTITY", &what, &more)?;
    let event = IdentityEvent::member(Became::EntityAdded, &name, parent.key, member);
    decided.event(cx, event);
    Ok(())
}

pub(super) fn remove_member(
    cx: &mut Context<'_>,
    kind: ParentType,
    remove: &Membership,
) -> Outcome {
    const INTENT: &str = "REMOVE_ENTITY";
    let value = found(cx, kind, &remove.parent, INTENT, "remove an entity from")?;
    let parent = Parent::new(kind, &remove.parent);
    if directory(cx).membership(&parent, &remove.member).is_none() {
        return Err(reject(
            RejectionType::NotFound,
            INTENT,
            format!(
                "Expected to remove {} from {}, but it is not a member",
                named(&remove.member),
                described(kind, &remove.parent)
            ),
        ));
    }
    let mut decided = Decided::default();
    let left = Became::EntityRemoved;
    let event = IdentityEvent::member(left, &parent, value.key, &remove.member);
    decided.event(cx, event);
    Ok(decided.spread(cx, Response::Empty))
}

/// Checks that the new member exists.
fn must_exist(
    cx: &Context<'_>,
    kind: ParentType,
    parent: &str,
    member: &Member,
) -> Result<(), Rejection> {
    if is_known(cx, member.entity_type, &member.id) {
        return Ok(());
    }
    Err(reject(
        RejectionType::NotFound,
        "ADD_ENTITY",
        format!(
            "Expected to add {} to {}, but there is no such {}",
            named(member),
            described(kind, parent),
            entity_noun(member.entity_type)
        ),
    ))
}

fn found(
    cx: &Context<'_>,
    kind: ParentType,
    id: &str,
    intent: &'static str,
    verb: &str,
) -> Result<ParentValue, Rejection> {
    let what = described(kind, id);
    let found = directory(cx).parent_of(kind, id);
    let found = found.ok_or_else(|| not_found(intent, verb, &what))?;
    deletion::stays(cx, found.key, intent, verb, &what)?;
    Ok((**found).clone())
}

/// Refuses changes to the roles and the tenant that every start restores: a change would only last until then.
fn is_changeable(
    kind: ParentType,
    id: &str,
    intent: &'static str,
    verb: &str,
) -> Result<(), Rejection> {
    let is_default = match kind {
        ParentType::Group => false,
        ParentType::Role => defaults::is_role(id),
        ParentType::Tenant => id == DEFAULT_TENANT,
    };
    if !is_default {
        Ok(())
    } else {
        Err(reject(
            RejectionType::Forbidden,
            intent,
            format!(
                "Expected to {verb} {}, but it is a default {}, which cannot be changed. Change its members, or create one of your own",
                described(kind, id),
                noun(kind)
            ),
        ))
    }
}

fn described(kind: ParentType, id: &str) -> String {
    format!("{} with id '{id}'", noun(kind))
}

fn named(member: &Member) -> String {
    format!(
        "{} with id '{}'",
        entity_noun(member.entity_type),
        member.id
    )
}

fn entity_noun(kind: EntityType) -> &'static str {
    match kind {
        EntityType::User => "user",
        EntityType::Client => "client",
        EntityType::MappingRule => "mapping rule",
        EntityType::Group => "group",
        EntityType::Role => "role",
    }
}
