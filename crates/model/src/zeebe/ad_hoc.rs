//! `zeebe:adHoc`, and the other settings of an ad-hoc sub-process.

use crate::context::Context;
use crate::error::Rule;
use crate::graph::{AdHocSubProcess, ElementIndex};
use crate::value::{self, boolean};
use crate::xml::{self, Node};
use crate::zeebe::{job, loop_characteristics};

/// An ad-hoc sub-process whose inner instances are the element `inner_instance`. Its activities are entered later.
pub(crate) fn parse<'x>(
    node: Node<'x>,
    inner_instance: ElementIndex,
    context: &mut Context<'_, 'x>,
) -> Option<AdHocSubProcess> {
    let job = job::optional(node, "ad-hoc sub-process", context);
    let cancel = boolean(
        node,
        node,
        "cancelRemainingInstances",
        true,
        context.findings,
    );
    let condition = match xml::bpmn_children(node, "completionCondition").next() {
        Some(condition) => {
            let (what, text) = ("The completion condition", xml::text(condition));
            value::expression(node, what, &text, context.findings).map(Some)
        }
        None => Some(None),
    };
    let (active_elements, output) = match xml::extensions(node, "adHoc").next() {
        Some(ad_hoc) => (
            value::optional_expression(ad_hoc, "activeElementsCollection", context.findings),
            loop_characteristics::output(ad_hoc, context),
        ),
        None => (Some(None), Some(None)),
    };
    let (job, completion_condition, active_elements) = (job?, condition?, active_elements?);
    if job.is_some() {
        let decides = [
            ("completionCondition", completion_condition.is_some()),
            (
                "cancelRemainingInstances",
                node.attribute("cancelRemainingInstances").is_some(),
            ),
            ("activeElementsCollection", active_elements.is_some()),
        ];
        for (what, _) in decides.iter().filter(|(_, is_there)| *is_there) {
            let message = format!(
                "The ad-hoc sub-process is run by a job worker ('zeebe:taskDefinition'), which takes over what '{what}' would decide. Remove one of the two"
            );
            context.add(node, Rule::SettingsConflict, message);
        }
    }
    Some(AdHocSubProcess {
        activities: Vec::new(),
        elements_json: "[]".into(),
        inner_instance,
        active_elements,
        completion_condition,
        cancel_remaining_instances: cancel?,
        output: output?,
        job,
    })
}
