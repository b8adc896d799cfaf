//! Users and their permissions: users, groups, roles, tenants, mapping rules, memberships and authorizations.
//!
//! The first partition decides. It sends its events with their keys to the other partitions, which write the same events
//! and decide nothing. The client gets the answer when all of them have written the events.

mod authorization;
pub(crate) mod deletion;
mod events;
mod mapping_rule;
mod parent;
mod setup;
mod user;

pub use events::IdentityEvent;
pub(crate) use events::arrived;
use skep_identity::{Directory, Entry, Limits};
use skep_protocol::command::IdentityCommand;
use skep_protocol::value::{EntityType, ParentType};
use skep_protocol::{Rejection, RejectionType};

use super::{Context, Outcome, reject};

pub(crate) fn process(cx: &mut Context<'_>, command: &IdentityCommand) -> Outcome {
    use IdentityCommand as Requested;
    use ParentType::{Group, Role, Tenant};
    match command {
        Requested::CreateUser(value) => user::create(cx, value),
        Requested::UpdateUser(update) => user::update(cx, update),
        Requested::DeleteUser { username } => user::delete(cx, username),
        Requested::CreateInitialAdmin(value) => user::create_initial_admin(cx, value),
        Requested::CreateGroup(new) => parent::create(cx, Group, new),
        Requested::CreateRole(new) => parent::create(cx, Role, new),
        Requested::CreateTenant(new) => parent::create(cx, Tenant, new),
        Requested::UpdateGroup(update) => parent::update(cx, Group, update),
        Requested::UpdateRole(update) => parent::update(cx, Role, update),
        Requested::UpdateTenant(update) => parent::update(cx, Tenant, update),
        Requested::DeleteGroup { id } => parent::delete(cx, Group, id),
        Requested::DeleteRole { id } => parent::delete(cx, Role, id),
        Requested::DeleteTenant { id } => parent::delete(cx, Tenant, id),
        Requested::AddToGroup(membership) => parent::add_member(cx, Group, membership),
        Requested::AddToRole(membership) => parent::add_member(cx, Role, membership),
        Requested::AddToTenant(membership) => parent::add_member(cx, Tenant, membership),
        Requested::RemoveFromGroup(membership) => parent::remove_member(cx, Group, membership),
        Requested::RemoveFromRole(membership) => parent::remove_member(cx, Role, membership),
        Requested::RemoveFromTenant(membership) => parent::remove_member(cx, Tenant, membership),
        Requested::CreateMappingRule(rule) => mapping_rule::create(cx, rule),
        Requested::UpdateMappingRule(rule) => mapping_rule::update(cx, rule),
        Requested::DeleteMappingRule { id } => mapping_rule::delete(cx, id),
        Requested::CreateAuthorization(value) => authorization::create(cx, value),
        Requested::UpdateAuthorization(value) => authorization::update(cx, value),
        Requested::DeleteAuthorization { authorization_key } => {
            authorization::delete(cx, *authorization_key)
        }
        Requested::SetUp(setup) => setup::process(cx, setup),
    }
}

/// The name of a group, role or tenant in messages.
fn noun(kind: ParentType) -> &'static str {
    match kind {
        ParentType::Group => "group",
        ParentType::Role => "role",
        ParentType::Tenant => "tenant",
    }
}

fn directory<'c>(cx: &'c Context<'_>) -> &'c Directory {
    &cx.state.identity.directory
}

/// Checks that there is room for one more entry.
fn fits(cx: &Context<'_>, intent: &'static str, what: &str, more: &Entry) -> Result<(), Rejection> {
    match directory(cx).exceeds(&Limits::STANDARD, more) {
        None => Ok(()),
        Some(why) => Err(reject(
            RejectionType::InvalidState,
            intent,
            format!("Expected to create {what}, but {why}. Delete some first"),
        )),
    }
}

/// Checks that there is room for the bytes by which an update makes an entry grow. One that does not grow can always be changed, also
/// where there is too much already.
fn may_grow(cx: &Context<'_>, what: &str, bytes: usize) -> Result<(), Rejection> {
    let more = Limits {
        bytes,
        ..Limits::default()
    };
    match directory(cx).exceeds_with(&Limits::STANDARD, &more) {
        Some(why) if bytes > 0 => Err(reject(
            RejectionType::InvalidState,
            "UPDATE",
            format!("Expected to update {what}, but {why}. Delete some first"),
        )),
        _ => Ok(()),
    }
}

fn exists(intent: &'static str, what: &str) -> Rejection {
    reject(
        RejectionType::AlreadyExists,
        intent,
        format!("Expected to create {what}, but there is one already"),
    )
}

fn not_found(intent: &'static str, verb: &str, what: &str) -> Rejection {
    reject(
        RejectionType::NotFound,
        intent,
        format!("Expected to {verb} {what}, but none was found"),
    )
}

/// Whether a new member or owner exists, as far as this cluster can know, and is not being deleted. Only the identity provider knows clients.
fn is_known(cx: &Context<'_>, kind: EntityType, id: &str) -> bool {
    let settings = &cx.config.identity;
    let known = directory(cx);
    let parent = |kind| known.parent_of(kind, id).map(|value| value.key);
    let (row, is_managed) = match kind {
        EntityType::Client => return true,
        EntityType::User => (
            known.user(id).map(|user| user.user_key),
            settings.manages_users,
        ),
        EntityType::Group => (parent(ParentType::Group), settings.manages_groups),
        EntityType::Role => (parent(ParentType::Role), true),
        EntityType::MappingRule => (known.rule(id).map(|rule| rule.mapping_rule_key), true),
    };
    match row {
        Some(row) => !cx.state.continuations.deletes(row),
        None => !is_managed,
    }
}
