//! The values of records about users and their permissions. Passwords and their hashes are never shown.

use serde_json::{Value, json};

use super::set;
use crate::value::{
    AuthorizationValue, IdentitySetupValue, MappingRuleValue, Member, ParentType, ParentValue,
    UserValue,
};

pub(super) fn user(v: &UserValue) -> Value {
    json!({
        "userKey": v.user_key,
        "username": v.username,
        "name": v.name,
        "email": v.email,
        "password": "",
    })
}

pub(super) fn parent(kind: ParentType, v: &ParentValue) -> Value {
    let (key, id) = match kind {
        ParentType::Group => ("groupKey", "groupId"),
        ParentType::Role => ("roleKey", "roleId"),
        ParentType::Tenant => ("tenantKey", "tenantId"),
    };
    let (entity_type, entity_id) = match &v.member {
        Some(Member { entity_type, id }) => (entity_type.name(), &**id),
        None => ("UNSPECIFIED", ""),
    };
    let mut out = json!({
        "name": v.name,
        "description": v.description,
        "entityId": entity_id,
        "entityType": entity_type,
    });
    set(&mut out, key, json!(v.key));
    set(&mut out, id, json!(v.id));
    out
}

pub(super) fn mapping_rule(v: &MappingRuleValue) -> Value {
    json!({
        "mappingRuleKey": v.mapping_rule_key,
        "mappingRuleId": v.mapping_rule_id,
        "claimName": v.claim_name,
        "claimValue": v.claim_value,
        "name": v.name,
    })
}

pub(super) fn authorization(v: &AuthorizationValue) -> Value {
    let permissions = v.permissions.iter().map(|permission| permission.name());
    json!({
        "authorizationKey": v.authorization_key,
        "ownerId": v.owner_id,
        "ownerType": v.owner_type.name(),
        "resourceType": v.resource_type.name(),
        "resourceMatcher": v.matcher.name(),
        "resourceId": v.matcher.resource_id().unwrap_or_default(),
        "resourcePropertyName": v.matcher.property().unwrap_or_default(),
        "permissionTypes": permissions.collect::<Vec<_>>(),
    })
}

pub(super) fn setup(v: &IdentitySetupValue) -> Value {
    let parents = |kind: ParentType, all: &[ParentValue]| -> Vec<Value> {
        all.iter().map(|value| parent(kind, value)).collect()
    };
    let members = |kind: ParentType, all: &[(std::sync::Arc<str>, Member)]| -> Vec<Value> {
        let value = |(id, member): &(std::sync::Arc<str>, Member)| ParentValue {
            key: crate::Key::NONE,
            id: id.clone(),
            name: "".into(),
            description: "".into(),
            member: Some(member.clone()),
        };
        all.iter().map(|one| parent(kind, &value(one))).collect()
    };
    json!({
        "users": v.users.iter().map(user).collect::<Vec<_>>(),
        "roles": parents(ParentType::Role, &v.roles),
        "groups": parents(ParentType::Group, &v.groups),
        "tenants": parents(ParentType::Tenant, &v.tenants),
        "mappingRules": v.mapping_rules.iter().map(mapping_rule).collect::<Vec<_>>(),
        "authorizations": v.authorizations.iter().map(authorization).collect::<Vec<_>>(),
        "roleMembers": members(ParentType::Role, &v.role_members),
        "groupMembers": members(ParentType::Group, &v.group_members),
        "tenantMembers": members(ParentType::Tenant, &v.tenant_members),
        "defaultTenant": {},
    })
}
