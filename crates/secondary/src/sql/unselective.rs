//! Indices that a database without statistics takes for as good as others.

use skep_query::{Condition, Field, Indexed, Kind, Op, Search};

use super::{Sql, tenants};

/// The columns with few different values, such as the state, if a condition on another column leads to an index, such as that on the
/// process: an index that begins with the state is not to be entered then. `without`: columns whose indices are not entered either.
pub fn unselective_columns(
    sql: &Sql<'_>,
    search: &Search,
    without: &[&'static str],
) -> Vec<&'static str> {
    let entity = search.entity;
    let equal = search
        .filter
        .iter()
        .filter_map(|condition| match condition {
            Condition::Field {
                field,
                op: Op::Eq(_),
            } => Some(entity.field(*field)),
            _ => None,
        });
    let (few, many): (Vec<&Field>, Vec<&Field>) =
        equal.partition(|field| matches!(field.kind, Kind::Enum(_) | Kind::Bool));
    let begin = |name: &'static str| {
        let mut indices = tenants::indices(sql, entity);
        indices.find(|columns| columns.first() == Some(&name))
    };
    let is_given = |name: &str| many.iter().any(|field| field.name == name);
    let mut leading = many.iter().filter(|field| !without.contains(&field.name));
    if !leading.any(|field| begin(field.name).is_some()) {
        return Vec::new();
    }
    let few = few.iter().filter(|field| field.indexed == Indexed::All);
    few.filter(|field| {
        // With the next column given as well, the index leads to few rows.
        let next = begin(field.name).map(|columns| columns.get(1));
        next.is_some_and(|next| !next.is_some_and(|next| is_given(next)))
    })
    .map(|field| field.name)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::page::Way;
    use crate::sql::page::tests::first_columns;
    use crate::sql::samples::{self, searches, tables};
    use crate::sql::select;

    #[test]
    fn an_index_of_few_different_values_is_entered_only_if_none_leads_to_fewer_rows() {
        let connection = tables(300);
        let unknown: [&str; 0] = [];
        for (filter, without, entered) in [
            (r#"{"state": "ACTIVE"}"#, &unknown[..], "(state=?"),
            (
                r#"{"state": "ACTIVE", "processDefinitionId": "p0"}"#,
                &["state"][..],
                "(processDefinitionId=?",
            ),
            // The index has both.
            (
                r#"{"state": "ACTIVE", "processDefinitionKey": "10", "processDefinitionId": "p0"}"#,
                &unknown[..],
                "(state=? AND processDefinitionKey=?",
            ),
            // An index of the few rows that have it.
            (
                r#"{"hasIncident": true, "processDefinitionId": "p0"}"#,
                &unknown[..],
                "(hasIncident=?",
            ),
        ] {
            let search = searches(&[filter], &["startDate"]).remove(0);
            let unselective = unselective_columns(&samples::sql(), &search, &[]);
            assert_eq!(unselective, without, "{filter}");
            let sql = select::count(samples::sql(), &search, &Way::Without(unselective), 10);
            let plan: Vec<String> = first_columns(&connection, &sql, 3, "EXPLAIN QUERY PLAN ");
            let plan = plan.join("; ");
            assert!(plan.contains(entered), "{filter}: {plan}");
        }
    }
}
