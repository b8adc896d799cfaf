//! Deployed process definitions.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

pub static PROCESS_DEFINITION: Entity = Entity {
    title: "Process Definition",
    table: "process_definition",
    fields: &[
        Field::new("processDefinitionKey", Kind::Key, Ops::PLAIN).sortable(),
        Field::new("name", Kind::Text, Ops::TEXT).sortable(),
        Field::new("resourceName", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("version", Kind::Int, Ops::PLAIN).sortable(),
        Field::new("versionTag", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("processDefinitionId", Kind::Text, Ops::TEXT)
            .sortable()
            .cluster_wide(),
        Field::new("tenantId", Kind::Text, Ops::PLAIN)
            .sortable()
            .tenant(),
        Field::new("hasStartForm", Kind::Bool, Ops::PLAIN),
        Field::new("state", Kind::Enum(&["ACTIVE", "DELETED"]), Ops::PLAIN),
        Field::new("startFormId", Kind::Text, Ops::NONE).hidden(),
        // `latest`, `deployment`, or a version tag prefixed with `=`.
        Field::new("startFormBinding", Kind::Text, Ops::NONE).hidden(),
        Field::new("deploymentKey", Kind::Key, Ops::NONE).hidden(),
        Field::new("isLatestVersion", Kind::Bool, Ops::PLAIN).hidden(),
        Field::new("xml", Kind::Text, Ops::NONE).hidden(),
    ],
    related: &[],
    items: &[],
    indices: &[&["processDefinitionId", "version"], &["tenantId"]],
    everywhere: true,
    leaves: Leaves::Never,
};
