//! Error and escalation event definitions: thrown with a code, caught by it.

use std::sync::Arc;

use crate::context::{Coded, Context};
use crate::error::Rule;
use crate::graph::TextValue;
use crate::value;
use crate::xml::Node;

/// Names of the parts of errors and escalations.
pub(crate) struct Kind {
    name: &'static str,
    reference: &'static str,
    code: &'static str,
}

pub(crate) const ERROR: Kind = Kind {
    name: "error",
    reference: "errorRef",
    code: "errorCode",
};

pub(crate) const ESCALATION: Kind = Kind {
    name: "escalation",
    reference: "escalationRef",
    code: "escalationCode",
};

/// The code that an event throws: constant or an expression, not empty.
pub(crate) fn thrown<'x>(
    kind: &Kind,
    definition: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<TextValue> {
    let name = kind.name;
    let Some(coded) = referenced(kind, definition, context)? else {
        context.add(
            definition,
            Rule::ReferenceMissing,
            format!("The {name} event throws no {name}. Reference an {name} with a code"),
        );
        return None;
    };
    let before = context.findings.count();
    let code = coded
        .thrown
        .get_or_init(|| parse(kind, definition, coded, context))
        .clone();
    if code.is_none() && context.findings.count() == before {
        context.add(
            definition,
            Rule::ReferenceInvalid,
            format!("The {name} is not valid, see the first element that references it"),
        );
    }
    code
}

fn parse<'x>(
    kind: &Kind,
    definition: Node<'x>,
    coded: &Coded<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<TextValue> {
    let name = kind.name;
    match &coded.code {
        Some(code) if code.starts_with('=') => {
            let what = format!("The {name} code");
            value::text_value(definition, &what, code, context.findings)
        }
        Some(code) if !code.trim().is_empty() => Some(TextValue::Static(code.clone())),
        _ => {
            let id = coded.node.attribute("id").unwrap_or_default();
            let message = format!("The {name} '{id}' has no {}. Give it a code", kind.code);
            context.add(definition, Rule::ValueMissing, message);
            None
        }
    }
}

/// The code that is caught; `Some(None)` catches all: no reference, or one without code.
pub(crate) fn caught<'x>(
    kind: &Kind,
    definition: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<Option<Arc<str>>> {
    let Some(coded) = referenced(kind, definition, context)? else {
        return Some(None);
    };
    let is_expression = |code: &Arc<str>| code.starts_with('=');
    if coded.code.as_ref().is_some_and(is_expression) {
        let name = kind.name;
        let message = format!(
            "The code of a caught {name} cannot be an expression. Use a constant code, or no {name} to catch all"
        );
        context.add(definition, Rule::ConstantExpected, message);
        return None;
    }
    Some(coded.code.clone())
}

/// The error or escalation that is referenced, or `Some(None)` without reference; `None` after a finding.
fn referenced<'c, 'x>(
    kind: &Kind,
    definition: Node<'x>,
    context: &mut Context<'c, 'x>,
) -> Option<Option<&'c Coded<'x>>> {
    let attribute = definition.attribute(kind.reference);
    let Some(reference) = attribute.filter(|r| !r.is_empty()) else {
        return Some(None);
    };
    let coded = match kind.name {
        "error" => context.definitions.error(reference),
        _ => context.definitions.escalation(reference),
    };
    if coded.is_none() {
        let message = format!(
            "The attribute '{}' names '{reference}', which is not an {} of this file. Choose another, or add it",
            kind.reference, kind.name
        );
        context.add(definition, Rule::ReferenceNotFound, message);
    }
    coded.map(Some)
}
