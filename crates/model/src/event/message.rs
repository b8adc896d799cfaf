//! Messages: caught by events and receive tasks, thrown by events and send tasks.

use std::sync::Arc;

use crate::context::{Context, Message};
use crate::error::Rule;
use crate::event::named;
use crate::graph::{MessageCatch, MessageThrow};
use crate::value;
use crate::xml::{self, Node};
use crate::zeebe::{job, subscription};

/// The message that the `messageRef` of an event definition or receive task names: it needs a name and one subscription.
pub(crate) fn caught<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<MessageCatch> {
    let message = referenced(
        node,
        "with a name and a subscription correlation key",
        context,
    )?;
    let name = named::name(node, "message", &message.named, context);
    let before = context.findings.count();
    let parse = || subscription::required(node, message.named.node, context);
    let correlation_key = message.correlation_key.get_or_init(parse).clone();
    if name.is_some() {
        let invalid = correlation_key.is_none();
        named::say_once(node, "message", &message.named, invalid, before, context);
    }
    Some(MessageCatch {
        name: name?,
        correlation_key: correlation_key?,
    })
}

/// The name of the message that starts a process, whatever its correlation key.
pub(crate) fn starting<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<Arc<str>> {
    let message = referenced(node, "with a name", context)?;
    named::constant_name(node, "message", &message.named, context)
}

/// The work of a send task (`definition` is the task itself) or message throw event: either a job or a publication.
pub(crate) fn thrown<'x>(
    node: Node<'x>,
    definition: Node<'x>,
    of: &str,
    context: &mut Context<'_, 'x>,
) -> Option<MessageThrow> {
    let mut publications = xml::extensions(node, "publishMessage")
        .chain(xml::extensions(definition, "publishMessage"));
    let Some(publication) = publications.next() else {
        return job::required(node, of, context).map(MessageThrow::Job);
    };
    if xml::extensions(node, "taskDefinition").next().is_some() {
        let message = format!(
            "A {of} must have either 'zeebe:taskDefinition' or 'zeebe:publishMessage', but has both. Keep one"
        );
        context.add(node, Rule::OnlyOneAllowed, message);
        return None;
    }
    let message = referenced(definition, "with a name", context);
    let key = value::required_text(publication, "correlationKey", context.findings);
    for optional in ["messageId", "timeToLive"] {
        if publication
            .attribute(optional)
            .is_some_and(|raw| !raw.is_empty())
        {
            value::required_text(publication, optional, context.findings)?;
        }
    }
    named::name(definition, "message", &message?.named, context)?;
    key.map(|_| MessageThrow::Publish)
}

fn referenced<'c, 'x>(
    node: Node<'x>,
    which: &str,
    context: &mut Context<'c, 'x>,
) -> Option<&'c Message<'x>> {
    let Some(reference) = node.attribute("messageRef").filter(|r| !r.is_empty()) else {
        let message = format!("The element references no message. Choose a message {which}");
        context.add(node, Rule::ReferenceMissing, message);
        return None;
    };
    let found = context.definitions.message(reference);
    if found.is_none() {
        context.add(node, Rule::ReferenceNotFound, format!("The attribute 'messageRef' names '{reference}', which is not a message of this file. Choose another, or add it"));
    }
    found
}
