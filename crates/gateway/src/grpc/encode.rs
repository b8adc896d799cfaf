//! Answers as gRPC messages.

mod decisions;
mod deployments;

pub use decisions::evaluation;
pub use deployments::{deployments, process};
use skep_proto::gateway_protocol as pb;
use skep_protocol::response::{ConditionalsEvaluated, ProcessInstanceCreated};
use skep_protocol::{ActivatedJob, Key, Response as Answer, TenantId};
use skep_service::{BrokerInfo, PartitionHealth, PartitionInfo, PartitionRole, Topology};

use super::job_result;
use crate::oversize::TooLarge;

pub fn conditionals(evaluated: ConditionalsEvaluated) -> pb::EvaluateConditionalResponse {
    let started = evaluated.started.into_iter();
    let reference = |(definition, instance): (Key, Key)| pb::ProcessInstanceReference {
        process_definition_key: definition.0,
        process_instance_key: instance.0,
    };
    pb::EvaluateConditionalResponse {
        process_instances: started.map(reference).collect(),
        conditional_evaluation_key: evaluated.key.0,
        tenant_id: evaluated.tenant.to_string(),
    }
}

/// The tenant that a message names.
pub fn tenant(id: &str) -> String {
    TenantId::new(id).to_string()
}

pub fn created(
    created: ProcessInstanceCreated,
    tenant_id: String,
) -> pb::CreateProcessInstanceResponse {
    pb::CreateProcessInstanceResponse {
        process_definition_key: created.process_definition_key.0,
        bpmn_process_id: created.bpmn_process_id.to_string(),
        version: created.version,
        process_instance_key: created.process_instance_key.0,
        tenant_id,
        tags: created.tags.to_vec(),
        business_id: created.business_id,
    }
}

pub fn ended(
    created: ProcessInstanceCreated,
    variables: String,
    tenant_id: String,
) -> pb::CreateProcessInstanceWithResultResponse {
    pb::CreateProcessInstanceWithResultResponse {
        process_definition_key: created.process_definition_key.0,
        bpmn_process_id: created.bpmn_process_id.to_string(),
        version: created.version,
        process_instance_key: created.process_instance_key.0,
        variables,
        tenant_id,
        tags: created.tags.to_vec(),
        business_id: created.business_id,
    }
}

/// Bytes of jobs after which the next message begins: far below what clients accept in one.
const MESSAGE_BYTES: usize = 1 << 20;

/// Activated jobs on their way out.
#[derive(Debug, Default)]
pub struct Activated {
    /// Each holds some of the jobs.
    pub messages: Vec<pb::ActivateJobsResponse>,
    pub too_large: Vec<TooLarge>,
}

/// Jobs as messages of which none is larger than `limit`.
pub fn activated(jobs: Vec<ActivatedJob>, limit: usize) -> Activated {
    let mut activated = Activated::default();
    let mut message = pb::ActivateJobsResponse::default();
    let mut size = 0;
    for job in jobs {
        if let Some(too_large) = too_large(&job, limit) {
            activated.too_large.push(too_large);
            continue;
        }
        let job_size = message_size(&job);
        if size >= MESSAGE_BYTES || (size > 0 && size + job_size > limit) {
            activated.messages.push(std::mem::take(&mut message));
            size = 0;
        }
        size += job_size;
        message.jobs.push(activated_job(job));
    }
    if !message.jobs.is_empty() {
        activated.messages.push(message);
    }
    activated
}

pub fn too_large(job: &ActivatedJob, limit: usize) -> Option<TooLarge> {
    let size = message_size(job);
    (size > limit).then_some(TooLarge {
        key: job.key,
        size,
        limit,
    })
}

