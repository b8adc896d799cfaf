//! Commands that change users and their permissions.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::facts::{About, At, Audit, Class, Head, RecordName, Row, Whose, commands};
use super::need::{Need, On};
use crate::grants;
use crate::intent::{
    AuthorizationIntent, GroupIntent, IdentitySetupIntent, MappingRuleIntent, RoleIntent,
    TenantIntent, UserIntent, ValueType,
};
use crate::key::Key;
use crate::value::{
    AuthorizationValue, IdentitySetupValue, MappingRuleValue, Member, PasswordHash, UserValue,
};

commands! {
/// Commands for users, groups, roles, tenants, mapping rules and authorizations. The first partition decides all of them. The
/// order is that of the encoding between nodes.
pub enum IdentityCommand {
    CreateUser(user: UserValue) => {
        record: User { UserIntent::Create } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![User: Create], On::Any),
        audit: Audit::admin("USER", "CREATE"),
        weight: user.weight(),
    }
    /// Fields that are not given stay as they are.
    UpdateUser(update: UpdateUser) => {
        record: User { UserIntent::Update } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![User: Update], On::Id(&update.username)),
        audit: Audit::admin("USER", "UPDATE"),
        weight: update.weight(),
    }
    DeleteUser { username: Arc<str> } => {
        record: User { UserIntent::Delete } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::AnyOf(grants![User: Delete], On::Id(username)),
        audit: Audit::admin("USER", "DELETE"),
        weight: username.len(),
    }
    /// Allowed to everybody, but only while the role `admin` has no user.
    CreateInitialAdmin(user: UserValue) => {
        record: User { UserIntent::CreateInitialAdmin } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::Nothing,
        audit: Audit::None,
        weight: user.weight(),
    }
    CreateGroup(parent: NewParent) => {
        record: Group { GroupIntent::Create } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Group: Create], On::Any),
        audit: Audit::admin("GROUP", "CREATE"),
        weight: parent.weight(),
    }
    UpdateGroup(update: UpdateParent) => {
        record: Group { GroupIntent::Update } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Group: Update], On::Id(&update.id)),
        audit: Audit::admin("GROUP", "UPDATE"),
        weight: update.weight(),
    }
    DeleteGroup { id: Arc<str> } => {
        record: Group { GroupIntent::Delete } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::AnyOf(grants![Group: Delete], On::Id(id)),
        audit: Audit::admin("GROUP", "DELETE"),
        weight: id.len(),
    }
    AddToGroup(membership: Membership) => {
        record: Group { GroupIntent::AddEntity } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Group: Update], On::Id(&membership.parent)),
        audit: Audit::admin("GROUP", "ASSIGN"),
        weight: membership.weight(),
    }
    RemoveFromGroup(membership: Membership) => {
        record: Group { GroupIntent::RemoveEntity } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::AnyOf(grants![Group: Update], On::Id(&membership.parent)),
        audit: Audit::admin("GROUP", "UNASSIGN"),
        weight: membership.weight(),
    }
    CreateRole(parent: NewParent) => {
        record: Role { RoleIntent::Create } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Role: Create], On::Any),
        audit: Audit::admin("ROLE", "CREATE"),
        weight: parent.weight(),
    }
    UpdateRole(update: UpdateParent) => {
        record: Role { RoleIntent::Update } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Role: Update], On::Id(&update.id)),
        audit: Audit::admin("ROLE", "UPDATE"),
        weight: update.weight(),
    }
    DeleteRole { id: Arc<str> } => {
        record: Role { RoleIntent::Delete } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::AnyOf(grants![Role: Delete], On::Id(id)),
        audit: Audit::admin("ROLE", "DELETE"),
        weight: id.len(),
    }
    AddToRole(membership: Membership) => {
        record: Role { RoleIntent::AddEntity } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Role: Update], On::Id(&membership.parent)),
        audit: Audit::admin("ROLE", "ASSIGN"),
        weight: membership.weight(),
    }
    RemoveFromRole(membership: Membership) => {
        record: Role { RoleIntent::RemoveEntity } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::AnyOf(grants![Role: Update], On::Id(&membership.parent)),
        audit: Audit::admin("ROLE", "UNASSIGN"),
        weight: membership.weight(),
    }
    CreateTenant(parent: NewParent) => {
        record: Tenant { TenantIntent::Create } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Tenant: Create], On::Any),
        audit: Audit::admin("TENANT", "CREATE"),
        weight: parent.weight(),
    }
    UpdateTenant(update: UpdateParent) => {
        record: Tenant { TenantIntent::Update } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Tenant: Update], On::Id(&update.id)),
        audit: Audit::admin("TENANT", "UPDATE"),
        weight: update.weight(),
    }
    DeleteTenant { id: Arc<str> } => {
        record: Tenant { TenantIntent::Delete } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::AnyOf(grants![Tenant: Delete], On::Id(id)),
        audit: Audit::admin("TENANT", "DELETE"),
        weight: id.len(),
    }
    AddToTenant(membership: Membership) => {
        record: Tenant { TenantIntent::AddEntity } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Tenant: Update], On::Id(&membership.parent)),
        audit: Audit::admin("TENANT", "ASSIGN"),
        weight: membership.weight(),
    }
    RemoveFromTenant(membership: Membership) => {
        record: Tenant { TenantIntent::RemoveEntity } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::AnyOf(grants![Tenant: Update], On::Id(&membership.parent)),
        audit: Audit::admin("TENANT", "UNASSIGN"),
        weight: membership.weight(),
    }
    CreateMappingRule(rule: MappingRuleValue) => {
        record: MappingRule { MappingRuleIntent::Create } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![MappingRule: Create], On::Any),
        audit: Audit::admin("MAPPING_RULE", "CREATE"),
        weight: rule.weight(),
    }
    UpdateMappingRule(rule: MappingRuleValue) => {
        record: MappingRule { MappingRuleIntent::Update } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![MappingRule: Update], On::Id(&rule.mapping_rule_id)),
        audit: Audit::admin("MAPPING_RULE", "UPDATE"),
        weight: rule.weight(),
    }
    DeleteMappingRule { id: Arc<str> } => {
        record: MappingRule { MappingRuleIntent::Delete } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::AnyOf(grants![MappingRule: Delete], On::Id(id)),
        audit: Audit::admin("MAPPING_RULE", "DELETE"),
        weight: id.len(),
    }
    CreateAuthorization(authorization: AuthorizationValue) => {
        record: Authorization { AuthorizationIntent::Create } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Authorization: Create], On::Any),
        audit: Audit::admin("AUTHORIZATION", "CREATE"),
        weight: authorization.weight(),
    }
    /// Replaces all fields; the key names the authorization.
    UpdateAuthorization(authorization: AuthorizationValue) => {
        record: Authorization { AuthorizationIntent::Update } authorization.authorization_key,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Authorization: Update], On::Any),
        audit: Audit::admin("AUTHORIZATION", "UPDATE"),
        weight: authorization.weight(),
    }
    DeleteAuthorization { authorization_key: Key } => {
        record: Authorization { AuthorizationIntent::Delete } *authorization_key,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::AnyOf(grants![Authorization: Delete], On::Any),
        audit: Audit::admin("AUTHORIZATION", "DELETE"),
        weight: 0,
    }
    /// Creates the configured entities that do not exist.
    SetUp(setup: Box<IdentitySetupValue>) => {
        record: IdentitySetup { IdentitySetupIntent::Initialize } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::Internal,
        audit: Audit::None,
        weight: setup.weight(),
    }
}
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UpdateUser {
    pub username: Arc<str>,
    pub name: Option<Arc<str>>,
    pub email: Option<Arc<str>>,
    /// Empty: it stays.
    pub password: PasswordHash,
}

impl UpdateUser {
    fn weight(&self) -> usize {
        let texts = [&self.name, &self.email];
        let texts: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
        self.username.len() + texts + self.password.reveal().len()
    }
}

/// A new group, role or tenant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewParent {
    pub id: Arc<str>,
    pub name: Arc<str>,
    /// Empty: none.
    pub description: Arc<str>,
}

impl NewParent {
    fn weight(&self) -> usize {
        self.id.len() + self.name.len() + self.description.len()
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UpdateParent {
    pub id: Arc<str>,
    pub name: Arc<str>,
    /// `None`: it stays as it is.
    pub description: Option<Arc<str>>,
}

impl UpdateParent {
    fn weight(&self) -> usize {
        let description = self.description.as_ref().map_or(0, |text| text.len());
        self.id.len() + self.name.len() + description
    }
}

/// A member of a group, role or tenant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Membership {
    /// The id of the group, role or tenant.
    pub parent: Arc<str>,
    pub member: Member,
}

impl Membership {
    fn weight(&self) -> usize {
        self.parent.len() + self.member.weight()
    }
}
