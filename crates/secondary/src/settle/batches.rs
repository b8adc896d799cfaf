//! States of batch operations. An operation whose items are known is active, unless it is suspended or has ended.

use skep_exporting::TargetError;
use std::collections::BTreeSet;

use skep_protocol::Key;
use skep_query::Value;
use skep_query::entities::BATCH_OPERATION;

use super::{Stored, current};
use crate::changes::Changes;
use crate::project::word;

const STATE: usize = BATCH_OPERATION.column("state");
const BEGUN: usize = BATCH_OPERATION.column("startDate");

/// Sets operations to active that have started and are not suspended. Each record reports only one of the two, in any order.
pub fn settle(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    let rows = changes.rows_of(&BATCH_OPERATION);
    let rows = rows.map(|rows| rows.sorted()).unwrap_or_default();
    let changed = 1 << STATE | 1 << BEGUN;
    let rows = rows.iter().filter(|row| row.mask & changed != 0);
    let keys: BTreeSet<i64> = rows.map(|row| row.key).collect();
    for (key, row) in current(changes, stored, &BATCH_OPERATION, &keys, &[STATE, BEGUN])? {
        if let [Value::Text(state), Value::Int(_)] = row.as_slice()
            && &**state == "CREATED"
        {
            changes.put(&BATCH_OPERATION, Key(key), STATE, word("ACTIVE"));
        }
    }
    Ok(())
}
