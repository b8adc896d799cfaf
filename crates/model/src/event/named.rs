//! Names of messages and signals: parsed once for all elements that refer to them.

use std::sync::Arc;

use skep_protocol::names;

use crate::context::{Context, NamedNode};
use crate::error::Rule;
use crate::graph::TextValue;
use crate::value;
use crate::xml::Node;

/// The name as it is evaluated when an element is reached. Findings belong to the element `node`; `kind` is `message` or
/// `signal`.
pub(crate) fn name<'x>(
    node: Node<'x>,
    kind: &str,
    named: &NamedNode<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<TextValue> {
    let before = context.findings.count();
    let parse = || {
        let raw = not_empty(node, kind, named, context)?;
        let what = format!("The {kind} name");
        let name = value::text_value(node, &what, raw, context.findings)?;
        if let Some(constant) = name.as_static() {
            not_too_long(node, kind, constant, context)?;
        }
        Some(name)
    };
    let name = named.name.get_or_init(parse).clone();
    say_once(node, kind, named, name.is_none(), before, context);
    name
}

/// The name of a start event's message or signal: it cannot be computed, as there are no variables yet.
pub(crate) fn constant_name<'x>(
    node: Node<'x>,
    kind: &str,
    named: &NamedNode<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<Arc<str>> {
    let before = context.findings.count();
    let parse = || {
        let raw = not_empty(node, kind, named, context)?;
        let what = format!("The {kind} name");
        let name = value::constant_text(node, &what, raw, context.findings)?;
        not_too_long(node, kind, &name, context)?;
        Some(name)
    };
    let name = named.constant_name.get_or_init(parse).clone();
    say_once(node, kind, named, name.is_none(), before, context);
    name
}

fn not_empty<'x>(
    node: Node<'x>,
    kind: &str,
    named: &NamedNode<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<&'x str> {
    let raw = named.node.attribute("name").unwrap_or_default();
    if raw.trim().is_empty() {
        let id = named.node.attribute("id").unwrap_or_default();
        context.add(
            node,
            Rule::ValueMissing,
            format!("The {kind} '{id}' has no name. Give it one"),
        );
        return None;
    }
    Some(raw)
}

/// An index keeps the name in memory, as long as an event waits for it.
fn not_too_long<'x>(
    node: Node<'x>,
    kind: &str,
    name: &str,
    context: &mut Context<'_, 'x>,
) -> Option<()> {
    let Err(too_long) = names::check(name) else {
        return Some(());
    };
    let message = format!(
        "The {kind} name has {} characters, the limit is {}. Shorten it",
        too_long.length,
        names::MAX_CHARS
    );
    context.add(node, Rule::TextTooLong, message);
    None
}

/// A fault in the definition was reported at the first element that references it; further ones only refer to that.
pub(crate) fn say_once<'x>(
    node: Node<'x>,
    kind: &str,
    named: &NamedNode<'x>,
    invalid: bool,
    findings_before: usize,
    context: &mut Context<'_, 'x>,
) {
    if invalid && context.findings.count() == findings_before {
        let id = named.node.attribute("id").unwrap_or_default();
        let message =
            format!("The {kind} '{id}' is not valid, see the first element that references it");
        context.add(node, Rule::ReferenceInvalid, message);
    }
}
