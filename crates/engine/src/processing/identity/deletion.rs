//! Deletes a user, group, role, tenant or mapping rule with its memberships and authorizations.
//!
//! Each of them has an event of its own, and that of the entity comes last. Very many would block the partition, so they are removed in
//! slices, one for each turn ([`Step::DeleteIdentity`]). Meanwhile nobody can change the entity or become its member, and the client waits
//! for the last slice.

use skep_identity::{Directory, Entry, Parent};
use skep_protocol::intent::{AuthorizationIntent, Intent as _, MappingRuleIntent, UserIntent};
use skep_protocol::value::{
    MappingRuleValue, Member, OwnerType, ParentType, ParentValue, Step, UserValue,
};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::events::{Became, Decided, IdentityEvent};
use super::{directory, not_found};
use crate::processing::{Context, Outcome, kept, reject};

/// Maximum number of memberships and authorizations removed in one turn: about 2 ms.
const SLICE: usize = 250;
/// The same while a node of the cluster does not know [`Step::DeleteIdentity`], which would stop its replicas: all must go at once.
const AT_ONCE: usize = 5_000;
/// The version of the protocol between nodes that introduced the step.
const SLICES_SINCE: u32 = 7;

/// An entity with all of its fields.
enum Entity {
    User(UserValue),
    Parent(ParentType, ParentValue),
    MappingRule(MappingRuleValue),
}

/// Deletes the entity of this row, or as much of it as fits into a turn.
pub(super) fn begin(cx: &mut Context<'_>, row: Key, what: &str) -> Outcome {
    let entity = load(cx, row).ok_or_else(|| not_found("DELETE", "delete", what))?;
    let spoken = cx.config.oldest_node.version();
    let most = if spoken >= SLICES_SINCE {
        slice(cx)
    } else {
        fits_at_once(directory(cx), &entity, what, spoken)?;
        AT_ONCE
    };
    if let Some(decided) = remove(cx, &entity, most) {
        return Ok(delete(cx, entity, decided));
    }
    if let Some(request) = cx.request {
        cx.volatile.awaiting_deletion.insert(row, request);
    }
    cx.steps.push(Step::DeleteIdentity(row));
    Ok(None)
}

/// [`Step::DeleteIdentity`]: the next slice.
pub(crate) fn carry_on(cx: &mut Context<'_>, row: Key) {
    let Some(entity) = load(cx, row) else {
        return cx.broken(format_args!(
            "the entity {row} is gone before its deletion has ended"
        ));
    };
    let most = slice(cx);
    let Some(decided) = remove(cx, &entity, most) else {
        cx.steps.again(Step::DeleteIdentity(row));
        return;
    };
    // The last slice is distributed like a whole deletion: the client waits until all partitions have it, and so all slices before.
    cx.request = cx.volatile.awaiting_deletion.remove(&row);
    let answer = delete(cx, entity, decided);
    if let (Some(request), Some(answer)) = (cx.request, answer) {
        cx.respond(request, Ok(answer));
    }
}

/// Refuses a change of an entity that is being deleted.
pub(super) fn stays(
    cx: &Context<'_>,
    row: Key,
    intent: &'static str,
    verb: &str,
    what: &str,
) -> Result<(), Rejection> {
    if !cx.state.continuations.deletes(row) {
        return Ok(());
    }
    Err(reject(
        RejectionType::InvalidState,
        intent,
        format!("Expected to {verb} {what}, but it is being deleted"),
    ))
}

fn load(cx: &mut Context<'_>, row: Key) -> Option<Entity> {
    let row = cx.state.identity.table.get(row)?;
    match &row.0 {
        Entry::User(user) => Some(Entity::User(user.clone())),
        Entry::Group(value) => Some(Entity::Parent(ParentType::Group, value.clone())),
        Entry::Role(value) => Some(Entity::Parent(ParentType::Role, value.clone())),
        Entry::Tenant(value) => Some(Entity::Parent(ParentType::Tenant, value.clone())),
        Entry::MappingRule(rule) => Some(Entity::MappingRule(rule.clone())),
        Entry::Authorization(_)
        | Entry::GroupMember { .. }
        | Entry::RoleMember { .. }
        | Entry::TenantMember { .. } => None,
    }
}

