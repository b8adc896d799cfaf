//! Rules over the finished graph: those of single elements (kept with them) and those of no element in particular.

mod event_names;
mod lengths;
mod references;
mod straight_through;

use crate::compile::Draft;
use crate::element;
use crate::error::Findings;
use crate::graph::ElementType;
use crate::resource::Options;

pub(crate) fn check(draft: &Draft<'_>, options: &Options, findings: &mut Findings) {
    for index in draft.indices() {
        // A body shares its texts with the activity inside.
        if draft.element(index).element_type != ElementType::MultiInstanceBody {
            lengths::check(draft, index, options, findings);
            references::check(draft, index, findings);
        }
        element::check(draft, index, findings);
        event_names::check(draft, index, findings);
    }
    straight_through::check(draft, findings);
}
