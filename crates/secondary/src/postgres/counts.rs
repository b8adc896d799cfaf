//! Counts kept beside the rows; see [`crate::sql::counts`].

use std::time::{Duration, Instant};

use super::connection::{Connection, Failure};
use super::history::keys_of;
use super::schema::POSITION;
use crate::sql::counts::Counts;
use crate::sql::{Dialect, column_name, table_name};

/// Time limit of counting all active rows of a partition.
const LIMIT: Duration = Duration::from_secs(3600);

/// Counts all active rows of the partition, unless they are counted up to its position. An earlier version moves the position, but not the
/// entries up to which rows are counted. `store`: for the log.
pub fn prepare(
    connection: &Connection,
    prefix: &str,
    partition: u32,
    store: &str,
) -> Result<(), Failure> {
    Counts::ALL
        .into_iter()
        .try_for_each(|counts| count(connection, (prefix, partition), counts, store))
}

fn count(
    connection: &Connection,
    (prefix, partition): (&str, u32),
    counts: Counts,
    store: &str,
) -> Result<(), Failure> {
    let (table, noted) = (table_name(prefix, counts.table()), counts.noted());
    let position = table_name(prefix, POSITION);
    let due = format!(
        "SELECT 1 FROM {position} WHERE partition = {partition} AND {noted} IS DISTINCT FROM entry"
    );
    let (from, to) = keys_of(partition);
    let key = column_name(counts.entity().key().name);
    let own = format!(" AND {key} >= {from} AND {key} < {to}");
    let rows = counts.recount(Dialect::Postgres, prefix, &own);
    // The lock keeps a deposed writer of this partition from writing meanwhile.
    let script = format!(
        "BEGIN; SELECT 1 FROM {position} WHERE partition = {partition} FOR UPDATE;
        DELETE FROM {table} WHERE partition = {partition};
        INSERT INTO {table} SELECT {partition}, counted.* FROM ({rows}) counted;
        UPDATE {position} SET {noted} = entry WHERE partition = {partition};
        COMMIT"
    );
    let sum = format!(
        "SELECT coalesce(sum(active + incidents), 0)::bigint FROM {table} WHERE partition = {partition}"
    );
    let began = Instant::now();
    let rows = connection.wait(LIMIT, async {
        let client = &connection.client;
        if client.query_typed(&due, &[]).await?.is_empty() {
            return Ok::<_, tokio_postgres::Error>(0);
        }
        client.batch_execute(&script).await?;
        let sum = client.query_typed(&sum, &[]).await?;
        Ok(sum.first().map_or(0, |row| row.get(0)))
    })?;
    counts.log(store, rows, began.elapsed());
    Ok(())
}
