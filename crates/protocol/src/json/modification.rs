//! PROCESS_INSTANCE_MODIFICATION as JSON.

use serde_json::{Value, json};

use super::names::Names;
use super::values::object;
use crate::key::Key;
use crate::value::{
    ActivateInstruction, MoveAncestor, MoveInstruction, ProcessInstanceModificationValue,
    VariableInstruction,
};

pub(super) fn render(v: ProcessInstanceModificationValue, names: &Names<'_>) -> Value {
    let all = v.activate_instructions.iter();
    let mut scopes: Vec<Key> = all.flat_map(|a| a.ancestor_scope_keys.clone()).collect();
    scopes.sort_unstable();
    scopes.dedup();
    let activate = v.activate_instructions.iter().map(activate);
    let terminate = v.terminate_instructions.iter().map(|terminate| {
        json!({
            "elementInstanceKey": terminate.element_instance_key,
            "elementId": terminate.element_id,
        })
    });
    let moves = v.move_instructions.iter().map(r#move);
    json!({
        "bpmnProcessId": names.of(v.process_definition_key, 0).bpmn_process_id,
        "processDefinitionKey": v.process_definition_key,
        "processInstanceKey": v.process_instance_key,
        "rootProcessInstanceKey": v.root_process_instance_key,
        "elementInstanceKey": v.process_instance_key,
        "activateInstructions": activate.collect::<Vec<_>>(),
        "terminateInstructions": terminate.collect::<Vec<_>>(),
        "moveInstructions": moves.collect::<Vec<_>>(),
        "ancestorScopeKeys": scopes,
    })
}

fn activate(v: &ActivateInstruction) -> Value {
    json!({
        "elementId": v.element_id,
        "ancestorScopeKey": v.ancestor_scope_key,
        "ancestorScopeKeys": v.ancestor_scope_keys,
        "variableInstructions": variables(&v.variable_instructions),
    })
}

fn r#move(v: &MoveInstruction) -> Value {
    json!({
        "sourceElementId": v.source_element_id,
        "sourceElementInstanceKey": v.source_element_instance_key,
        "targetElementId": v.target_element_id,
        "ancestorScopeKey": match v.ancestor {
            MoveAncestor::Key(key) => key,
            _ => Key::NONE,
        },
        "inferAncestorScopeFromSourceHierarchy": v.ancestor == MoveAncestor::Inferred,
        "useSourceParentKeyAsAncestorScopeKey": v.ancestor == MoveAncestor::SourceParent,
        "variableInstructions": variables(&v.variable_instructions),
    })
}

fn variables(all: &[VariableInstruction]) -> Vec<Value> {
    let all = all.iter().map(|instruction| {
        json!({
            "elementId": instruction.element_id,
            "variables": object(&instruction.variables),
        })
    });
    all.collect()
}
