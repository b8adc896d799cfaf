//! Groups, roles and tenants: entities with a name and members.

use std::sync::Arc;

use serde::Deserialize;
use skep_protocol::Failure;
use skep_protocol::command::{IdentityCommand, NewParent, UpdateParent};
use skep_protocol::value::ParentType;

use super::faults::Faults;
use super::{decoded, takes_nothing};
use crate::call::FrontEnd;
use crate::rest::decode::fields::Text;
use crate::rest::decode::{Decoded, required};
use crate::rest::encode::Echo;
use crate::rest::operations::path::Id;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Group<'a> {
    #[serde(borrow)]
    group_id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    description: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Role<'a> {
    #[serde(borrow)]
    role_id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    description: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Tenant<'a> {
    #[serde(borrow)]
    tenant_id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    description: Option<Text<'a>>,
}

/// The id of a group, role or tenant.
pub fn id(kind: ParentType, text: Option<&str>, faults: &mut Faults<'_>) -> Arc<str> {
    match kind {
        ParentType::Group => faults.id("groupId", text),
        ParentType::Role => faults.id("roleId", text),
        ParentType::Tenant => faults.tenant_id("tenantId", text),
    }
}

pub fn create(kind: ParentType, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let (given, name, description) = match kind {
        ParentType::Group => {
            let body: Group = required(text)?;
            (body.group_id, body.name, body.description)
        }
        ParentType::Role => {
            let body: Role = required(text)?;
            (body.role_id, body.name, body.description)
        }
        ParentType::Tenant => {
            let body: Tenant = required(text)?;
            (body.tenant_id, body.name, body.description)
        }
    };
    let mut faults = Faults::new(&front.config.security.ids);
    let parent = NewParent {
        id: id(kind, given.as_deref(), &mut faults),
        name: faults.name("name", name.as_deref()),
        description: description.as_deref().unwrap_or_default().into(),
    };
    faults.none()?;
    let command = match kind {
        ParentType::Group => IdentityCommand::CreateGroup(parent),
        ParentType::Role => IdentityCommand::CreateRole(parent),
        ParentType::Tenant => IdentityCommand::CreateTenant(parent),
    };
    let echo = Echo::Parent {
        kind,
        created: true,
    };
    Ok(decoded(command, echo, front))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    description: Option<Text<'a>>,
}

/// A description that is left out becomes empty.
pub fn update(
    kind: ParentType,
    Id(given): Id,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let body: Update = required(text)?;
    let mut faults = Faults::new(&front.config.security.ids);
    let parent = UpdateParent {
        id: id(kind, Some(given), &mut faults),
        name: faults.name("name", body.name.as_deref()),
        description: Some(body.description.as_deref().unwrap_or_default().into()),
    };
    faults.none()?;
    let command = match kind {
        ParentType::Group => IdentityCommand::UpdateGroup(parent),
        ParentType::Role => IdentityCommand::UpdateRole(parent),
        ParentType::Tenant => IdentityCommand::UpdateTenant(parent),
    };
    let echo = Echo::Parent {
        kind,
        created: false,
    };
    Ok(decoded(command, echo, front))
}

pub fn delete(
    kind: ParentType,
    Id(given): Id,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    takes_nothing(text)?;
    let mut faults = Faults::new(&front.config.security.ids);
    let id = id(kind, Some(given), &mut faults);
    faults.none()?;
    let command = match kind {
        ParentType::Group => IdentityCommand::DeleteGroup { id },
        ParentType::Role => IdentityCommand::DeleteRole { id },
        ParentType::Tenant => IdentityCommand::DeleteTenant { id },
    };
    Ok(decoded(command, Echo::Nothing, front))
}
