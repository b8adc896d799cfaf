//! Counts that follow rows: whatever a row counted for before is subtracted, and what it counts for now is added. So they are exact
//! however a row changed, as long as rows and counts are stored in one transaction.

use std::hash::Hash;

use skep_exporting::TargetError;

use rustc_hash::FxHashMap;
use skep_query::{Entity, Row, Value};

use super::{Stored, begun, look_up_in};
use crate::changes::{ActiveCounts, Changes, RowChange};

/// Rows that count for something.
pub struct CountedRows<const N: usize> {
    pub entity: &'static Entity,
    /// What a row counts for depends on these columns.
    pub columns: [usize; N],
}

impl<const N: usize> CountedRows<N> {
    /// Whether the row is an earlier one that may count for something else now.
    pub fn is_moved(&self, row: &RowChange<'_>) -> bool {
        !self.is_begun(row) && self.is_concerned(row)
    }

    /// Whether the row with this key begins in the window.
    pub fn begins(&self, changes: &Changes, key: i64) -> bool {
        let row = changes.rows_of(self.entity);
        let row = row.and_then(|rows| rows.get(key));
        row.is_some_and(|row| self.is_begun(&row))
    }

    fn is_begun(&self, row: &RowChange<'_>) -> bool {
        begun(self.entity).is_some_and(|column| row.mask & (1 << column) != 0)
    }

    fn is_concerned(&self, row: &RowChange<'_>) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|column| row.mask & (1 << column) != 0)
    }

    /// Calls `count` with the columns of each changed row: with -1 as they are stored, and with 1 as they become.
    pub fn count(
        &self,
        changes: &Changes,
        stored: &dyn Stored,
        mut count: impl FnMut([Option<&Value>; N], i64),
    ) -> Result<(), TargetError> {
        let Some(rows) = changes.rows_of(self.entity) else {
            return Ok(());
        };
        let mut earlier = Vec::new();
        for row in rows.iter().filter(|row| self.is_concerned(row)) {
            if self.is_begun(&row) {
                count(self.columns.map(|column| row.values.get(column)), 1);
            } else {
                earlier.push(Value::Int(row.key));
            }
        }
        let with_key: Vec<usize> = std::iter::once(0).chain(self.columns).collect();
        let found: Vec<Row> = look_up_in(stored, self.entity, 0, &earlier, &with_key)?;
        for before in &found {
            let [Value::Int(key), before @ ..] = before.as_slice() else {
                continue;
            };
            let Some(row) = rows.get(*key) else {
                continue;
            };
            let before: [Option<&Value>; N] = std::array::from_fn(|at| before.get(at));
            let mut now = before;
            for (value, column) in now.iter_mut().zip(self.columns) {
                if row.mask & (1 << column) != 0 {
                    *value = row.values.get(column);
                }
            }
            count(before, -1);
            count(now, 1);
        }
        Ok(())
    }
}

/// Adds one that is active, with an incident or without.
pub fn add<K: Eq + Hash>(
    counts: &mut FxHashMap<K, ActiveCounts>,
    of: K,
    incident: Option<&Value>,
    by: i64,
) {
    let counts = counts.entry(of).or_default();
    if incident.and_then(Value::as_int) == Some(1) {
        counts.incidents += by;
    } else {
        counts.active += by;
    }
}
