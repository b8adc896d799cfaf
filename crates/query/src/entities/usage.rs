//! What a tenant used, five minutes by five minutes: process instances, decisions, and who had tasks.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

/// Milliseconds that one row counts.
pub const USAGE_SPAN: i64 = 300_000;

/// Milliseconds for which these rows stay longer than others: 700 days, with the history's default two years in all.
const LONGER: i64 = 700 * 24 * 3_600_000;

pub static USAGE: Entity = Entity {
    title: "Usage",
    table: "usage_metric",
    fields: &[
        // All of what a row is about, in one text.
        Field::new("id", Kind::Text, Ops::NONE).hidden(),
        Field::new("startTime", Kind::Time, Ops::ORDERED),
        Field::new("tenantId", Kind::Text, Ops::TEXT),
        // A number for somebody who got a task; absent in the row that counts.
        Field::new("assignee", Kind::Int, Ops::NONE),
        Field::new("processInstances", Kind::Int, Ops::NONE).added(),
        Field::new("decisionInstances", Kind::Int, Ops::NONE).added(),
    ],
    related: &[],
    items: &[],
    indices: &[&["startTime"]],
    everywhere: false,
    leaves: Leaves::LaterAt("startTime", LONGER),
};
