//! Statements that insert or update rows.

use skep_query::{Entity, Field};

use super::{Dialect, column_name, table_name, unique_key};

/// The columns in a mask, the key first.
pub fn columns(
    entity: &'static Entity,
    mask: u64,
) -> impl Iterator<Item = (usize, &'static Field)> {
    let fields = entity.fields.iter().enumerate();
    fields.filter(move |(column, _)| mask & (1 << column) != 0)
}

/// A statement that inserts or updates rows with these columns. `rows` is the source of the rows.
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
