//! The sort order of searches for latest versions, and where their pages continue.
//!
//! A newer version may be deployed between two pages. Sorted by key, it would appear on a later page than the version that was
//! the latest before, and a client that joins the pages would have both. Sorted by ID and tenant, both have the same place, so
//! a page that continues after one continues after the other, too.

use crate::cursor::Cursor;
use crate::entities::{DECISION_DEFINITION, PROCESS_DEFINITION};
use crate::search::{Condition, Op, Search, Sort, Start};
use crate::value::Value;

/// The sort of a search for latest versions without an explicit sort; `None` for any other search.
pub fn sort(search: &Search) -> Option<Vec<Sort>> {
    let ids = [
        (&PROCESS_DEFINITION, "processDefinitionId"),
        (&DECISION_DEFINITION, "decisionDefinitionId"),
    ];
    let mut ids = ids.into_iter();
    let (_, id) = ids.find(|(entity, _)| std::ptr::eq(search.entity, *entity))?;
    let asked = Condition::Field {
        field: search.entity.index_of("isLatestVersion")?,
        op: Op::Eq(Value::from(true)),
    };
    if !search.sort.is_empty() || !search.filter.contains(&asked) {
        return None;
    }
    let by = |name| {
        Some(Sort {
            field: search.entity.index_of(name)?,
            descending: false,
        })
    };
    Some(vec![by(id)?, by("tenantId")?])
}

/// Moves a cursor before or after all versions of its definition.
pub fn beside_all_versions(start: Start) -> Start {
    let with_key = |mut cursor: Cursor, key: i64| {
        if let Some(last) = cursor.0.last_mut() {
            *last = Value::Int(key);
        }
        cursor
    };
    match start {
        Start::After(cursor) => Start::After(with_key(cursor, i64::MAX)),
        Start::Before(cursor) => Start::Before(with_key(cursor, i64::MIN)),
        Start::Offset(from) => Start::Offset(from),
    }
}
