//! Deployments, which are multipart bodies.

use http::header::CONTENT_TYPE;
use skep_protocol::command::{Command, Deploy};

use super::{Decoded, of_tenant};
use crate::rest::operations::{Call, Takes};
use crate::rest::problem::Problem;
use crate::rest::{check_content_type, multipart};

pub fn deploy(call: &Call) -> Result<Decoded, Problem> {
    files(call, Command::Deploy)
}

pub fn check(call: &Call) -> Result<Decoded, Problem> {
    files(call, Command::CheckDeployment)
}

fn files(call: &Call, command: fn(Deploy) -> Command) -> Result<Decoded, Problem> {
    let header = call.parts.headers.get(CONTENT_TYPE);
    let content_type = check_content_type(header, Takes::Files)?;
    let max_parts = call.front.config.multipart.max_parts;
    let (deploy, tenant) = multipart::deployment(content_type, call.bytes, max_parts)?;
    let tenancy = call.front.config.security.tenancy;
    let tenant = tenancy.tenant("Deploy Resources", tenant.as_deref())?;
    Ok(of_tenant(command(deploy), tenant, call.front))
}
