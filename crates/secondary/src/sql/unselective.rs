//! Indices that a database without statistics takes for as good as others.

use skep_query::{Condition, Field, Indexed, Kind, Op, Search};

/// The columns with few different values, such as the state, if a condition on another column leads to an index, such as that on the
/// process: an index that begins with the state is not to be entered then. `without`: columns whose indices are not entered either.
pub fn unselective_columns(search: &Search, without: &[&'static str]) -> Vec<&'static str> {
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
        let mut indices = entity.indices.iter();
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
