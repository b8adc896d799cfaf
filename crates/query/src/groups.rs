//! Statistics: counts over groups of the rows that a filter matches.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::search::{Conditions, Search};
use crate::storage::Row;
use crate::value::Value;

/// Maximum number of groups in one answer.
pub const MAX_GROUPS: usize = 10_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Groups {
    /// The rows to count. Only the filter of the search is used.
    pub search: Search,
    /// Columns to group by.
    pub by: Vec<usize>,
    /// Times in these columns are rounded down to multiples of this many milliseconds.
    pub span: Option<i64>,
    pub measures: Vec<Measure>,
}

/// A measure of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Measure {
    Rows,
    /// The number of rows that match these conditions.
    RowsWhere(Conditions),
    /// The number of distinct values of a column. Partitions must not share values of it, as they share no process instances.
    Distinct(usize),
    Sum(usize),
    Least(usize),
    Most(usize),
}

/// Joins the answers of the partitions: rows of group columns followed by measures.
pub fn join(groups: &Groups, parts: Vec<Vec<Row>>) -> Vec<Row> {
    let width = groups.by.len();
    let mut rows: Vec<Row> = parts.into_iter().flatten().collect();
    rows.sort_by(|a, b| compare(a, b, width));
    let mut joined: Vec<Row> = Vec::with_capacity(rows.len());
    for row in rows {
        match joined.last_mut() {
            Some(last) if compare(last, &row, width) == Ordering::Equal => {
                let values = last.iter_mut().zip(row).skip(width);
                for (measure, (own, more)) in groups.measures.iter().zip(values) {
                    add(measure, own, more);
                }
            }
            _ => joined.push(row),
        }
    }
    joined
}

fn compare(a: &Row, b: &Row, width: usize) -> Ordering {
    let pairs = a.iter().zip(b).take(width);
    let mut orders = pairs.map(|(a, b)| a.compare(b, false));
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

fn add(measure: &Measure, own: &mut Value, more: Value) {
    let takes = match measure {
        Measure::Rows | Measure::RowsWhere(_) | Measure::Distinct(_) | Measure::Sum(_) => {
            let sum = |value: &Value| value.as_int().unwrap_or_default();
            *own = Value::Int(sum(own).saturating_add(sum(&more)));
            return;
        }
        Measure::Least(_) => more.compare(own, false) == Ordering::Less,
        Measure::Most(_) => more.compare(own, true) == Ordering::Less,
    };
    if takes {
        *own = more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::INCIDENT;

    #[test]
    fn groups_of_partitions_add_up() {
        let groups = Groups {
            search: Search::all(&INCIDENT, Vec::new(), 1),
            by: vec![1],
            span: None,
            measures: vec![Measure::Rows, Measure::Least(5), Measure::Most(5)],
        };
        let row = |name: &str, rows, least, most| {
            let [rows, least, most] = [rows, least, most].map(Value::Int);
            vec![Value::text(name), rows, least, most]
        };
        let parts = vec![
            vec![row("a", 1, 5, 6), row("b", 2, 1, 1)],
            vec![row("a", 3, 4, 9)],
        ];
        assert_eq!(join(&groups, parts), [row("a", 4, 4, 9), row("b", 2, 1, 1)]);
    }
}
