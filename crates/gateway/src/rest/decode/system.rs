//! Incidents, resources, the clock and expressions.

use serde::Deserialize;
use skep_protocol::command::{Command, Draft};
use skep_protocol::{Document, Failure, Key};

use super::fields::{Text, present, said};
use super::{Decoded, command, optional, referenced, required};
use crate::call::FrontEnd;
use crate::check::{self, invalid};
use crate::rest::encode::Echo;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Resolution {
    operation_reference: Option<i64>,
}

pub fn resolve_incident(
    incident_key: Key,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let body: Resolution = optional(text)?;
    let reference = check::operation_reference(body.operation_reference)?;
    Ok(referenced(
        Command::ResolveIncident { incident_key },
        reference,
        front,
    ))
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Deletion {
    operation_reference: Option<i64>,
    delete_history: Option<bool>,
}

pub fn delete_resource(
    resource_key: Key,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let body: Deletion = optional(text)?;
    let command = Command::DeleteResource {
        resource_key,
        delete_history: body.delete_history.unwrap_or_default(),
    };
    Ok(Decoded::Command {
        request: Draft {
            operation_reference: check::operation_reference(body.operation_reference)?,
            ..command.into()
        },
        timeout: front.config.request_timeout,
        waits: false,
        echo: Echo::Resource(resource_key),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Pin {
    timestamp: Option<i64>,
}

pub fn pin_clock(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Pin = required(text)?;
    let what = "Give the time as milliseconds since 1970.";
    let timestamp = present(body.timestamp, "timestamp", what)?;
    if timestamp < 0 {
        return invalid(format!(
            "The field 'timestamp' is {timestamp}, but must not be negative. {what}"
        ));
    }
    Ok(command(Command::PinClock { timestamp }, front))
}

/// The body of an operation that takes none.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub fn reset_clock(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let Nothing {} = optional(text)?;
    Ok(command(Command::ResetClock, front))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Evaluation<'a> {
    #[serde(borrow)]
    expression: Option<Text<'a>>,
    #[serde(borrow)]
    tenant_id: Option<Text<'a>>,
    variables: Option<Document>,
}

pub fn evaluate_expression(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Evaluation = required(text)?;
    let tenancy = front.config.security.tenancy;
    let tenant = tenancy.tenant("Evaluate Expression", body.tenant_id.as_deref())?;
    let expression = said(
        body.expression,
        "expression",
        "Give the FEEL expression to evaluate.",
    )?
    .owned();
    Ok(Decoded::Command {
        request: Draft {
            tenant,
            ..Draft::from(Command::EvaluateExpression {
                expression: expression.clone(),
                variables: body.variables.unwrap_or_default(),
            })
        },
        timeout: front.config.request_timeout,
        waits: false,
        echo: Echo::Expression(expression),
    })
}
