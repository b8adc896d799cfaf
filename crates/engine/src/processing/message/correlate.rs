//! MESSAGE_CORRELATION CORRELATE: publish without buffering, and tell the client who took it.

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
    if cx
        .state
        .message_subscriptions
        .takers(name, correlation_key)
        .is_empty()
    {
        return Err(not_found(name, correlation_key));
    }
    let key = cx.next_key();
    let value = MessageValue {
        name: name.clone(),
        correlation_key: correlation_key.clone(),
        time_to_live: -1,
        deadline: cx.now,
        message_id: Arc::default(),
        variables: variables.entries().to_vec(),
    };
    cx.event(key, MessageIntent::Published, &value);
    let progress = message_side::correlate_to_waiting(cx, key);
    let correlation = MessageCorrelationValue {
        name: name.clone(),
        correlation_key: correlation_key.clone(),
        message_key: key,
        process_instance_key: Key::NONE,
        variables: value.variables.clone(),
    };
    if progress == (Progress::Done { taken: 0 }) {
        cx.event(key, MessageCorrelationIntent::NotCorrelated, &correlation);
        cx.event(key, MessageIntent::Expired, &value);
        return Err(not_found(name, correlation_key));
    }
    cx.event(key, MessageCorrelationIntent::Correlating, &correlation);
    if let Some(request) = cx.request {
        cx.volatile.awaiting_correlation.insert(key, request);
    }
    if progress != Progress::GoesOn {
        message_side::end_unbuffered(cx, key);
    }
    Ok(None)
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

/// The instance took the message: the first one is the client's answer.
pub(crate) fn answer(
    cx: &mut Context<'_>,
    message_key: Key,
    subscription: &MessageSubscriptionValue,
) {
    if let Some(request) = cx.volatile.awaiting_correlation.remove(&message_key) {
        let value = value_of(subscription, message_key);
        cx.event(message_key, MessageCorrelationIntent::Correlated, &value);
        let answer = Response::MessageCorrelated {
            message_key,
            process_instance_key: subscription.process_instance_key,
        };
        cx.respond(request, Ok(answer));
    }
}

/// No instance takes the message.
pub(crate) fn answer_none(
    cx: &mut Context<'_>,
    message_key: Key,
    subscription: &MessageSubscriptionValue,
) {
    if let Some(request) = cx.volatile.awaiting_correlation.remove(&message_key) {
        let value = MessageCorrelationValue {
            process_instance_key: Key::NONE,
            ..value_of(subscription, message_key)
        };
        cx.event(message_key, MessageCorrelationIntent::NotCorrelated, &value);
        let refusal = not_found(&subscription.message_name, &subscription.correlation_key);
        cx.respond(request, Err(refusal));
    }
}

fn value_of(subscription: &MessageSubscriptionValue, message_key: Key) -> MessageCorrelationValue {
    MessageCorrelationValue {
        name: subscription.message_name.clone(),
        correlation_key: subscription.correlation_key.clone(),
        message_key,
        process_instance_key: subscription.process_instance_key,
        variables: subscription.variables.clone(),
    }
}
