//! The process: the outermost scope.

use crate::compile::Draft;
use crate::error::{Findings, Rule};
use crate::graph::{ElementIndex, ElementKind};

/// At least one start event, at most one of them of type none.
pub(crate) fn check(draft: &Draft<'_>, findings: &mut Findings) {
    let starts = draft.start_events(ElementIndex::PROCESS);
    if starts.is_empty() {
        findings.add(
            draft.node(ElementIndex::PROCESS),
            Rule::StartEventMissing,
            "The process has no start event. Add one",
        );
    }
    let is_none = |start: &&ElementIndex| {
        let kind = &draft.element(**start).kind;
        matches!(kind, ElementKind::StartEvent(start) if start.event.is_none())
    };
    for surplus in starts.iter().filter(is_none).skip(1) {
        let message = "The process has more than one none start event. Keep one, or give the others a type such as message or timer";
        findings.add(draft.node(*surplus), Rule::OnlyOneAllowed, message);
    }
}
