//! Messages: caught by intermediate and boundary events and by receive tasks.

use std::sync::Arc;

use skep_feel::Expression;

use crate::context::{Context, Message};
use crate::graph::{MessageCatch, TextValue};
use crate::value;
use crate::xml::Node;
use crate::zeebe::subscription;

/// The message that `messageRef` names.
fn referenced<'c, 'x>(node: Node<'x>, context: &mut Context<'c, 'x>) -> Option<&'c Message<'x>> {
    let Some(reference) = node.attribute("messageRef").filter(|r| !r.is_empty()) else {
        context.add(node, "The element references no message. Choose a message, with a name and a subscription correlation key");
        return None;
    };
    let message = context.definitions.message(reference);
    if message.is_none() {
        context.add(node, format!("The attribute 'messageRef' names '{reference}', which is not a message of this file"));
    }
    message
}

fn name<'x>(
    node: Node<'x>,
    message: &Message<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<TextValue> {
    let raw = message.node.attribute("name").unwrap_or_default();
    if raw.trim().is_empty() {
        let id = message.node.attribute("id").unwrap_or_default();
        context.add(node, format!("The message '{id}' has no name. Give it one"));
        return None;
    }
    value::text_value(node, "The message name", raw, context.findings)
}

/// What the `messageRef` of an event definition or receive task waits for: a message with a name and one subscription.
pub(crate) fn caught<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<MessageCatch> {
    let message = referenced(node, context)?;
    let before = context.findings.count();
    let values = message
        .values
        .get_or_init(|| parse(node, message, context))
        .clone();
    if values.is_none() && context.findings.count() == before {
        context.add(
            node,
            format!(
                "The message '{}' is not valid, see the first element that references it",
                message.node.attribute("id").unwrap_or_default()
            ),
        );
    }
    let (name, correlation_key) = values?;
    Some(MessageCatch {
        name,
        correlation_key,
    })
}

/// The name of the message that starts a process: known at deployment, so that an expression sees no variables.
pub(crate) fn starting<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<Arc<str>> {
    let message = referenced(node, context)?;
    let name = name(node, message, context)?;
    value::without_variables(node, "The message name", name, context.findings)
}

/// Name and correlation key of a message; findings belong to the element `node` that catches it.
fn parse<'x>(
    node: Node<'x>,
    message: &Message<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<(TextValue, Expression)> {
    let name = name(node, message, context);
    let correlation_key = subscription::required(node, message.node, context);
    Some((name?, correlation_key?))
}
