//! Counts of active elements; see [`crate::sql::active_elements`].

use rusqlite::{Transaction, params};

use crate::changes::Changes;

/// The table of the counts. Elements end before they are deleted; the trigger keeps the counts right even for one that did not.
pub const TABLE: &str = "
CREATE TABLE active_element (processDefinitionKey INTEGER, elementId TEXT, active INTEGER NOT NULL, incidents INTEGER NOT NULL,
    PRIMARY KEY (processDefinitionKey, elementId)) WITHOUT ROWID;
CREATE TRIGGER active_element_forgotten AFTER DELETE ON element_instance WHEN OLD.state = 'ACTIVE' BEGIN
    UPDATE active_element SET active = active - (OLD.hasIncident IS NOT 1), incidents = incidents - (OLD.hasIncident IS 1)
    WHERE processDefinitionKey = OLD.processDefinitionKey AND elementId = OLD.elementId;
END;
";

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
