//! Migrating process instances.

use serde::Deserialize;
use skep_protocol::command::{Command, MigrateProcessInstance};
use skep_protocol::value::MappingInstruction;
use skep_protocol::{Failure, Key};

use super::fields::{KeyText, Object, Text, present, said};
use super::{Decoded, referenced, required};
use crate::call::FrontEnd;
use crate::check;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Migration<'a> {
    target_process_definition_key: Option<KeyText>,
    #[serde(borrow)]
    mapping_instructions: Option<Vec<Object<Instruction<'a>>>>,
    operation_reference: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Instruction<'a> {
    #[serde(borrow)]
    source_element_id: Option<Text<'a>>,
    #[serde(borrow)]
    target_element_id: Option<Text<'a>>,
}

pub fn migrate(
    process_instance_key: Key,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let body: Migration = required(text)?;
    let what = "Name the process definition to migrate to.";
    let KeyText(target) = present(
        body.target_process_definition_key,
        "targetProcessDefinitionKey",
        what,
    )?;
    let what = "Give the list of element mappings.";
    let instructions = present(body.mapping_instructions, "mappingInstructions", what)?;
    let command = Command::MigrateProcessInstance(MigrateProcessInstance {
        process_instance_key,
        target_process_definition_key: target,
        mapping_instructions: instructions
            .into_iter()
            .map(|Object(body)| instruction(body))
            .collect::<Result<_, _>>()?,
    });
    let reference = check::operation_reference(body.operation_reference)?;
    Ok(referenced(command, reference, front))
}

fn instruction(body: Instruction) -> Result<MappingInstruction, Failure> {
    let source = said(
        body.source_element_id,
        "mappingInstructions.sourceElementId",
        "Name an element of the instance's process definition.",
    )?;
    let target = said(
        body.target_element_id,
        "mappingInstructions.targetElementId",
        "Name an element of the target process definition.",
    )?;
    Ok(MappingInstruction {
        source_element_id: source.shared(),
        target_element_id: target.shared(),
    })
}
