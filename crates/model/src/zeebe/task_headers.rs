//! `zeebe:taskHeaders`: constant texts that jobs carry to their workers.

use std::collections::HashSet;
use std::sync::Arc;

use crate::context::Context;
use crate::error::{Rule, abbreviate};
use crate::xml::{self, Node};

/// Headers with this prefix are the engine's own.
const RESERVED_PREFIX: &str = "io.camunda.zeebe:";

/// The headers in document order; those without key or value are left out, as element templates write them for unset fields.
pub(crate) fn parse<'x>(
    node: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<Vec<(Arc<str>, Arc<str>)>> {
    let before = context.findings.count();
    let mut seen = HashSet::new();
    let mut headers = Vec::new();
    for header in xml::extensions(node, "taskHeaders")
        .flat_map(|headers| xml::zeebe_children(headers, "header"))
    {
        let key = header.attribute("key").unwrap_or_default();
        let value = header.attribute("value").unwrap_or_default();
        if key.is_empty() {
            continue;
        }
        if key.starts_with(RESERVED_PREFIX) {
            context.add(header, Rule::ValueInvalid, format!("The task header '{}' uses the reserved prefix '{RESERVED_PREFIX}'. Choose another key", abbreviate(key)));
        } else if !seen.insert(key) {
            context.add(
                header,
                Rule::DuplicateName,
                format!(
                    "The task header '{}' is given more than once. Keys must be unique",
                    abbreviate(key)
                ),
            );
        } else if !value.is_empty() {
            headers.push((Arc::from(key), Arc::from(value)));
        }
    }
    (context.findings.count() == before).then_some(headers)
}

/// The headers as the text of a JSON object, in their order.
pub(crate) fn to_json(headers: &[(Arc<str>, Arc<str>)]) -> Arc<str> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let members: Vec<String> = headers
        .iter()
        .map(|(key, value)| format!("{}:{}", quoted(key), quoted(value)))
        .collect();
    Arc::from(format!("{{{}}}", members.join(",")))
}
