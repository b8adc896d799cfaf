//! Counts that a store keeps beside its rows.
//!
//! The writer of a partition changes these counts in the transaction that changes the rows, and notes up to which entry they count. A
//! store that an earlier version wrote to has an older note, or none: its rows are counted when the next writer opens it, and until then
//! queries count rows as they did before.

use std::time::Duration;

use skep_query::Entity;
use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_INSTANCE};

use super::{Dialect, active_elements, active_instances};

/// The kinds of counts. Each has its own note, because each came with another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    ActiveElements,
    ActiveInstances,
}

impl Counts {
    pub const ALL: [Counts; 2] = [Counts::ActiveElements, Counts::ActiveInstances];

    /// The table of the counts. It has at least the columns `active`, the number of those without incidents, and `incidents`, of those with.
    pub fn table(self) -> &'static str {
        match self {
            Counts::ActiveElements => active_elements::ACTIVE_ELEMENT,
            Counts::ActiveInstances => active_instances::ACTIVE_INSTANCE,
        }
    }

    /// The column of the position with the entry up to which they count.
    pub fn noted(self) -> &'static str {
        match self {
            Counts::ActiveElements => "counted",
            Counts::ActiveInstances => "instances_counted",
        }
    }

    /// Whose rows are counted.
    pub fn entity(self) -> &'static Entity {
        match self {
            Counts::ActiveElements => &ELEMENT_INSTANCE,
            Counts::ActiveInstances => &PROCESS_INSTANCE,
        }
    }

    /// Counts all active rows, with the columns of the table. `own`: a further condition on the rows.
    pub fn recount(self, dialect: Dialect, prefix: &str, own: &str) -> String {
        match self {
            Counts::ActiveElements => active_elements::recount(dialect, prefix, own),
            Counts::ActiveInstances => active_instances::recount(dialect, prefix, own),
        }
    }

    /// Logs that all rows were counted. A new store has none.
    pub fn log(self, store: &str, rows: i64, took: Duration) {
        if rows > 0 {
            let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            let table = self.entity().table;
            tracing::info!(store, table, rows, ms, "counted all active rows once");
        }
    }
}

/// How many of the rows have incidents.
pub fn with_incidents(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => "sum(\"hasIncident\" IS 1)",
        Dialect::Postgres => "count(*) FILTER (WHERE \"hasIncident\" = 1)",
    }
}
