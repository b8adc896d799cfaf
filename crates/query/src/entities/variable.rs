//! Variables with their current or last values.

use super::tenant;
use crate::entity::{Entity, Field, Kind, Leaves, Ops};

/// Maximum characters of a value in lists; longer values are truncated there.
pub const PREVIEW: usize = 8191;

pub static VARIABLE: Entity = Entity {
    title: "Variable",
    table: "variable",
    fields: &[
        Field::new("variableKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("name", Kind::Text, Ops::TEXT).sortable(),
        Field::new("value", Kind::Text, Ops::TEXT).sortable().json(),
        tenant(Ops::PLAIN).sortable(),
        Field::new("isTruncated", Kind::Bool, Ops::PLAIN),
        Field::new("scopeKey", Kind::Key, Ops::KEY)
            .sortable()
            .mostly_like("processInstanceKey"),
        Field::new("processInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
    ],
    related: &[],
    items: &[],
    // Values can be as long as a message. Only the beginnings of short ones are indexed.
    indices: &[
        &["processInstanceKey", "name"],
        &["scopeKey"],
        &["tenantId"],
    ],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
