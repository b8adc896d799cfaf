//! Usage metrics of tenants.

use std::fmt::Write as _;

use skep_protocol::Key;
use skep_protocol::intent::UserTaskIntent;
use skep_protocol::record::Record;
use skep_protocol::value::UserTaskValue;
use skep_query::Value;
use skep_query::entities::{self, USAGE, USAGE_SPAN};

use super::Projection;
use crate::changes::{merge, set};

const NUMBER: usize = entities::number(&USAGE);
const START: usize = USAGE.column("startTime");
const TENANT: usize = USAGE.column("tenantId");
const ASSIGNEE: usize = USAGE.column("assignee");

/// Counts a root process instance.
pub fn process_instance(to: &mut Projection<'_>, record: &Record<'_>, tenant: &Value) {
    let row = row(to, record, tenant, None);
    merge!(to.changes, USAGE, row, { "processInstances": Value::Int(1) });
}

pub fn decisions(to: &mut Projection<'_>, record: &Record<'_>, tenant: &Value, count: usize) {
    let row = row(to, record, tenant, None);
    let count = Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    merge!(to.changes, USAGE, row, { "decisionInstances": count });
}

/// Records that a user was assigned a task.
pub fn assignee(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    intent: UserTaskIntent,
    value: &UserTaskValue,
) {
    let name = &value.attributes.assignee;
    if intent == UserTaskIntent::Assigned && !name.is_empty() {
        let tenant = to
            .location(value.process_definition_key, value.element)
            .tenant();
        row(to, record, &tenant, Some(number_of(name)));
    }
}

fn row(to: &mut Projection<'_>, record: &Record<'_>, tenant: &Value, assignee: Option<i64>) -> Key {
    let start = record.timestamp - record.timestamp.rem_euclid(USAGE_SPAN);
    let assigned = assignee.map_or(Value::Null, Value::Int);
    let is_it = |values: &[Value]| {
        let has = |column: usize, value: &Value| values.get(column) == Some(value);
        has(START, &Value::Int(start)) && has(TENANT, tenant) && has(ASSIGNEE, &assigned)
    };
    if let Some(row) = to.changes.recent_row(NUMBER, is_it) {
        return row;
    }
    to.text.clear();
    // Each partition has rows of its own, even in a shared database.
    let _ = write!(to.text, "{start}:{}:", to.partition);
    if let Some(assignee) = assignee {
        let _ = write!(to.text, "{assignee}");
    }
    let _ = write!(to.text, ":{}", tenant.as_text().unwrap_or_default());
    let (row, id) = to.changes.text_row(NUMBER, to.text);
    if let Some(id) = id {
        set!(to.changes, USAGE, row, {
            "id": Value::Text(id),
            "startTime": Value::Int(start),
            "tenantId": tenant.clone(),
            "assignee": assigned,
        });
    }
    row
}

/// FNV-1a. It is the same in every partition and version, so that rows can be compared without storing names.
fn number_of(name: &str) -> i64 {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, add);
    hash.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_numbers() {
        assert_eq!(number_of("").cast_unsigned(), 0xcbf2_9ce4_8422_2325);
        assert_eq!(number_of("a").cast_unsigned(), 0xaf63_dc4c_8601_ec8c);
    }
}
