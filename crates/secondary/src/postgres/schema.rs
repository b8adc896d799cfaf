//! Tables, created from the entities by whichever partition comes first.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use skep_query::{Field, entities};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::Rdbms;
use super::connection::{Connection, Failure, FailureKind};
use crate::sql::active_elements::ACTIVE_ELEMENT;
use crate::sql::counts::Counts;
use crate::sql::{
    Dialect, Tables, active_instances, column, column_name, indices, statistics, table_name,
    table_script,
};
use crate::target::purged_since;
use skep_exporting::Position;

/// Format of the tables. Tables with a later format are not touched. New columns and indices do not change the format.
const FORMAT: i32 = 1;
/// Time limit for schema changes: creating an index on a large table is slow.
const LIMIT: Duration = Duration::from_secs(3600);

/// Tables other than those of the entities.
const META: &str = "skep";
pub const POSITION: &str = "position";
pub const DEFINITION: &str = "definition_body";

/// Creates what is missing and returns the position of a partition. `cluster`: the owner of the database.
pub fn prepare(
    connection: &mut Connection,
    database: &Rdbms,
    cluster: &str,
    partition: i32,
) -> Result<Position, Failure> {
    let name = |table: &str| table_name(&database.prefix, table);
    let tables = Tables {
        dialect: Dialect::Postgres,
        prefix: &database.prefix,
        tenants: database.tenants,
    };
    let (meta, script) = (name(META), script(tables));
    let shape = shape(&script);
    let known = look(connection, &meta)?;
    if let Some(known) = &known {
        judge(known, database, cluster)?;
    }
    if known.is_none_or(|known| known.shape != shape) {
        if !database.auto_ddl {
            return Err(refused(format!(
                "the tables of this version of Skep are not in {}, and camunda.data.secondary-storage.rdbms.auto-ddl is off: turn it on \
                 for one start, or do so as a user who may create tables there",
                database.shown
            )));
        }
        let added = added(connection, &database.prefix)?;
        let dropped = dropped(connection, tables)?;
        // The lock serializes this: all partitions of all nodes may arrive at once.
        let script = format!(
            "BEGIN;
            SELECT pg_advisory_xact_lock(hashtext('skep'), hashtext('{meta}'));
            SET LOCAL client_min_messages = warning;
            {added}{dropped}{script}
            INSERT INTO {meta} (id, format, shape, cluster) VALUES (1, {FORMAT}, '{shape}', {})
                ON CONFLICT (id) DO UPDATE SET shape = excluded.shape;
            COMMIT;",
            quoted(cluster)
        );
        connection.wait(LIMIT, connection.client.batch_execute(&script))?;
        // Another cluster may have come first.
        if let Some(known) = look(connection, &meta)? {
            judge(&known, database, cluster)?;
        }
    }
    position(connection, &name(POSITION), partition)
}

/// Partition number under which [`POSITION`] keeps the number of the last purge. Real partitions start at 1.
const PURGES: i32 = 0;

/// Deletes all rows if the tables belong to this cluster, and records in the same transaction that this purge is done.
pub fn purge(
    connection: &mut Connection,
    database: &Rdbms,
    cluster: &str,
    number: u64,
) -> Result<(), Failure> {
    let name = |table: &str| table_name(&database.prefix, table);
    let Some(known) = look(connection, &name(META))? else {
        return Ok(());
    };
    judge(&known, database, cluster)?;
    let position = name(POSITION);
    // The row lock makes a concurrent purge wait; afterwards it sees the result.
    let claim = format!(
        "INSERT INTO {position} VALUES ({PURGES}, $1, 0, 0)
            ON CONFLICT (partition) DO UPDATE SET entry = excluded.entry WHERE {position}.entry < excluded.entry"
    );
    let known = format!("SELECT entry FROM {position} WHERE partition = {PURGES}");
    // Positions come first: a transaction that is still open either ends before or changes nothing. The rest is truncated table
    // by table, because deleting row by row takes time in proportion to the rows and frees no space.
    let beside = [DEFINITION, statistics::ENDED].into_iter();
    let beside = beside.chain(Counts::ALL.map(Counts::table));
    let entities = entities::ALL.iter().map(|entity| entity.table);
    let tables: Vec<String> = beside.chain(entities).map(name).collect();
    let empty = format!(
        "DELETE FROM {position} WHERE partition <> {PURGES}; TRUNCATE {}; COMMIT;",
        tables.join(", ")
    );
    let number = number.cast_signed();
    let done = connection.wait(LIMIT, async {
        let client = &connection.client;
        client.batch_execute("BEGIN").await?;
        let claimed = client
            .execute_typed(&claim, &[(&number, Type::INT8)])
            .await?;
        if claimed == 1 {
            client.batch_execute(&empty).await?;
            return Ok(number);
        }
        let found = client.query_typed(&known, &[]).await?;
        client.batch_execute("ROLLBACK").await?;
        Ok::<_, tokio_postgres::Error>(found.first().map_or(number, |row| row.get(0)))
    })?;
    if done == number {
        Ok(())
    } else {
        Err(Failure::new(
            FailureKind::Overtaken,
            purged_since(done.cast_unsigned()),
        ))
    }
}

