//! Authorizations: the permissions of an owner.

use http::StatusCode;
use serde::Deserialize;
use skep_protocol::Key;
use skep_protocol::command::IdentityCommand;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{AuthorizationValue, OwnerType, ResourceMatcher};

use super::faults::Faults;
use super::{decoded, takes_nothing};
use crate::call::FrontEnd;
use crate::rest::decode::fields::Text;
use crate::rest::decode::{Decoded, required};
use crate::rest::encode::Echo;
use crate::rest::problem::Problem;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Body<'a> {
    #[serde(borrow)]
    owner_id: Option<Text<'a>>,
    #[serde(borrow)]
    owner_type: Option<Text<'a>>,
    #[serde(borrow)]
    resource_id: Option<Text<'a>>,
    #[serde(borrow)]
    resource_property_name: Option<Text<'a>>,
    #[serde(borrow)]
    resource_type: Option<Text<'a>>,
    #[serde(borrow)]
    permission_types: Option<Vec<Text<'a>>>,
}

pub fn create(text: &str, front: &FrontEnd) -> Result<Decoded, Problem> {
    let create = IdentityCommand::CreateAuthorization(authorization(Key::NONE, text, front)?);
    Ok(decoded(create, Echo::Created, front))
}

/// All of it is replaced.
pub fn update(key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Problem> {
    let update = IdentityCommand::UpdateAuthorization(authorization(key, text, front)?);
    Ok(decoded(update, Echo::Nothing, front))
}

pub fn delete(authorization_key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Problem> {
    takes_nothing(text)?;
    let delete = IdentityCommand::DeleteAuthorization { authorization_key };
    Ok(decoded(delete, Echo::Nothing, front))
}

fn authorization(
    authorization_key: Key,
    text: &str,
    front: &FrontEnd,
) -> Result<AuthorizationValue, Problem> {
    let body: Body = required(text)?;
    let mut faults = Faults::new(&front.config.security.ids);
    let owner_id = faults.id("ownerId", body.owner_id.as_deref());
    let owner_type = faults.said("ownerType", body.owner_type.as_deref());
    let resource_type = faults.said("resourceType", body.resource_type.as_deref());
    let matcher = matcher(&body, &resource_type, &mut faults);
    let named = body.permission_types.unwrap_or_default();
    if named.is_empty() {
        faults.add("No permissionTypes provided".to_string());
    }
    faults.none()?;
    let owner_types = OwnerType::ALL.iter().map(|one| (one.name(), *one));
    let resource_types = ResourceType::ALL.iter().map(|one| (one.name(), *one));
    let permissions = named.iter().map(|named| {
        let all = PermissionType::ALL.iter().map(|one| (one.name(), *one));
        one_of("permissionTypes", named, all)
    });
    let mut permissions: Vec<PermissionType> = permissions.collect::<Result<_, _>>()?;
    permissions.sort_unstable_by_key(|one| one.name());
    permissions.dedup();
    Ok(AuthorizationValue {
        authorization_key,
        owner_type: one_of("ownerType", &owner_type, owner_types)?,
        owner_id,
        resource_type: one_of("resourceType", &resource_type, resource_types)?,
        matcher,
        permissions,
    })
}

fn matcher(body: &Body, resource_type: &str, faults: &mut Faults<'_>) -> ResourceMatcher {
    const BOTH: &str = "[resourceId, resourcePropertyName]";
    match (&body.resource_id, &body.resource_property_name) {
        (Some(id), None) if &**id == "*" => ResourceMatcher::Any,
        (Some(id), None) => ResourceMatcher::Id(match resource_type {
            "TENANT" => faults.tenant_id("resourceId", Some(id)),
            _ => faults.id("resourceId", Some(id)),
        }),
        (None, Some(name)) => {
            ResourceMatcher::Property(faults.name("resourcePropertyName", Some(name)))
        }
        (None, None) => {
            faults.add(format!("At least one of {BOTH} is required"));
            ResourceMatcher::Property("".into())
        }
        (Some(_), Some(_)) => {
            faults.add(format!("Only one of {BOTH} is allowed"));
            ResourceMatcher::Property("".into())
        }
    }
}

/// The one with this name, in capitals or not.
fn one_of<T: Copy>(
    field: &str,
    text: &str,
    all: impl Iterator<Item = (&'static str, T)> + Clone,
) -> Result<T, Problem> {
    let found = all
        .clone()
        .find(|(name, _)| text.eq_ignore_ascii_case(name));
    found.map(|(_, one)| one).ok_or_else(|| {
        let names: Vec<&str> = all.map(|(name, _)| name).collect();
        let text = format!(
            "Unexpected value '{text}' for enum field '{field}'. Use any of the following values: [{}]",
            names.join(", ")
        );
        Problem::new(StatusCode::BAD_REQUEST, "Bad Request", text)
    })
}
