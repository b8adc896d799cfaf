//! How many instances stand at each element of a definition. Search servers count when they are asked, by element instances: a filter on
//! more than a few process instances is refused.

use std::collections::HashMap;

use skep_query::{ActiveElements, Row, Value};

use super::groups::groups;
use super::server::{Failure, Server};

/// The rows of the answer, or `None` if there are too many.
pub fn rows(server: &Server, asked: &ActiveElements) -> Result<Option<Vec<Row>>, Failure> {
    match asked.has_incident {
        None | Some(true) => groups(server, &asked.groups()),
        // Few instances have incidents: what stands in them is subtracted.
        Some(false) => {
            let [all, stuck] = [None, Some(true)].map(|has_incident| {
                let asked = ActiveElements {
                    has_incident,
                    ..*asked
                };
                groups(server, &asked.groups())
            });
            let (all, stuck) = (all?, stuck?);
            Ok(all.zip(stuck).map(|(all, stuck)| without(&all, &stuck)))
        }
    }
}

/// What stands in instances without incidents, in which no element has one.
fn without(all: &[Row], stuck: &[Row]) -> Vec<Row> {
    let active = |row: &Row| match row.as_slice() {
        [Value::Text(id), active, ..] => Some((id.clone(), active.as_int()?)),
        _ => None,
    };
    let beside: HashMap<_, i64> = stuck.iter().filter_map(active).collect();
    let left = all.iter().filter_map(active).map(|(id, count)| {
        let left = count - beside.get(&id).copied().unwrap_or_default();
        (id, left)
    });
    // The two answers are not of the same moment.
    left.filter(|(_, left)| *left > 0)
        .map(|(id, left)| vec![Value::Text(id), Value::Int(left), Value::Int(0)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_instances_with_incidents_is_left_out() {
        let row = |id: &str, active: i64, incidents: i64| {
            vec![Value::text(id), Value::Int(active), Value::Int(incidents)]
        };
        let all = [row("a", 5, 2), row("b", 3, 0), row("c", 4, 0)];
        // A change between the two questions must not lead to a negative number.
        let stuck = [row("a", 1, 2), row("b", 3, 0), row("d", 1, 0)];
        assert_eq!(without(&all, &stuck), [row("a", 4, 0), row("c", 4, 0)]);
    }
}
