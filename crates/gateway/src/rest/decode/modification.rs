//! Modifying process instances.

use std::sync::Arc;

use serde::Deserialize;
use skep_protocol::command::{Command, ModifyProcessInstance};
use skep_protocol::value::{
    ActivateInstruction, MoveAncestor, MoveInstruction, TerminateInstruction, VariableInstruction,
};
use skep_protocol::{Document, Failure, Key};

use super::fields::{KeyText, Object, Text, present, said};
use super::{Decoded, referenced, required};
use crate::call::FrontEnd;
use crate::check::{self, invalid};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Modification<'a> {
    operation_reference: Option<i64>,
    #[serde(borrow)]
    activate_instructions: Option<Vec<Object<Activate<'a>>>>,
    #[serde(borrow)]
    move_instructions: Option<Vec<Object<Move<'a>>>>,
    #[serde(borrow)]
    terminate_instructions: Option<Vec<Object<Terminate<'a>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Activate<'a> {
    #[serde(borrow)]
    element_id: Option<Text<'a>>,
    #[serde(borrow)]
    variable_instructions: Option<Vec<Object<Variables<'a>>>>,
    ancestor_element_instance_key: Option<KeyText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Variables<'a> {
    variables: Option<Document>,
    #[serde(borrow)]
    scope_id: Option<Text<'a>>,
}

/// Either one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Terminate<'a> {
    #[serde(borrow)]
    element_id: Option<Text<'a>>,
    element_instance_key: Option<KeyText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Move<'a> {
    #[serde(borrow)]
    source_element_instruction: Option<Object<Source<'a>>>,
    #[serde(borrow)]
    target_element_id: Option<Text<'a>>,
    #[serde(borrow)]
    ancestor_scope_instruction: Option<Object<Ancestor<'a>>>,
    #[serde(borrow)]
    variable_instructions: Option<Vec<Object<Variables<'a>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Source<'a> {
    #[serde(borrow)]
    source_type: Option<Text<'a>>,
    #[serde(borrow)]
    source_element_id: Option<Text<'a>>,
    source_element_instance_key: Option<KeyText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Ancestor<'a> {
    #[serde(borrow)]
    ancestor_scope_type: Option<Text<'a>>,
    ancestor_element_instance_key: Option<KeyText>,
}

pub fn modify(process_instance_key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Modification = required(text)?;
    let reference = check::operation_reference(body.operation_reference)?;
    let activate = body.activate_instructions.into_iter().flatten();
    let terminate = body.terminate_instructions.into_iter().flatten();
    let moves = body.move_instructions.into_iter().flatten();
    let modify = ModifyProcessInstance {
        process_instance_key,
        activate_instructions: activate
            .map(|a| activation(a.0))
            .collect::<Result<_, _>>()?,
        terminate_instructions: terminate
            .map(|t| termination(t.0))
            .collect::<Result<_, _>>()?,
        move_instructions: moves.map(|m| r#move(m.0)).collect::<Result<_, _>>()?,
    };
    Ok(referenced(
        Command::ModifyProcessInstance(modify),
        reference,
        front,
    ))
}

fn activation(activate: Activate<'_>) -> Result<ActivateInstruction, Failure> {
    let field = "activateInstructions";
    let what = "Name the element to activate.";
    let element_id = said(activate.element_id, "activateInstructions.elementId", what)?;
    Ok(ActivateInstruction {
        element_id: element_id.shared(),
        ancestor_scope_key: activate
            .ancestor_element_instance_key
            .map_or(Key::NONE, |KeyText(key)| key),
        variable_instructions: variables(field, activate.variable_instructions)?,
        ancestor_scope_keys: Vec::new(),
    })
}

fn variables(
    field: &str,
    instructions: Option<Vec<Object<Variables<'_>>>>,
) -> Result<Vec<VariableInstruction>, Failure> {
    let what = "Give the variables to set as a JSON object.";
    let name = format!("{field}.variableInstructions.variables");
    let instructions = instructions.into_iter().flatten();
    let read = instructions.map(|Object(instruction)| {
        Ok(VariableInstruction {
            element_id: instruction
                .scope_id
                .map(|id| id.shared())
                .unwrap_or_default(),
            variables: present(instruction.variables, &name, what)?
                .into_entries()
                .collect(),
        })
    });
    read.collect()
}

fn termination(terminate: Terminate<'_>) -> Result<TerminateInstruction, Failure> {
    let (key, id) = (terminate.element_instance_key, terminate.element_id);
    let names = (
        "terminateInstructions.elementInstanceKey",
        "terminateInstructions.elementId",
    );
    let (element_instance_key, element_id) = either(key, id, names)?;
    Ok(TerminateInstruction {
        element_instance_key,
        element_id,
    })
}

/// An element instance by its key, or all of one element by its id.
fn either(
    key: Option<KeyText>,
    id: Option<Text<'_>>,
    (key_name, id_name): (&str, &str),
) -> Result<(Key, Arc<str>), Failure> {
    match (key, id) {
        (Some(KeyText(key)), None) => Ok((key, "".into())),
        (None, Some(id)) => {
            check::not_blank(id_name, &id, "Name the element.")?;
            Ok((Key::NONE, id.shared()))
        }
        (None, None) => invalid(format!(
            "Neither '{key_name}' nor '{id_name}' is given. Give one of them."
        )),
        (Some(_), Some(_)) => invalid(format!(
            "Both '{key_name}' and '{id_name}' are given. Give one of them."
        )),
    }
}

fn r#move(instruction: Move<'_>) -> Result<MoveInstruction, Failure> {
    let what = "Name the element instances to move.";
    let name = "moveInstructions.sourceElementInstruction";
    let Object(source) = present(instruction.source_element_instruction, name, what)?;
    let (source_element_instance_key, source_element_id) = source_of(source)?;
    let what = "Name the element to activate.";
    let target = said(
        instruction.target_element_id,
        "moveInstructions.targetElementId",
        what,
    )?;
    Ok(MoveInstruction {
        source_element_id,
        source_element_instance_key,
        target_element_id: target.shared(),
        ancestor: match instruction.ancestor_scope_instruction {
            None => MoveAncestor::Any,
            Some(Object(ancestor)) => ancestor_of(ancestor)?,
        },
        variable_instructions: variables("moveInstructions", instruction.variable_instructions)?,
    })
}

