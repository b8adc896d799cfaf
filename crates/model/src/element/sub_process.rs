//! The embedded sub-process: a scope within a scope.

use crate::compile::Draft;
use crate::error::Findings;
use crate::graph::{ElementIndex, ElementType};

/// Exactly one start event. (That it is of type none is a rule of the start event.)
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    let starts = draft
        .children(index)
        .filter(|i| draft.element(*i).element_type == ElementType::StartEvent)
        .count();
    if starts != 1 {
        findings.add(
            draft.node(index),
            format!(
                "A sub-process must have exactly one start event, of type none, but has {starts}"
            ),
        );
    }
}
