//! Counts of active elements; see [`crate::sql::active_elements`].

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use crate::changes::Changes;
use crate::sql::Dialect;
use crate::sql::active_elements::recount;

/// The table of the counts. Elements end before they are deleted; the trigger keeps the counts right even for one that did not.
pub const TABLE: &str = "
CREATE TABLE active_element (processDefinitionKey INTEGER, elementId TEXT, active INTEGER NOT NULL, incidents INTEGER NOT NULL,
    PRIMARY KEY (processDefinitionKey, elementId)) WITHOUT ROWID;
CREATE TRIGGER active_element_forgotten AFTER DELETE ON element_instance WHEN OLD.state = 'ACTIVE' BEGIN
    UPDATE active_element SET active = active - (OLD.hasIncident IS NOT 1), incidents = incidents - (OLD.hasIncident IS 1)
    WHERE processDefinitionKey = OLD.processDefinitionKey AND elementId = OLD.elementId;
END;
";

/// Adds what the file of an earlier version lacks. Nothing is counted yet.
pub fn add(connection: &Connection) -> rusqlite::Result<()> {
    if !connection.table_exists(None, "active_element")? {
        connection.execute_batch(&format!("BEGIN;{TABLE}COMMIT;"))?;
    }
    if !connection.column_exists(None, "position", "counted")? {
        connection.execute_batch("ALTER TABLE position ADD COLUMN counted INTEGER")?;
    }
    Ok(())
}

/// Whether the counts are those of the rows. An earlier version changes rows, and with them the position, but no counts.
pub fn is_counted(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT counted IS entry FROM position";
    let mut read = connection.prepare_cached(sql)?;
    let counted = read.query_row([], |row| row.get(0)).optional()?;
    Ok(counted.unwrap_or(false))
}

/// Counts all active elements, if an earlier version changed rows since. Reads each of them once, in the order of their index.
pub fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    if is_counted(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction()?;
    let counts = recount(Dialect::Sqlite, "", "");
    transaction.execute_batch(&format!(
        "DELETE FROM active_element; INSERT INTO active_element {counts};
        UPDATE position SET counted = entry"
    ))?;
    transaction.commit()
}

/// Stores what a window changes in the counts.
pub fn store(transaction: &Transaction<'_>, changes: &Changes) -> rusqlite::Result<()> {
    for ((definition, element), counts) in &changes.counted.active_elements {
        transaction
            .prepare_cached(
                "INSERT INTO active_element VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                    active = active + excluded.active, incidents = incidents + excluded.incidents",
            )?
            .execute(params![
                definition,
                &**element,
                counts.active,
                counts.incidents
            ])?;
    }
    Ok(())
}
