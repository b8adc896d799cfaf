//! The process side: PROCESS_MESSAGE_SUBSCRIPTION commands.

use std::sync::Arc;

use skep_model::ElementIndex;
use skep_protocol::Key;
use skep_protocol::intent::ProcessMessageSubscriptionIntent as Intent;

use crate::processing::Context;
use crate::processing::bpmn::subscriptions::message;
use crate::processing::bpmn::{Subject, triggers};
use crate::remote::{CorrelateSubscription, RemoteCommand};
use crate::state::subscriptions::SubscriptionState;

/// PROCESS_MESSAGE_SUBSCRIPTION CREATE: the message side is open, and knows this revision.
pub(crate) fn opened(
    cx: &mut Context<'_>,
    element_instance_key: Key,
    message_name: &Arc<str>,
    revision: u32,
) {
    let Some(key) = cx
        .state
        .process_subscriptions
        .of_element(element_instance_key, message_name)
    else {
        close_again(cx, element_instance_key, message_name);
        return;
    };
    if let Some(row) = cx.state.process_subscriptions.get(key)
        && row.state == SubscriptionState::Opening
        && row.revision == revision
    {
        let value = row.value();
        cx.event(key, Intent::Created, &value);
    }
}

/// Closes the message side again, because a duplicate of the opening came after the closing: nobody else would ever close
/// it. The partition that opened it is no longer known here; the others have nothing to close.
fn close_again(cx: &mut Context<'_>, element_instance_key: Key, message_name: &Arc<str>) {
    let reply_to = cx.state.partition;
    for partition in cx.config.routing.partitions() {
        let command = RemoteCommand::CloseMessageSubscription {
            element_instance_key,
            message_name: message_name.clone(),
            reply_to,
        };
        cx.send(partition, command);
    }
}

/// PROCESS_MESSAGE_SUBSCRIPTION CORRELATE: a message for the element.
pub(crate) fn correlate(cx: &mut Context<'_>, command: &CorrelateSubscription) {
    let key = cx
        .state
        .process_subscriptions
        .of_element(command.element_instance_key, &command.message_name);
    let row = key.and_then(|key| cx.state.process_subscriptions.get(key));
    let row = row.map(|row| {
        let has_taken = row.has_taken(command.message_key);
        (row.state, has_taken, row.value())
    });
    let (Some(key), Some((subscription_state, has_taken, mut value))) = (key, row) else {
        reject(cx, command);
        return;
    };
    if has_taken {
        acknowledge(
            cx,
            command,
            subscription_state == SubscriptionState::Closing,
        );
        return;
    }
    let waits = triggers::can_trigger(cx, command.element_instance_key, value.element)
        && subscription_state != SubscriptionState::Closing;
    let Some(el) = Subject::load(cx, command.element_instance_key).filter(|_| waits) else {
        reject(cx, command);
        return;
    };
    value.message_key = command.message_key;
    value.variables.clone_from(&command.variables);
    let (target, closes) = (ElementIndex(value.element), value.interrupting);
    cx.event(key, Intent::Correlated, &value);
    triggers::trigger(cx, &el, target, command.variables.clone());
    acknowledge(cx, command, closes);
}

fn acknowledge(cx: &mut Context<'_>, command: &CorrelateSubscription, closes: bool) {
    let answer = RemoteCommand::MessageCorrelated {
        element_instance_key: command.element_instance_key,
        message_name: command.message_name.clone(),
        message_key: command.message_key,
        closes,
    };
    cx.send(command.message_partition, answer);
}

pub(crate) fn reject(cx: &mut Context<'_>, command: &CorrelateSubscription) {
    let answer = RemoteCommand::RejectCorrelation {
        element_instance_key: command.element_instance_key,
        process_instance_key: command.process_instance_key,
        message_name: command.message_name.clone(),
        message_key: command.message_key,
    };
    cx.send(command.message_partition, answer);
}

/// PROCESS_MESSAGE_SUBSCRIPTION DELETE: the message side is closed.
pub(crate) fn closed(cx: &mut Context<'_>, element_instance_key: Key, message_name: &Arc<str>) {
    let Some(key) = cx
        .state
        .process_subscriptions
        .of_element(element_instance_key, message_name)
    else {
        return;
    };
    if let Some(row) = cx.state.process_subscriptions.get(key)
        && row.state == SubscriptionState::Closing
    {
        let value = row.value();
        cx.event(key, Intent::Deleted, &value);
    }
}

/// Resends unanswered openings and closings, up to `limit` at a time. Returns how many.
pub(crate) fn retry(cx: &mut Context<'_>, limit: usize) -> usize {
    let from = cx.volatile.retried[1];
    let pending: Vec<Key> = cx
        .state
        .process_subscriptions
        .pending_after(from)
        .take(limit)
        .collect();
    cx.volatile.retried[1] = match pending.last() {
        Some(last) if pending.len() == limit => *last,
        _ => Key::NONE,
    };
    for key in &pending {
        let Some(row) = cx.state.process_subscriptions.get(*key) else {
            continue;
        };
        let (state, value) = (row.state, row.value());
        if !cx.begin_work_of(value.process_instance_key) {
            continue;
        }
        match state {
            SubscriptionState::Opening => message::send_open(cx, &value),
            SubscriptionState::Closing => message::send_close(cx, &value),
            SubscriptionState::Opened => {}
        }
    }
    pending.len()
}
