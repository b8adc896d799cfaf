//! The multi-instance marker with its `zeebe:loopCharacteristics`.

use crate::context::Context;
use crate::error::Rule;
use crate::graph::{ElementIndex, MultiInstance, OutputCollection, TextValue};
use crate::value::{self, boolean};
use crate::xml::{self, Node};

/// The marker of an activity, whose inner activity is the element `inner`.
pub(crate) fn parse<'x>(
    node: Node<'x>,
    inner: ElementIndex,
    context: &mut Context<'_, 'x>,
) -> Option<MultiInstance> {
    let marker = xml::bpmn_children(node, "multiInstanceLoopCharacteristics").next()?;
    let sequential = boolean(node, marker, "isSequential", false, context.findings);
    let completion_condition = condition(marker, context);
    let mut all = xml::extensions(marker, "loopCharacteristics");
    let first = all.next();
    let (Some(characteristics), None) = (first, all.next()) else {
        let rule = match first {
            Some(_) => Rule::OnlyOneAllowed,
            None => Rule::ExtensionMissing,
        };
        context.add(
            node, rule,
            "A multi-instance marker must have exactly one 'zeebe:loopCharacteristics'. Give it an input collection",
        );
        return None;
    };
    let collection =
        value::required_expression(characteristics, "inputCollection", context.findings);
    let output = output(characteristics, context);
    Some(MultiInstance {
        inner,
        sequential: sequential?,
        input_collection: collection?,
        input_element: value::optional_constant(characteristics, "inputElement"),
        output: output?,
        completion_condition: completion_condition?,
    })
}

/// An expression; a constant is accepted. `None` after a finding.
fn condition<'x>(marker: Node<'x>, context: &mut Context<'_, 'x>) -> Option<Option<TextValue>> {
    let Some(condition) = xml::bpmn_children(marker, "completionCondition").next() else {
        return Some(None);
    };
    let text = xml::text(condition);
    if text.is_empty() {
        return Some(None);
    }
    let what = "The completion condition";
    value::text_value(condition, what, &text, context.findings).map(Some)
}

/// Output collection and output element, both or none; `None` after a finding.
pub(crate) fn output<'x>(
    node: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<Option<OutputCollection>> {
    let collection = value::optional_constant(node, "outputCollection");
    let element = value::optional_expression(node, "outputElement", context.findings)?;
    match (collection, element) {
        (Some(collection), Some(element)) => Some(Some(OutputCollection {
            collection,
            element,
        })),
        (None, None) => Some(None),
        (has_collection, _) => {
            let (has, lacks) = match has_collection {
                Some(_) => ("outputCollection", "outputElement"),
                None => ("outputElement", "outputCollection"),
            };
            let message = format!(
                "The attribute '{has}' needs the attribute '{lacks}' too. Add it, or remove '{has}'"
            );
            context.add(node, Rule::SettingsConflict, message);
            None
        }
    }
}
