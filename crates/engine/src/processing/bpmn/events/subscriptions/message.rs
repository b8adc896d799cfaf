//! Messages that element instances wait for: the process side of their subscriptions.

use skep_model::{ElementIndex, MessageCatch};
use skep_protocol::Key;
use skep_protocol::intent::ProcessMessageSubscriptionIntent as Intent;
use skep_protocol::value::{MessageSubscriptionValue, ProcessMessageSubscriptionValue};

use super::checked_name;
use crate::processing::bpmn::{Problem, Subject};
use crate::processing::{Context, expression};
use crate::remote::RemoteCommand;

pub(crate) fn evaluate(
    cx: &mut Context<'_>,
    el: &Subject,
    target: ElementIndex,
    definition: &MessageCatch,
    interrupting: bool,
) -> Result<ProcessMessageSubscriptionValue, Problem> {
    // A boundary event's expressions see the scope around its activity; those of other events see their element or scope.
    let is_attached = el.element().boundary_events.contains(&target);
    let scope = if is_attached { el.flow_scope() } else { el.key };
    let name = expression::text(cx, &definition.name, scope)?;
    let message_name = checked_name("message", name)?;
    let correlation_key = expression::correlation_key(cx, &definition.correlation_key, scope)?;
    expression::not_too_long("correlation key", &correlation_key)?;
    Ok(ProcessMessageSubscriptionValue {
        subscription_partition: cx.config.routing.of_correlation(&correlation_key),
        process_instance_key: el.value.process_instance_key,
        element_instance_key: el.key,
        process_definition_key: el.process.key,
        bpmn_process_id: el.process.bpmn_process_id.clone(),
        message_name,
        correlation_key,
        interrupting,
        element: target.0,
        message_key: Key::NONE,
        variables: Vec::new(),
        revision: 0,
    })
}

pub(crate) fn open(cx: &mut Context<'_>, subscription: &ProcessMessageSubscriptionValue) {
    let key = cx.next_key();
    cx.event(key, Intent::Creating, subscription);
    send_open(cx, subscription);
}

/// Asks the message's partition to open its side. Repeated until answered.
pub(crate) fn send_open(cx: &mut Context<'_>, subscription: &ProcessMessageSubscriptionValue) {
    let value = MessageSubscriptionValue {
        process_instance_key: subscription.process_instance_key,
        element_instance_key: subscription.element_instance_key,
        process_definition_key: subscription.process_definition_key,
        bpmn_process_id: subscription.bpmn_process_id.clone(),
        message_name: subscription.message_name.clone(),
        correlation_key: subscription.correlation_key.clone(),
        interrupting: subscription.interrupting,
        message_key: Key::NONE,
        variables: Vec::new(),
        tenant: cx.tenant_of(subscription.process_definition_key),
        revision: subscription.revision,
    };
    let command = RemoteCommand::OpenMessageSubscription(value);
    let partition = cx
        .config
        .routing
        .of_correlation(&subscription.correlation_key);
    cx.send(partition, command);
}

pub(crate) fn close(cx: &mut Context<'_>, key: Key) {
    let row = cx.state.process_subscriptions.get(key);
    if let Some(subscription) = row.map(|row| row.value()) {
        cx.event(key, Intent::Deleting, &subscription);
        send_close(cx, &subscription);
    }
}

/// Asks the message's partition to close its side. Repeated until answered.
pub(crate) fn send_close(cx: &mut Context<'_>, subscription: &ProcessMessageSubscriptionValue) {
    let element_instance_key = subscription.element_instance_key;
    let message_name = subscription.message_name.clone();
    let correlation_key = subscription.correlation_key.clone();
    let reply_to = cx.state.partition;
    let partition = cx.config.routing.of_correlation(&correlation_key);
    // Keys move only while all nodes know the newer command.
    let command = if cx.config.oldest_node.version() >= RemoteCommand::CLOSE_BY_KEY_SINCE {
        RemoteCommand::CloseMessageSubscriptionByKey {
            element_instance_key,
            message_name,
            correlation_key,
            reply_to,
        }
    } else {
        RemoteCommand::CloseMessageSubscription {
            element_instance_key,
            message_name,
            reply_to,
        }
    };
    cx.send(partition, command);
}
