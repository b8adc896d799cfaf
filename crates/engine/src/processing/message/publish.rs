//! MESSAGE PUBLISH.

use skep_protocol::command::PublishMessage;
use skep_protocol::intent::MessageIntent;
use skep_protocol::value::MessageValue;
use skep_protocol::{RejectionType, Response};

use super::message_side;
use crate::processing::{Context, Outcome, reject};

pub(crate) fn process(cx: &mut Context<'_>, command: &PublishMessage) -> Outcome {
    let PublishMessage {
        name,
        correlation_key,
        message_id,
        ..
    } = command;
    if !message_id.is_empty()
        && cx
            .state
            .messages
            .with_id(&cx.tenant, name, correlation_key, message_id)
            .is_some()
    {
        return Err(reject(
            RejectionType::AlreadyExists,
            "PUBLISH",
            format!(
                "Expected to publish a new message with id '{message_id}', but a message with that id was already \
                 published"
            ),
        ));
    }
    let key = cx.next_key();
    let value = MessageValue {
        name: name.clone(),
        correlation_key: correlation_key.clone(),
        time_to_live: command.time_to_live,
        deadline: cx.now.saturating_add(command.time_to_live.max(0)),
        message_id: message_id.clone(),
        variables: command.variables.entries().to_vec(),
        tenant: cx.tenant.clone(),
    };
    cx.event(key, MessageIntent::Published, &value);
    message_side::correlate_next(cx, key);
    Ok(Some(Response::MessagePublished { message_key: key }))
}
