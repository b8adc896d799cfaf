//! Counts of active elements; see [`crate::sql::active_elements`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::value::storable;
use super::writer::{Statement, ints, texts};
use crate::changes::{ActiveCounts, Changes};
use crate::sql::active_elements::ACTIVE_ELEMENT;
use crate::sql::table_name;

/// The statement that stores what a window changes in the counts.
pub fn store(prefix: &str, partition: u32, changes: &Changes) -> Option<Statement<'static>> {
    // IDs may become the same when they are made storable.
    let mut sums: BTreeMap<(i64, Arc<str>), ActiveCounts> = BTreeMap::new();
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
