//! Rows that come about or change.

use skep_query::{Entity, Field};

use super::{Dialect, column_name, table_name, unique_key};

/// The columns of a set, the key first.
pub fn columns(
    entity: &'static Entity,
    mask: u64,
) -> impl Iterator<Item = (usize, &'static Field)> {
    let fields = entity.fields.iter().enumerate();
    fields.filter(move |(column, _)| mask & (1 << column) != 0)
}

/// Puts rows with these columns in the table; `rows` is where the statement takes them from.
pub fn statement(
    dialect: Dialect,
    prefix: &str,
    entity: &'static Entity,
    mask: u64,
    rows: &str,
) -> String {
    let names: Vec<String> = columns(entity, mask)
        .map(|(_, field)| column_name(field.name))
        .collect();
    let updates: Vec<String> = columns(entity, mask)
        .skip(1)
        .map(|(_, field)| column_name(field.name))
        .map(|name| format!("{name} = excluded.{name}"))
        .collect();
    let otherwise = if updates.is_empty() {
        "DO NOTHING".to_string()
    } else {
        format!("DO UPDATE SET {}", updates.join(", "))
    };
    format!(
        "INSERT INTO {} ({}) {rows} ON CONFLICT ({}) {otherwise}",
        table_name(prefix, entity.table),
        names.join(", "),
        unique_key(dialect, entity),
    )
}
