//! Usage metrics of tenants per five minutes: process instances, decision evaluations, and assignees of tasks.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

/// Milliseconds covered by one row.
pub const USAGE_SPAN: i64 = 300_000;

/// Milliseconds for which these rows are kept longer than others: 700 days. With the default history that is two years in
/// total.
const LONGER: i64 = 700 * 24 * 3_600_000;

pub static USAGE: Entity = Entity {
    title: "Usage",
    table: "usage_metric",
    fields: &[
        // The identifying columns joined in one text.
        Field::new("id", Kind::Text, Ops::NONE).hidden(),
        Field::new("startTime", Kind::Time, Ops::ORDERED).cluster_wide(),
        Field::new("tenantId", Kind::Text, Ops::TEXT).tenant(),
        // A hash of the assignee of a task; absent in the row with the counts.
        Field::new("assignee", Kind::Int, Ops::NONE),
        Field::new("processInstances", Kind::Int, Ops::NONE).added(),
        Field::new("decisionInstances", Kind::Int, Ops::NONE).added(),
    ],
    related: &[],
    items: &[],
    indices: &[&["startTime"], &["tenantId", "startTime"]],
    everywhere: false,
    leaves: Leaves::LaterAt("startTime", LONGER),
};
