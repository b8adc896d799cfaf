//! Messages: caught by intermediate and boundary events and by receive tasks.

use crate::context::Context;
use crate::graph::MessageCatch;
use crate::value;
use crate::xml::Node;
use crate::zeebe::subscription;

/// What the `messageRef` of an event definition or receive task waits for: a message with a name and one subscription.
pub(crate) fn caught<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<MessageCatch> {
    let Some(reference) = node.attribute("messageRef").filter(|r| !r.is_empty()) else {
        context.add(node, "The element references no message. Choose a message, with a name and a subscription correlation key");
        return None;
    };
    let Some(message) = context.definitions.message(reference) else {
        context.add(node, format!("The attribute 'messageRef' names '{reference}', which is not a message of this file"));
        return None;
    };
    let raw = message.attribute("name").unwrap_or_default();
    let name = if raw.trim().is_empty() {
        context.add(
            node,
            format!("The message '{reference}' has no name. Give it one"),
        );
        None
    } else {
        value::text_value(node, "The message name", raw, context.findings)
    };
    let correlation_key = subscription::required(node, message, context);
    Some(MessageCatch {
        name: name?,
        correlation_key: correlation_key?,
    })
}
