//! Messages: caught by intermediate and boundary events and by receive tasks.

use skep_feel::Expression;

use crate::context::{Context, Message};
use crate::graph::{MessageCatch, TextValue};
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
    let before = context.findings.count();
    let values = message
        .values
        .get_or_init(|| parse(node, message, context))
        .clone();
    if values.is_none() && context.findings.count() == before {
        context.add(
            node,
            format!(
                "The message '{reference}' is not valid, see the first element that references it"
            ),
        );
    }
    let (name, correlation_key) = values?;
    Some(MessageCatch {
        name,
        correlation_key,
    })
}

/// Name and correlation key of a message; findings belong to the element `node` that catches it.
fn parse<'x>(
    node: Node<'x>,
    message: &Message<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<(TextValue, Expression)> {
    let raw = message.node.attribute("name").unwrap_or_default();
    let name = if raw.trim().is_empty() {
        let id = message.node.attribute("id").unwrap_or_default();
        context.add(node, format!("The message '{id}' has no name. Give it one"));
        None
    } else {
        value::text_value(node, "The message name", raw, context.findings)
    };
    let correlation_key = subscription::required(node, message.node, context);
    Some((name?, correlation_key?))
}
