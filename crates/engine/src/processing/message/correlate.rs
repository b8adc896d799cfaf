//! MESSAGE_CORRELATION CORRELATE: publishes without buffering, and tells the client which instance took the message.

use std::sync::Arc;

use skep_protocol::command::CorrelateMessage;
use skep_protocol::intent::{MessageCorrelationIntent, MessageIntent};
use skep_protocol::value::{MessageCorrelationValue, MessageSubscriptionValue, MessageValue};
use skep_protocol::{Key, RejectionType, Response};

use super::message_side::{self, Progress};
use crate::processing::{Context, Outcome, reject};

pub(crate) fn process(cx: &mut Context<'_>, command: &CorrelateMessage) -> Outcome {
    let CorrelateMessage {
        name,
        correlation_key,
        variables,
    } = command;
    if !can_be_taken(cx, name, correlation_key) {
        return Err(not_found(name, correlation_key));
    }
    let key = cx.next_key();
    let value = MessageValue {
        name: name.clone(),
        correlation_key: correlation_key.clone(),
        time_to_live: -1,
        deadline: -1,
        message_id: Arc::default(),
        variables: variables.entries().to_vec(),
        tenant: cx.tenant.clone(),
    };
    cx.event(key, MessageIntent::Published, &value);
    let correlation = value_of(key, &value, Key::NONE);
    cx.event(key, MessageCorrelationIntent::Correlating, &correlation);
    if let Some(request) = cx.request {
        let slot = cx.config.routing.slot_of(correlation_key);
        let awaiting = &mut cx.volatile.awaiting_correlation;
        awaiting.insert(key, (request, slot));
    }
    if message_side::correlate_to_waiting(cx, key) != Progress::GoesOn {
        message_side::end_unbuffered(cx, key);
    }
    Ok(None)
}

/// Whether an instance waits for the message, or a start event may start one because none with this correlation key is
/// active.
fn can_be_taken(cx: &mut Context<'_>, name: &Arc<str>, correlation_key: &Arc<str>) -> bool {
    let waiting = &cx.state.message_subscriptions;
    if waiting.is_awaited(&cx.tenant, name, correlation_key) {
        return true;
    }
    let starts = &mut cx.state.message_starts;
    starts.named(&cx.tenant, name).into_iter().any(|start| {
        let process = starts.get(start).map(|row| row.bpmn_process_id.clone());
        process.is_some_and(|process| {
            correlation_key.is_empty() || !starts.is_running(&cx.tenant, &process, correlation_key)
        })
    })
}

fn not_found(name: &str, correlation_key: &str) -> skep_protocol::Rejection {
    reject(
        RejectionType::NotFound,
        "CORRELATE",
        format!(
            "Expected to find subscription for message with name '{name}' and correlation key '{correlation_key}', \
             but none was found."
        ),
    )
}

/// Answers the client when the first instance takes the message or starts with it.
pub(crate) fn answer(
    cx: &mut Context<'_>,
    message_key: Key,
    message: &MessageValue,
    process_instance_key: Key,
) {
    if let Some((request, _)) = cx.volatile.awaiting_correlation.remove(&message_key) {
        let value = value_of(message_key, message, process_instance_key);
        cx.event(message_key, MessageCorrelationIntent::Correlated, &value);
        let answer = Response::MessageCorrelated {
            message_key,
            process_instance_key,
        };
        cx.respond(request, Ok(answer));
    }
}

/// Answers the client if the instance of this subscription took the message.
pub(crate) fn answer_taken(
    cx: &mut Context<'_>,
    message_key: Key,
    subscription: &MessageSubscriptionValue,
) {
    if cx.volatile.awaiting_correlation.contains_key(&message_key) {
        let message = message_of(subscription);
        answer(cx, message_key, &message, subscription.process_instance_key);
    }
}

/// Answers the client that no instance takes the message.
pub(crate) fn answer_none(
    cx: &mut Context<'_>,
    message_key: Key,
    subscription: &MessageSubscriptionValue,
) {
    if let Some((request, _)) = cx.volatile.awaiting_correlation.remove(&message_key) {
        let value = value_of(message_key, &message_of(subscription), Key::NONE);
        cx.event(message_key, MessageCorrelationIntent::NotCorrelated, &value);
        let refusal = not_found(&subscription.message_name, &subscription.correlation_key);
        cx.respond(request, Err(refusal));
    }
}

/// The message in transit to a subscription; it may have expired since.
fn message_of(subscription: &MessageSubscriptionValue) -> MessageValue {
    MessageValue {
        name: subscription.message_name.clone(),
        correlation_key: subscription.correlation_key.clone(),
        time_to_live: -1,
        deadline: -1,
        message_id: Arc::default(),
        variables: subscription.variables.clone(),
        tenant: subscription.tenant.clone(),
    }
}

fn value_of(
    message_key: Key,
    message: &MessageValue,
    process_instance_key: Key,
) -> MessageCorrelationValue {
    MessageCorrelationValue {
        name: message.name.clone(),
        correlation_key: message.correlation_key.clone(),
        message_key,
        process_instance_key,
        variables: message.variables.clone(),
        tenant: message.tenant.clone(),
    }
}
