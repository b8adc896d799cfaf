//! COMMAND_DISTRIBUTION: a command that every partition carries out. It is resent to each partition until that partition
//! has acknowledged it.
//!
//! A partition gets one command at a time, in key order: a deletion must not overtake its deployment.

use skep_protocol::intent::{
    BatchOperationIntent, ClockIntent, ClusterVariableIntent, CommandDistributionIntent as Intent,
    DeploymentIntent, GlobalListenerIntent, IdentitySetupIntent, Intent as _,
    ResourceDeletionIntent, ScaleIntent, SignalIntent,
};
use skep_protocol::record::encode;
use skep_protocol::value::CommandDistributionValue;
use skep_protocol::{Key, Response, ValueType};

use super::{create, delete_resource};
use crate::processing::identity::IdentityEvent;
use crate::processing::{
    Context, batch_operation, clock, cluster_variable, global_listener, identity, scaling, signal,
};
use crate::remote::{Distributed, Order, RemoteCommand, Sent};

/// Starts a distribution. The client's answer waits until all partitions have it, so that the client's next command finds
/// the same state everywhere; with one partition there is nothing to wait for.
pub(crate) fn start(
    cx: &mut Context<'_>,
    key: Key,
    command: Distributed,
    answer: Response,
) -> Option<Response> {
    if !spread(cx, key, command) || !is_awaited(cx, key) {
        return Some(answer);
    }
    match cx.request {
        Some(request) => {
            cx.volatile
                .awaiting_distribution
                .insert(key, (request, answer));
            None
        }
        None => Some(answer),
    }
}

/// Sends a command to all other partitions. `false` when there are none.
pub(crate) fn spread(cx: &mut Context<'_>, key: Key, command: Distributed) -> bool {
    let own = cx.state.partition;
    let mut others = scaling::targets(cx, &command);
    others.remove(&own);
    if others.is_empty() {
        return false;
    }
    let order = Order {
        origin: cx.origin.kept(),
        command,
    };
    let value = CommandDistributionValue {
        partition_id: own,
        value_type: value_type_of(&order.command) as u8,
        intent: intent_of(&order.command),
        command_value: encode(&order).into(),
    };
    cx.event(key, Intent::Started, &value);
    for partition in others {
        let value = CommandDistributionValue {
            partition_id: partition,
            command_value: Default::default(),
            ..value.clone()
        };
        let waits = cx.state.distributions.next_for(partition).is_some();
        cx.event(key, Intent::Distributing, &value);
        if !waits {
            send(cx, key, partition, order.clone());
        }
    }
    true
}

/// Whether a partition that clients wait for has not acknowledged it.
fn is_awaited(cx: &mut Context<'_>, key: Key) -> bool {
    let row = cx.state.distributions.table.get(key);
    let pending = row.map(|row| row.pending.clone()).unwrap_or_default();
    let mut pending = pending.into_iter();
    pending.any(|partition| scaling::is_waited_for(cx, partition))
}

pub(crate) fn value_type_of(command: &Distributed) -> ValueType {
    match command {
        Distributed::Deployment { .. } => ValueType::Deployment,
        Distributed::ResourceDeletion { .. } => ValueType::ResourceDeletion,
        Distributed::PinClock { .. } | Distributed::ResetClock => ValueType::Clock,
        Distributed::SetGlobalListener { .. } | Distributed::DeleteGlobalListener { .. } => {
            ValueType::GlobalListener
        }
        Distributed::Signal { .. }
        | Distributed::ClientSignal { .. }
        | Distributed::TenantSignal { .. } => ValueType::Signal,
        Distributed::Identity(events) => command_of(events).0,
        Distributed::BatchOperation { .. } => ValueType::BatchOperationCreation,
        Distributed::ManageBatchOperation { .. } => ValueType::BatchOperationLifecycleManagement,
        Distributed::SetClusterVariable { .. } | Distributed::DeleteClusterVariable { .. } => {
            ValueType::ClusterVariable
        }
        Distributed::ScaledUp { .. } => ValueType::Scale,
    }
}

pub(crate) fn intent_of(command: &Distributed) -> u8 {
    match command {
        Distributed::Deployment { .. } => DeploymentIntent::Distribute.id(),
        Distributed::ResourceDeletion { .. } => ResourceDeletionIntent::Delete.id(),
        Distributed::PinClock { .. } => ClockIntent::Pin.id(),
        Distributed::ResetClock => ClockIntent::Reset.id(),
        Distributed::SetGlobalListener { .. } => GlobalListenerIntent::Update.id(),
        Distributed::DeleteGlobalListener { .. } => GlobalListenerIntent::Delete.id(),
        Distributed::Signal { .. }
        | Distributed::ClientSignal { .. }
        | Distributed::TenantSignal { .. } => SignalIntent::Broadcast.id(),
        Distributed::Identity(events) => command_of(events).1,
        Distributed::BatchOperation { .. } => BatchOperationIntent::Create.id(),
        Distributed::ManageBatchOperation { event, .. } => *event,
        Distributed::SetClusterVariable { .. } => ClusterVariableIntent::Update.id(),
        Distributed::DeleteClusterVariable { .. } => ClusterVariableIntent::Delete.id(),
        Distributed::ScaledUp { .. } => ScaleIntent::MarkPartitionBootstrapped.id(),
    }
}

