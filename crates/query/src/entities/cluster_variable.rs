//! Variables of the cluster and its tenants.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

pub static CLUSTER_VARIABLE: Entity = Entity {
    title: "Cluster Variable",
    table: "cluster_variable",
    fields: &[
        Field::new("clusterVariableKey", Kind::Key, Ops::NONE).hidden(),
        Field::new("name", Kind::Text, Ops::TEXT).sortable(),
        Field::new("value", Kind::Text, Ops::TEXT).sortable().json(),
        Field::new("scope", Kind::Enum(&["GLOBAL", "TENANT"]), Ops::ENUM).sortable(),
        Field::new("tenantId", Kind::Text, Ops::TEXT)
            .sortable()
            .tenant(),
        Field::new("isTruncated", Kind::Bool, Ops::PLAIN),
        Field::new("isDeleted", Kind::Bool, Ops::NONE).hidden(),
        // Added in 8.10; there are no secret references yet, and no metadata on variables.
        Field::new("kind", Kind::Enum(&["JSON", "SECRET_REFERENCE"]), Ops::ENUM),
        Field::new("metadata", Kind::Json, Ops::NONE),
    ],
    related: &[],
    items: &[],
    indices: &[&["tenantId"]],
    everywhere: true,
    leaves: Leaves::When("isDeleted"),
};
