//! Records of users, groups, roles, tenants, and their permissions.

use std::sync::Arc;

use skep_protocol::Key;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::*;

use super::key;

/// Contained in the log, and nowhere else.
pub const HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g";

pub fn user() -> UserValue {
    UserValue {
        user_key: key(30),
        username: "anna".into(),
        name: "Anna Wolf".into(),
        email: "anna@example.org".into(),
        password: PasswordHash::new(HASH),
    }
}

fn parent(id: &str, member: Member) -> ParentValue {
    ParentValue {
        key: key(31),
        id: id.into(),
        name: "Sales".into(),
        description: "those who sell".into(),
        member: Some(member),
    }
}

pub fn group() -> GroupValue {
    GroupValue(parent("sales", Member::new(EntityType::User, "anna")))
}

pub fn role() -> RoleValue {
    RoleValue(parent("clerk", Member::new(EntityType::Group, "sales")))
}

pub fn tenant() -> TenantValue {
    TenantValue(parent("acme", Member::new(EntityType::MappingRule, "r-1")))
}

pub fn mapping_rule() -> MappingRuleValue {
    MappingRuleValue {
        mapping_rule_key: key(32),
        mapping_rule_id: "r-1".into(),
        claim_name: "$.department".into(),
        claim_value: "sales".into(),
        name: "Those of sales".into(),
    }
}

pub fn authorization() -> AuthorizationValue {
    AuthorizationValue {
        authorization_key: key(33),
        owner_type: OwnerType::Role,
        owner_id: "clerk".into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher: ResourceMatcher::Id("order".into()),
        permissions: vec![
            PermissionType::CreateProcessInstance,
            PermissionType::ReadProcessInstance,
        ],
    }
}

pub fn identity_setup() -> IdentitySetupValue {
    let without_member = |value: ParentValue| ParentValue {
        member: None,
        key: Key::NONE,
        ..value
    };
    let clerk: (Arc<str>, Member) = ("clerk".into(), Member::new(EntityType::Client, "robot"));
    IdentitySetupValue {
        users: vec![user()],
        roles: vec![without_member(role().0)],
        groups: vec![without_member(group().0)],
        tenants: vec![without_member(tenant().0)],
        mapping_rules: vec![mapping_rule()],
        authorizations: vec![
            AuthorizationValue {
                matcher: ResourceMatcher::Any,
                ..authorization()
            },
            AuthorizationValue {
                matcher: ResourceMatcher::Property("assignee".into()),
                owner_type: OwnerType::MappingRule,
                ..authorization()
            },
        ],
        role_members: vec![clerk],
        group_members: vec![("sales".into(), Member::new(EntityType::User, "anna"))],
        tenant_members: vec![("acme".into(), Member::new(EntityType::Role, "clerk"))],
    }
}
