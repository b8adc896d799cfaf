//! The process: the outermost scope.

use crate::compile::Draft;
use crate::error::Findings;
use crate::graph::ElementIndex;

/// At least one start event, at most one of them of type none.
pub(crate) fn check(draft: &Draft<'_>, findings: &mut Findings) {
    let starts = draft.start_events(ElementIndex::PROCESS);
    if starts.is_empty() {
        findings.add(
            draft.node(ElementIndex::PROCESS),
            "The process has no start event. Add one",
        );
    }
    // Start events of other types are refused so far, so those that were parsed are of type none.
    for surplus in starts
        .iter()
        .filter(|start| !draft.is_broken(**start))
        .skip(1)
    {
        let message = "The process has more than one none start event. Keep one, and join the others to it by a gateway";
        findings.add(draft.node(*surplus), message);
    }
}
