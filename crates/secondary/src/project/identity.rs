//! Identity entities and their permissions. The first partition decides their changes and writes the rows; the other partitions
//! only apply them.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use skep_protocol::ValueType;
use skep_protocol::intent::{
    AuthorizationIntent, GroupIntent, Intent, MappingRuleIntent, RoleIntent, TenantIntent,
    UserIntent,
};
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{
    AuthorizationValue, EntityType, GroupValue, MappingRuleValue, Member, ParentType, ParentValue,
    RoleValue, TenantValue, UserValue,
};
use skep_query::Value;
use skep_query::entities::{self, AUTHORIZATION, GROUP, MAPPING_RULE, MEMBER, ROLE, TENANT, USER};

use super::{Projection, intent_of, json_list, word};
use crate::changes::set;

/// The partition that decides changes of identity.
pub const DECIDES: u32 = 1;

pub fn changed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    if to.partition != DECIDES {
        return Ok(());
    }
    match record.value_type {
        ValueType::User => user(to, record),
        ValueType::MappingRule => mapping_rule(to, record),
        ValueType::Authorization => authorization(to, record),
        _ => parent(to, record),
    }
}

fn user(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<UserValue>(record)?;
    // The remaining event repeats one that has been reported already.
    if !matches!(
        intent,
        UserIntent::Created | UserIntent::Updated | UserIntent::Deleted
    ) {
        return Ok(());
    }
    let value: UserValue = record.value()?;
    set!(to.changes, USER, value.user_key, {
        "username": Value::Text(value.username),
        "name": Value::Text(value.name),
        "email": Value::Text(value.email),
        "isDeleted": Value::from(intent == UserIntent::Deleted),
    });
    Ok(())
}

/// A change of a group, role or tenant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Became {
    Created,
    Updated,
    Deleted,
    Joined,
    Left,
}

/// Reads a group, role or tenant and its change; `None` if the record is not one of these events.
pub fn read_parent(
    record: &Record<'_>,
) -> Result<Option<(ParentType, Became, ParentValue)>, DecodeError> {
    // These intents have the same numbers.
    const _: () = assert!(
        GroupIntent::Created as u8 == RoleIntent::Created as u8
            && GroupIntent::Created as u8 == TenantIntent::Created as u8
            && GroupIntent::EntityRemoved as u8 == RoleIntent::EntityRemoved as u8
            && GroupIntent::EntityRemoved as u8 == TenantIntent::EntityRemoved as u8
    );
    let became = match GroupIntent::from_id(record.intent) {
        Some(GroupIntent::Created) => Became::Created,
        Some(GroupIntent::Updated) => Became::Updated,
        Some(GroupIntent::Deleted) => Became::Deleted,
        Some(GroupIntent::EntityAdded) => Became::Joined,
        Some(GroupIntent::EntityRemoved) => Became::Left,
        _ => return Ok(None),
    };
    let (kind, value) = match record.value_type {
        ValueType::Group => (ParentType::Group, record.value::<GroupValue>()?.0),
        ValueType::Role => (ParentType::Role, record.value::<RoleValue>()?.0),
        _ => (ParentType::Tenant, record.value::<TenantValue>()?.0),
    };
    Ok(Some((kind, became, value)))
}

fn parent(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let Some((kind, became, value)) = read_parent(record)? else {
        return Ok(());
    };
    if matches!(became, Became::Joined | Became::Left) {
        if let Some(who) = &value.member {
            member(to, (kind, &value.id), who, became == Became::Left);
        }
        return Ok(());
    }
    let is_deleted = Value::from(became == Became::Deleted);
    let (id, name, description) = (
        Value::Text(value.id),
        Value::Text(value.name),
        Value::Text(value.description),
    );
    match kind {
        ParentType::Group => set!(to.changes, GROUP, value.key, {
            "groupId": id, "name": name, "description": description, "isDeleted": is_deleted,
        }),
        ParentType::Role => set!(to.changes, ROLE, value.key, {
            "roleId": id, "name": name, "description": description, "isDeleted": is_deleted,
        }),
        ParentType::Tenant => set!(to.changes, TENANT, value.key, {
            "tenantId": id, "name": name, "description": description, "isDeleted": is_deleted,
        }),
    }
    Ok(())
}

fn member(
    to: &mut Projection<'_>,
    (kind, parent): (ParentType, &str),
    who: &Member,
    has_left: bool,
) {
    const NUMBER: usize = entities::number(&MEMBER);
    to.text.clear();
    // IDs may be longer than a search server accepts as a document ID, so they are hashed. None of them contains the separator.
    let names = [kind.name(), parent, who.entity_type.name(), &who.id];
    for byte in Sha256::digest(names.join("\n")) {
        let _ = write!(to.text, "{byte:02x}");
    }
    let (row, id) = to.changes.text_row(NUMBER, to.text);
    if let Some(id) = id {
        set!(to.changes, MEMBER, row, {
            "id": Value::Text(id),
            "parentType": word(kind.name()),
            "parentId": Value::text(parent),
        });
        let id = Value::Text(who.id.clone());
        match who.entity_type {
            EntityType::User => set!(to.changes, MEMBER, row, { "username": id }),
            EntityType::Client => set!(to.changes, MEMBER, row, { "clientId": id }),
            EntityType::MappingRule => set!(to.changes, MEMBER, row, { "mappingRuleId": id }),
            EntityType::Group => set!(to.changes, MEMBER, row, { "groupId": id }),
            EntityType::Role => set!(to.changes, MEMBER, row, { "roleId": id }),
        }
    }
    set!(to.changes, MEMBER, row, { "isDeleted": Value::from(has_left) });
}

fn mapping_rule(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<MappingRuleValue>(record)?;
    let value: MappingRuleValue = record.value()?;
    // Updates and deletions by builds before 30 November 2026 do not tell which row they are about.
    if value.mapping_rule_key.is_none() {
        return Ok(());
    }
    set!(to.changes, MAPPING_RULE, value.mapping_rule_key, {
        "mappingRuleId": Value::Text(value.mapping_rule_id),
        "claimName": Value::Text(value.claim_name),
        "claimValue": Value::Text(value.claim_value),
        "name": Value::Text(value.name),
        "isDeleted": Value::from(intent == MappingRuleIntent::Deleted),
    });
    Ok(())
}

fn authorization(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<AuthorizationValue>(record)?;
    let value: AuthorizationValue = record.value()?;
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::text);
    let permissions: Vec<&str> = value.permissions.iter().map(|one| one.name()).collect();
    set!(to.changes, AUTHORIZATION, value.authorization_key, {
        "ownerId": Value::Text(value.owner_id),
        "ownerType": word(value.owner_type.name()),
        "resourceType": word(value.resource_type.name()),
        "resourceId": text(value.matcher.resource_id()),
        "resourcePropertyName": text(value.matcher.property()),
        "permissionTypes": json_list(&permissions),
        "isDeleted": Value::from(intent == AuthorizationIntent::Deleted),
    });
    Ok(())
}
