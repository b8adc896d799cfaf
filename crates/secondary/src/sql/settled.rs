//! Conditions that one look at a definition settles for all rows of a search.

use std::borrow::Cow;

use skep_query::entities::PROCESS_DEFINITION;
use skep_query::{Condition, Op, QueryError, Search, Value};

use super::answer::{self, Database};
use super::page::Way;
use super::{page, select};

const ID: &str = "processDefinitionId";
const KEY: &str = "processDefinitionKey";
const TENANT: &str = "tenantId";

/// The search without its list of process IDs if it is for one process by its key, as for a caller with permissions on single
/// processes: all rows have the same ID then, and no database has an index with both. `None`: no row matches.
pub fn settled<'a>(
    from: &impl Database,
    search: &'a Search,
) -> Result<Option<Cow<'a, Search>>, QueryError> {
    let (Some(key), Some((at, ids))) = (key(search), list(search)) else {
        return Ok(Some(Cow::Borrowed(search)));
    };
    let is = |column, op| Condition::Field {
        field: PROCESS_DEFINITION.column(column),
        op,
    };
    let found = |filter| {
        let search = Search::all(&PROCESS_DEFINITION, filter, 1);
        let sql = select::count(from.sql(), &search, &Way::Planned(&[]), 1);
        from.rows(&sql, 1).map(|rows| answer::number(&rows) > 0)
    };
    // A definition of another tenant is treated like one that does not exist, and takes as long.
    let tenants = ops(search, TENANT).map(|op| is(TENANT, op.clone()));
    let mut it: Vec<_> = tenants.collect();
    it.push(is(KEY, Op::Eq(key.clone())));
    let mut listed = it.clone();
    listed.push(is(ID, Op::In(ids.to_vec())));
    if found(listed)? {
        let mut rest = search.clone();
        rest.filter.remove(at);
        return Ok(Some(Cow::Owned(rest)));
    }
    // The rows of a definition can be older than its own row.
    Ok((!found(it)?).then_some(Cow::Borrowed(search)))
}

/// The key of the process definition that all rows must have.
fn key(search: &Search) -> Option<&Value> {
    ops(search, KEY).find_map(|op| match op {
        Op::Eq(key) => Some(key),
        _ => None,
    })
}

/// The conditions on this column that all rows fulfil.
fn ops<'a>(search: &'a Search, column: &str) -> impl Iterator<Item = &'a Op> {
    let of = search.entity.index_of(column);
    search
        .filter
        .iter()
        .filter_map(move |condition| match condition {
            Condition::Field { field, op } if Some(*field) == of => Some(op),
            _ => None,
        })
}

/// The list of process IDs, with the place of its condition.
fn list(search: &Search) -> Option<(usize, &[Value])> {
    let id = search.entity.index_of(ID)?;
    let mut conditions = search.filter.iter().enumerate();
    conditions.find_map(|(at, condition)| {
        let (field, values) = page::values_of(condition)?;
        (field == id).then_some((at, values))
    })
}

#[cfg(test)]
mod tests {
    use skep_query::entities::PROCESS_INSTANCE;
    use skep_query::{Answer, Query, ResultPage};

    use super::*;
    use crate::sql::samples::{Tried, of_tenants, tables_of_tenants};

    fn is(column: &str, op: Op) -> Condition {
        Condition::Field {
            field: PROCESS_INSTANCE.column(column),
            op,
        }
    }

    fn ids(ids: &[&str]) -> Condition {
        is(ID, Op::In(ids.iter().map(|id| Value::text(id)).collect()))
    }

    fn granted(these: &[&str]) -> Condition {
        Condition::Any(vec![vec![ids(these)]])
    }

    fn of(key: i64) -> Condition {
        is(KEY, Op::Eq(Value::Int(key)))
    }

    fn asked(filter: &[Condition]) -> Search {
        Search::all(&PROCESS_INSTANCE, filter.to_vec(), 50)
    }

    #[test]
    fn a_list_of_processes_is_settled_by_the_definition() {
        let connection = tables_of_tenants(10);
        let database = Tried {
            connection: &connection,
            succeeds: false,
            tenants: true,
        };
        let both = [granted(&["p0", "p2"]), ids(&["p0", "p2"])];
        for list in both {
            for (key, tenant, left) in [
                (10, None, Some(vec![of(10)])),
                (11, None, None),
                // Unknown, as rows of a definition can be older than its own.
                (12, None, Some(vec![of(12), list.clone()])),
                (
                    10,
                    Some("<default>"),
                    Some(vec![of(10), of_tenants(&["<default>"])]),
                ),
                (11, Some("<default>"), None),
                // As if it did not exist.
                (
                    11,
                    Some("acme"),
                    Some(vec![of(11), list.clone(), of_tenants(&["acme"])]),
                ),
            ] {
                let mut filter = vec![of(key), list.clone()];
                filter.extend(tenant.map(|tenant| of_tenants(&[tenant])));
                let search = asked(&filter);
                let settled = settled(&database, &search).expect("an answer");
                assert_eq!(
                    settled.map(|search| search.filter.clone()),
                    left,
                    "{key} {tenant:?}"
                );
            }
        }
    }

    #[test]
    fn settling_changes_no_answer() {
        let connection = tables_of_tenants(3_000);
        let database = Tried {
            connection: &connection,
            succeeds: true,
            tenants: true,
        };
        let page = |filter: &[Condition]| -> ResultPage {
            match answer::answer(&database, &Query::Search(asked(filter))) {
                Ok(Answer::Page(page)) => page,
                other => panic!("{other:?}"),
            }
        };
        let mut found = 0;
        for key in 9..14 {
            for list in [&["p0"][..], &["p1", "p2"], &["p0", "p1", "p2"], &["none"]] {
                for tenants in [&["<default>"][..], &["acme", "umbrella"]] {
                    let settled = page(&[of(key), granted(list), of_tenants(tenants)]);
                    // The same, but no condition that is looked at.
                    let key = Condition::Any(vec![vec![of(key)]]);
                    assert_eq!(settled, page(&[key, granted(list), of_tenants(tenants)]));
                    found += settled.total;
                }
            }
        }
        assert!(found > 1_000, "{found}");
    }
}
