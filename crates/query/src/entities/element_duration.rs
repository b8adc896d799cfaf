//! Durations of completed elements, per definition and day, as histograms.

use crate::durations::COUNTS;
use crate::entity::{Entity, Field, Kind, Leaves, Ops};

/// Milliseconds covered by one row.
pub const ELEMENT_DURATION_SPAN: i64 = 86_400_000;

/// Number of columns before the counts.
const BEFORE: usize = 8;

/// The column of the first count; the other counts follow.
pub const ELEMENT_DURATION_COUNTS: usize = BEFORE;

#[allow(clippy::indexing_slicing)] // The compiler evaluates it.
const fn fields() -> [Field; BEFORE + COUNTS.len()] {
    const NONE: Field = Field::new("", Kind::Int, Ops::NONE);
    let mut fields = [NONE; BEFORE + COUNTS.len()];
    let own = [
        // The identifying columns joined in one text.
        Field::new("id", Kind::Text, Ops::NONE).hidden(),
        Field::new("startTime", Kind::Time, Ops::ORDERED).cluster_wide(),
        Field::new("processDefinitionKey", Kind::Key, Ops::PLAIN),
        Field::new("processDefinitionId", Kind::Text, Ops::PLAIN),
        Field::new("tenantId", Kind::Text, Ops::PLAIN).tenant(),
        Field::new("elementId", Kind::Text, Ops::PLAIN),
        // Milliseconds.
        Field::new("shortest", Kind::Int, Ops::NONE).least(),
        Field::new("longest", Kind::Int, Ops::NONE).greatest(),
    ];
    let mut at = 0;
    while at < BEFORE {
        fields[at] = own[at];
        at += 1;
    }
    while at < BEFORE + COUNTS.len() {
        fields[at] = Field::new(COUNTS[at - BEFORE], Kind::Int, Ops::NONE).added();
        at += 1;
    }
    fields
}

static FIELDS: [Field; BEFORE + COUNTS.len()] = fields();

pub static ELEMENT_DURATION: Entity = Entity {
    title: "Element Duration",
    table: "element_duration",
    fields: &FIELDS,
    related: &[],
    items: &[],
    indices: &[
        &["startTime"],
        &["processDefinitionKey", "startTime"],
        &["tenantId", "startTime"],
    ],
    everywhere: false,
    leaves: Leaves::At("startTime"),
};
