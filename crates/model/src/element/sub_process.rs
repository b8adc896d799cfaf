//! The embedded sub-process: a scope within a scope.

use crate::compile::Draft;
use crate::error::Findings;
use crate::graph::ElementIndex;

/// Exactly one start event. (That it is of type none is a rule of the start event.)
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let starts = draft.start_events(index).len();
    if starts != 1 {
        let message = format!(
            "A sub-process must have exactly one start event, of type none, but has {starts}"
        );
        findings.add(draft.node(index), message);
    }
}
