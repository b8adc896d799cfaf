//! Commands about users, groups, roles and mapping rules, from steps.

use std::sync::Arc;

use skep_protocol::Key;
use skep_protocol::command::*;
use skep_protocol::value::*;

use crate::commands::{Arguments, Stop};

/// Whether this file handles the value type.
pub fn has(value_type: &str) -> bool {
    ["USER", "GROUP", "ROLE", "MAPPING_RULE"].contains(&value_type)
}

pub fn command(a: &Arguments<'_>) -> Result<Command, Stop> {
    use IdentityCommand as C;
    let (value_type, intent) = (a.text("valueType"), a.text("intent"));
    let value = Arguments(&a.0["value"]);
    let v = &value;
    let id = |name: &str| -> Arc<str> { v.text(name).into() };
    Ok(Command::Identity(match (value_type, intent) {
        ("USER", "CREATE") => C::CreateUser(UserValue {
            user_key: Key::NONE,
            username: id("username"),
            name: id("name"),
            email: id("email"),
            password: PasswordHash::new(v.text("password")),
        }),
        ("USER", "UPDATE") => C::UpdateUser(UpdateUser {
            username: id("username"),
            name: given(v, "name"),
            email: given(v, "email"),
            password: PasswordHash::new(v.text("password")),
        }),
        ("USER", "DELETE") => C::DeleteUser {
            username: id("username"),
        },
        ("GROUP", "CREATE") => C::CreateGroup(new(v, "groupId")),
        ("GROUP", "UPDATE") => C::UpdateGroup(update(v, "groupId")),
        ("GROUP", "DELETE") => C::DeleteGroup { id: id("groupId") },
        ("GROUP", "ADD_ENTITY") => C::AddToGroup(membership(v, "groupId")),
        ("GROUP", "REMOVE_ENTITY") => C::RemoveFromGroup(membership(v, "groupId")),
        ("ROLE", "CREATE") => C::CreateRole(new(v, "roleId")),
        ("ROLE", "UPDATE") => C::UpdateRole(update(v, "roleId")),
        ("ROLE", "DELETE") => C::DeleteRole { id: id("roleId") },
        ("ROLE", "ADD_ENTITY") => C::AddToRole(membership(v, "roleId")),
        ("ROLE", "REMOVE_ENTITY") => C::RemoveFromRole(membership(v, "roleId")),
        ("MAPPING_RULE", "CREATE") => C::CreateMappingRule(rule(v)),
        ("MAPPING_RULE", "UPDATE") => C::UpdateMappingRule(rule(v)),
        ("MAPPING_RULE", "DELETE") => C::DeleteMappingRule {
            id: id("mappingRuleId"),
        },
        _ => {
            return Err(Stop::NotYet(format!("the command {value_type} {intent}")));
        }
    }))
}

fn given(value: &Arguments<'_>, name: &str) -> Option<Arc<str>> {
    value.0[name].as_str().map(Arc::from)
}

fn new(value: &Arguments<'_>, id: &str) -> NewParent {
    NewParent {
        id: value.text(id).into(),
        name: value.text("name").into(),
        description: value.text("description").into(),
    }
}

fn update(value: &Arguments<'_>, id: &str) -> UpdateParent {
    UpdateParent {
        id: value.text(id).into(),
        name: value.text("name").into(),
        description: given(value, "description"),
    }
}

fn membership(value: &Arguments<'_>, parent: &str) -> Membership {
    let kind = EntityType::named(value.text("entityType")).expect("a type of entity");
    Membership {
        parent: value.text(parent).into(),
        member: Member::new(kind, value.text("entityId")),
    }
}

fn rule(value: &Arguments<'_>) -> MappingRuleValue {
    MappingRuleValue {
        mapping_rule_key: Key::NONE,
        mapping_rule_id: value.text("mappingRuleId").into(),
        claim_name: value.text("claimName").into(),
        claim_value: value.text("claimValue").into(),
        name: value.text("name").into(),
    }
}
