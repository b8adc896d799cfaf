//! Numbers of created, completed and failed jobs per type, worker and minute.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

/// Milliseconds covered by one row.
pub const JOB_STATISTICS_SPAN: i64 = 60_000;

pub static JOB_STATISTICS: Entity = Entity {
    title: "Job Statistics",
    table: "job_statistics",
    fields: &[
        // The identifying columns joined in one text.
        Field::new("id", Kind::Text, Ops::NONE).hidden(),
        Field::new("startTime", Kind::Time, Ops::ORDERED).cluster_wide(),
        Field::new("jobType", Kind::Text, Ops::TEXT),
        // Empty for jobs that no worker has activated yet.
        Field::new("worker", Kind::Text, Ops::TEXT),
        Field::new("tenantId", Kind::Text, Ops::TEXT).tenant(),
        Field::new("created", Kind::Int, Ops::NONE).added(),
        Field::new("lastCreated", Kind::Time, Ops::NONE).greatest(),
        Field::new("completed", Kind::Int, Ops::NONE).added(),
        Field::new("lastCompleted", Kind::Time, Ops::NONE).greatest(),
        Field::new("failed", Kind::Int, Ops::NONE).added(),
        Field::new("lastFailed", Kind::Time, Ops::NONE).greatest(),
    ],
    related: &[],
    items: &[],
    indices: &[
        &["startTime"],
        &["jobType", "startTime"],
        &["tenantId", "startTime"],
    ],
    everywhere: false,
    leaves: Leaves::At("startTime"),
};
