//! Creating and cancelling process instances, setting variables.

use serde::Deserialize;
use skep_protocol::command::{AwaitResult, Command, CreateProcessInstance, Draft, ProcessRef};
use skep_protocol::{Document, Failure, Key};

use super::fields::{KeyText, Object, Text, owned, present, said};
use super::{Decoded, optional, referenced, required};
use crate::call::FrontEnd;
use crate::check::{self, invalid};
use crate::rest::encode::Echo;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Creation<'a> {
    #[serde(borrow)]
    process_definition_id: Option<Text<'a>>,
    process_definition_key: Option<KeyText>,
    process_definition_version: Option<i32>,
    variables: Option<Document>,
    #[serde(borrow)]
    tenant_id: Option<Text<'a>>,
    operation_reference: Option<i64>,
    #[serde(borrow)]
    start_instructions: Option<Vec<Object<StartInstruction<'a>>>>,
    #[serde(borrow)]
    runtime_instructions: Option<Vec<Object<RuntimeInstruction<'a>>>>,
    await_completion: Option<bool>,
    #[serde(borrow)]
    fetch_variables: Option<Vec<Text<'a>>>,
    request_timeout: Option<i64>,
    #[serde(borrow)]
    tags: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    business_id: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct StartInstruction<'a> {
    #[serde(borrow)]
    element_id: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RuntimeInstruction<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    after_element_id: Option<Text<'a>>,
}

const TERMINATE: &str = "TERMINATE_PROCESS_INSTANCE";

pub fn create(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Creation = required(text)?;
    let tenancy = front.config.security.tenancy;
    let tenant = tenancy.tenant("Create Process Instance", body.tenant_id.as_deref())?;
    let process = match (body.process_definition_key, body.process_definition_id) {
        (Some(KeyText(key)), None) => ProcessRef::Key(key),
        (None, Some(id)) => {
            check::not_blank("processDefinitionId", &id, "Name the process to start.")?;
            let version = body.process_definition_version.unwrap_or(-1);
            check::version("processDefinitionVersion", version)?;
            ProcessRef::Id {
                bpmn_process_id: id.shared(),
                version,
            }
        }
        (None, None) => {
            return invalid(
                "Neither 'processDefinitionId' nor 'processDefinitionKey' is given. Give one of them.",
            );
        }
        (Some(_), Some(_)) => {
            return invalid(
                "Both 'processDefinitionId' and 'processDefinitionKey' are given. Give one of them.",
            );
        }
    };
    let mut start_instructions = Vec::new();
    for Object(start) in body.start_instructions.into_iter().flatten() {
        let what = "Name the element to start at.";
        start_instructions
            .push(said(start.element_id, "startInstructions.elementId", what)?.owned());
    }
    let mut terminate_after = Vec::new();
    for Object(instruction) in body.runtime_instructions.into_iter().flatten() {
        terminate_after.push(runtime_instruction(instruction)?);
    }
    let tags = owned(body.tags);
    check::tags(&tags)?;
    check::business_id(body.business_id.as_deref())?;
    let await_completion = body.await_completion.unwrap_or(false);
    let fetch_variables = owned(body.fetch_variables);
    let command = Command::CreateProcessInstance(CreateProcessInstance {
        process,
        variables: body.variables.unwrap_or_default(),
        start_instructions,
        terminate_after,
        tags,
        business_id: body.business_id.map(Text::owned),
        await_result: await_completion.then_some(AwaitResult { fetch_variables }),
    });
    Ok(Decoded::Command {
        request: Draft {
            operation_reference: check::operation_reference(body.operation_reference)?,
            tenant: tenant.clone(),
            ..command.into()
        },
        timeout: if await_completion {
            front.await_timeout(body.request_timeout.unwrap_or(0))
        } else {
            front.config.request_timeout
        },
        waits: await_completion,
        echo: Echo::Tenant(tenant),
    })
}

fn runtime_instruction(instruction: RuntimeInstruction) -> Result<String, Failure> {
    if let Some(kind) = instruction
        .kind
        .filter(|k| !k.eq_ignore_ascii_case(TERMINATE))
    {
        return invalid(format!(
            "The field 'runtimeInstructions.type' is '{}', but the only type is {TERMINATE}.",
            &*kind
        ));
    }
    let what = "Name the element after whose end the instance is terminated.";
    said(
        instruction.after_element_id,
        "runtimeInstructions.afterElementId",
        what,
    )
    .map(Text::owned)
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Cancellation {
    operation_reference: Option<i64>,
}

pub fn cancel(process_instance_key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Cancellation = optional(text)?;
    let reference = check::operation_reference(body.operation_reference)?;
    let command = Command::CancelProcessInstance {
        process_instance_key,
    };
    Ok(referenced(command, reference, front))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SetVariables {
    variables: Option<Document>,
    local: Option<bool>,
    operation_reference: Option<i64>,
}

pub fn set_variables(
    element_instance_key: Key,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let body: SetVariables = required(text)?;
    let what = "Give the variables to set as a JSON object.";
    let command = Command::SetVariables {
        element_instance_key,
        variables: present(body.variables, "variables", what)?,
        local: body.local.unwrap_or(false),
    };
    let reference = check::operation_reference(body.operation_reference)?;
    Ok(referenced(command, reference, front))
}
