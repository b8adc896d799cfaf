//! The event sub-process: a scope that an event starts.

use crate::compile::Draft;
use crate::element::sub_process::not_one_start;
use crate::error::{Findings, Rule};
use crate::graph::{ElementIndex, ElementKind, ElementType};

/// Exactly one start event. (That it has a trigger is a rule of the start event.)
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let starts = draft.start_events(index);
    if let Some(rule) = not_one_start(starts.len()) {
        let message = format!(
            "An event sub-process must have exactly one start event, but has {}",
            starts.len()
        );
        findings.add(draft.node(index), rule, message);
    }
    let scope = draft.element(draft.element(index).parent).element_type;
    let in_ad_hoc = scope == ElementType::AdHocSubProcess;
    for start in starts.iter().copied().filter(|_| in_ad_hoc) {
        if let ElementKind::StartEvent(event) = &draft.element(start).kind
            && event.interrupting
        {
            findings.add(draft.node(index), Rule::InterruptingInvalid, "An interrupting event sub-process is not possible inside an ad-hoc sub-process. Make its start event non-interrupting");
        }
    }
}
