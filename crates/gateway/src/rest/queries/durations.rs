//! How long the elements of a process definition usually take. An addition of our own.
//!
//! The store counts completed element instances by day, by how long they took: a question adds up a few small rows per element, however
//! many instances there were.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use skep_protocol::Key;
use skep_query::entities::{ELEMENT_DURATION, ELEMENT_DURATION_COUNTS, ELEMENT_DURATION_SPAN};
use skep_query::{Condition, Durations, Groups, Measure, Op, Query, Row, Search, Value, durations};

use super::Ask;
use crate::rest::problem::Problem;

/// Four weeks: each weekday occurs equally often, and older durations are forgotten.
const DAYS: i64 = 28;

/// With fewer instances, a single slow one would determine the usual duration.
const ENOUGH: i64 = 20;

/// Elements that are looked for by name.
const MAX_ELEMENTS: usize = 500;

const DEFINITION: usize = ELEMENT_DURATION.column("processDefinitionKey");
const ELEMENT: usize = ELEMENT_DURATION.column("elementId");
const START: usize = ELEMENT_DURATION.column("startTime");

/// By element.
pub(super) type ByElement = BTreeMap<Arc<str>, Durations>;

/// The duration within which 19 of 20 finished. The median would call every second wait a long one; the longest wait could be
/// a single accident. `None`: too few are known.
pub(super) fn usual(durations: &Durations) -> Option<i64> {
    (durations.count() >= ENOUGH)
        .then(|| durations.percentile(95))
        .flatten()
}

/// Rows of the days that are counted.
pub(super) fn since(now: i64) -> Condition {
    let since = now.saturating_sub(DAYS * ELEMENT_DURATION_SPAN);
    Condition::Field {
        field: START,
        op: Op::Gte(Value::Int(since)),
    }
}

impl Ask<'_> {
    pub(super) async fn durations(&mut self, definition: Key) -> Result<String, Problem> {
        self.may_read_of(definition, &ELEMENT_DURATION).await?;
        let found = self.durations_of(definition, None).await?;
        let elements = found.iter().map(|(element, durations)| {
            json!({
                "elementId": element,
                "count": durations.count(),
                "p50Ms": durations.percentile(50),
                "p95Ms": durations.percentile(95),
            })
        });
        Ok(json!({"elements": elements.collect::<Vec<Json>>()}).to_string())
    }

    /// Of all elements, or of these.
    pub(super) async fn durations_of(
        &mut self,
        definition: Key,
        elements: Option<Vec<Value>>,
    ) -> Result<ByElement, Problem> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX);
        let is = |field: usize, op: Op| Condition::Field { field, op };
        let mut filter = vec![is(DEFINITION, Op::Eq(Value::Int(definition.0))), since(now)];
        if let Some(mut elements) = elements {
            elements.truncate(MAX_ELEMENTS);
            filter.push(is(ELEMENT, Op::In(elements)));
        }
        let counts = (0..durations::COUNTS.len()).map(|at| ELEMENT_DURATION_COUNTS + at);
        let ends = [
            Measure::Least(const { ELEMENT_DURATION.column("shortest") }),
            Measure::Most(const { ELEMENT_DURATION.column("longest") }),
        ];
        let groups = Groups {
            search: Search::all(&ELEMENT_DURATION, filter, 0),
            by: vec![ELEMENT],
            span: None,
            measures: ends.into_iter().chain(counts.map(Measure::Sum)).collect(),
        };
        let rows = self.rows(Query::Groups(groups)).await?;
        Ok(rows.iter().filter_map(of_row).collect())
    }
}

fn of_row(row: &Row) -> Option<(Arc<str>, Durations)> {
    let [Value::Text(element), shortest, longest, counted @ ..] = row.as_slice() else {
        return None;
    };
    let mut counts = [0; durations::COUNTS.len()];
    for (count, value) in counts.iter_mut().zip(counted) {
        *count = value.as_int().unwrap_or_default();
    }
    let durations = Durations {
        shortest: shortest.as_int()?,
        longest: longest.as_int()?,
        counts,
    };
    Some((Arc::clone(element), durations))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_duration_needs_enough_samples() {
        let mut durations = Durations::default();
        for n in 1..=ENOUGH {
            assert_eq!(usual(&durations), None, "{n}");
            durations.add(60_000);
        }
        assert_eq!(usual(&durations), Some(60_000));
        // One outlier among many does not change the usual duration.
        durations.add(3_600_000);
        assert!(usual(&durations).unwrap() < 100_000);
    }
}