/// The metadata that a database stores about itself.
struct Known {
    format: i32,
    shape: String,
    cluster: String,
}

fn look(connection: &Connection, meta: &str) -> Result<Option<Known>, Failure> {
    connection.wait(LIMIT, async {
        let client = &connection.client;
        let there = client
            .query_typed("SELECT to_regclass($1) IS NOT NULL", &[(&meta, Type::TEXT)])
            .await?;
        if !there.first().is_some_and(|row| row.get(0)) {
            return Ok(None);
        }
        let sql = format!("SELECT format, shape, cluster FROM {meta}");
        let found = client.query_typed(&sql, &[]).await?;
        let known = found.first().map(|row| Known {
            format: row.get(0),
            shape: row.get(1),
            cluster: row.get(2),
        });
        Ok::<_, tokio_postgres::Error>(known)
    })
}

fn judge(known: &Known, database: &Rdbms, cluster: &str) -> Result<(), Failure> {
    expect_readable(known, database)?;
    if known.cluster != cluster {
        return Err(foreign(format!(
            "{} belongs to the cluster {}, and this one is {cluster}: its data is of another data directory. Set another \
             camunda.data.secondary-storage.rdbms.prefix or database, or drop its tables",
            database.shown, known.cluster
        )));
    }
    Ok(())
}

fn expect_readable(known: &Known, database: &Rdbms) -> Result<(), Failure> {
    if known.format > FORMAT {
        return Err(foreign(format!(
            "{} was written by a later version of Skep (format {}, this one has {FORMAT}): run that version",
            database.shown, known.format
        )));
    }
    Ok(())
}

/// The cluster that the tables belong to; `None`: there are none.
pub fn owner(connection: &Connection, database: &Rdbms) -> Result<Option<String>, Failure> {
    let known = look(connection, &table_name(&database.prefix, META))?;
    let Some(known) = known else {
        return Ok(None);
    };
    expect_readable(&known, database)?;
    Ok(Some(known.cluster))
}

/// The positions of all partitions, at one moment.
pub fn positions(
    connection: &Connection,
    prefix: &str,
) -> Result<BTreeMap<u32, Position>, Failure> {
    let read = format!(
        "SELECT partition, entry, record, timestamp FROM {} WHERE partition > {PURGES}",
        table_name(prefix, POSITION)
    );
    let found = connection.wait(LIMIT, connection.client.query_typed(&read, &[]))?;
    let position = |row: &Row| {
        let partition = u32::try_from(row.get::<_, i32>(0)).unwrap_or_default();
        (partition, position_in(row, 1))
    };
    Ok(found.iter().map(position).collect())
}

fn position(connection: &Connection, table: &str, partition: i32) -> Result<Position, Failure> {
    let partition: (&(dyn tokio_postgres::types::ToSql + Sync), Type) = (&partition, Type::INT4);
    let add = format!("INSERT INTO {table} VALUES ($1, 0, 0, 0) ON CONFLICT DO NOTHING");
    let read = format!("SELECT entry, record, timestamp FROM {table} WHERE partition = $1");
    let found = connection.wait(LIMIT, async {
        let client = &connection.client;
        client
            .execute_typed(&add, std::slice::from_ref(&partition))
            .await?;
        client
            .query_typed(&read, std::slice::from_ref(&partition))
            .await
    })?;
    let row = found.first();
    let row = row.ok_or_else(|| refused(format!("{table} cannot be written to")))?;
    Ok(position_in(row, 0))
}

/// The position in these columns: the first one and the two after it.
fn position_in(row: &Row, first: usize) -> Position {
    Position {
        entry: row.get::<_, i64>(first).cast_unsigned(),
        record: row.get::<_, i64>(first + 1).cast_unsigned(),
        timestamp: row.get(first + 2),
    }
}

fn foreign(reason: String) -> Failure {
    Failure::new(FailureKind::Foreign, reason)
}

fn refused(reason: String) -> Failure {
    Failure::new(FailureKind::Refused, reason)
}