/// Bytes of a job's message at most: its texts, and room for its numbers and what surrounds each field.
fn message_size(job: &ActivatedJob) -> usize {
    const FIELDS: usize = 256;
    const AROUND_TEXT: usize = 7;
    let texts = [
        job.job_type.len(),
        job.bpmn_process_id.len(),
        job.element_id.len(),
        job.custom_headers.len(),
        job.worker.len(),
        job.variables.len(),
    ];
    let tags = job.tags.iter().map(|tag| tag.len() + AROUND_TEXT);
    let user_task = job
        .user_task
        .as_ref()
        .map_or(0, |task| task.text_bytes() + FIELDS);
    FIELDS + texts.iter().sum::<usize>() + tags.sum::<usize>() + user_task
}

pub fn activated_job(job: ActivatedJob) -> pb::ActivatedJob {
    pb::ActivatedJob {
        key: job.key.0,
        r#type: job.job_type.to_string(),
        process_instance_key: job.process_instance_key.0,
        bpmn_process_id: job.bpmn_process_id.to_string(),
        process_definition_version: job.process_definition_version,
        process_definition_key: job.process_definition_key.0,
        element_id: job.element_id.to_string(),
        element_instance_key: job.element_instance_key.0,
        custom_headers: object_or_empty(job.custom_headers.to_string()),
        worker: job.worker.to_string(),
        retries: job.retries,
        deadline: job.deadline,
        variables: object_or_empty(job.variables),
        tenant_id: job.tenant.to_string(),
        user_task: job.user_task.map(|task| job_result::user_task(*task)),
        kind: job_result::kind(job.kind),
        listener_event_type: job_result::listener_event(job.kind),
        tags: job.tags.to_vec(),
    }
}

fn object_or_empty(json: String) -> String {
    if json.is_empty() {
        "{}".to_string()
    } else {
        json
    }
}

/// Clients choose their features by the versions: they are those of the API.
pub fn topology(topology: Topology, api_version: &str) -> pb::TopologyResponse {
    let int = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
    pb::TopologyResponse {
        brokers: topology
            .brokers
            .iter()
            .map(|one| broker(one, api_version))
            .collect(),
        cluster_size: int(topology.cluster_size),
        partitions_count: int(topology.partitions_count),
        replication_factor: int(topology.replication_factor),
        gateway_version: api_version.to_string(),
        cluster_id: topology.cluster_id,
    }
}

fn broker(broker: &BrokerInfo, api_version: &str) -> pb::BrokerInfo {
    pb::BrokerInfo {
        node_id: broker.node_id,
        host: broker.host.clone(),
        port: i32::from(broker.port),
        partitions: broker.partitions.iter().map(partition).collect(),
        version: api_version.to_string(),
    }
}

fn partition(info: &PartitionInfo) -> pb::Partition {
    use pb::partition::{PartitionBrokerHealth as Health, PartitionBrokerRole as Role};
    pb::Partition {
        partition_id: i32::try_from(info.partition_id).unwrap_or(i32::MAX),
        role: match info.role {
            PartitionRole::Leader => Role::Leader,
            PartitionRole::Follower => Role::Follower,
            PartitionRole::Inactive => Role::Inactive,
        } as i32,
        health: match info.health {
            PartitionHealth::Healthy => Health::Healthy,
            PartitionHealth::Unhealthy => Health::Unhealthy,
            PartitionHealth::Dead => Health::Dead,
        } as i32,
    }
}

/// `batch_operation` is there when the history goes as well.
pub fn resource_deleted(resource_key: String, answer: &Answer) -> pb::DeleteResourceResponse {
    use pb::batch_operation_created_result::BatchOperationTypeEnum as Type;
    let batch_operation = match answer {
        Answer::BatchOperationCreated { key, kind } => Some(pb::BatchOperationCreatedResult {
            batch_operation_key: key.to_string(),
            batch_operation_type: Type::from_str_name(kind.as_str())
                .unwrap_or_default()
                .into(),
        }),
        _ => None,
    };
    pb::DeleteResourceResponse {
        resource_key,
        batch_operation,
    }
}
