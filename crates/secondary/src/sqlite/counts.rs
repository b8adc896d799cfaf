//! Counts kept beside the rows; see [`crate::sql::counts`].

use std::time::Instant;

use rusqlite::{Connection, OptionalExtension as _, Transaction};

use super::{active_elements, active_instances};
use crate::changes::Changes;
use crate::sql::Dialect;
use crate::sql::counts::Counts;

/// Statements that create the tables.
pub fn tables() -> String {
    Counts::ALL.map(table).concat()
}

fn table(counts: Counts) -> String {
    match counts {
        Counts::ActiveElements => active_elements::TABLE.to_string(),
        Counts::ActiveInstances => active_instances::table(),
    }
}

/// Adds what the file of an earlier version lacks. Nothing is counted yet.
pub fn add(connection: &Connection) -> rusqlite::Result<()> {
    for counts in Counts::ALL {
        if !connection.table_exists(None, counts.table())? {
            connection.execute_batch(&format!("BEGIN;{}COMMIT;", table(counts)))?;
        }
        let noted = counts.noted();
        if !connection.column_exists(None, "position", noted)? {
            let add = format!("ALTER TABLE position ADD COLUMN {noted} INTEGER");
            connection.execute_batch(&add)?;
        }
    }
    Ok(())
}

/// Whether the counts are those of the rows. An earlier version changes rows, and with them the position, but no counts.
pub fn is_counted(connection: &Connection, counts: Counts) -> rusqlite::Result<bool> {
    let sql = format!("SELECT {} IS entry FROM position", counts.noted());
    let mut read = connection.prepare_cached(&sql)?;
    let counted = read.query_row([], |row| row.get(0)).optional()?;
    Ok(counted.unwrap_or(false))
}

/// Counts all active rows, if an earlier version changed rows since. Reads each of them once. `store`: for the log.
pub fn prepare(connection: &mut Connection, store: &str) -> rusqlite::Result<()> {
    for counts in Counts::ALL {
        if is_counted(connection, counts)? {
            continue;
        }
        let began = Instant::now();
        let (table, noted) = (counts.table(), counts.noted());
        let rows = counts.recount(Dialect::Sqlite, "", "");
        let transaction = connection.transaction()?;
        transaction.execute_batch(&format!(
            "DELETE FROM {table}; INSERT INTO {table} {rows}; UPDATE position SET {noted} = entry"
        ))?;
        let sum = format!("SELECT coalesce(sum(active + incidents), 0) FROM {table}");
        let rows = transaction.query_row(&sum, [], |row| row.get(0))?;
        transaction.commit()?;
        counts.log(store, rows, began.elapsed());
    }
    Ok(())
}

/// Stores what a window changes in the counts.
pub fn store(transaction: &Transaction<'_>, changes: &Changes) -> rusqlite::Result<()> {
    active_elements::store(transaction, changes)?;
    active_instances::store(transaction, changes)
}
