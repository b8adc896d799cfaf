//! The ad-hoc sub-process: a set of activities without an order.

use crate::compile::Draft;
use crate::error::{Findings, Rule};
use crate::graph::{ElementIndex, ElementKind, ElementType};

/// At least one element that can be activated, and no start or end event.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let ElementKind::AdHocSubProcess(ad_hoc) = &draft.element(index).kind else {
        return;
    };
    if ad_hoc.activities.is_empty() {
        let message = "An ad-hoc sub-process must contain at least one activity that no sequence flow leads to. Add one";
        findings.add(draft.node(index), Rule::ElementMissing, message);
    }
}

/// Start and end events have no place directly in an ad-hoc sub-process.
pub(crate) fn check_content(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let element = draft.element(index);
    let scope = draft.element(element.parent).element_type;
    if scope == ElementType::AdHocSubProcessInnerInstance {
        let message = "An ad-hoc sub-process must not contain start or end events. Remove it";
        findings.add(draft.node(index), Rule::EventNotAllowed, message);
    }
}
