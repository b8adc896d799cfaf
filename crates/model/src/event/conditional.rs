//! Conditional event definitions: an expression over variables, and whose changes count.

use std::sync::Arc;

use crate::context::Context;
use crate::error::{Rule, abbreviate};
use crate::graph::Condition;
use crate::value;
use crate::xml::{self, Node};

pub(crate) fn parse<'x>(definition: Node<'x>, context: &mut Context<'_, 'x>) -> Option<Condition> {
    let text = xml::bpmn_children(definition, "condition")
        .next()
        .map(xml::text)
        .unwrap_or_default();
    if text.is_empty() {
        context.add(
            definition,
            Rule::ExpressionMissing,
            "The conditional event has no condition. Give it an expression that starts with '='",
        );
        return None;
    }
    let what = "The condition of the event";
    let expression = value::expression(definition, what, &text, context.findings);
    let filter = xml::extensions(definition, "conditionalFilter").next();
    let listed = |attribute| -> Vec<&str> {
        let list = filter.and_then(|filter| filter.attribute(attribute));
        let names = list.unwrap_or_default().split(',').map(str::trim);
        names.filter(|name| !name.is_empty()).collect()
    };
    let events = listed("variableEvents");
    let is_unknown = |event: &&&str| !matches!(**event, "create" | "update");
    if let Some(event) = events.iter().find(is_unknown) {
        let message = format!(
            "The variable event '{}' of 'zeebe:conditionalFilter' is not known. Use create, update or both",
            abbreviate(event)
        );
        context.add(definition, Rule::ValueInvalid, message);
        return None;
    }
    let counts = |event| events.is_empty() || events.contains(&event);
    Some(Condition {
        expression: expression?,
        variable_names: listed("variableNames").into_iter().map(Arc::from).collect(),
        on_create: counts("create"),
        on_update: counts("update"),
    })
}
