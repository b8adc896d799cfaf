//! USER CREATE, UPDATE, DELETE and CREATE_INITIAL_ADMIN.

use skep_identity::{Entry, Parent, defaults};
use skep_protocol::command::UpdateUser;
use skep_protocol::intent::{AuthorizationIntent, UserIntent};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, Member, OwnerType, ParentType, PasswordHash, ResourceMatcher,
    UserValue,
};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::events::{Became, Decided, IdentityEvent};
use super::{deletion, directory, exists, fits, may_grow, not_found};
use crate::processing::{Context, Outcome, reject};

pub(super) fn create(cx: &mut Context<'_>, value: &UserValue) -> Outcome {
    let mut decided = Decided::default();
    let user = created(cx, "CREATE", value, &mut decided)?;
    Ok(decided.spread(cx, Response::User(shown(user))))
}

/// Writes the user, and the permission to read their own entry.
pub(super) fn created(
    cx: &mut Context<'_>,
    intent: &'static str,
    value: &UserValue,
    decided: &mut Decided,
) -> Result<UserValue, Rejection> {
    let what = described(&value.username);
    if directory(cx).user(&value.username).is_some() {
        return Err(exists(intent, &what));
    }
    fits(cx, intent, &what, &Entry::User(value.clone()))?;
    let own = reads_himself(value);
    fits(cx, intent, &what, &Entry::Authorization(own.clone()))?;
    let user = UserValue {
        user_key: cx.new_key(),
        ..value.clone()
    };
    decided.event(cx, IdentityEvent::user(UserIntent::Created, user.clone()));
    let own = AuthorizationValue {
        authorization_key: cx.new_key(),
        ..own
    };
    let event = IdentityEvent::authorization(AuthorizationIntent::Created, own);
    decided.event(cx, event);
    Ok(user)
}

fn reads_himself(user: &UserValue) -> AuthorizationValue {
    AuthorizationValue {
        authorization_key: Key::NONE,
        owner_type: OwnerType::User,
        owner_id: user.username.clone(),
        resource_type: ResourceType::User,
        matcher: ResourceMatcher::Id(user.username.clone()),
        permissions: vec![PermissionType::Read],
    }
}

pub(super) fn update(cx: &mut Context<'_>, update: &UpdateUser) -> Outcome {
    let what = described(&update.username);
    let found = directory(cx).user(&update.username);
    let old = found.ok_or_else(|| not_found("UPDATE", "update", &what))?;
    deletion::stays(cx, old.user_key, "UPDATE", "update", &what)?;
    let user = UserValue {
        user_key: old.user_key,
        username: old.username.clone(),
        name: update.name.as_ref().unwrap_or(&old.name).clone(),
        email: update.email.as_ref().unwrap_or(&old.email).clone(),
        password: if update.password.is_empty() {
            old.password.clone()
        } else {
            update.password.clone()
        },
    };
    may_grow(cx, &what, user.weight().saturating_sub(old.weight()))?;
    let mut decided = Decided::default();
    decided.event(cx, IdentityEvent::user(UserIntent::Updated, user.clone()));
    Ok(decided.spread(cx, Response::User(shown(user))))
}

pub(super) fn delete(cx: &mut Context<'_>, username: &str) -> Outcome {
    let what = described(username);
    let found = directory(cx).user(username);
    let row = found.ok_or_else(|| not_found("DELETE", "delete", &what))?;
    let row = row.user_key;
    deletion::stays(cx, row, "DELETE", "delete", &what)?;
    deletion::begin(cx, row, &what)
}

/// Creates the first administrator: the first request wins, later ones are refused.
pub(super) fn create_initial_admin(cx: &mut Context<'_>, value: &UserValue) -> Outcome {
    const INTENT: &str = "CREATE_INITIAL_ADMIN";
    let admins = Parent::new(ParentType::Role, defaults::ADMIN);
    let Some(role) = directory(cx).parent(&admins).cloned() else {
        return Err(reject(
            RejectionType::InvalidState,
            INTENT,
            format!(
                "Expected to create the first administrator, but there is no role '{}' yet. Try again in a moment",
                defaults::ADMIN
            ),
        ));
    };
    // An administrator may have the role through a group, or be a client.
    if directory(cx).has_admin() {
        return Err(reject(
            RejectionType::Forbidden,
            INTENT,
            defaults::HAS_ADMIN,
        ));
    }
    let mut decided = Decided::default();
    let user = created(cx, INTENT, value, &mut decided)?;
    let member = Member::new(EntityType::User, &user.username);
    let event = IdentityEvent::member(Became::EntityAdded, &admins, role.key, &member);
    decided.event(cx, event);
    let done = IdentityEvent::user(UserIntent::InitialAdminCreated, user.clone());
    decided.event(cx, done);
    Ok(decided.spread(cx, Response::User(shown(user))))
}

fn shown(user: UserValue) -> UserValue {
    UserValue {
        password: PasswordHash::default(),
        ..user
    }
}

fn described(username: &str) -> String {
    format!("user with username '{username}'")
}
