//! Answer bodies as the interface has them. Unknown fields are left alone: newer servers may add some.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;

use crate::{
    BrokerInfo, Deployed, Deployment, Instance, InstanceResult, Job, PartitionInfo, Topology,
};

/// A key: a string of digits.
pub(super) fn key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    struct Visitor;
    impl de::Visitor<'_> for Visitor {
        type Value = i64;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a key: a string of digits")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<i64, E> {
            text.parse()
                .map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<i64, E> {
            Ok(number)
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<i64, E> {
            i64::try_from(number)
                .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
        }
    }
    deserializer.deserialize_any(Visitor)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreatedAnswer {
    process_definition_id: String,
    process_definition_version: i32,
    #[serde(default)]
    tenant_id: String,
    #[serde(deserialize_with = "key")]
    process_definition_key: i64,
    #[serde(deserialize_with = "key")]
    process_instance_key: i64,
    variables: Option<Box<RawValue>>,
}

impl CreatedAnswer {
    pub(super) fn into_result(self) -> InstanceResult {
        InstanceResult {
            instance: Instance {
                process_instance_key: self.process_instance_key,
                process_definition_key: self.process_definition_key,
                process_id: self.process_definition_id,
                version: self.process_definition_version,
                tenant_id: self.tenant_id,
            },
            variables: text(self.variables),
        }
    }
}

fn text(json: Option<Box<RawValue>>) -> String {
    json.map_or_else(|| "{}".into(), |json| Box::<str>::from(json).into())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageAnswer {
    #[serde(default)]
    pub(super) tenant_id: String,
    #[serde(deserialize_with = "key")]
    pub(super) message_key: i64,
    #[serde(default, deserialize_with = "key")]
    pub(super) process_instance_key: i64,
}

#[derive(Deserialize)]
pub(super) struct JobsAnswer {
    pub(super) jobs: Vec<JobAnswer>,
}

/// One activated job.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobAnswer {
    #[serde(deserialize_with = "key")]
    job_key: i64,
    #[serde(rename = "type")]
    job_type: String,
    #[serde(deserialize_with = "key")]
    process_instance_key: i64,
    process_definition_id: String,
    process_definition_version: i32,
    #[serde(deserialize_with = "key")]
    process_definition_key: i64,
    element_id: String,
    #[serde(deserialize_with = "key")]
    element_instance_key: i64,
    custom_headers: Option<Box<RawValue>>,
    #[serde(default)]
    worker: String,
    retries: i32,
    deadline: i64,
    variables: Option<Box<RawValue>>,
    #[serde(default)]
    tenant_id: String,
    kind: Option<String>,
    listener_event_type: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

impl JobAnswer {
    pub(super) fn into_job(self) -> Job {
        Job {
            key: self.job_key,
            job_type: self.job_type,
            process_instance_key: self.process_instance_key,
            process_id: self.process_definition_id,
            process_definition_version: self.process_definition_version,
            process_definition_key: self.process_definition_key,
            element_id: self.element_id,
            element_instance_key: self.element_instance_key,
            custom_headers: text(self.custom_headers),
            worker: self.worker,
            retries: self.retries,
            deadline: self.deadline,
            variables: text(self.variables),
            tenant_id: self.tenant_id,
            kind: self.kind.unwrap_or_else(|| "BPMN_ELEMENT".into()),
            listener_event_type: self
                .listener_event_type
                .unwrap_or_else(|| "UNSPECIFIED".into()),
            tags: self.tags,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeploymentAnswer {
    #[serde(deserialize_with = "key")]
    deployment_key: i64,
    #[serde(default)]
    tenant_id: String,
    deployments: Vec<DeployedAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeployedAnswer {
    process_definition: Option<ProcessAnswer>,
    decision_definition: Option<DecisionAnswer>,
    decision_requirements: Option<RequirementsAnswer>,
    form: Option<FormAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProcessAnswer {
    process_definition_id: String,
    process_definition_version: i32,
    #[serde(deserialize_with = "key")]
    process_definition_key: i64,
    #[serde(default)]
    resource_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DecisionAnswer {
    decision_definition_id: String,
    version: i32,
    #[serde(deserialize_with = "key")]
    decision_definition_key: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequirementsAnswer {
    decision_requirements_id: String,
    version: i32,
    #[serde(deserialize_with = "key")]
    decision_requirements_key: i64,
    #[serde(default)]
    resource_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FormAnswer {
    form_id: String,
    version: i32,
    #[serde(deserialize_with = "key")]
    form_key: i64,
    #[serde(default)]
    resource_name: String,
}

impl DeploymentAnswer {
    pub(super) fn into_deployment(self) -> Deployment {
        Deployment {
            key: self.deployment_key,
            tenant_id: self.tenant_id,
            items: self
                .deployments
                .into_iter()
                .filter_map(DeployedAnswer::into_deployed)
                .collect(),
        }
    }
}

impl DeployedAnswer {
    fn into_deployed(self) -> Option<Deployed> {
        let process = self.process_definition.map(|p| Deployed::Process {
            id: p.process_definition_id,
            version: p.process_definition_version,
            key: p.process_definition_key,
            resource_name: p.resource_name,
        });
        let decision = self.decision_definition.map(|d| Deployed::Decision {
            id: d.decision_definition_id,
            version: d.version,
            key: d.decision_definition_key,
        });
        let requirements = self
            .decision_requirements
            .map(|r| Deployed::DecisionRequirements {
                id: r.decision_requirements_id,
                version: r.version,
                key: r.decision_requirements_key,
                resource_name: r.resource_name,
            });
        let form = self.form.map(|f| Deployed::Form {
            id: f.form_id,
            version: f.version,
            key: f.form_key,
            resource_name: f.resource_name,
        });
        process.or(decision).or(requirements).or(form)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TopologyAnswer<'a> {
    #[serde(borrow)]
    brokers: Vec<BrokerAnswer<'a>>,
    cluster_size: i32,
    partitions_count: i32,
    replication_factor: i32,
    gateway_version: String,
    skep_version: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BrokerAnswer<'a> {
    node_id: i32,
    host: String,
    port: i32,
    #[serde(borrow)]
    partitions: Vec<PartitionAnswer<'a>>,
    version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartitionAnswer<'a> {
    partition_id: i32,
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    health: Cow<'a, str>,
}

impl TopologyAnswer<'_> {
    pub(super) fn into_topology(self) -> Topology {
        Topology {
            brokers: self
                .brokers
                .into_iter()
                .map(|broker| BrokerInfo {
                    node_id: broker.node_id,
                    host: broker.host,
                    port: broker.port,
                    version: broker.version,
                    partitions: broker
                        .partitions
                        .into_iter()
                        .map(|part| PartitionInfo {
                            partition_id: part.partition_id,
                            role: part.role.to_lowercase(),
                            health: part.health.to_lowercase(),
                        })
                        .collect(),
                })
                .collect(),
            cluster_size: self.cluster_size,
            partitions_count: self.partitions_count,
            replication_factor: self.replication_factor,
            gateway_version: self.gateway_version,
            skep_version: self.skep_version,
        }
    }
}
