//! The values of USER, GROUP, ROLE, TENANT, MAPPING_RULE, AUTHORIZATION and IDENTITY_SETUP records.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::RecordValue;
use crate::intent::{GroupIntent, RoleIntent, TenantIntent, ValueType};
use crate::key::Key;
use crate::permission::{PermissionType, ResourceType};

/// The hash of a password, with the algorithm and its parameters in front (PHC string). Empty: no password is set, or none is given.
/// Nothing prints it: it is written to the log and the state of partition 1, and compared.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PasswordHash(Arc<str>);

impl PasswordHash {
    pub fn new(text: &str) -> PasswordHash {
        PasswordHash(text.into())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Only for the comparison with a password.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "none" } else { "***" })
    }
}

macro_rules! named {
    ($(#[$doc:meta])* $enum:ident { $($variant:ident $name:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $enum { $($variant),+ }

        impl $enum {
            pub const ALL: &'static [$enum] = &[$($enum::$variant),+];

            /// The name of the API.
            pub fn name(self) -> &'static str {
                match self { $($enum::$variant => $name),+ }
            }

            /// The one with this name.
            pub fn named(name: &str) -> Option<$enum> {
                $enum::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named! {
    /// Type of a member of a group, a role or a tenant; ids are in the log.
    EntityType { User "USER", Client "CLIENT", MappingRule "MAPPING_RULE", Group "GROUP", Role "ROLE" }
}

named! {
    /// Type of an owner of permissions; ids are in the log.
    OwnerType { User "USER", Client "CLIENT", Role "ROLE", Group "GROUP", MappingRule "MAPPING_RULE" }
}

impl OwnerType {
    /// The owner's type as a member.
    pub fn entity_type(self) -> EntityType {
        match self {
            OwnerType::User => EntityType::User,
            OwnerType::Client => EntityType::Client,
            OwnerType::Role => EntityType::Role,
            OwnerType::Group => EntityType::Group,
            OwnerType::MappingRule => EntityType::MappingRule,
        }
    }
}

named! {
    /// Whether it is a group, a role or a tenant. Not in the log: there, each has a value type of its own.
    ParentType { Group "GROUP", Role "ROLE", Tenant "TENANT" }
}

/// The resources for which an authorization is granted; ids are in the log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ResourceMatcher {
    /// `*`: all of the type.
    Any,
    /// The one with this id.
    Id(Arc<str>),
    /// Resources whose property of this name is the caller.
    Property(Arc<str>),
}

impl ResourceMatcher {
    pub fn name(&self) -> &'static str {
        match self {
            ResourceMatcher::Any => "ANY",
            ResourceMatcher::Id(_) => "ID",
            ResourceMatcher::Property(_) => "PROPERTY",
        }
    }

    /// As the API shows it: `*`, the id, or nothing.
    pub fn resource_id(&self) -> Option<&str> {
        match self {
            ResourceMatcher::Any => Some("*"),
            ResourceMatcher::Id(id) => Some(id),
            ResourceMatcher::Property(_) => None,
        }
    }

    /// The `resourcePropertyName` of the API.
    pub fn property(&self) -> Option<&str> {
        match self {
            ResourceMatcher::Property(name) => Some(name),
            ResourceMatcher::Any | ResourceMatcher::Id(_) => None,
        }
    }
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member {
    pub entity_type: EntityType,
    pub id: Arc<str>,
}

impl Member {
    pub fn new(entity_type: EntityType, id: &str) -> Member {
        let id = id.into();
        Member { entity_type, id }
    }

    pub fn weight(&self) -> usize {
        size_of::<Member>() + self.id.len()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserValue {
    /// None in a command that makes a user.
    pub user_key: Key,
    pub username: Arc<str>,
    /// Empty: none was given.
    pub name: Arc<str>,
    /// Empty: none was given.
    pub email: Arc<str>,
    /// Empty on other partitions than the first.
    pub password: PasswordHash,
}

impl UserValue {
    pub fn weight(&self) -> usize {
        self.username.len() + self.name.len() + self.email.len() + self.password.0.len()
    }
}

/// A group, a role or a tenant: something with a name that has members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParentValue {
    pub key: Key,
    pub id: Arc<str>,
    pub name: Arc<str>,
    /// Empty: none was given.
    pub description: Arc<str>,
    /// On ENTITY_ADDED and ENTITY_REMOVED: the member.
    pub member: Option<Member>,
}

impl ParentValue {
    pub fn weight(&self) -> usize {
        let member = self.member.as_ref().map_or(0, Member::weight);
        self.id.len() + self.name.len() + self.description.len() + member
    }
}

macro_rules! parents {
    ($($(#[$doc:meta])* $value:ident : $value_type:ident, $intent:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $value(pub ParentValue);

        impl RecordValue for $value {
            const VALUE_TYPE: ValueType = ValueType::$value_type;
            type Intent = $intent;
        }
    )+};
}

parents! {
    GroupValue: Group, GroupIntent;
    RoleValue: Role, RoleIntent;
    TenantValue: Tenant, TenantIntent;
}

/// Callers whose token has this claim get the permissions of the rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MappingRuleValue {
    pub mapping_rule_key: Key,
    pub mapping_rule_id: Arc<str>,
    /// A name, or a JSONPath that begins with `$`.
    pub claim_name: Arc<str>,
    pub claim_value: Arc<str>,
    pub name: Arc<str>,
}

impl MappingRuleValue {
    pub fn weight(&self) -> usize {
        let texts = [
            &self.mapping_rule_id,
            &self.claim_name,
            &self.claim_value,
            &self.name,
        ];
        texts.iter().map(|text| text.len()).sum()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuthorizationValue {
    /// None in a command that makes an authorization.
    pub authorization_key: Key,
    pub owner_type: OwnerType,
    pub owner_id: Arc<str>,
    pub resource_type: ResourceType,
    pub matcher: ResourceMatcher,
    /// In the order of their names, each once.
    pub permissions: Vec<PermissionType>,
}

impl AuthorizationValue {
    pub fn weight(&self) -> usize {
        let resource = match &self.matcher {
            ResourceMatcher::Any => 0,
            ResourceMatcher::Id(text) | ResourceMatcher::Property(text) => text.len(),
        };
        self.owner_id.len() + resource + self.permissions.len() * 2
    }
}

/// Entities that are created at a start if they do not exist. Keys are unset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IdentitySetupValue {
    pub users: Vec<UserValue>,
    pub roles: Vec<ParentValue>,
    pub groups: Vec<ParentValue>,
    pub tenants: Vec<ParentValue>,
    pub mapping_rules: Vec<MappingRuleValue>,
    pub authorizations: Vec<AuthorizationValue>,
    /// One membership each.
    pub role_members: Vec<(Arc<str>, Member)>,
    pub group_members: Vec<(Arc<str>, Member)>,
    pub tenant_members: Vec<(Arc<str>, Member)>,
}

impl IdentitySetupValue {
    pub fn weight(&self) -> usize {
        let parents = [&self.roles, &self.groups, &self.tenants];
        let members = [
            &self.role_members,
            &self.group_members,
            &self.tenant_members,
        ];
        self.users.iter().map(UserValue::weight).sum::<usize>()
            + parents
                .into_iter()
                .flatten()
                .map(ParentValue::weight)
                .sum::<usize>()
            + self
                .mapping_rules
                .iter()
                .map(MappingRuleValue::weight)
                .sum::<usize>()
            + self
                .authorizations
                .iter()
                .map(AuthorizationValue::weight)
                .sum::<usize>()
            + members
                .into_iter()
                .flatten()
                .map(|(id, member)| id.len() + member.weight())
                .sum::<usize>()
    }
}
