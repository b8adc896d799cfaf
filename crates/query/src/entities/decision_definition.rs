//! Deployed decisions.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

pub static DECISION_DEFINITION: Entity = Entity {
    title: "Decision Definition",
    table: "decision_definition",
    fields: &[
        Field::new("decisionDefinitionKey", Kind::Key, Ops::PLAIN).sortable(),
        Field::new("decisionDefinitionId", Kind::Text, Ops::PLAIN)
            .sortable()
            .cluster_wide(),
        Field::new("name", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("version", Kind::Int, Ops::PLAIN).sortable(),
        Field::new("decisionRequirementsId", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("decisionRequirementsKey", Kind::Key, Ops::PLAIN).sortable(),
        Field::new("decisionRequirementsName", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("decisionRequirementsVersion", Kind::Int, Ops::PLAIN).sortable(),
        Field::new("tenantId", Kind::Text, Ops::PLAIN)
            .sortable()
            .tenant(),
        Field::new("isLatestVersion", Kind::Bool, Ops::PLAIN).hidden(),
        Field::new("isDeleted", Kind::Bool, Ops::NONE).hidden(),
    ],
    related: &[],
    items: &[],
    indices: &[&["decisionDefinitionId", "version"], &["tenantId"]],
    everywhere: true,
    leaves: Leaves::Never,
};
