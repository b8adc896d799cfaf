//! Checks across the resources of one deployment.
//!
//! They presuppose that each resource for itself was accepted by [`parse`](crate::parse).

use std::collections::{HashMap, HashSet};

use crate::error::{Finding, Invalid};
use crate::graph::{Binding, BusinessRuleTask, Element, ElementKind, FormReference, TextValue};
use crate::resource::Resource;

/// What an element calls in the version that is deployed together with its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeploymentBinding<'r> {
    pub process_id: &'r str,
    pub element_id: &'r str,
    /// The tag of the element in the file.
    pub element_type: &'static str,
    pub called: Called,
    /// Its id; it must lie in the same deployment.
    pub called_id: &'r str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Called {
    Process,
    Decision,
    Form,
}

impl Called {
    fn name(self) -> &'static str {
        match self {
            Called::Process => "process",
            Called::Decision => "decision",
            Called::Form => "form",
        }
    }
}

impl Resource {
    /// All calls with `bindingType="deployment"` whose id is constant.
    pub fn deployment_bindings(&self) -> impl Iterator<Item = DeploymentBinding<'_>> {
        self.processes.iter().flat_map(|process| {
            process.elements.iter().filter_map(|element| {
                let (element_type, called, id) = bound_to_deployment(element)?;
                Some(DeploymentBinding {
                    process_id: &process.id,
                    element_id: &element.id,
                    element_type,
                    called,
                    called_id: id.as_static()?,
                })
            })
        })
    }
}

fn bound_to_deployment(element: &Element) -> Option<(&'static str, Called, &TextValue)> {
    let (tag, called, id, binding) = match &element.kind {
        ElementKind::CallActivity(called) => (
            "callActivity",
            Called::Process,
            &called.process_id,
            &called.binding,
        ),
        ElementKind::BusinessRuleTask(BusinessRuleTask::Decision(called)) => (
            "businessRuleTask",
            Called::Decision,
            &called.decision_id,
            &called.binding,
        ),
        ElementKind::UserTask(task) => form_of("userTask", &task.form)?,
        ElementKind::StartEvent(start) => form_of("startEvent", &start.form)?,
        _ => return None,
    };
    (*binding == Binding::Deployment).then_some((tag, called, id))
}

type BoundForm<'r> = (&'static str, Called, &'r TextValue, &'r Binding);

fn form_of<'r>(tag: &'static str, form: &'r Option<FormReference>) -> Option<BoundForm<'r>> {
    match form {
        Some(FormReference::Id { id, binding }) => Some((tag, Called::Form, id, binding)),
        _ => None,
    }
}

/// Process ids are unique within the deployment, and what is called with `bindingType="deployment"` is part of it.
///
/// `resources` are pairs of resource name and content; `others` are the decisions and forms deployed with them, by their ids.
///
/// # Errors
/// One entry per resource with findings, in the given order.
pub fn check(
    resources: &[(&str, &Resource)],
    others: &HashSet<(Called, &str)>,
) -> Result<(), Vec<Invalid>> {
    let mut first_uses: HashMap<&str, &str> = HashMap::new();
    let processes: HashSet<&str> = resources
        .iter()
        .flat_map(|(_, resource)| &resource.processes)
        .map(|process| &*process.id)
        .collect();
    let is_deployed = |binding: &DeploymentBinding<'_>| match binding.called {
        Called::Process => processes.contains(binding.called_id),
        called => others.contains(&(called, binding.called_id)),
    };
    let mut invalid = Vec::new();
    for (name, resource) in resources {
        let mut findings = Vec::new();
        for process in &resource.processes {
            if let Some(other) = first_uses.insert(&process.id, name) {
                let message = format!(
                    "The process id '{}' is also used by the resource '{other}' of this deployment. Give each process its own id",
                    process.id
                );
                findings.push(finding(&process.id, &process.id, "process", message));
            }
        }
        for binding in resource.deployment_bindings().filter(|b| !is_deployed(b)) {
            let message = format!(
                "The bindingType is 'deployment', but the called {} '{}' is not part of this deployment. Deploy both together, or use another bindingType",
                binding.called.name(),
                binding.called_id
            );
            findings.push(finding(
                binding.process_id,
                binding.element_id,
                binding.element_type,
                message,
            ));
        }
        if !findings.is_empty() {
            invalid.push(Invalid {
                resource_name: (*name).to_string(),
                findings,
                further: 0,
            });
        }
    }
    if invalid.is_empty() {
        Ok(())
    } else {
        Err(invalid)
    }
}

fn finding(process_id: &str, element_id: &str, element_type: &str, message: String) -> Finding {
    Finding {
        process_id: Some(process_id.to_string()),
        element_id: Some(element_id.to_string()),
        element_type: Some(element_type.to_string()),
        message,
        line: None,
    }
}
