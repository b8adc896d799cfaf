//! Checks across the resources of one deployment.
//!
//! They presuppose that each resource for itself was accepted by [`parse`](crate::parse).

use std::collections::{HashMap, HashSet};

use crate::error::{Finding, Invalid};
use crate::graph::{Binding, ElementKind};
use crate::resource::Resource;

/// A call activity that binds to the version deployed together with its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeploymentBinding<'r> {
    pub process_id: &'r str,
    pub element_id: &'r str,
    /// The called process id; it must lie in the same deployment.
    pub called_process_id: &'r str,
}

impl Resource {
    /// All calls with `bindingType="deployment"` whose process id is constant.
    pub fn deployment_bindings(&self) -> impl Iterator<Item = DeploymentBinding<'_>> {
        self.processes.iter().flat_map(|process| {
            process.elements.iter().filter_map(|element| {
                let ElementKind::CallActivity(called) = &element.kind else {
                    return None;
                };
                if called.binding != Binding::Deployment {
                    return None;
                }
                Some(DeploymentBinding {
                    process_id: &process.id,
                    element_id: &element.id,
                    called_process_id: called.process_id.as_static()?,
                })
            })
        })
    }
}

/// Process ids are unique within the deployment, and what is called with `bindingType="deployment"` is part of it.
///
/// `resources` are pairs of resource name and content.
///
/// # Errors
/// One entry per resource with findings, in the given order.
pub fn check(resources: &[(&str, &Resource)]) -> Result<(), Vec<Invalid>> {
    let mut first_uses: HashMap<&str, &str> = HashMap::new();
    let deployed: HashSet<&str> = resources
        .iter()
        .flat_map(|(_, resource)| &resource.processes)
        .map(|process| &*process.id)
        .collect();
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
        for binding in resource
            .deployment_bindings()
            .filter(|binding| !deployed.contains(binding.called_process_id))
        {
            let message = format!(
                "The bindingType is 'deployment', but the called process '{}' is not part of this deployment. Deploy both together, or use another bindingType",
                binding.called_process_id
            );
            findings.push(finding(
                binding.process_id,
                binding.element_id,
                "callActivity",
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
