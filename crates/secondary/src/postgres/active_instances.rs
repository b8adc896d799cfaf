//! Counts of active process instances; see [`crate::sql::active_instances`].

use rustc_hash::FxHashMap;
use skep_query::Value;

use super::value::storable;
use super::writer::{Statement, ints, texts};
use crate::changes::{ActiveCounts, Changes, OfDefinition};
use crate::sql::active_instances::{ACTIVE_INSTANCE, columns, key};
use crate::sql::{Dialect, table_name};

/// The statement that stores what a window changes in the counts.
pub fn store(prefix: &str, partition: u32, changes: &Changes) -> Option<Statement<'static>> {
    // Texts may become the same when they are made storable.
    let mut sums: FxHashMap<OfDefinition, ActiveCounts> = FxHashMap::default();
    for (of, counts) in &changes.counted.active_instances {
        let of = of.each_ref().map(|value| match value {
            Value::Text(text) => Value::text(&storable(text)),
            other => other.clone(),
        });
        let sum = sums.entry(of).or_default();
        sum.active += counts.active;
        sum.incidents += counts.incidents;
    }
    let number = |at: usize| ints(column(&sums, at).map(Value::as_int));
    let text = |at: usize| {
        let values = column(&sums, at).map(Value::as_text);
        texts(values.map(|text| text.map(str::to_string)))
    };
    // In the order of the columns.
    let parameters = vec![
        number(0),
        text(1),
        text(2),
        number(3),
        text(4),
        ints(sums.values().map(|counts| counts.active)),
        ints(sums.values().map(|counts| counts.incidents)),
    ];
    let text = format!(
        "INSERT INTO {} AS t (partition, {}, active, incidents)
        SELECT {partition}, * FROM unnest($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT ({}) DO UPDATE SET active = t.active + excluded.active, incidents = t.incidents + excluded.incidents",
        table_name(prefix, ACTIVE_INSTANCE),
        columns(),
        key(Dialect::Postgres)
    );
    (!sums.is_empty()).then_some(Statement { text, parameters })
}

/// The values of a column.
fn column(sums: &FxHashMap<OfDefinition, ActiveCounts>, at: usize) -> impl Iterator<Item = &Value> {
    sums.keys().filter_map(move |of| of.get(at))
}
