//! Members of groups, roles and tenants.

use skep_protocol::Failure;
use skep_protocol::command::{IdentityCommand, Membership};
use skep_protocol::value::{EntityType, Member, ParentType};

use super::faults::Faults;
use super::{decoded, parents, takes_nothing};
use crate::call::FrontEnd;
use crate::rest::decode::Decoded;
use crate::rest::encode::Echo;
use crate::rest::operations::path::Id;

/// The entities that a path names: the group, role or tenant, and the member.
pub type Named<'p> = ((ParentType, Id<'p>), (EntityType, Id<'p>));

pub fn assign(named: Named, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    takes_nothing(text)?;
    let membership = membership(named, front)?;
    let command = match named.0.0 {
        ParentType::Group => IdentityCommand::AddToGroup(membership),
        ParentType::Role => IdentityCommand::AddToRole(membership),
        ParentType::Tenant => IdentityCommand::AddToTenant(membership),
    };
    Ok(decoded(command, Echo::Nothing, front))
}

pub fn unassign(named: Named, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    takes_nothing(text)?;
    let membership = membership(named, front)?;
    let command = match named.0.0 {
        ParentType::Group => IdentityCommand::RemoveFromGroup(membership),
        ParentType::Role => IdentityCommand::RemoveFromRole(membership),
        ParentType::Tenant => IdentityCommand::RemoveFromTenant(membership),
    };
    Ok(decoded(command, Echo::Nothing, front))
}

fn membership(
    ((kind, Id(parent)), (entity_type, Id(id))): Named,
    front: &FrontEnd,
) -> Result<Membership, Failure> {
    let security = &front.config.security;
    let mut faults = Faults::new(&security.ids);
    let parent = parents::id(kind, Some(parent), &mut faults);
    let field = name_of(entity_type);
    let id = match entity_type {
        // Such an id comes from the provider, so the local pattern does not apply.
        EntityType::Group if !security.groups_api => faults.name(field, Some(id)),
        _ => faults.id(field, Some(id)),
    };
    faults.none()?;
    let member = Member { entity_type, id };
    Ok(Membership { parent, member })
}

/// The API's name for the id of a member.
pub fn name_of(entity_type: EntityType) -> &'static str {
    match entity_type {
        EntityType::User => "username",
        EntityType::Client => "clientId",
        EntityType::MappingRule => "mappingRuleId",
        EntityType::Group => "groupId",
        EntityType::Role => "roleId",
    }
}
