//! Checks across the resources of one deployment.
//!
//! They presuppose that each resource for itself was accepted by [`parse`](crate::parse).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::error::{Finding, Invalid, Rule};
use crate::graph::{Binding, BusinessRuleTask, Element, ElementKind, ElementType, FormReference};
use crate::resource::Resource;

/// Kind of a deployed resource that an element can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Named {
    Process,
    Decision,
    Form,
    Resource,
}

impl Named {
    fn in_words(self) -> &'static str {
        match self {
            Named::Process => "called process",
            Named::Decision => "called decision",
            Named::Form => "form",
            Named::Resource => "linked resource",
        }
    }
}

/// An element that binds to the version of something deployed together with its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeploymentBinding<'r> {
    pub process_id: &'r str,
    pub element_id: &'r str,
    pub element_type: &'static str,
    pub named: Named,
    /// The referenced id; it must be in the same deployment.
    pub id: &'r str,
}

impl Resource {
    /// All references with `bindingType="deployment"` whose id is constant.
    pub fn deployment_bindings(&self) -> impl Iterator<Item = DeploymentBinding<'_>> {
        let elements = self.processes.iter().flat_map(|process| {
            let elements = process.elements.iter();
            elements.map(|element| (&process.id, element))
        });
        elements.flat_map(|(process_id, element)| {
            let references = references(element).into_iter();
            let bound = references.filter(|(_, binding, _)| **binding == Binding::Deployment);
            bound.map(|(named, _, id)| DeploymentBinding {
                process_id,
                element_id: &element.id,
                element_type: bpmn_name(element),
                named,
                id,
            })
        })
    }
}

/// References of the element by a constant id, with their binding.
fn references(element: &Element) -> Vec<(Named, &Binding, &str)> {
    let mut found = Vec::new();
    let mut add = |named, binding, id: Option<_>| found.extend(id.map(|id| (named, binding, id)));
    let mut form = None;
    match &element.kind {
        ElementKind::CallActivity(called) => {
            add(
                Named::Process,
                &called.binding,
                called.process_id.as_static(),
            );
        }
        ElementKind::BusinessRuleTask(BusinessRuleTask::Decision(called)) => {
            let id = called.decision_id.as_static();
            add(Named::Decision, &called.binding, id);
        }
        ElementKind::UserTask(task) => form = task.form.as_ref(),
        ElementKind::StartEvent(start) => form = start.form.as_ref(),
        _ => {}
    }
    if let Some(FormReference::Id { id, binding }) = form {
        add(Named::Form, binding, id.as_static());
    }
    for linked in element.job().iter().flat_map(|job| &job.linked_resources) {
        add(Named::Resource, &linked.binding, Some(&linked.resource_id));
    }
    found
}

/// The BPMN name of an element that can refer to something.
fn bpmn_name(element: &Element) -> &'static str {
    match element.element_type {
        ElementType::CallActivity => "callActivity",
        ElementType::BusinessRuleTask => "businessRuleTask",
        ElementType::UserTask => "userTask",
        ElementType::StartEvent => "startEvent",
        ElementType::SendTask => "sendTask",
        ElementType::ScriptTask => "scriptTask",
        _ => "serviceTask",
    }
}

/// Checks that process ids are unique within the deployment, and that it contains everything referenced with `bindingType="deployment"`.
///
/// `resources` are pairs of resource name and content, `others` the rest of the deployment.
///
/// # Errors
/// One entry per resource with findings, in the given order.
pub fn check(
    resources: &[(&str, &Resource)],
    others: impl IntoIterator<Item = (Named, Arc<str>)>,
) -> Result<(), Vec<Invalid>> {
    let mut first_uses: HashMap<&str, &str> = HashMap::new();
    let processes = resources
        .iter()
        .flat_map(|(_, resource)| &resource.processes);
    let processes = processes.map(|process| (Named::Process, process.id.clone()));
    let deployed: HashSet<(Named, Arc<str>)> = processes.chain(others).collect();
    let mut invalid = Vec::new();
    for (name, resource) in resources {
        let mut findings = Vec::new();
        for process in &resource.processes {
            if let Some(other) = first_uses.insert(&process.id, name) {
                let message = format!(
                    "The process id '{}' is also used by the resource '{other}' of this deployment. Give each process its own id",
                    process.id
                );
                findings.push(Finding {
                    rule: Rule::DuplicateId,
                    process_id: Some(process.id.to_string()),
                    element_id: Some(process.id.to_string()),
                    element_type: Some("process".to_string()),
                    message,
                    line: None,
                });
            }
        }
        for binding in resource.deployment_bindings() {
            if deployed.contains(&(binding.named, binding.id.into())) {
                continue;
            }
            let message = format!(
                "The bindingType is 'deployment', but the {} '{}' is not part of this deployment. Deploy both together, or use another bindingType",
                binding.named.in_words(),
                binding.id
            );
            findings.push(Finding {
                rule: Rule::NotInDeployment,
                process_id: Some(binding.process_id.to_string()),
                element_id: Some(binding.element_id.to_string()),
                element_type: Some(binding.element_type.to_string()),
                message,
                line: None,
            });
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
