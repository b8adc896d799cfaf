//! The process: the outermost scope.

use crate::compile::Draft;
use crate::error::Findings;
use crate::graph::{ElementIndex, ElementType};

/// At least one start event, at most one of them of type none.
pub(crate) fn check(draft: &Draft<'_>, findings: &mut Findings) {
    let process = ElementIndex::PROCESS;
    let mut starts = draft
        .children(process)
        .filter(|i| draft.element(*i).element_type == ElementType::StartEvent);
    if starts.next().is_none() {
        findings.add(
            draft.node(process),
            "The process has no start event. Add one",
        );
    }
    let is_none = |i: &ElementIndex| !draft.is_broken(*i);
    for surplus in draft
        .children(process)
        .filter(|i| draft.element(*i).element_type == ElementType::StartEvent)
        .filter(is_none)
        .skip(1)
    {
        findings.add(draft.node(surplus), "The process has more than one none start event. Keep one, and join the others to it by a gateway");
    }
}
