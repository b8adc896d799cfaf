//! Commands between partitions. They are sent after the commit, may be lost or duplicated, and are repeated until answered:
//! every receiver must be idempotent.

mod routing;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::document::JsonText;
use skep_protocol::origin::Origin;
use skep_protocol::value::{
    BatchOperationCreationValue, BatchOperationError, BatchOperationType, ClusterVariableValue,
    DecisionRequirementsValue, DecisionValue, FormValue, GlobalListenerValue,
    MessageSubscriptionValue, ProcessValue, ResourceValue,
};
use skep_protocol::{Key, TenantId};

pub use self::routing::{EndedStart, MovedRows, RoutingCommand};
use crate::processing::identity::IdentityEvent;
use crate::state::BatchPart;

pub type Variables = Vec<(Arc<str>, JsonText)>;

/// A command from one partition to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// The origin of the client's command that led to this one. `None` if there is none, or if it is no longer known when
    /// the engine repeats the command; distributed commands keep it until they are acknowledged.
    pub origin: Option<Box<Origin>>,
    pub command: RemoteCommand,
}

impl Sent {
    pub fn new(origin: &Origin, command: RemoteCommand) -> Sent {
        Sent {
            origin: origin.kept(),
            command,
        }
    }
}

impl From<RemoteCommand> for Sent {
    fn from(command: RemoteCommand) -> Sent {
        Sent {
            origin: None,
            command,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RemoteCommand {
    /// MESSAGE_SUBSCRIPTION CREATE, to the partition of the correlation key.
    OpenMessageSubscription(MessageSubscriptionValue),
    /// PROCESS_MESSAGE_SUBSCRIPTION CREATE: the message side is open.
    MessageSubscriptionOpened {
        element_instance_key: Key,
        message_name: Arc<str>,
        /// The revision that was opened.
        revision: u32,
    },
    /// PROCESS_MESSAGE_SUBSCRIPTION CORRELATE, to the partition of the instance.
    CorrelateSubscription(CorrelateSubscription),
    /// MESSAGE_SUBSCRIPTION CORRELATE: the instance took the message.
    MessageCorrelated {
        element_instance_key: Key,
        message_name: Arc<str>,
        message_key: Key,
        /// The element waits for no more messages. The message side may not know that yet.
        closes: bool,
    },
    /// MESSAGE_SUBSCRIPTION REJECT: the instance did not take it.
    RejectCorrelation {
        element_instance_key: Key,
        process_instance_key: Key,
        message_name: Arc<str>,
        message_key: Key,
    },
    /// MESSAGE_SUBSCRIPTION DELETE.
    CloseMessageSubscription {
        element_instance_key: Key,
        message_name: Arc<str>,
        reply_to: u32,
    },
    /// PROCESS_MESSAGE_SUBSCRIPTION DELETE: the message side is closed.
    MessageSubscriptionClosed {
        element_instance_key: Key,
        message_name: Arc<str>,
    },
    /// BATCH_OPERATION_PARTITION_LIFECYCLE COMPLETE_PARTITION: the progress of a partition, to the coordinating one.
    BatchPart {
        batch_operation_key: Key,
        partition: u32,
        part: BatchPart,
    },
    /// A command that all partitions carry out.
    Distribute {
        distribution_key: Key,
        origin: u32,
        command: Distributed,
    },
    /// COMMAND_DISTRIBUTION ACKNOWLEDGE.
    AcknowledgeDistribution {
        distribution_key: Key,
        partition: u32,
    },
    /// A command between a new partition and the first one.
    Scaling(ScalingCommand),
    /// MESSAGE_SUBSCRIPTION DELETE, with the correlation key: its slot may have moved. Nodes know it since version
    /// [`RemoteCommand::CLOSE_BY_KEY_SINCE`] of the protocol between nodes.
    CloseMessageSubscriptionByKey {
        element_instance_key: Key,
        message_name: Arc<str>,
        correlation_key: Arc<str>,
        reply_to: u32,
    },
    /// A command about slots of correlation keys that move, or have moved.
    Routing(RoutingCommand),
    /// A command about a correlation key that so many partitions have sent on, one after the other: they have given the key away.
    SentOn {
        hops: u32,
        command: Box<RemoteCommand>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ScalingCommand {
    /// SCALE STATUS: a new partition requests the global state after this location.
    PullGlobalState {
        partition: u32,
        after: GlobalLocation,
    },
    /// The answer: the next part of the global state, and the location after it. `None`: this is the last part.
    GlobalState {
        after: GlobalLocation,
        items: Vec<Distributed>,
        next: Option<GlobalLocation>,
        /// Desired number of partitions.
        partitions: u32,
    },
    /// SCALE MARK_PARTITION_BOOTSTRAPPED: a new partition has all of the global state.
    MarkPartitionBootstrapped { partition: u32 },
}

impl RemoteCommand {
    pub const CLOSE_BY_KEY_SINCE: u32 = 8;

    /// The key of something that existed when the command was sent: it tells whether that was before a purge.
    pub fn made_with(&self) -> Option<Key> {
        let key = match self {
            RemoteCommand::OpenMessageSubscription(value) => value.element_instance_key,
            RemoteCommand::CorrelateSubscription(value) => value.message_key,
            RemoteCommand::MessageSubscriptionOpened {
                element_instance_key: key,
                ..
            }
            | RemoteCommand::MessageCorrelated {
                element_instance_key: key,
                ..
            }
            | RemoteCommand::RejectCorrelation {
                element_instance_key: key,
                ..
            }
            | RemoteCommand::CloseMessageSubscription {
                element_instance_key: key,
                ..
            }
            | RemoteCommand::CloseMessageSubscriptionByKey {
                element_instance_key: key,
                ..
            }
            | RemoteCommand::MessageSubscriptionClosed {
                element_instance_key: key,
                ..
            }
            | RemoteCommand::BatchPart {
                batch_operation_key: key,
                ..
            }
            | RemoteCommand::Distribute {
                distribution_key: key,
                ..
            }
            | RemoteCommand::AcknowledgeDistribution {
                distribution_key: key,
                ..
            } => *key,
            // A part of the global state would bring purged definitions and users back to a partition that asks for the new one.
            RemoteCommand::Scaling(command) => command.made_with(),
            RemoteCommand::Routing(command) => command.made_with(),
            RemoteCommand::SentOn { command, .. } => return command.made_with(),
        };
        key.some()
    }

    /// How many partitions have sent the command on, and the command itself.
    pub fn hops(&self) -> (u32, &RemoteCommand) {
        match self {
            RemoteCommand::SentOn { hops, command } => (*hops, command),
            command => (0, command),
        }
    }
}

impl ScalingCommand {
    /// The key of something in the global state that the command carries, or after which it asks: it tells when the command was made.
    /// [`Key::NONE`]: it names nothing.
    fn made_with(&self) -> Key {
        match self {
            ScalingCommand::PullGlobalState { after, .. } => after.key,
            ScalingCommand::GlobalState { after, items, .. } => {
                let mut keys = items.iter().map(Distributed::made_with);
                let carried = keys.find(|key| !key.is_none());
                carried.unwrap_or(after.key)
            }
            ScalingCommand::MarkPartitionBootstrapped { .. } => Key::NONE,
        }
    }
}

/// A location in the global state, which every partition has: the kind of entity, and its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GlobalLocation {
    pub kind: u8,
    pub key: Key,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrelateSubscription {
    /// The partition that holds the message.
    pub message_partition: u32,
    pub process_instance_key: Key,
    pub element_instance_key: Key,
    pub message_name: Arc<str>,
    pub message_key: Key,
    pub variables: Variables,
}

/// A command that all partitions carry out, as stored until all have acknowledged it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub origin: Option<Box<Origin>>,
    pub command: Distributed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Distributed {
    /// DEPLOYMENT DISTRIBUTE.
    Deployment {
        deployment_key: Key,
        definitions: Vec<Definition>,
    },
    /// RESOURCE_DELETION DELETE.
    ResourceDeletion {
        resource_key: Key,
        delete_history: bool,
        batch_operation: Option<(Key, BatchOperationType)>,
    },
    /// CLOCK PIN, epoch milliseconds.
    PinClock { time: i64 },
    /// CLOCK RESET.
    ResetClock,
    /// GLOBAL_LISTENER CREATE or UPDATE.
    SetGlobalListener {
        key: Key,
        listener: GlobalListenerValue,
    },
    /// GLOBAL_LISTENER DELETE.
    DeleteGlobalListener {
        key: Key,
        listener: GlobalListenerValue,
    },
    /// BATCH_OPERATION_CREATION CREATE.
    BatchOperation {
        key: Key,
        value: Box<BatchOperationCreationValue>,
    },
    /// BATCH_OPERATION_LIFECYCLE_MANAGEMENT: the id of the event's intent.
    ManageBatchOperation {
        key: Key,
        event: u8,
        errors: Vec<BatchOperationError>,
    },
    /// CLUSTER_VARIABLE CREATE or UPDATE.
    SetClusterVariable {
        key: Key,
        value: ClusterVariableValue,
    },
    /// CLUSTER_VARIABLE DELETE.
    DeleteClusterVariable {
        key: Key,
        value: ClusterVariableValue,
    },
    /// SIGNAL BROADCAST.
    Signal {
        name: Arc<str>,
        variables: Variables,
    },
    /// Decisions of the first partition about users, groups, roles, tenants, mapping rules and authorizations.
    Identity(Vec<IdentityEvent>),
    /// SIGNAL BROADCAST of a client whose permissions are checked on each partition.
    ClientSignal {
        name: Arc<str>,
        variables: Variables,
    },
    /// Either of the two signals, for a tenant other than the default one.
    TenantSignal {
        signal: BroadcastedSignal,
        of_client: bool,
    },
    /// SCALE SCALED_UP: all partitions have the complete global state.
    ScaledUp { partitions: u32 },
}

impl Distributed {
    /// The key of an entity that it is about, if it names one.
    fn made_with(&self) -> Key {
        match self {
            Distributed::Deployment {
                deployment_key: key,
                ..
            }
            | Distributed::ResourceDeletion {
                resource_key: key, ..
            }
            | Distributed::SetGlobalListener { key, .. }
            | Distributed::DeleteGlobalListener { key, .. }
            | Distributed::BatchOperation { key, .. }
            | Distributed::ManageBatchOperation { key, .. }
            | Distributed::SetClusterVariable { key, .. }
            | Distributed::DeleteClusterVariable { key, .. } => *key,
            Distributed::Identity(events) => {
                let first = events.first();
                first.map_or(Key::NONE, IdentityEvent::key)
            }
            Distributed::PinClock { .. }
            | Distributed::ResetClock
            | Distributed::Signal { .. }
            | Distributed::ClientSignal { .. }
            | Distributed::TenantSignal { .. }
            | Distributed::ScaledUp { .. } => Key::NONE,
        }
    }

    /// Whether it only concerns what is running on a partition, and not what begins there later.
    pub(crate) fn is_about_instances(&self) -> bool {
        match self {
            Distributed::Signal { .. }
            | Distributed::ClientSignal { .. }
            | Distributed::TenantSignal { .. }
            | Distributed::BatchOperation { .. }
            | Distributed::ManageBatchOperation { .. }
            | Distributed::ScaledUp { .. } => true,
            Distributed::Deployment { .. }
            | Distributed::ResourceDeletion { .. }
            | Distributed::PinClock { .. }
            | Distributed::ResetClock
            | Distributed::SetGlobalListener { .. }
            | Distributed::DeleteGlobalListener { .. }
            | Distributed::SetClusterVariable { .. }
            | Distributed::DeleteClusterVariable { .. }
            | Distributed::Identity(_) => false,
        }
    }
}

/// A signal to all waiting subscriptions of its tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BroadcastedSignal {
    pub tenant: TenantId,
    pub name: Arc<str>,
    pub variables: Variables,
}

/// One new definition of a deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Definition {
    Process(ProcessValue),
    DecisionRequirements(DecisionRequirementsValue),
    Decision(DecisionValue),
    Form(FormValue),
    Resource(ResourceValue),
}

impl Definition {
    pub fn tenant(&self) -> &TenantId {
        match self {
            Definition::Process(value) => &value.tenant,
            Definition::DecisionRequirements(value) => &value.metadata.tenant,
            Definition::Decision(value) => &value.tenant,
            Definition::Form(value) => &value.0.metadata.tenant,
            Definition::Resource(value) => &value.0.metadata.tenant,
        }
    }
}