/// How many of them the next slice may have. With short turns, as tests set them, it is short as well.
fn slice(cx: &Context<'_>) -> usize {
    SLICE.min(cx.budget.steps() as usize).max(1)
}

fn fits_at_once(
    directory: &Directory,
    entity: &Entity,
    what: &str,
    spoken: u32,
) -> Result<(), Rejection> {
    if removals(directory, entity, AT_ONCE + 1).len() <= AT_ONCE {
        return Ok(());
    }
    Err(reject(
        RejectionType::InvalidState,
        "DELETE",
        format!(
            "Expected to delete {what}, but more than {AT_ONCE} memberships and authorizations would go with it: that needs version \
             {SLICES_SINCE} of the protocol between nodes, and a node of the cluster speaks version {spoken}. Nothing was done; upgrade all \
             nodes, then delete it again"
        ),
    ))
}

/// Removes up to `most` memberships and authorizations. Returns the decisions if none are left; otherwise they have been distributed, and
/// the turn is over.
fn remove(cx: &mut Context<'_>, entity: &Entity, most: usize) -> Option<Decided> {
    let mut events = removals(directory(cx), entity, most + 1);
    let is_last = events.len() <= most;
    events.truncate(most);
    let mut decided = Decided::default();
    for event in events {
        decided.event(cx, event);
    }
    if is_last {
        return Some(decided);
    }
    decided.spread_part(cx);
    cx.budget.end_turn();
    None
}

/// The events that remove what belongs to the entity, at most `most` of them.
fn removals(directory: &Directory, entity: &Entity, most: usize) -> Vec<IdentityEvent> {
    let left = Became::EntityRemoved;
    let mut events = Vec::new();
    if let Some((owner, member)) = entity.as_owner() {
        // Its own permissions first, so that a long removal does not leave them in effect.
        let parents = directory.parents_of(&member).take(most);
        events.extend(parents.map(|parent| {
            let key = directory.parent(parent).map(|value| value.key);
            IdentityEvent::member(left, parent, key.unwrap_or(Key::NONE), &member)
        }));
        let granted = directory.authorizations_of(owner, &member.id);
        let granted = granted.take(most.saturating_sub(events.len()));
        events.extend(granted.map(|(_, value)| {
            IdentityEvent::authorization(AuthorizationIntent::Deleted, (**value).clone())
        }));
    }
    if let Entity::Parent(kind, value) = entity {
        let parent = Parent::new(*kind, &value.id);
        let members = directory.members(&parent);
        let members = members.take(most.saturating_sub(events.len()));
        events.extend(
            members.map(|(member, _)| IdentityEvent::member(left, &parent, value.key, member)),
        );
    }
    events
}

/// Deletes the entity, which has nothing left.
fn delete(cx: &mut Context<'_>, entity: Entity, mut decided: Decided) -> Option<Response> {
    let event = match entity {
        Entity::User(user) => {
            kept::delete_all_of(cx, &user.username);
            IdentityEvent::user(UserIntent::Deleted, user)
        }
        Entity::Parent(kind, value) => {
            let gone = ParentValue {
                name: "".into(),
                description: "".into(),
                ..value
            };
            IdentityEvent::parent(kind, Became::Deleted, gone)
        }
        Entity::MappingRule(rule) => {
            let gone = MappingRuleValue {
                claim_name: "".into(),
                claim_value: "".into(),
                name: "".into(),
                ..rule
            };
            // The reference gives the event its own key.
            IdentityEvent::MappingRule(cx.next_key(), MappingRuleIntent::Deleted.id(), gone)
        }
    };
    decided.event(cx, event);
    decided.spread(cx, Response::Empty)
}

impl Entity {
    /// As an owner of authorizations and a member of others. A tenant is neither.
    fn as_owner(&self) -> Option<(OwnerType, Member)> {
        let (owner, id) = match self {
            Entity::User(user) => (OwnerType::User, &user.username),
            Entity::Parent(ParentType::Group, group) => (OwnerType::Group, &group.id),
            Entity::Parent(ParentType::Role, role) => (OwnerType::Role, &role.id),
            Entity::Parent(ParentType::Tenant, _) => return None,
            Entity::MappingRule(rule) => (OwnerType::MappingRule, &rule.mapping_rule_id),
        };
        Some((owner, Member::new(owner.entity_type(), id)))
    }
}
