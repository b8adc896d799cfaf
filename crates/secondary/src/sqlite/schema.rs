//! Tables, created from the entities.

use rusqlite::{Connection, OptionalExtension as _};
use skep_query::entities;

use super::{DatabaseFile, SqliteError, counts, space};
use crate::sql::{Tables, indices, table_script};

/// Format of the file; a file with another format is not touched. A file may lack tables of newer entities. They are added, and
/// an earlier version that does not know them ignores them, so a downgrade remains possible. A changed index is created again,
/// and an earlier version uses it as it is. So is a column of our own that no earlier version mentions. Any other change of a table
/// requires a new format.
const FORMAT: i64 = 8;
/// Format number that builds of November 2026 gave to files with identity tables.
const WITH_IDENTITY: i64 = 9;

/// Page size in bytes. Larger pages need fewer writes when rows are added, but changing a single row writes its whole page.
pub const PAGE_BYTES: i64 = 8192;

/// Bytes to which the write-ahead log is truncated when it is reused.
const LOG_KEPT: i64 = 32 << 20;

/// Creates the tables of a new file, or checks that the file is a Skep store.
pub fn prepare(connection: &Connection, database: &DatabaseFile) -> Result<(), SqliteError> {
    let at = |e| database.error(e);
    // Only takes effect for a new file.
    connection
        .pragma_update(None, "page_size", PAGE_BYTES)
        .map_err(at)?;
    connection
        .pragma_update(None, "auto_vacuum", "INCREMENTAL")
        .map_err(at)?;
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .map_err(at)?;
    // The file survives a process crash at any time. After a power failure, lost rows are read again from the log (see
    // `Writer::sync`).
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
            add_tables(connection, database.tables()).map_err(at)?;
            change_indices(connection, database.tables()).map_err(at)?;
            counts::add(connection).map_err(at)?;
            return space::rebuild(connection).map_err(at);
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
        script.push_str(&table_script(database.tables(), entity));
    }
    script.push_str(OWN_TABLES);
    script.push_str(&counts::tables());
    script.push_str(&format!("PRAGMA user_version = {FORMAT};\nCOMMIT;\n"));
    connection.execute_batch(&script).map_err(at)
}

/// Adds the tables of newer entities. They are empty, which is correct: no earlier record mentioned these entities. The format
/// stays the same.
fn add_tables(connection: &Connection, tables: Tables<'_>) -> rusqlite::Result<()> {
    let mut script = String::from("BEGIN;\n");
    for entity in entities::ALL {
        if !connection.table_exists(None, entity.table)? {
            script.push_str(&table_script(tables, entity));
        }
    }
    script.push_str("COMMIT;\n");
    connection.execute_batch(&script)
}

/// Recreates indices that an earlier version created on other columns, or another configuration of tenants. This reads the whole table, once.
fn change_indices(connection: &Connection, tables: Tables<'_>) -> rusqlite::Result<()> {
    let mut script = String::new();
    let sql = "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?";
    for entity in entities::ALL {
        for index in indices(tables, entity) {
            let made = format!("CREATE INDEX {}", index.made);
            let found = connection.query_row(sql, [&index.name], |row| row.get::<_, String>(0));
            let wanted = index.is_wanted.then_some(made);
            let found = found.optional()?;
            if found == wanted {
                continue;
            }
            if found.is_some() {
                script.push_str(&format!("DROP INDEX \"{}\";\n", index.name));
            }
            if let Some(made) = wanted {
                script.push_str(&format!("{made};\n"));
            }
        }
    }
    if script.is_empty() {
        return Ok(());
    }
    connection.execute_batch(&format!("BEGIN;\n{script}COMMIT;\n"))
}

/// Tables other than those of the entities: counts of ended instances per element, bodies of PROCESS records, and the position
/// of the file with the entries up to which active elements and instances are counted.
const OWN_TABLES: &str = "
CREATE TABLE ended_element (processDefinitionKey INTEGER, elementId TEXT, completed INTEGER NOT NULL, terminated INTEGER NOT NULL,
    PRIMARY KEY (processDefinitionKey, elementId)) WITHOUT ROWID;
CREATE TRIGGER element_instance_forgotten AFTER DELETE ON element_instance WHEN OLD.state <> 'ACTIVE' BEGIN
    UPDATE ended_element SET completed = completed - (OLD.state = 'COMPLETED'), terminated = terminated - (OLD.state = 'TERMINATED')
    WHERE processDefinitionKey = OLD.processDefinitionKey AND elementId = OLD.elementId;
END;
CREATE TABLE definition_body (key INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE position (id INTEGER PRIMARY KEY CHECK (id = 1), entry INTEGER NOT NULL, record INTEGER NOT NULL,
    timestamp INTEGER NOT NULL, counted INTEGER, instances_counted INTEGER);
INSERT INTO position VALUES (1, 0, 0, 0, 0, 0);
";