/// A script that adds missing columns to existing tables. Writers lock their position before rows, so it comes first: each of the two would
/// wait for the other otherwise.
fn added(connection: &Connection, prefix: &str) -> Result<String, Failure> {
    let sql = "SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.oid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped";
    let columns = |table: &str| {
        let table: (&(dyn tokio_postgres::types::ToSql + Sync), Type) = (&table, Type::TEXT);
        let parameters = std::slice::from_ref(&table);
        let found = connection.wait(LIMIT, connection.client.query_typed(sql, parameters))?;
        Ok::<_, Failure>(
            found
                .iter()
                .map(|row| row.get::<_, String>(1))
                .collect::<Vec<_>>(),
        )
    };
    let mut script = String::new();
    let position = table_name(prefix, POSITION);
    let known = columns(&position)?;
    for noted in Counts::ALL.map(Counts::noted) {
        if !known.is_empty() && !known.iter().any(|column| column == noted) {
            let _ = writeln!(
                script,
                "ALTER TABLE {position} ADD COLUMN IF NOT EXISTS {noted} BIGINT;"
            );
        }
    }
    for entity in entities::ALL {
        let table = table_name(prefix, entity.table);
        let known = columns(&table)?;
        let is_new =
            |field: &&Field| !known.is_empty() && !known.iter().any(|column| column == field.name);
        for field in entity.fields.iter().filter(is_new) {
            let column = column(Dialect::Postgres, field);
            let _ = writeln!(
                script,
                "ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column};"
            );
        }
    }
    Ok(script)
}

/// A script that drops indices which an earlier version created on other columns or for fewer rows, and which another configuration
/// needed. The main script creates them again.
fn dropped(connection: &Connection, tables: Tables<'_>) -> Result<String, Failure> {
    let sql = "SELECT indnkeyatts::int, indpred IS NOT NULL FROM pg_index WHERE indexrelid = to_regclass($1)";
    let mut script = String::new();
    for entity in entities::ALL {
        for index in indices(tables, entity) {
            let name = column_name(&index.name);
            let found = connection.wait(
                LIMIT,
                connection.client.query_typed(sql, &[(&name, Type::TEXT)]),
            )?;
            let is_kept = |row: &Row| {
                let columns = usize::try_from(row.get::<_, i32>(0));
                index.is_wanted
                    && columns == Ok(index.columns)
                    && row.get::<_, bool>(1) == index.is_partial
            };
            if found.first().is_some_and(|row| !is_kept(row)) {
                let _ = writeln!(script, "DROP INDEX IF EXISTS {name};");
            }
        }
    }
    Ok(script)
}

/// A script that creates everything that is missing. It can be run repeatedly.
fn script(tables: Tables<'_>) -> String {
    let prefix = tables.prefix;
    let name = |table: &str| table_name(prefix, table);
    let mut script = String::new();
    for entity in entities::ALL {
        script.push_str(&table_script(tables, entity));
    }
    let (ended, by_element) = (name(statistics::ENDED), name("ended_element_key"));
    let (active_elements, active_elements_key) = (name(ACTIVE_ELEMENT), name("active_element_key"));
    let _ = write!(
        script,
        r#"CREATE TABLE IF NOT EXISTS {ended} (partition INT NOT NULL, "processDefinitionKey" BIGINT NOT NULL,
            "elementId" TEXT COLLATE "C" NOT NULL, completed BIGINT NOT NULL, terminated BIGINT NOT NULL);
        CREATE UNIQUE INDEX IF NOT EXISTS {by_element} ON {ended} ("processDefinitionKey", md5("elementId"), partition);
        CREATE TABLE IF NOT EXISTS {active_elements} (partition INT NOT NULL, "processDefinitionKey" BIGINT NOT NULL,
            "elementId" TEXT COLLATE "C" NOT NULL, active BIGINT NOT NULL, incidents BIGINT NOT NULL);
        CREATE UNIQUE INDEX IF NOT EXISTS {active_elements_key} ON {active_elements} ("processDefinitionKey", md5("elementId"), partition);
        CREATE TABLE IF NOT EXISTS {} (key BIGINT PRIMARY KEY, body BYTEA NOT NULL);
        CREATE TABLE IF NOT EXISTS {} (partition INT PRIMARY KEY, entry BIGINT NOT NULL, record BIGINT NOT NULL,
            timestamp BIGINT NOT NULL, counted BIGINT, instances_counted BIGINT);
        CREATE TABLE IF NOT EXISTS {} (id INT PRIMARY KEY CHECK (id = 1), format INT NOT NULL, shape TEXT NOT NULL,
            cluster TEXT NOT NULL);
        "#,
        name(DEFINITION),
        name(POSITION),
        name(META),
    );
    script.push_str(&active_instances::script(Dialect::Postgres, prefix));
    script
}

/// A hash of the script; it changes when the script does.
fn shape(script: &str) -> String {
    let mut hasher = DefaultHasher::new();
    script.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