fn source_of(source: Source<'_>) -> Result<(Key, Arc<str>), Failure> {
    const TYPE: &str = "moveInstructions.sourceElementInstruction.sourceType";
    const ID: &str = "moveInstructions.sourceElementInstruction.sourceElementId";
    const KEY: &str = "moveInstructions.sourceElementInstruction.sourceElementInstanceKey";
    let kind = said(source.source_type, TYPE, "Choose 'byId' or 'byKey'.")?;
    let (id, key) = (source.source_element_id, source.source_element_instance_key);
    let is_by_id = kind.eq_ignore_ascii_case("byId");
    if !is_by_id && !kind.eq_ignore_ascii_case("byKey") {
        return invalid(format!(
            "The field '{TYPE}' is '{}', but it must be 'byId' or 'byKey'.",
            &*kind
        ));
    }
    let (wanted, other, is_other) = if is_by_id {
        (ID, KEY, key.is_some())
    } else {
        (KEY, ID, id.is_some())
    };
    if is_other {
        return invalid(format!(
            "The field '{other}' is not allowed with the '{TYPE}' '{}'. Give '{wanted}' alone.",
            &*kind
        ));
    }
    if is_by_id {
        let id = said(id, ID, "Name the element whose instances are moved.")?;
        return Ok((Key::NONE, id.shared()));
    }
    let KeyText(key) = present(key, KEY, "Give the key of the element instance to move.")?;
    Ok((key, "".into()))
}

fn ancestor_of(ancestor: Ancestor<'_>) -> Result<MoveAncestor, Failure> {
    const TYPE: &str = "moveInstructions.ancestorScopeInstruction.ancestorScopeType";
    const KEY: &str = "moveInstructions.ancestorScopeInstruction.ancestorElementInstanceKey";
    let what = "Choose 'direct', 'inferred' or 'sourceParent'.";
    let kind = said(ancestor.ancestor_scope_type, TYPE, what)?;
    let key = ancestor.ancestor_element_instance_key;
    let read = match kind.to_ascii_lowercase().as_str() {
        "direct" => {
            let what = "Give the key of the element instance to activate the target in.";
            let KeyText(key) = present(key, KEY, what)?;
            return Ok(MoveAncestor::Key(key));
        }
        "inferred" => MoveAncestor::Inferred,
        "sourceparent" => MoveAncestor::SourceParent,
        _ => {
            return invalid(format!(
                "The field '{TYPE}' is '{}', but it must be 'direct', 'inferred' or 'sourceParent'.",
                &*kind
            ));
        }
    };
    match key {
        None => Ok(read),
        Some(_) => invalid(format!(
            "The field '{KEY}' is not allowed with the '{TYPE}' '{}'. Leave it out, or choose 'direct'.",
            &*kind
        )),
    }
}
