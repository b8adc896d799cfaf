//! Deployed forms.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

pub static FORM: Entity = Entity {
    title: "Form",
    table: "form",
    fields: &[
        Field::new("formKey", Kind::Key, Ops::PLAIN).sortable(),
        Field::new("tenantId", Kind::Text, Ops::PLAIN).tenant(),
        Field::new("formId", Kind::Text, Ops::PLAIN).cluster_wide(),
        Field::new("schema", Kind::Text, Ops::NONE),
        Field::new("version", Kind::Int, Ops::PLAIN).sortable(),
        Field::new("versionTag", Kind::Text, Ops::PLAIN).hidden(),
        Field::new("deploymentKey", Kind::Key, Ops::PLAIN).hidden(),
        Field::new("isDeleted", Kind::Bool, Ops::PLAIN).hidden(),
    ],
    related: &[],
    items: &[],
    indices: &[&["formId", "version"], &["tenantId"]],
    everywhere: true,
    leaves: Leaves::Never,
};