/// Value type and intent of the command that led to these events.
fn command_of(events: &[IdentityEvent]) -> (ValueType, u8) {
    let initialize = (
        ValueType::IdentitySetup,
        IdentitySetupIntent::Initialize.id(),
    );
    events.first().map_or(initialize, IdentityEvent::command)
}

/// The oldest command that the partition has not acknowledged.
fn next_for(cx: &mut Context<'_>, partition: u32) -> Option<(Key, Order)> {
    let key = cx.state.distributions.next_for(partition)?;
    let order = cx.state.distributions.table.get(key)?.order()?;
    Some((key, order))
}

fn send(cx: &mut Context<'_>, key: Key, partition: u32, order: Order) {
    let command = RemoteCommand::Distribute {
        distribution_key: key,
        origin: cx.state.partition,
        command: order.command,
    };
    let origin = order.origin;
    cx.effects.sends.push((partition, Sent { origin, command }));
}

/// Sends the oldest command that the partition has not acknowledged. `false`: it has acknowledged all.
pub(crate) fn send_next(cx: &mut Context<'_>, partition: u32) -> bool {
    let Some((key, order)) = next_for(cx, partition) else {
        return false;
    };
    send(cx, key, partition, order);
    true
}

/// Receives another partition's command, possibly again, and possibly after later ones: a late duplicate must not pin a
/// clock that has been reset since. Commands that were already carried out are only acknowledged.
pub(crate) fn receive(cx: &mut Context<'_>, key: Key, origin: u32, command: &Distributed) {
    // It would arrive before what it refers to. It will be sent again.
    if scaling::is_bootstrapping(&cx.config.routing, cx.state) {
        return;
    }
    let last = cx.state.last_received(origin);
    if last.is_none_or(|last| key > last) {
        carry_out(cx, key, command);
        let value = CommandDistributionValue {
            partition_id: origin,
            value_type: value_type_of(command) as u8,
            intent: intent_of(command),
            command_value: Default::default(),
        };
        cx.event(key, Intent::Received, &value);
    }
    let partition = cx.state.partition;
    let answer = RemoteCommand::AcknowledgeDistribution {
        distribution_key: key,
        partition,
    };
    cx.send(origin, answer);
}

/// Carries out a distributed command. `key`: the key of the distribution.
pub(crate) fn carry_out(cx: &mut Context<'_>, key: Key, command: &Distributed) {
    match command {
        Distributed::Deployment {
            deployment_key,
            definitions,
        } => create::distributed(cx, *deployment_key, definitions),
        Distributed::ResourceDeletion {
            resource_key,
            delete_history,
            batch_operation,
        } => delete_resource::delete(cx, *resource_key, *delete_history, *batch_operation),
        Distributed::PinClock { time } => clock::pinned(cx, *time),
        Distributed::Signal { name, variables } => {
            signal::distributed(cx, &signal::of_default_tenant(name, variables), false);
        }
        Distributed::ClientSignal { name, variables } => {
            signal::distributed(cx, &signal::of_default_tenant(name, variables), true);
        }
        Distributed::TenantSignal { signal, of_client } => {
            signal::distributed(cx, signal, *of_client);
        }
        Distributed::Identity(events) => identity::arrived(cx, events),
        Distributed::ResetClock => clock::resetted(cx),
        Distributed::BatchOperation { key, value } => batch_operation::created(cx, *key, value),
        Distributed::ManageBatchOperation { key, event, errors } => {
            if let Some(event) = BatchOperationIntent::from_id(*event) {
                batch_operation::managed(cx, *key, event, errors);
            }
        }
        Distributed::SetClusterVariable { key, value } => cluster_variable::set(cx, *key, value),
        Distributed::DeleteClusterVariable { key, value } => {
            cluster_variable::remove(cx, *key, value)
        }
        Distributed::SetGlobalListener { key, listener } => {
            global_listener::set(cx, *key, listener)
        }
        Distributed::DeleteGlobalListener { key, listener } => {
            global_listener::remove(cx, *key, listener)
        }
        Distributed::ScaledUp { partitions } => scaling::scaled_up(cx, key, *partitions),
    }
}

/// COMMAND_DISTRIBUTION ACKNOWLEDGE.
pub(crate) fn acknowledge(cx: &mut Context<'_>, key: Key, partition: u32) {
    let Some(row) = cx.state.distributions.table.get(key) else {
        return;
    };
    if !row.pending.contains(&partition) {
        return;
    }
    let command = row.order().map(|order| order.command);
    let value = CommandDistributionValue {
        partition_id: partition,
        value_type: command
            .as_ref()
            .map_or(ValueType::Deployment, value_type_of) as u8,
        intent: command.as_ref().map_or(0, intent_of),
        command_value: Default::default(),
    };
    cx.event(key, Intent::Acknowledged, &value);
    let done = cx
        .state
        .distributions
        .table
        .get(key)
        .is_some_and(|row| row.pending.is_empty());
    if !is_awaited(cx, key)
        && let Some((request, answer)) = cx.volatile.awaiting_distribution.remove(&key)
    {
        cx.respond(request, Ok(answer));
    }
    if done {
        cx.event(key, Intent::Finished, &value);
    }
    if !send_next(cx, partition) {
        scaling::caught_up(cx, partition);
    }
}

/// Resends unacknowledged commands, and the progress of batch operations.
pub(crate) fn retry(cx: &mut Context<'_>) {
    batch_operation::parts::retry(cx);
    let waiting: Vec<u32> = cx.state.distributions.waiting().map(|of| of.0).collect();
    for partition in waiting {
        send_next(cx, partition);
    }
}
