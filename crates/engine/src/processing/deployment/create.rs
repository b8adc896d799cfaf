//! DEPLOYMENT CREATE: all resources or none.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use skep_model::{Invalid, Options, deployment, rejection_text};
use skep_protocol::command::{Deploy, Resource};
use skep_protocol::intent::{DeploymentIntent, ProcessIntent};
use skep_protocol::response::{Deployed, DeployedProcess};
use skep_protocol::value::{DeploymentValue, ProcessMetadata, ProcessValue};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::distribution;
use crate::processing::{Context, Outcome, reject};
use crate::remote::Distributed;

pub(crate) fn process(cx: &mut Context<'_>, command: &Deploy) -> Outcome {
    let parsed = parse_all(&command.resources)?;
    let deployment_key = cx.next_key();
    let metadata = plan(cx, &parsed, deployment_key);

    let processes: Vec<ProcessMetadata> = metadata.iter().map(|p| p.metadata.clone()).collect();
    let deployment = DeploymentValue {
        deployment_key,
        processes,
    };
    cx.event(deployment_key, DeploymentIntent::Created, &deployment);
    let mut created = Vec::new();
    let mut keys: HashMap<Arc<str>, Key> = HashMap::new();
    for planned in metadata {
        let id = planned.metadata.bpmn_process_id.clone();
        let Some(mut value) = planned.new else {
            keys.insert(id, planned.metadata.process_definition_key);
            continue;
        };
        value.process_definition_key = cx.next_key();
        keys.insert(id, value.process_definition_key);
        cx.event(value.process_definition_key, ProcessIntent::Created, &value);
        created.push(value);
    }
    let answer = Response::Deployed(Deployed {
        deployment_key,
        processes: deployment
            .processes
            .into_iter()
            .map(|p| DeployedProcess {
                process_definition_key: keys.get(&p.bpmn_process_id).copied().unwrap_or_default(),
                bpmn_process_id: p.bpmn_process_id,
                version: p.version,
                resource_name: p.resource_name,
            })
            .collect(),
    });
    let command = Distributed::Deployment {
        deployment_key,
        resources: Vec::new(),
        processes: created,
    };
    Ok(distribution::start(cx, deployment_key, command, answer))
}

/// DEPLOYMENT DISTRIBUTE: what another partition has deployed.
pub(crate) fn distributed(cx: &mut Context<'_>, deployment_key: Key, processes: &[ProcessValue]) {
    for value in processes {
        if cx
            .state
            .processes
            .get(value.process_definition_key)
            .is_none()
        {
            cx.event(value.process_definition_key, ProcessIntent::Created, value);
        }
    }
    let value = DeploymentValue {
        deployment_key,
        processes: Vec::new(),
    };
    cx.event(deployment_key, DeploymentIntent::Distributed, &value);
}

struct Planned {
    metadata: ProcessMetadata,
    /// `None` when the latest version already is this very resource.
    new: Option<ProcessValue>,
}

type Parsed<'a> = (&'a Resource, skep_model::Resource);

fn parse_all(resources: &[Resource]) -> Result<Vec<Parsed<'_>>, Rejection> {
    let refuse = |text: String| reject(RejectionType::InvalidArgument, "CREATE", text);
    if resources.is_empty() {
        return Err(refuse(
            "Expected to deploy at least one resource, but none given".to_string(),
        ));
    }
    let mut parsed = Vec::new();
    let mut invalid: Vec<Invalid> = Vec::new();
    for resource in resources {
        if !(resource.name.ends_with(".bpmn") || resource.name.ends_with(".xml")) {
            invalid.push(Invalid::of_resource(
                &resource.name,
                unsupported(&resource.name),
            ));
            continue;
        }
        match skep_model::parse(&resource.name, &resource.content, &Options::default()) {
            Ok(model) => parsed.push((resource, model)),
            Err(e) => invalid.push(e),
        }
    }
    if invalid.is_empty() {
        let together: Vec<_> = parsed.iter().map(|(r, m)| (r.name.as_str(), m)).collect();
        if let Err(mut errors) = deployment::check(&together) {
            invalid.append(&mut errors);
        }
    }
    if !invalid.is_empty() {
        return Err(refuse(rejection_text(&invalid)));
    }
    Ok(parsed)
}

fn unsupported(name: &str) -> String {
    match name.rsplit_once('.').map(|(_, suffix)| suffix) {
        Some(suffix @ ("dmn" | "form" | "rpa")) => format!(
            "resources of type '.{suffix}' are not supported by this release yet; deploy '.bpmn' files"
        ),
        _ => "unknown resource type; expected a name that ends with '.bpmn' or '.xml'".to_string(),
    }
}

/// Decides keys and versions. A process whose latest version has the same content and name is not deployed again; if every
/// process of a resource is unchanged the resource is a duplicate.
fn plan(cx: &Context<'_>, parsed: &[Parsed<'_>], deployment_key: Key) -> Vec<Planned> {
    let mut planned = Vec::new();
    for (resource, model) in parsed {
        let checksum = Bytes::copy_from_slice(&Sha256::digest(&resource.content));
        let resource_name: Arc<str> = resource.name.as_str().into();
        let unchanged = model.processes.iter().all(|process| {
            cx.state
                .processes
                .latest(&process.id)
                .is_some_and(|latest| {
                    latest.checksum == checksum && latest.resource_name == resource_name
                })
        });
        for process in &model.processes {
            let latest = cx.state.processes.latest(&process.id);
            if let Some(latest) = latest.filter(|_| unchanged) {
                planned.push(Planned {
                    metadata: ProcessMetadata {
                        bpmn_process_id: process.id.clone(),
                        version: latest.version,
                        process_definition_key: latest.key,
                        resource_name: resource_name.clone(),
                        duplicate: true,
                    },
                    new: None,
                });
                continue;
            }
            let version = cx.state.processes.next_version(&process.id);
            let value = ProcessValue {
                bpmn_process_id: process.id.clone(),
                version,
                version_tag: process.version_tag.clone(),
                process_definition_key: Key::NONE,
                deployment_key,
                resource_name: resource_name.clone(),
                checksum: checksum.clone(),
                resource: resource.content.clone(),
                elements: process.element_ids().map(Arc::from).collect(),
            };
            planned.push(Planned {
                metadata: ProcessMetadata {
                    bpmn_process_id: process.id.clone(),
                    version,
                    process_definition_key: Key::NONE,
                    resource_name: resource_name.clone(),
                    duplicate: false,
                },
                new: Some(value),
            });
        }
    }
    planned
}
