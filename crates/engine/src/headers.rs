//! Headers of the records for commands from other partitions. A client's command has its header in its row.

use skep_protocol::intent::{
    BatchOperationIntent, CommandDistributionIntent, Intent, MessageSubscriptionIntent,
    ProcessMessageSubscriptionIntent, RoutingIntent, ScaleIntent,
};
use skep_protocol::{Key, ValueType};

use crate::processing::deployment::distribution;
use crate::remote::{Distributed, MovedRows, RemoteCommand, RoutingCommand, ScalingCommand};

/// Key, value type and intent of the command record.
pub(crate) fn header_of_remote(command: &RemoteCommand) -> (Key, ValueType, u8) {
    use MessageSubscriptionIntent as Message;
    use ProcessMessageSubscriptionIntent as Process;
    let message = |key: &Key, intent: Message| (*key, ValueType::MessageSubscription, intent.id());
    let process =
        |key: &Key, intent: Process| (*key, ValueType::ProcessMessageSubscription, intent.id());
    match command {
        RemoteCommand::OpenMessageSubscription(value) => {
            message(&value.element_instance_key, Message::Create)
        }
        RemoteCommand::MessageSubscriptionOpened {
            element_instance_key,
            ..
        } => process(element_instance_key, Process::Create),
        RemoteCommand::CorrelateSubscription(c) => {
            process(&c.element_instance_key, Process::Correlate)
        }
        RemoteCommand::MessageCorrelated {
            element_instance_key,
            ..
        } => message(element_instance_key, Message::Correlate),
        RemoteCommand::RejectCorrelation {
            element_instance_key,
            ..
        } => message(element_instance_key, Message::Reject),
        RemoteCommand::CloseMessageSubscription {
            element_instance_key,
            ..
        }
        | RemoteCommand::CloseMessageSubscriptionByKey {
            element_instance_key,
            ..
        } => message(element_instance_key, Message::Delete),
        RemoteCommand::MessageSubscriptionClosed {
            element_instance_key,
            ..
        } => process(element_instance_key, Process::Delete),
        RemoteCommand::BatchPart {
            batch_operation_key,
            ..
        } => (
            *batch_operation_key,
            ValueType::BatchOperationPartitionLifecycle,
            BatchOperationIntent::CompletePartition.id(),
        ),
        RemoteCommand::Distribute {
            distribution_key,
            command,
            ..
        } => {
            let key = key_of(command, distribution_key);
            let value_type = distribution::value_type_of(command);
            (key, value_type, distribution::intent_of(command))
        }
        RemoteCommand::AcknowledgeDistribution {
            distribution_key, ..
        } => (
            *distribution_key,
            ValueType::CommandDistribution,
            CommandDistributionIntent::Acknowledge.id(),
        ),
        RemoteCommand::Scaling(command) => {
            (Key::NONE, ValueType::Scale, intent_of_scaling(command).id())
        }
        RemoteCommand::Routing(command) => header_of_routing(command),
        RemoteCommand::SentOn { command, .. } => header_of_remote(command),
    }
}

fn intent_of_scaling(command: &ScalingCommand) -> ScaleIntent {
    match command {
        ScalingCommand::PullGlobalState { .. } => ScaleIntent::Status,
        ScalingCommand::GlobalState { .. } => ScaleIntent::StatusResponse,
        ScalingCommand::MarkPartitionBootstrapped { .. } => ScaleIntent::MarkPartitionBootstrapped,
    }
}

fn header_of_routing(command: &RoutingCommand) -> (Key, ValueType, u8) {
    let (key, intent) = match command {
        RoutingCommand::Arrive(MovedRows { move_key, .. }) => (*move_key, RoutingIntent::Arrive),
        RoutingCommand::Leave { move_key, .. } => (*move_key, RoutingIntent::Leave),
        RoutingCommand::Drop { move_key } => (*move_key, RoutingIntent::Drop),
        RoutingCommand::Report { .. } => (Key::NONE, RoutingIntent::Report),
        RoutingCommand::EndStart(ended) => (ended.process_instance_key, RoutingIntent::EndStart),
        RoutingCommand::SettleStart {
            process_instance_key,
        } => (*process_instance_key, RoutingIntent::SettleStart),
    };
    (key, ValueType::Routing, intent.id())
}

/// The key of the entity that a distributed command concerns.
fn key_of(command: &Distributed, distribution_key: &Key) -> Key {
    *match command {
        Distributed::Deployment { deployment_key, .. } => deployment_key,
        Distributed::ResourceDeletion { resource_key, .. } => resource_key,
        Distributed::SetGlobalListener { key, .. }
        | Distributed::DeleteGlobalListener { key, .. }
        | Distributed::BatchOperation { key, .. }
        | Distributed::ManageBatchOperation { key, .. }
        | Distributed::SetClusterVariable { key, .. }
        | Distributed::DeleteClusterVariable { key, .. } => key,
        Distributed::Identity(events) => match events.first() {
            Some(event) => return event.key(),
            None => distribution_key,
        },
        Distributed::PinClock { .. }
        | Distributed::ResetClock
        | Distributed::ScaledUp { .. }
        | Distributed::Signal { .. }
        | Distributed::ClientSignal { .. }
        | Distributed::TenantSignal { .. } => distribution_key,
    }
}
