//! The message side: MESSAGE_SUBSCRIPTION commands, and the correlation of messages to subscriptions.

use std::collections::HashSet;
use std::sync::Arc;

use skep_protocol::Key;
use skep_protocol::intent::{MessageIntent, MessageSubscriptionIntent as Intent};
use skep_protocol::value::{MessageSubscriptionValue, Step};

use super::correlate;
use crate::processing::Context;
use crate::processing::bpmn::subscriptions::start;
use crate::processing::slots;
use crate::remote::{CorrelateSubscription, RemoteCommand, Variables};

/// Correlates a message to waiting subscriptions, at most one instance of each process, and to start events. Whatever does
/// not fit into this turn follows in a later one. An unbuffered message ends with the last of them.
pub(crate) fn correlate_to_waiting(cx: &mut Context<'_>, message_key: Key) -> Progress {
    let Some(message) = cx.state.messages.get(message_key) else {
        return Progress::Done { taken: 0 };
    };
    let value = message.value();
    let had: HashSet<Arc<str>> = message.correlated.iter().cloned().collect();
    let takers =
        cx.state
            .message_subscriptions
            .takers(&value.tenant, &value.name, &value.correlation_key);
    let mut taken = 0;
    for key in takers {
        let subscription = cx.state.message_subscriptions.get(key);
        let Some(subscription) = subscription.map(|s| s.value()) else {
            continue;
        };
        if had.contains(&subscription.bpmn_process_id) {
            continue;
        }
        if taken > 0 && cx.is_spent() {
            cx.steps.push(Step::CorrelateMessage(message_key));
            return Progress::GoesOn;
        }
        taken += 1;
        start_correlation(cx, key, subscription, message_key, value.variables.clone());
    }
    for start in cx.state.message_starts.named(&value.tenant, &value.name) {
        if taken > 0 && cx.is_spent() {
            cx.steps.push(Step::CorrelateMessage(message_key));
            return Progress::GoesOn;
        }
        if let Some(instance) = start::by_message(cx, start, message_key) {
            taken += 1;
            correlate::answer(cx, message_key, &value, instance);
        }
    }
    Progress::Done { taken }
}

/// Progress of the correlation of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Progress {
    /// This many subscriptions and start events received it in this turn.
    Done { taken: usize },
    /// The rest follows in a later turn, and with it the end of an unbuffered message.
    GoesOn,
}

/// Runs the next turn of a message with many receivers. The partition to which its correlation key has moved does so instead.
pub(crate) fn correlate_next(cx: &mut Context<'_>, message_key: Key) {
    let message = cx.state.messages.get(message_key);
    let correlation_key = message.map(|message| message.correlation_key.clone());
    if correlation_key.is_some_and(|key| !slots::is_here(cx, &key)) {
        return;
    }
    if correlate_to_waiting(cx, message_key) != Progress::GoesOn {
        end_unbuffered(cx, message_key);
    }
}

/// MESSAGE EXPIRED of a message without time to live.
pub(crate) fn end_unbuffered(cx: &mut Context<'_>, message_key: Key) {
    let message = cx.state.messages.get(message_key);
    if let Some(value) = message.map(|m| m.value())
        && value.time_to_live <= 0
    {
        cx.event(message_key, MessageIntent::Expired, &value);
    }
}

/// MESSAGE_SUBSCRIPTION CREATE.
pub(crate) fn open(cx: &mut Context<'_>, value: &MessageSubscriptionValue) {
    let known = cx
        .state
        .message_subscriptions
        .of_element(value.element_instance_key, &value.message_name);
    let key = match known {
        Some(key) => {
            migrate(cx, key, value);
            key
        }
        None => {
            let key = cx.next_key();
            cx.event(key, Intent::Created, value);
            key
        }
    };
    acknowledge_open(cx, value);
    if known.is_none() {
        correlate_buffered(cx, key);
    }
}

/// Updates a subscription whose instance has been migrated since it was opened. Requests with an earlier revision are
/// outdated.
fn migrate(cx: &mut Context<'_>, key: Key, value: &MessageSubscriptionValue) {
    let row = cx.state.message_subscriptions.get(key);
    let is_later = row.is_some_and(|row| row.revision < value.revision);
    if is_later {
        cx.event(key, Intent::Migrated, value);
    }
}

fn acknowledge_open(cx: &mut Context<'_>, value: &MessageSubscriptionValue) {
    let command = RemoteCommand::MessageSubscriptionOpened {
        element_instance_key: value.element_instance_key,
        message_name: value.message_name.clone(),
        revision: value.revision,
    };
    send_to_instance(cx, value.process_instance_key, command);
}

/// Correlates the oldest buffered message that this subscription's process has not received.
fn correlate_buffered(cx: &mut Context<'_>, key: Key) {
    let Some(subscription) = cx.state.message_subscriptions.get(key) else {
        return;
    };
    if subscription.under_way.is_some() {
        return;
    }
    let value = subscription.value();
    let awaited = (&value.tenant, &value.message_name, &value.correlation_key);
    let messages = &mut cx.state.messages;
    let oldest = messages.oldest_for(awaited, &value.bpmn_process_id, cx.now);
    let Some(message_key) = oldest.map(|oldest| oldest.key) else {
        return;
    };
    let Some(message) = messages.get(message_key) else {
        return cx.broken(format_args!("the buffered message {message_key} is gone"));
    };
    let variables = message.variables.clone();
    start_correlation(cx, key, value, message_key, variables);
}

