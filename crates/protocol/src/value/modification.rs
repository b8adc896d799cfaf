//! The modification of a process instance: its instructions, and its progress.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::document::JsonText;
use crate::key::Key;

/// Variables of one scope, set before the element in it is activated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VariableInstruction {
    /// The element to activate, or one around it. Empty: the process instance.
    pub element_id: Arc<str>,
    pub variables: Vec<(Arc<str>, JsonText)>,
}

/// An element is activated; the scopes around it that are not there are created.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivateInstruction {
    pub element_id: Arc<str>,
    /// The element instance within which scopes are created. 0 or less: the existing scopes of the element.
    pub ancestor_scope_key: Key,
    pub variable_instructions: Vec<VariableInstruction>,
    /// The instances that the element is activated in, innermost first: set once they exist.
    pub ancestor_scope_keys: Vec<Key>,
}

/// Terminates an element instance with its content; or all instances of one element, if there is no key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminateInstruction {
    pub element_instance_key: Key,
    /// Empty if the key identifies it.
    pub element_id: Arc<str>,
}

/// Terminates an element instance and activates another element in its place; or does so for all instances of one element, if
/// there is no key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveInstruction {
    pub source_element_id: Arc<str>,
    pub source_element_instance_key: Key,
    pub target_element_id: Arc<str>,
    pub ancestor: MoveAncestor,
    pub variable_instructions: Vec<VariableInstruction>,
}

/// The element instance within which the target of a move is activated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum MoveAncestor {
    /// The existing scopes of the target, as with an [`ActivateInstruction`].
    #[default]
    Any,
    Key(Key),
    /// The nearest one around the source that is also around the target.
    Inferred,
    /// The parent of the source.
    SourceParent,
}

/// MODIFIED: the process instance is modified, and the elements are about to be activated. `activate_instructions` and
/// `terminate_instructions` include the results of the moves. The record's key is that of the process instance.
///
/// BEGUN (Skep's own): these instructions are checked and will be carried out. PREPARED (Skep's own): the next of the
/// elements to activate, the only one of the value, has its scopes; the record's key is that of its trigger.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInstanceModificationValue {
    pub process_instance_key: Key,
    pub process_definition_key: Key,
    pub root_process_instance_key: Key,
    pub activate_instructions: Vec<ActivateInstruction>,
    pub terminate_instructions: Vec<TerminateInstruction>,
    /// As requested.
    pub move_instructions: Vec<MoveInstruction>,
}

impl ProcessInstanceModificationValue {
    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        let activate = self.activate_instructions.iter();
        let terminate = self.terminate_instructions.iter();
        let moves = self.move_instructions.iter();
        activate.map(ActivateInstruction::weight).sum::<usize>()
            + terminate.map(TerminateInstruction::weight).sum::<usize>()
            + moves.map(MoveInstruction::weight).sum::<usize>()
    }
}

/// Bytes that a key or an element of a list may cost beside its content.
const ITEM: usize = 64;

impl VariableInstruction {
    /// About how many bytes all of them take.
    fn weight(all: &[VariableInstruction]) -> usize {
        let own = all.iter().map(|instruction| {
            let variables = instruction.variables.iter();
            let variables: usize = variables.map(|(n, v)| ITEM + n.len() + v.len()).sum();
            ITEM + instruction.element_id.len() + variables
        });
        own.sum()
    }
}

impl ActivateInstruction {
    /// Whether the request chose the scope in which the element's scopes are created.
    pub fn has_ancestor(&self) -> bool {
        self.ancestor_scope_key.0 > 0
    }

    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        let keys = self.ancestor_scope_keys.len() * size_of::<Key>();
        let variables = VariableInstruction::weight(&self.variable_instructions);
        ITEM + self.element_id.len() + variables + keys
    }
}

impl TerminateInstruction {
    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        ITEM + self.element_id.len()
    }
}

impl MoveInstruction {
    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        let ids = self.source_element_id.len() + self.target_element_id.len();
        2 * ITEM + ids + VariableInstruction::weight(&self.variable_instructions)
    }
}
