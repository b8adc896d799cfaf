//! Determines the latest remaining version of each definition.

use skep_exporting::TargetError;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_protocol::Key;
use skep_query::entities::{DECISION_DEFINITION, PROCESS_DEFINITION};
use skep_query::{Entity, Row, Value};

use super::{Stored, look_up_in};
use crate::changes::Changes;

/// The columns used to determine versions.
struct Columns {
    entity: &'static Entity,
    id: usize,
    tenant: usize,
    version: usize,
    is_latest: usize,
    /// The column that marks a deleted definition, and the value it then has.
    deleted: (usize, Value),
}

pub fn settle(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    let ids = std::mem::take(&mut changes.versions);
    let processes = Columns {
        entity: &PROCESS_DEFINITION,
        id: const { PROCESS_DEFINITION.column("processDefinitionId") },
        tenant: const { PROCESS_DEFINITION.column("tenantId") },
        version: const { PROCESS_DEFINITION.column("version") },
        is_latest: const { PROCESS_DEFINITION.column("isLatestVersion") },
        deleted: (
            const { PROCESS_DEFINITION.column("state") },
            Value::text("DELETED"),
        ),
    };
    of_ids(changes, stored, &processes, ids)?;
    let ids = std::mem::take(&mut changes.decision_versions);
    let decisions = Columns {
        entity: &DECISION_DEFINITION,
        id: const { DECISION_DEFINITION.column("decisionDefinitionId") },
        tenant: const { DECISION_DEFINITION.column("tenantId") },
        version: const { DECISION_DEFINITION.column("version") },
        is_latest: const { DECISION_DEFINITION.column("isLatestVersion") },
        deleted: (
            const { DECISION_DEFINITION.column("isDeleted") },
            Value::from(true),
        ),
    };
    of_ids(changes, stored, &decisions, ids)
}

/// Rows of definitions by key: key, ID, tenant, version, deleted state, whether it is the latest.
type Versions = FxHashMap<i64, Row>;

fn of_ids(
    changes: &mut Changes,
    stored: &dyn Stored,
    columns: &Columns,
    mut ids: Vec<Arc<str>>,
) -> Result<(), TargetError> {
    ids.sort_unstable();
    ids.dedup();
    let values: Vec<Value> = ids.into_iter().map(Value::Text).collect();
    let asked = [
        0,
        columns.id,
        columns.tenant,
        columns.version,
        columns.deleted.0,
        columns.is_latest,
    ];
    let found = look_up_in(stored, columns.entity, columns.id, &values, &asked)?;
    let keyed = |row: Row| Some((row.first()?.as_int()?, row));
    let mut rows: Versions = found.into_iter().filter_map(keyed).collect();
    let changed = changes.rows_of(columns.entity).map(|rows| rows.sorted());
    for here in changed.unwrap_or_default() {
        let id = here.values.get(columns.id);
        let is_meant = id.is_some_and(|id| values.contains(id));
        if !is_meant && !rows.contains_key(&here.key) {
            continue;
        }
        let row = rows.entry(here.key);
        let row = row.or_insert_with(|| vec![Value::Null; asked.len()]);
        for (value, column) in row.iter_mut().zip(asked) {
            if here.mask & (1 << column) != 0 {
                *value = here.values.get(column).cloned().unwrap_or_default();
            }
        }
    }
    for (key, is_latest) in latest(&rows, &columns.deleted.1) {
        let is_latest = Value::from(is_latest);
        changes.put(columns.entity, Key(key), columns.is_latest, is_latest);
    }
    Ok(())
}

/// Definitions that have become or ceased to be the latest.
fn latest(rows: &Versions, deleted: &Value) -> Vec<(i64, bool)> {
    let is_there = |row: &Row| row.get(4) != Some(deleted);
    let version = |row: &Row| row.get(3).and_then(Value::as_int).unwrap_or_default();
    let mut newest: BTreeMap<_, i64> = BTreeMap::new();
    for row in rows.values().filter(|row| is_there(row)) {
        let known = newest.entry(owner(row)).or_insert(version(row));
        *known = version(row).max(*known);
    }
    let judged = rows.iter().filter_map(|(key, row)| {
        let is_latest = is_there(row) && newest.get(&owner(row)) == Some(&version(row));
        (row.get(5) != Some(&Value::from(is_latest))).then_some((*key, is_latest))
    });
    judged.collect()
}

/// The ID and tenant within which versions are counted.
fn owner(row: &Row) -> (Option<&str>, Option<&str>) {
    let text = |at: usize| row.get(at).and_then(Value::as_text);
    (text(1), text(2))
}
