//! Merges the pages of several partitions into one.

use std::cmp::Ordering;

use crate::cursor::Cursor;
use crate::search::{Page, Search, Sort, Start};
use crate::storage::{ResultPage, Row};
use crate::value::Value;

/// Maximum number of counted matches. [`ResultPage::more`] tells whether there are more.
pub const MAX_COUNTED: u64 = 10_000;

/// The search for a single partition, which returns enough rows to cut the joint page from all answers.
pub fn for_partition(search: &Search) -> Search {
    let mut part = search.clone();
    if let Start::Offset(from) = search.page.start {
        part.page = Page {
            limit: search.page.limit.saturating_add(from),
            start: Start::Offset(0),
        };
    }
    part
}

/// Joins the results of [`for_partition`], each of which is in sort order.
pub fn join(search: &Search, parts: Vec<ResultPage>) -> ResultPage {
    let total: u64 = parts.iter().map(|part| part.total).sum();
    let more = parts.iter().any(|part| part.more) || total > MAX_COUNTED;
    let mut rows: Vec<Row> = parts.into_iter().flat_map(|part| part.rows).collect();
    rows.sort_by(|a, b| compare(search, a, b));
    let limit = search.page.limit as usize;
    match search.page.start {
        Start::Offset(from) => {
            rows.drain(..rows.len().min(from as usize));
            rows.truncate(limit);
        }
        Start::After(_) => rows.truncate(limit),
        // The rows next to the cursor are at the end.
        Start::Before(_) => {
            rows.drain(..rows.len().saturating_sub(limit));
        }
    }
    ResultPage {
        rows,
        total: total.min(MAX_COUNTED),
        more,
    }
}

/// The page of a search from an unsorted list of all rows.
pub fn page(search: &Search, mut rows: Vec<Row>) -> ResultPage {
    let total = rows.len() as u64;
    match &search.page.start {
        Start::Offset(_) => {}
        Start::After(cursor) => rows.retain(|row| compare_to_cursor(search, row, cursor).is_gt()),
        Start::Before(cursor) => rows.retain(|row| compare_to_cursor(search, row, cursor).is_lt()),
    }
    let part = ResultPage {
        rows,
        total,
        more: false,
    };
    let found = join(search, vec![part]);
    ResultPage {
        total: total.min(MAX_COUNTED),
        more: total > MAX_COUNTED,
        ..found
    }
}

/// Compares a row with a cursor in sort order.
fn compare_to_cursor(search: &Search, row: &Row, cursor: &Cursor) -> Ordering {
    let key = Sort {
        field: 0,
        descending: false,
    };
    let sorts = search.sort.iter().copied().chain([key]);
    let mut orders = sorts.zip(&cursor.0).filter_map(|(sort, value)| {
        let order = row.get(sort.field)?.compare(value, sort.descending);
        order.is_ne().then_some(order)
    });
    orders.next().unwrap_or(Ordering::Equal)
}

fn compare(search: &Search, a: &Row, b: &Row) -> Ordering {
    for sort in &search.sort {
        let (a, b) = (value(a, sort.field), value(b, sort.field));
        let order = a.compare(b, sort.descending);
        if order != Ordering::Equal {
            return order;
        }
    }
    value(a, 0).compare(value(b, 0), false)
}

/// The value of a field; a row has one for each field.
fn value(row: &Row, field: usize) -> &Value {
    debug_assert!(field < row.len(), "field {field} of {row:?}");
    row.get(field).unwrap_or(&Value::Null)
}

/// The cursor of a row.
pub fn cursor_of(search: &Search, row: &Row) -> Cursor {
    let by = search.sort.iter().map(|sort| sort.field);
    let values = by.chain([0]).map(|field| value(row, field).clone());
    Cursor(values.collect::<Vec<Value>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::PROCESS_DEFINITION;

    fn part(keys: &[i64]) -> ResultPage {
        let row = |key: &i64| {
            let mut row = vec![Value::Null; PROCESS_DEFINITION.fields.len()];
            row[0] = Value::Int(*key);
            row
        };
        ResultPage {
            rows: keys.iter().map(row).collect(),
            total: keys.len() as u64,
            more: false,
        }
    }

    fn keys(found: &ResultPage) -> Vec<i64> {
        found
            .rows
            .iter()
            .filter_map(|row| row[0].as_int())
            .collect()
    }

    #[test]
    fn an_offset_counts_over_all_partitions() {
        let mut search = Search::all(&PROCESS_DEFINITION, Vec::new(), 2);
        search.page.start = Start::Offset(3);
        assert_eq!(for_partition(&search).page.limit, 5);
        let joined = join(&search, vec![part(&[1, 4, 5]), part(&[2, 3, 6])]);
        assert_eq!((keys(&joined), joined.total), (vec![4, 5], 6));
    }

    #[test]
    fn a_page_before_a_row_has_those_next_to_it() {
        let mut search = Search::all(&PROCESS_DEFINITION, Vec::new(), 2);
        search.sort = vec![Sort {
            field: 0,
            descending: true,
        }];
        search.page.start = Start::Before(Cursor(vec![Value::Int(1), Value::Int(1)]));
        let joined = join(&search, vec![part(&[7, 4]), part(&[6, 3])]);
        assert_eq!(keys(&joined), [4, 3]);
    }
}
