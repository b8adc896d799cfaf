//! Evaluating the conditions that start processes.

use serde::Deserialize;
use skep_protocol::command::{Command, EvaluateConditionals};
use skep_protocol::{Document, Failure};

use super::fields::{KeyText, Text, present};
use super::{Decoded, of_tenant, required};
use crate::call::FrontEnd;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Evaluation<'a> {
    process_definition_key: Option<KeyText>,
    variables: Option<Document>,
    #[serde(borrow)]
    tenant_id: Option<Text<'a>>,
}

pub fn evaluate(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Evaluation = required(text)?;
    let tenancy = front.config.security.tenancy;
    let tenant = tenancy.tenant("Evaluate Conditional Event", body.tenant_id.as_deref())?;
    let what = "Give the variables for the conditions; an empty object is allowed.";
    let evaluate = EvaluateConditionals {
        process_definition_key: body.process_definition_key.map(|KeyText(key)| key),
        variables: present(body.variables, "variables", what)?,
    };
    let command = Command::EvaluateConditionals(evaluate);
    Ok(of_tenant(command, tenant, front))
}
