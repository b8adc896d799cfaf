//! CLUSTER_VARIABLE CREATE, UPDATE and DELETE: variables that expressions see as `camunda.vars`, on all partitions.

use std::sync::Arc;

use skep_protocol::document::readable;
use skep_protocol::intent::ClusterVariableIntent as Intent;
use skep_protocol::value::ClusterVariableValue;
use skep_protocol::{Key, Rejection, RejectionType, Response, TenantId};

use super::deployment::distribution;
use super::{Context, Outcome, reject};
use crate::remote::Distributed;

/// Maximum characters of a name.
const MAX_NAME: usize = 256;

/// Maximum number of variables of all tenants together.
const MAX_VARIABLES: usize = 10_000;

/// Maximum bytes of names and values of all tenants and the global scope together.
const MAX_BYTES_OF_ALL: usize = 32 << 20;

/// Maximum bytes of names and values of one tenant, or of the global scope: expressions have all of them in memory.
const MAX_BYTES: usize = 2 << 20;

pub(crate) fn create(cx: &mut Context<'_>, value: &ClusterVariableValue) -> Outcome {
    check_name("CREATE", value)?;
    let found = cx
        .state
        .cluster_variables
        .find(value.tenant.as_ref(), &value.name);
    if found.is_some() {
        return Err(reject(
            RejectionType::AlreadyExists,
            "CREATE",
            format!(
                "Expected to create {}, but there is one already. Update it instead",
                described(&value.name, value.tenant.as_ref())
            ),
        ));
    }
    if cx.state.cluster_variables.len() >= MAX_VARIABLES {
        return Err(reject(
            RejectionType::InvalidState,
            "CREATE",
            format!(
                "Expected to create {}, but there are {MAX_VARIABLES} cluster variables already. Delete some first",
                described(&value.name, value.tenant.as_ref())
            ),
        ));
    }
    check_value(cx, "CREATE", value, 0)?;
    let key = cx.new_key();
    Ok(everywhere(cx, key, Intent::Created, value.clone()))
}

pub(crate) fn update(cx: &mut Context<'_>, value: &ClusterVariableValue) -> Outcome {
    let found = cx
        .state
        .cluster_variables
        .find(value.tenant.as_ref(), &value.name);
    let Some((key, old)) = found else {
        return Err(not_found(
            "UPDATE",
            "update",
            &value.name,
            value.tenant.as_ref(),
        ));
    };
    let old = value.name.len() + old.len();
    check_value(cx, "UPDATE", value, old)?;
    Ok(everywhere(cx, key, Intent::Updated, value.clone()))
}

pub(crate) fn delete(cx: &mut Context<'_>, name: &Arc<str>, tenant: Option<&TenantId>) -> Outcome {
    let found = cx.state.cluster_variables.find(tenant, name);
    let Some((key, value)) = found else {
        return Err(not_found("DELETE", "delete", name, tenant));
    };
    let value = ClusterVariableValue {
        name: name.clone(),
        value: value.clone(),
        tenant: tenant.cloned(),
    };
    Ok(everywhere(cx, key, Intent::Deleted, value))
}

/// Writes the event here, and on the other partitions.
fn everywhere(
    cx: &mut Context<'_>,
    key: Key,
    event: Intent,
    value: ClusterVariableValue,
) -> Option<Response> {
    cx.event(key, event, &value);
    let answer = match event {
        Intent::Deleted => Response::Empty,
        _ => Response::ClusterVariable(value.clone()),
    };
    let command = match event {
        Intent::Deleted => Distributed::DeleteClusterVariable { key, value },
        _ => Distributed::SetClusterVariable { key, value },
    };
    let distribution = cx.next_key();
    distribution::start(cx, distribution, command, answer)
}

/// Applies a change on the other partitions, which follow the first one.
pub(crate) fn set(cx: &mut Context<'_>, key: Key, value: &ClusterVariableValue) {
    let variables = &cx.state.cluster_variables;
    let event = match variables.find(value.tenant.as_ref(), &value.name) {
        Some(_) => Intent::Updated,
        None => Intent::Created,
    };
    cx.event(key, event, value);
}

pub(crate) fn remove(cx: &mut Context<'_>, key: Key, value: &ClusterVariableValue) {
    cx.event(key, Intent::Deleted, value);
}

/// The variable's description in messages.
fn described(name: &str, tenant: Option<&TenantId>) -> String {
    match tenant {
        Some(tenant) => format!("the cluster variable '{name}' of tenant '{tenant}'"),
        None => format!("the global cluster variable '{name}'"),
    }
}

fn not_found(intent: &'static str, verb: &str, name: &str, tenant: Option<&TenantId>) -> Rejection {
    reject(
        RejectionType::NotFound,
        intent,
        format!(
            "Expected to {verb} {}, but no such variable was found",
            described(name, tenant)
        ),
    )
}

fn check_name(intent: &'static str, value: &ClusterVariableValue) -> Result<(), Rejection> {
    let why = if value.name.trim().is_empty() {
        "it is blank".to_string()
    } else if value.name.chars().count() > MAX_NAME {
        format!("it has more than {MAX_NAME} characters")
    } else {
        return Ok(());
    };
    Err(reject(
        RejectionType::InvalidArgument,
        intent,
        format!("Expected the name of a cluster variable, but {why}"),
    ))
}

/// Checks a value and its size. `replaced`: bytes of the value that it replaces.
fn check_value(
    cx: &Context<'_>,
    intent: &'static str,
    value: &ClusterVariableValue,
    replaced: usize,
) -> Result<(), Rejection> {
    let described = described(&value.name, value.tenant.as_ref());
    readable(&value.name, &value.value).map_err(|why| {
        let reason = format!("Expected a value of {described} that expressions can read: {why}");
        reject(RejectionType::InvalidArgument, intent, reason)
    })?;
    let variables = &cx.state.cluster_variables;
    let of_all = variables.bytes().saturating_sub(replaced);
    if of_all + value.weight() > MAX_BYTES_OF_ALL {
        let reason = format!(
            "Expected the value of {described} to fit beside all other cluster variables: together they have at most \
             {MAX_BYTES_OF_ALL} bytes, the others have {of_all}, and it has {}. Delete some, or make it smaller",
            value.weight()
        );
        return Err(reject(RejectionType::InvalidArgument, intent, reason));
    }
    let others = variables
        .bytes_of(value.tenant.as_ref())
        .saturating_sub(replaced);
    if others + value.weight() <= MAX_BYTES {
        return Ok(());
    }
    Err(reject(
        RejectionType::InvalidArgument,
        intent,
        format!(
            "Expected the value of {described} to fit beside the others of its scope: together they have at most {MAX_BYTES} \
             bytes, the others have {others}, and it has {}. Delete some, or make it smaller",
            value.weight()
        ),
    ))
}