fn start_correlation(
    cx: &mut Context<'_>,
    key: Key,
    mut value: MessageSubscriptionValue,
    message_key: Key,
    variables: Variables,
) {
    value.message_key = message_key;
    value.variables = variables;
    cx.event(key, Intent::Correlating, &value);
    send_correlate(cx, &value);
}

fn send_correlate(cx: &mut Context<'_>, value: &MessageSubscriptionValue) {
    let command = RemoteCommand::CorrelateSubscription(CorrelateSubscription {
        message_partition: cx.state.partition,
        process_instance_key: value.process_instance_key,
        element_instance_key: value.element_instance_key,
        message_name: value.message_name.clone(),
        message_key: value.message_key,
        variables: value.variables.clone(),
    });
    send_to_instance(cx, value.process_instance_key, command);
}

fn send_to_instance(cx: &mut Context<'_>, process_instance_key: Key, command: RemoteCommand) {
    if let Some(partition) = cx.config.routing.home(process_instance_key) {
        cx.send(partition, command);
    }
}

/// MESSAGE_SUBSCRIPTION CORRELATE: the instance took the message.
pub(crate) fn correlated(
    cx: &mut Context<'_>,
    (element_instance_key, message_name): (Key, &Arc<str>),
    message_key: Key,
    closes: bool,
) {
    let Some((key, mut value)) = correlating(cx, element_instance_key, message_name, message_key)
    else {
        return;
    };
    // A migration may have changed it, on either side.
    value.interrupting = closes;
    cx.event(key, Intent::Correlated, &value);
    correlate::answer_taken(cx, message_key, &value);
    if value.interrupting {
        answer_closed(cx, &value);
    } else {
        correlate_buffered(cx, key);
    }
}

/// Reports that the message side of the subscription is gone, so that the process side may go too.
fn answer_closed(cx: &mut Context<'_>, value: &MessageSubscriptionValue) {
    let command = RemoteCommand::MessageSubscriptionClosed {
        element_instance_key: value.element_instance_key,
        message_name: value.message_name.clone(),
    };
    send_to_instance(cx, value.process_instance_key, command);
}

/// MESSAGE_SUBSCRIPTION REJECT: the instance did not take it; another one of the process may.
pub(crate) fn rejected(
    cx: &mut Context<'_>,
    element_instance_key: Key,
    message_name: &Arc<str>,
    message_key: Key,
) {
    let Some((key, value)) = correlating(cx, element_instance_key, message_name, message_key)
    else {
        return;
    };
    cx.event(key, Intent::Rejected, &value);
    answer_closed(cx, &value);
    let next = cx.state.message_subscriptions.another_taker(&value);
    if let Some(next) = next
        && let Some(other) = cx.state.message_subscriptions.get(next).map(|s| s.value())
    {
        start_correlation(cx, next, other, message_key, value.variables);
        return;
    }
    let another_may_take_it = cx.state.message_subscriptions.is_under_way(message_key);
    if !another_may_take_it {
        correlate::answer_none(cx, message_key, &value);
    }
}

fn correlating(
    cx: &mut Context<'_>,
    element_instance_key: Key,
    message_name: &Arc<str>,
    message_key: Key,
) -> Option<(Key, MessageSubscriptionValue)> {
    let key = cx
        .state
        .message_subscriptions
        .of_element(element_instance_key, message_name)?;
    let row = cx.state.message_subscriptions.get(key)?;
    let under_way = row.under_way.as_ref()?;
    (under_way.message_key == message_key).then(|| (key, row.value()))
}

/// MESSAGE_SUBSCRIPTION DELETE. While a message is in transit to the instance, the instance's answer to it comes first: it
/// decides whether another instance may take the message, and it closes the subscription. `by_key`: the correlation key is known, and
/// belongs to this partition.
pub(crate) fn close(
    cx: &mut Context<'_>,
    (element_instance_key, message_name): (Key, &Arc<str>),
    reply_to: u32,
    by_key: bool,
) {
    let key = cx
        .state
        .message_subscriptions
        .of_element(element_instance_key, message_name);
    if let Some(key) = key
        && let Some(value) = cx.state.message_subscriptions.get(key).map(|s| s.value())
    {
        if value.message_key.some().is_some() {
            return;
        }
        cx.event(key, Intent::Deleted, &value);
    } else if !by_key && !cx.state.slots.is_untouched() {
        // It may be where its correlation key has moved to.
        return;
    }
    let command = RemoteCommand::MessageSubscriptionClosed {
        element_instance_key,
        message_name: message_name.clone(),
    };
    cx.send(reply_to, command);
}

/// Resends unanswered correlations, up to `limit` at a time. Returns how many.
pub(crate) fn retry(cx: &mut Context<'_>, limit: usize) -> usize {
    let from = cx.volatile.retried[0];
    let pending: Vec<Key> = cx
        .state
        .message_subscriptions
        .pending_after(from)
        .take(limit)
        .collect();
    cx.volatile.retried[0] = match pending.last() {
        Some(last) if pending.len() == limit => *last,
        _ => Key::NONE,
    };
    resend(cx, &pending);
    pending.len()
}

/// Sends the messages in transit to these subscriptions again.
pub(crate) fn resend(cx: &mut Context<'_>, keys: &[Key]) {
    for key in keys {
        if let Some(value) = cx
            .state
            .message_subscriptions
            .get(*key)
            .map(|row| row.value())
            && cx.begin_work_of(value.process_instance_key)
        {
            send_correlate(cx, &value);
        }
    }
    cx.begin_work_of(Key::NONE);
}
