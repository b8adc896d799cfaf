//! `zeebe:subscription`: the correlation key of a caught message.

use skep_feel::Expression;

use crate::context::Context;
use crate::error::Rule;
use crate::value;
use crate::xml::{self, Node};

/// The correlation key of `message`; findings belong to the element `node` that catches it.
pub(crate) fn required<'x>(
    node: Node<'x>,
    message: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<Expression> {
    let id = message.attribute("id").unwrap_or_default();
    let mut subscriptions = xml::extensions(message, "subscription");
    let Some(subscription) = subscriptions.next() else {
        context.add(node, Rule::ExtensionMissing, format!("The message '{id}' must have exactly one 'zeebe:subscription', but has none. Add it with a correlation key"));
        return None;
    };
    if subscriptions.next().is_some() {
        context.add(
            node,
            Rule::OnlyOneAllowed,
            format!("The message '{id}' has more than one 'zeebe:subscription'. Keep one"),
        );
        return None;
    }
    let key = subscription.attribute("correlationKey").unwrap_or_default();
    if key.trim().is_empty() {
        context.add(node, Rule::ExpressionMissing, format!("The correlation key of the message '{id}' is missing or empty. Give it an expression such as =orderId"));
        return None;
    }
    value::expression(
        node,
        &format!("The correlation key of the message '{id}'"),
        key,
        context.findings,
    )
}
