//! Counts of active process instances; see [`crate::sql::active_instances`].

use rusqlite::{Transaction, params};

use super::writer::Bound;
use crate::changes::Changes;
use crate::sql::Dialect;
use crate::sql::active_instances::{same, script};

/// The table of the counts. Instances end before they are deleted; the trigger keeps the counts right even for one that did not.
pub fn table() -> String {
    format!(
        "{}CREATE TRIGGER active_instance_forgotten AFTER DELETE ON process_instance WHEN OLD.state = 'ACTIVE' BEGIN
            UPDATE active_instance SET active = active - (OLD.hasIncident IS NOT 1), incidents = incidents - (OLD.hasIncident IS 1)
            WHERE {};
        END;
        ",
        script(Dialect::Sqlite, ""),
        same(Dialect::Sqlite, "active_instance", "OLD")
    )
}

/// Stores what a window changes in the counts.
pub fn store(transaction: &Transaction<'_>, changes: &Changes) -> rusqlite::Result<()> {
    for ([definition, id, name, version, tenant], counts) in &changes.counted.active_instances {
        transaction
            .prepare_cached(
                "INSERT INTO active_instance VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                    active = active + excluded.active, incidents = incidents + excluded.incidents",
            )?
            .execute(params![
                Bound(definition),
                Bound(id),
                Bound(name),
                Bound(version),
                Bound(tenant),
                counts.active,
                counts.incidents
            ])?;
    }
    Ok(())
}
