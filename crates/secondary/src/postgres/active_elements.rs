//! Counts of active elements; see [`crate::sql::active_elements`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::connection::{Connection, Failure};
use super::history::keys_of;
use super::schema::POSITION;
use super::value::storable;
use super::writer::{Statement, ints, texts};
use crate::changes::{ActiveElements, Changes};
use crate::sql::active_elements::{ACTIVE_ELEMENT, recount};
use crate::sql::{Dialect, table_name};

/// Time limit of counting all active elements of a partition.
const LIMIT: Duration = Duration::from_secs(3600);

/// Counts all active elements of the partition, unless they are counted up to its position. An earlier version moves the position, but
/// not the entry up to which elements are counted.
pub fn prepare(connection: &Connection, prefix: &str, partition: u32) -> Result<(), Failure> {
    let name = |table: &str| table_name(prefix, table);
    let (counts, position) = (name(ACTIVE_ELEMENT), name(POSITION));
    let open = format!("partition = {partition} AND counted IS DISTINCT FROM entry");
    let due = format!("SELECT 1 FROM {position} WHERE {open}");
    let (from, to) = keys_of(partition);
    let own = format!(" AND \"elementInstanceKey\" >= {from} AND \"elementInstanceKey\" < {to}");
    let rows = recount(Dialect::Postgres, prefix, &own);
    // The lock keeps a deposed writer of this partition from writing meanwhile.
    let script = format!(
        "BEGIN; SELECT 1 FROM {position} WHERE partition = {partition} FOR UPDATE;
        DELETE FROM {counts} WHERE partition = {partition};
        INSERT INTO {counts} SELECT {partition}, counted.* FROM ({rows}) counted;
        UPDATE {position} SET counted = entry WHERE partition = {partition};
        COMMIT"
    );
    connection.wait(LIMIT, async {
        let client = &connection.client;
        if client.query_typed(&due, &[]).await?.is_empty() {
            return Ok::<_, tokio_postgres::Error>(());
        }
        client.batch_execute(&script).await
    })
}

/// The statement that stores what a window changes in the counts.
pub fn store(prefix: &str, partition: u32, changes: &Changes) -> Option<Statement<'static>> {
    // IDs may become the same when they are made storable.
    let mut sums: BTreeMap<(i64, Arc<str>), ActiveElements> = BTreeMap::new();
    for ((definition, element), counts) in &changes.counted.active_elements {
        let element: Arc<str> = storable(element).into();
        let sum = sums.entry((*definition, element)).or_default();
        sum.active += counts.active;
        sum.incidents += counts.incidents;
    }
    let ids = sums.keys().map(|(_, id)| Some(id.to_string()));
    let parameters = vec![
        ints(sums.keys().map(|(key, _)| *key)),
        texts(ids),
        ints(sums.values().map(|counts| counts.active)),
        ints(sums.values().map(|counts| counts.incidents)),
    ];
    let text = format!(
        r#"INSERT INTO {} AS t (partition, "processDefinitionKey", "elementId", active, incidents)
        SELECT {partition}, * FROM unnest($1, $2, $3, $4)
        ON CONFLICT ("processDefinitionKey", md5("elementId"), partition) DO UPDATE SET
            active = t.active + excluded.active, incidents = t.incidents + excluded.incidents"#,
        table_name(prefix, ACTIVE_ELEMENT)
    );
    (!sums.is_empty()).then_some(Statement { text, parameters })
}
