//! Deployed resources that are neither processes, decisions nor forms.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

pub static RESOURCE: Entity = Entity {
    title: "Resource",
    table: "resource",
    fields: &[
        Field::new("resourceKey", Kind::Key, Ops::PLAIN).sortable(),
        Field::new("resourceName", Kind::Text, Ops::PLAIN),
        Field::new("version", Kind::Int, Ops::PLAIN),
        Field::new("versionTag", Kind::Text, Ops::PLAIN),
        Field::new("resourceId", Kind::Text, Ops::PLAIN),
        Field::new("tenantId", Kind::Text, Ops::PLAIN),
        Field::new("content", Kind::Text, Ops::NONE).hidden(),
        Field::new("isDeleted", Kind::Bool, Ops::PLAIN).hidden(),
    ],
    related: &[],
    items: &[],
    indices: &[],
    everywhere: true,
    leaves: Leaves::Never,
};
