//! Modifications of process instances. A field that is 0 or empty counts as absent.

use std::sync::Arc;

use pb::modify_process_instance_request::{self as wire};
use skep_proto::gateway_protocol as pb;
use skep_protocol::command::{Command, Draft, ModifyProcessInstance};
use skep_protocol::value::{
    ActivateInstruction, MoveAncestor, MoveInstruction, TerminateInstruction, VariableInstruction,
};
use skep_protocol::{Failure, Key};

use super::decode::variables;
use crate::check::{self, invalid};

pub fn modify(request: pb::ModifyProcessInstanceRequest) -> Result<Draft, Failure> {
    let activate = request.activate_instructions.into_iter().map(activation);
    let terminate = request.terminate_instructions.into_iter().map(termination);
    let moves = request.move_instructions.into_iter().map(r#move);
    let modify = ModifyProcessInstance {
        process_instance_key: Key(request.process_instance_key),
        activate_instructions: activate.collect::<Result<_, _>>()?,
        terminate_instructions: terminate.collect::<Result<_, _>>()?,
        move_instructions: moves.collect::<Result<_, _>>()?,
    };
    Ok(Draft {
        operation_reference: request.operation_reference,
        ..Command::ModifyProcessInstance(modify).into()
    })
}

fn activation(activate: wire::ActivateInstruction) -> Result<ActivateInstruction, Failure> {
    let field = "activateInstructions";
    check::not_blank(
        "activateInstructions.elementId",
        &activate.element_id,
        "Name the element to activate.",
    )?;
    Ok(ActivateInstruction {
        element_id: activate.element_id.into(),
        ancestor_scope_key: Key(activate.ancestor_element_instance_key),
        variable_instructions: variable_instructions(field, activate.variable_instructions)?,
        ancestor_scope_keys: Vec::new(),
    })
}

fn variable_instructions(
    field: &str,
    instructions: Vec<wire::VariableInstruction>,
) -> Result<Vec<VariableInstruction>, Failure> {
    let name = format!("{field}.variableInstructions.variables");
    let read = instructions.into_iter().map(|instruction| {
        let document = variables(&name, &instruction.variables)?;
        Ok(VariableInstruction {
            element_id: instruction.scope_id.into(),
            variables: document.into_entries().collect(),
        })
    });
    read.collect()
}

fn termination(terminate: wire::TerminateInstruction) -> Result<TerminateInstruction, Failure> {
    let names = (
        "terminateInstructions.elementInstanceKey",
        "terminateInstructions.elementId",
    );
    let said = (terminate.element_instance_key, terminate.element_id);
    let (element_instance_key, element_id) = either(said, names)?;
    Ok(TerminateInstruction {
        element_instance_key,
        element_id,
    })
}

/// An element instance by its key, or all of one element by its id.
fn either(
    (key, id): (i64, String),
    (key_name, id_name): (&str, &str),
) -> Result<(Key, Arc<str>), Failure> {
    match (key > 0, id.is_empty()) {
        (true, true) => Ok((Key(key), Arc::default())),
        (false, false) => {
            check::not_blank(id_name, &id, "Name the element.")?;
            Ok((Key::NONE, id.into()))
        }
        (false, true) => invalid(format!(
            "Neither '{key_name}' nor '{id_name}' is given. Give one of them."
        )),
        (true, false) => invalid(format!(
            "Both '{key_name}' and '{id_name}' are given. Give one of them."
        )),
    }
}

fn r#move(instruction: wire::MoveInstruction) -> Result<MoveInstruction, Failure> {
    let names = (
        "moveInstructions.sourceElementInstanceKey",
        "moveInstructions.sourceElementId",
    );
    let source = (
        instruction.source_element_instance_key,
        instruction.source_element_id,
    );
    let (source_element_instance_key, source_element_id) = either(source, names)?;
    check::not_blank(
        "moveInstructions.targetElementId",
        &instruction.target_element_id,
        "Name the element to activate.",
    )?;
    let ancestor = match (
        instruction.ancestor_element_instance_key,
        instruction.infer_ancestor_scope_from_source_hierarchy,
        instruction.use_source_parent_key_as_ancestor_scope_key,
    ) {
        (..=0, false, false) => MoveAncestor::Any,
        (key @ 1.., false, false) => MoveAncestor::Key(Key(key)),
        (..=0, true, false) => MoveAncestor::Inferred,
        (..=0, false, true) => MoveAncestor::SourceParent,
        _ => {
            return invalid(
                "More than one of 'moveInstructions.ancestorElementInstanceKey', \
                 'moveInstructions.inferAncestorScopeFromSourceHierarchy' and \
                 'moveInstructions.useSourceParentKeyAsAncestorScopeKey' is given. Give one of them.",
            );
        }
    };
    Ok(MoveInstruction {
        source_element_id,
        source_element_instance_key,
        target_element_id: instruction.target_element_id.into(),
        ancestor,
        variable_instructions: variable_instructions(
            "moveInstructions",
            instruction.variable_instructions,
        )?,
    })
}
