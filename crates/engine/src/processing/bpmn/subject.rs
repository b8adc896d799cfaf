//! The element instance to which a step applies.

use std::sync::Arc;

use skep_model::{Element, ElementIndex};
use skep_protocol::Key;
use skep_protocol::value::ProcessInstanceValue;

use crate::processing::Context;
use crate::state::{DeployedProcess, ElementInstance};

/// An element instance with its definition. It stays readable after the row is gone.
#[derive(Clone)]
pub(crate) struct Subject {
    pub key: Key,
    pub process: Arc<DeployedProcess>,
    /// The value that the instance's records carry.
    pub value: ProcessInstanceValue,
}

impl Subject {
    pub fn load(cx: &mut Context<'_>, key: Key) -> Option<Subject> {
        let value = value_of(cx.state.elements.get(key)?);
        let process = definition_of(cx, &value)?;
        Some(Subject {
            key,
            process,
            value,
        })
    }

    pub fn index(&self) -> ElementIndex {
        ElementIndex(self.value.element)
    }

    pub fn element(&self) -> &Element {
        self.process.graph.element(self.index())
    }

    pub fn flow_scope(&self) -> Key {
        self.value.flow_scope_key
    }
}

/// The definition of an element. An instance keeps its definition, even a deleted one, which contains every element that
/// its records name.
pub(super) fn definition_of(
    cx: &Context<'_>,
    value: &ProcessInstanceValue,
) -> Option<Arc<DeployedProcess>> {
    let process = cx.process(value.process_definition_key);
    let known = process.filter(|p| (value.element as usize) < p.graph.elements.len());
    if known.is_none() {
        cx.broken(format_args!(
            "the element {} of process definition {} is not known",
            value.element, value.process_definition_key
        ));
    }
    known
}

pub(crate) fn value_of(instance: &ElementInstance) -> ProcessInstanceValue {
    ProcessInstanceValue {
        process_definition_key: instance.process_definition_key,
        process_instance_key: instance.process_instance_key,
        element: instance.element,
        flow_scope_key: instance.flow_scope_key,
        parent_process_instance_key: instance.parent_process_instance_key(),
        parent_element_instance_key: instance.parent_element_instance_key(),
        root_process_instance_key: instance.root_process_instance_key(),
        consumed_flows: 0,
    }
}
