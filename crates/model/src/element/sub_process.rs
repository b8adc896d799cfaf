//! The embedded sub-process: a scope within a scope.

use crate::compile::Draft;
use crate::error::{Findings, Rule};
use crate::graph::ElementIndex;

/// Exactly one start event. (That it is of type none is a rule of the start event.)
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let starts = draft.start_events(index).len();
    if let Some(rule) = not_one_start(starts) {
        let message = format!(
            "A sub-process must have exactly one start event, of type none, but has {starts}"
        );
        findings.add(draft.node(index), rule, message);
    }
}

/// The rule that is broken when there is not exactly one start event.
pub(crate) fn not_one_start(starts: usize) -> Option<Rule> {
    match starts {
        0 => Some(Rule::StartEventMissing),
        1 => None,
        _ => Some(Rule::OnlyOneAllowed),
    }
}
