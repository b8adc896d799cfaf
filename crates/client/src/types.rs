//! Requests and answers other than jobs.

use std::time::Duration;

use bytes::Bytes;

/// Which process definition to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessRef {
    /// By BPMN process id; version `None` means latest.
    Id {
        /// The BPMN process id.
        id: String,
        /// The version, or the latest.
        version: Option<i32>,
    },
    /// By key of the definition.
    Key(i64),
}

/// A request to start a process instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateInstance {
    /// The process to start.
    pub process: ProcessRef,
    /// A JSON object as text.
    pub variables: Option<String>,
    /// Element ids to start at instead of the none start event.
    pub start_elements: Vec<String>,
    /// The tenant that owns the definition.
    pub tenant_id: Option<String>,
    /// A number that the records of this command carry.
    pub operation_reference: Option<u64>,
    /// Tags of the instance.
    pub tags: Vec<String>,
    /// The business id of the instance.
    pub business_id: Option<String>,
}

impl CreateInstance {
    /// The latest version of a process.
    pub fn latest(process_id: impl Into<String>) -> Self {
        Self::of(ProcessRef::Id {
            id: process_id.into(),
            version: None,
        })
    }

    /// The definition with a key.
    pub fn by_key(process_definition_key: i64) -> Self {
        Self::of(ProcessRef::Key(process_definition_key))
    }

    fn of(process: ProcessRef) -> Self {
        Self {
            process,
            variables: None,
            start_elements: Vec::new(),
            tenant_id: None,
            operation_reference: None,
            tags: Vec::new(),
            business_id: None,
        }
    }

    /// Sets the version of a process named by id.
    pub fn version(mut self, number: i32) -> Self {
        if let ProcessRef::Id { version, .. } = &mut self.process {
            *version = Some(number);
        }
        self
    }

    /// Sets the variables: a JSON object as text.
    pub fn variables(mut self, json: impl Into<String>) -> Self {
        self.variables = Some(json.into());
        self
    }
}

/// A started process instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The key of the instance.
    pub process_instance_key: i64,
    /// The key of its definition.
    pub process_definition_key: i64,
    /// Its BPMN process id.
    pub process_id: String,
    /// The version of its definition.
    pub version: i32,
    /// Its tenant.
    pub tenant_id: String,
}

/// A process instance that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceResult {
    /// The instance.
    pub instance: Instance,
    /// Its variables at the end: a JSON object as text.
    pub variables: String,
}

/// A file to deploy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The file name; its ending (`.bpmn`, `.dmn`, `.form`) tells the kind.
    pub name: String,
    /// The content.
    pub content: Bytes,
}

/// Result of a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// The key of the deployment.
    pub key: i64,
    /// Its tenant.
    pub tenant_id: String,
    /// The deployed resources.
    pub items: Vec<Deployed>,
}

/// One deployed thing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deployed {
    /// A process definition.
    Process {
        /// BPMN process id.
        id: String,
        /// Version, from 1.
        version: i32,
        /// Key of the definition.
        key: i64,
        /// The file it came from.
        resource_name: String,
    },
    /// A decision.
    Decision {
        /// DMN decision id.
        id: String,
        /// Version, from 1.
        version: i32,
        /// Key of the decision.
        key: i64,
    },
    /// A decision requirements graph.
    DecisionRequirements {
        /// DMN id.
        id: String,
        /// Version, from 1.
        version: i32,
        /// Key of the graph.
        key: i64,
        /// The file it came from.
        resource_name: String,
    },
    /// A form.
    Form {
        /// Form id.
        id: String,
        /// Version, from 1.
        version: i32,
        /// Key of the form.
        key: i64,
        /// The file it came from.
        resource_name: String,
    },
}

impl Deployment {
    /// The BPMN process ids in it.
    pub fn process_ids(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|item| match item {
            Deployed::Process { id, .. } => Some(id.as_str()),
            _ => None,
        })
    }
}

/// A message to publish or correlate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// The message name.
    pub name: String,
    /// The correlation key; empty for messages that only start processes.
    pub correlation_key: String,
    /// How long the message is buffered; publication only.
    pub time_to_live: Duration,
    /// An id that is unique while the message is buffered; publication only.
    pub message_id: Option<String>,
    /// A JSON object as text.
    pub variables: Option<String>,
    /// The tenant.
    pub tenant_id: Option<String>,
}

/// A published message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedMessage {
    /// The key of the message.
    pub key: i64,
    /// Its tenant.
    pub tenant_id: String,
}

/// A correlated message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorrelatedMessage {
    /// The key of the message.
    pub key: i64,
    /// The first instance with which it correlated.
    pub process_instance_key: i64,
    /// Its tenant.
    pub tenant_id: String,
}

/// The cluster as the gateway sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// Brokers that the gateway knows.
    pub brokers: Vec<BrokerInfo>,
    /// Number of brokers.
    pub cluster_size: i32,
    /// Number of partitions.
    pub partitions_count: i32,
    /// Copies of each partition.
    pub replication_factor: i32,
    /// The release whose API the gateway speaks.
    pub gateway_version: String,
    /// Skep's own version; `None` over gRPC, which has no place for it.
    pub skep_version: Option<String>,
}

/// One broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerInfo {
    /// Its id.
    pub node_id: i32,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: i32,
    /// Its version.
    pub version: String,
    /// The partitions it has a part in.
    pub partitions: Vec<PartitionInfo>,
}

/// A broker's part in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionInfo {
    /// The partition's id, from 1.
    pub partition_id: i32,
    /// `leader`, `follower` or `inactive`.
    pub role: String,
    /// `healthy`, `unhealthy` or `dead`.
    pub health: String,
}
