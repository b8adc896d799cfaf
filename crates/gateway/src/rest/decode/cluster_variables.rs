//! Cluster variables: global ones, and those of a tenant.

use serde::Deserialize;
use serde_json::value::RawValue;
use skep_protocol::command::Command;
use skep_protocol::document::in_one_form;
use skep_protocol::value::ClusterVariableValue;
use skep_protocol::{Failure, TenantId};

use super::fields::{Text, said};
use super::{Decoded, command, optional, required};
use crate::call::FrontEnd;
use crate::check;
use crate::rest::operations::path::Name;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Creation<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    /// Anything but null.
    #[serde(borrow)]
    value: &'a RawValue,
}

/// `tenant`: the path's, if it names one.
pub fn create(tenant: Option<&str>, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Creation = required(text)?;
    let name = said(body.name, "name", "Choose a name for the variable.")?;
    let value = value(&name, known(tenant, front)?, body.value)?;
    Ok(command(Command::CreateClusterVariable(value), front))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update<'a> {
    /// Anything but null.
    #[serde(borrow)]
    value: &'a RawValue,
}

pub fn update(
    Name(name): Name,
    tenant: Option<&str>,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let body: Update = required(text)?;
    let value = value(name, known(tenant, front)?, body.value)?;
    Ok(command(Command::UpdateClusterVariable(value), front))
}

/// The body of an operation that takes none.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub fn delete(
    Name(name): Name,
    tenant: Option<&str>,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let Nothing {} = optional(text)?;
    let delete = Command::DeleteClusterVariable {
        name: name.into(),
        tenant: known(tenant, front)?,
    };
    Ok(command(delete, front))
}

fn value(
    name: &str,
    tenant: Option<TenantId>,
    value: &RawValue,
) -> Result<ClusterVariableValue, Failure> {
    check::name("name", name)?;
    if value.get() == "null" {
        return check::invalid("The field 'value' is null. Give a value, or delete the variable.");
    }
    Ok(ClusterVariableValue {
        name: name.into(),
        value: in_one_form(value.get()).into(),
        tenant,
    })
}

/// The tenant of a path.
pub fn known(tenant: Option<&str>, front: &FrontEnd) -> Result<Option<TenantId>, Failure> {
    let tenancy = front.config.security.tenancy;
    let known = tenant.map(|id| tenancy.known("tenantId", id));
    known.transpose()
}
