//! DEPLOYMENT CREATE: all resources or none.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use skep_model::{Invalid, Options, deployment};
use skep_protocol::command::{Deploy, Resource};
use skep_protocol::findings::Finding;
use skep_protocol::intent::{DeploymentIntent, ProcessIntent};
use skep_protocol::response::{Deployed, DeployedProcess};
use skep_protocol::value::{DeploymentValue, ProcessMetadata, ProcessValue, TimerValue};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::distribution;
use crate::processing::bpmn::subscriptions::{start, timer};
use crate::processing::{Context, Outcome, reject};
use crate::remote::Distributed;

pub(crate) fn process(cx: &mut Context<'_>, command: &Deploy) -> Outcome {
    let parsed = parse_all(&command.resources)?;
    let deployment_key = cx.next_key();
    let (processes, created) = plan(cx, &parsed, deployment_key);
    check_size(cx, &created)?;
    let timers = start_timers(cx, &parsed, &created)?;
    let replaced = replaced_by(cx, &created);
    for value in &created {
        cx.event(value.process_definition_key, ProcessIntent::Created, value);
    }
    for (replaced, timers) in replaced.iter().zip(&timers) {
        if let Some(replaced) = replaced {
            start::close_timers(cx, *replaced);
        }
        for timer in timers {
            timer::open(cx, timer);
        }
    }
    let deployment = DeploymentValue {
        deployment_key,
        processes,
        tenant: cx.tenant.clone(),
    };
    cx.event(deployment_key, DeploymentIntent::Created, &deployment);
    replace_start_subscriptions(cx, &replaced, &created);
    let answer = Response::Deployed(Deployed {
        deployment_key,
        processes: deployment
            .processes
            .into_iter()
            .map(|p| DeployedProcess {
                process_definition_key: p.process_definition_key,
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
    let key = cx.next_key();
    Ok(distribution::start(cx, key, command, answer))
}

/// Bytes of the records that one deployment may write. They stand in one batch, and many stand beside each other in memory.
const MAX_RECORDS_BYTES: usize = 32 << 20;

/// Each new process has a record with the whole resource, and all of them travel to the other partitions.
fn check_size(cx: &Context<'_>, created: &[ProcessValue]) -> Result<(), Rejection> {
    let elements = |value: &ProcessValue| {
        value
            .elements
            .iter()
            .map(|element| element.id.len() + 2)
            .sum::<usize>()
    };
    let sizes = created
        .iter()
        .map(|value| value.resource.len() + elements(value));
    let copies = if cx.config.partitions > 1 { 2 } else { 1 };
    let bytes = copies * sizes.sum::<usize>();
    if bytes <= MAX_RECORDS_BYTES {
        return Ok(());
    }
    let reason = format!(
        "Expected to deploy {} processes, but their records would take {bytes} bytes, more than the {MAX_RECORDS_BYTES} that \
         one deployment may write: each process is recorded with the whole of its resource. Split resources with many \
         processes, or deploy fewer at a time.",
        created.len()
    );
    Err(reject(
        RejectionType::ExceededBatchRecordSize,
        "CREATE",
        reason,
    ))
}

/// The timers of the start events of each new process. Expressions are evaluated now.
fn start_timers(
    cx: &mut Context<'_>,
    parsed: &[Parsed<'_>],
    created: &[ProcessValue],
) -> Result<Vec<Vec<TimerValue>>, Rejection> {
    let (mut timers, mut invalid) = (Vec::new(), Vec::new());
    let graphs = parsed.iter().flat_map(|(resource, model)| {
        let graphs = model.processes.iter();
        graphs.map(move |graph| (&resource.name, graph))
    });
    // Either all processes are new, or none is.
    for (value, (resource_name, graph)) in created.iter().zip(graphs) {
        match start::timers(cx, graph, value.process_definition_key) {
            Ok(of_process) => timers.push(of_process),
            Err((element, problem)) => {
                let element = graph.element(element);
                let finding = Finding {
                    process_id: Some(graph.id.to_string()),
                    element_id: Some(element.id.to_string()),
                    element_type: Some("startEvent".to_string()),
                    message: format!(
                        "{} A timer start event of a process is evaluated at deployment, where there are no variables.",
                        problem.message
                    ),
                    line: None,
                };
                invalid.push(Invalid {
                    resource_name: resource_name.clone(),
                    findings: vec![finding],
                    further: 0,
                });
            }
        }
    }
    match invalid.is_empty() {
        true => Ok(timers),
        false => Err(Rejection::of_deployment("CREATE", invalid)),
    }
}

/// For each new process the version that was the latest before it.
fn replaced_by(cx: &Context<'_>, created: &[ProcessValue]) -> Vec<Option<Key>> {
    let latest = |value: &ProcessValue| {
        let latest = cx
            .state
            .processes
            .latest(&value.tenant, &value.bpmn_process_id);
        latest.map(|process| process.key)
    };
    created.iter().map(latest).collect()
}

/// What each partition has subscriptions for is that of the latest versions.
fn replace_start_subscriptions(
    cx: &mut Context<'_>,
    replaced: &[Option<Key>],
    created: &[ProcessValue],
) {
    for (replaced, value) in replaced.iter().zip(created) {
        if let Some(replaced) = replaced {
            start::close_subscriptions(cx, *replaced);
        }
        if let Some(process) = cx.process(value.process_definition_key) {
            start::open_subscriptions(cx, &process);
        }
    }
}

/// DEPLOYMENT DISTRIBUTE: what another partition has deployed.
pub(crate) fn distributed(cx: &mut Context<'_>, deployment_key: Key, processes: &[ProcessValue]) {
    let replaced = replaced_by(cx, processes);
    for value in processes {
        cx.event(value.process_definition_key, ProcessIntent::Created, value);
    }
    let value = DeploymentValue {
        deployment_key,
        processes: Vec::new(),
        tenant: processes
            .first()
            .map(|p| p.tenant.clone())
            .unwrap_or_default(),
    };
    cx.event(deployment_key, DeploymentIntent::Distributed, &value);
    replace_start_subscriptions(cx, &replaced, processes);
}

type Parsed<'a> = (&'a Resource, skep_model::Resource);

fn parse_all(resources: &[Resource]) -> Result<Vec<Parsed<'_>>, Rejection> {
    if resources.is_empty() {
        return Err(reject(
            RejectionType::InvalidArgument,
            "CREATE",
            "Expected to deploy at least one resource, but none given",
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
        return Err(Rejection::of_deployment("CREATE", invalid));
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

/// Decides keys and versions: what the deployment names, and which definitions are new.
///
/// A resource is unchanged when its content and name are those of the latest version of all its processes. Where all are,
/// nothing is deployed again; one that is new makes all of them new, so that they belong together.
fn plan(
    cx: &Context<'_>,
    parsed: &[Parsed<'_>],
    deployment_key: Key,
) -> (Vec<ProcessMetadata>, Vec<ProcessValue>) {
    let checksums: Vec<Bytes> = parsed
        .iter()
        .map(|(resource, _)| Bytes::copy_from_slice(&Sha256::digest(&resource.content)))
        .collect();
    let unchanged = |(resource, model): &Parsed<'_>, checksum: &Bytes| {
        model.processes.iter().all(|process| {
            let latest = cx.state.processes.latest(&cx.tenant, &process.id);
            latest.is_some_and(|latest| {
                latest.checksum == *checksum && *latest.resource_name == *resource.name
            })
        })
    };
    let mut resources = parsed.iter().zip(&checksums);
    let duplicate = resources.all(|(parsed, checksum)| unchanged(parsed, checksum));

    let (mut metadata, mut created) = (Vec::new(), Vec::new());
    let mut next_key = deployment_key;
    for ((resource, model), checksum) in parsed.iter().zip(checksums) {
        let resource_name: Arc<str> = resource.name.as_str().into();
        for process in &model.processes {
            let latest = cx.state.processes.latest(&cx.tenant, &process.id);
            if let Some(latest) = latest.filter(|_| duplicate) {
                metadata.push(ProcessMetadata {
                    bpmn_process_id: process.id.clone(),
                    version: latest.version,
                    version_tag: latest.version_tag.clone(),
                    process_definition_key: latest.key,
                    deployment_key: latest.deployment_key,
                    resource_name: resource_name.clone(),
                    checksum: checksum.clone(),
                    duplicate: true,
                });
                continue;
            }
            next_key = Key(next_key.0 + 1);
            let value = ProcessValue {
                bpmn_process_id: process.id.clone(),
                version: cx.state.processes.next_version(&cx.tenant, &process.id),
                version_tag: process.version_tag.clone(),
                process_definition_key: next_key,
                deployment_key,
                resource_name: resource_name.clone(),
                checksum: checksum.clone(),
                resource: resource.content.clone(),
                elements: process.pinned_elements().collect(),
                tenant: cx.tenant.clone(),
            };
            metadata.push(ProcessMetadata {
                bpmn_process_id: value.bpmn_process_id.clone(),
                version: value.version,
                version_tag: value.version_tag.clone(),
                process_definition_key: next_key,
                deployment_key,
                resource_name: resource_name.clone(),
                checksum: checksum.clone(),
                duplicate: false,
            });
            created.push(value);
        }
    }
    (metadata, created)
}
