//! Deployed decision requirements (DMN files).

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

pub static DECISION_REQUIREMENTS: Entity = Entity {
    title: "Decision Requirements",
    table: "decision_requirements",
    fields: &[
        Field::new("decisionRequirementsKey", Kind::Key, Ops::PLAIN).sortable(),
        Field::new("decisionRequirementsName", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("version", Kind::Int, Ops::PLAIN).sortable(),
        Field::new("decisionRequirementsId", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("tenantId", Kind::Text, Ops::PLAIN)
            .sortable()
            .tenant(),
        Field::new("resourceName", Kind::Text, Ops::PLAIN),
        Field::new("xml", Kind::Text, Ops::NONE).hidden(),
    ],
    related: &[],
    items: &[],
    indices: &[&["tenantId"]],
    everywhere: true,
    leaves: Leaves::Never,
};
