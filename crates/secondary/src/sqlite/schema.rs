//! The tables, made from the entities.

use rusqlite::{Connection, OptionalExtension as _};
use skep_query::entities;

use super::{DatabaseFile, SqliteError, room};
use crate::sql::{Dialect, indices, table_script};

/// Format of the file: another one is not touched. A file may lack tables of entities that came later: they are added, and an earlier
/// version that does not know them leaves them alone, so that there is a way back to it. An index that has changed is made again, and an
/// earlier version uses it as it is. A table that changes makes a new format.
const FORMAT: i64 = 8;
/// What builds of November 2026 called a file with the tables of users.
const WITH_IDENTITY: i64 = 9;

/// Bytes of a page. Larger ones are written with fewer calls while rows are added, but a row that changes alone takes its whole
/// page along.
pub const PAGE_BYTES: i64 = 8192;

/// Bytes of the write-ahead file that stay when it is used again from its beginning.
const LOG_KEPT: i64 = 32 << 20;

/// Makes the tables of a new file, or checks that the file is one of ours.
pub fn prepare(connection: &Connection, database: &DatabaseFile) -> Result<(), SqliteError> {
    let at = |e| database.error(e);
    // Of a new file.
    connection
        .pragma_update(None, "page_size", PAGE_BYTES)
        .map_err(at)?;
    connection
        .pragma_update(None, "auto_vacuum", "INCREMENTAL")
        .map_err(at)?;
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .map_err(at)?;
    // The file survives the end of the process at any time; what a power cut takes from it the log still has (see `Writer::sync`).
    connection
        .pragma_update(None, "synchronous", "NORMAL")
        .map_err(at)?;
    connection
        .pragma_update(None, "wal_autocheckpoint", 0)
        .map_err(at)?;
    connection
        .pragma_update(None, "journal_size_limit", LOG_KEPT)
        .map_err(at)?;
    let found: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(at)?;
    match found {
        FORMAT | WITH_IDENTITY => {
            add_tables(connection).map_err(at)?;
            change_indices(connection).map_err(at)?;
            return room::make_anew(connection).map_err(at);
        }
        0 => {}
        found => {
            return Err(SqliteError::Format {
                path: database.path.display().to_string(),
                found,
                own: FORMAT,
            });
        }
    }
    let mut script = String::from("BEGIN;\n");
    for entity in entities::ALL {
        script.push_str(&table_script(Dialect::Sqlite, "", entity));
    }
    script.push_str(OWN_TABLES);
    script.push_str(&format!("PRAGMA user_version = {FORMAT};\nCOMMIT;\n"));
    connection.execute_batch(&script).map_err(at)
}

/// Adds the tables that an earlier version did not know. They are empty as they would be: no record told of their entities.
/// The format stays as it is.
fn add_tables(connection: &Connection) -> rusqlite::Result<()> {
    let mut script = String::from("BEGIN;\n");
    for entity in entities::ALL {
        if !connection.table_exists(None, entity.table)? {
            script.push_str(&table_script(Dialect::Sqlite, "", entity));
        }
    }
    script.push_str("COMMIT;\n");
    connection.execute_batch(&script)
}

/// Makes those indices again that an earlier version made with other columns. That reads a whole table, once.
fn change_indices(connection: &Connection) -> rusqlite::Result<()> {
    let mut script = String::new();
    let sql = "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?";
    for entity in entities::ALL {
        for index in indices(Dialect::Sqlite, "", entity) {
            let made = format!("CREATE INDEX {}", index.made);
            let found = connection.query_row(sql, [&index.name], |row| row.get::<_, String>(0));
            if found.optional()?.is_none_or(|found| found != made) {
                let name = &index.name;
                script.push_str(&format!("DROP INDEX IF EXISTS \"{name}\";\n{made};\n"));
            }
        }
    }
    if script.is_empty() {
        return Ok(());
    }
    connection.execute_batch(&format!("BEGIN;\n{script}COMMIT;\n"))
}

/// Beside those of the entities: how many instances of each element ended, the bodies of PROCESS records, and how far the file
/// goes.
const OWN_TABLES: &str = "
CREATE TABLE ended_element (processDefinitionKey INTEGER, elementId TEXT, completed INTEGER NOT NULL, terminated INTEGER NOT NULL,
    PRIMARY KEY (processDefinitionKey, elementId)) WITHOUT ROWID;
CREATE TRIGGER element_instance_forgotten AFTER DELETE ON element_instance WHEN OLD.state <> 'ACTIVE' BEGIN
    UPDATE ended_element SET completed = completed - (OLD.state = 'COMPLETED'), terminated = terminated - (OLD.state = 'TERMINATED')
    WHERE processDefinitionKey = OLD.processDefinitionKey AND elementId = OLD.elementId;
END;
CREATE TABLE definition_body (key INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE position (id INTEGER PRIMARY KEY CHECK (id = 1), entry INTEGER NOT NULL, record INTEGER NOT NULL,
    timestamp INTEGER NOT NULL);
INSERT INTO position VALUES (1, 0, 0, 0);
CREATE INDEX variable_by_value ON variable (name, substr(value, 1, 64));
";
