//! Deployed resources other than processes, decisions and forms.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

pub static RESOURCE: Entity = Entity {
    title: "Resource",
    table: "resource",
    fields: &[
        Field::new("resourceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("resourceName", Kind::Text, Ops::TEXT).sortable(),
        Field::new("version", Kind::Int, Ops::ORDERED).sortable(),
        Field::new("versionTag", Kind::Text, Ops::TEXT).sortable(),
        Field::new("resourceId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("tenantId", Kind::Text, Ops::PLAIN)
            .sortable()
            .tenant(),
        Field::new("deploymentKey", Kind::Key, Ops::KEY)
            .sortable()
            .hidden(),
        Field::new("content", Kind::Text, Ops::NONE).hidden(),
        Field::new("isDeleted", Kind::Bool, Ops::NONE).hidden(),
    ],
    related: &[],
    items: &[],
    indices: &[&["tenantId"]],
    everywhere: true,
    leaves: Leaves::Never,
};
