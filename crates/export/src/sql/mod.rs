//! What the SQL of all databases shares: searches, and the names and values that stand in statements.

pub mod answer;
pub mod flows;
pub mod select;
pub mod statistics;

use std::fmt::Write as _;

use skep_query::{Entity, Field, Indexed, Kind, Value};

/// Characters of a text by which a database finds it that cannot have long texts in its indices.
const INDEXED_CHARACTERS: usize = 200;

/// Where databases differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

/// A statement with its parameters.
#[derive(Debug)]
pub struct Sql<'a> {
    pub text: String,
    pub parameters: Vec<Value>,
    pub dialect: Dialect,
    /// What the names of all tables begin with.
    prefix: &'a str,
}

impl<'a> Sql<'a> {
    pub fn new(dialect: Dialect, prefix: &'a str) -> Sql<'a> {
        Sql {
            text: String::new(),
            parameters: Vec::new(),
            dialect,
            prefix,
        }
    }

    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub fn bind(&mut self, value: &Value) {
        match (self.dialect, value) {
            (_, Value::Null) => return self.push("NULL"),
            (Dialect::Sqlite, _) => self.push("?"),
            (Dialect::Postgres, _) => {
                let number = self.parameters.len() + 1;
                let _ = write!(self.text, "${number}");
            }
        }
        self.parameters.push(value.clone());
    }

    /// The name of an entity's table.
    pub fn table(&self, entity: &Entity) -> String {
        table_name(self.prefix, entity.table)
    }
}

/// The name of a table, in quotes.
pub fn table_name(prefix: &str, table: &str) -> String {
    format!("\"{prefix}{table}\"")
}

/// The name of a column, in quotes.
pub fn column_name(name: &str) -> String {
    format!("\"{name}\"")
}

/// The statements that make the table of an entity and its indices.
pub fn table_script(dialect: Dialect, prefix: &str, entity: &Entity) -> String {
    let table = table_name(prefix, entity.table);
    let fields = entity.fields.iter().enumerate();
    let columns: Vec<String> = fields
        .map(|(at, field)| {
            let key = match (at, dialect) {
                (0, Dialect::Sqlite) if field.kind == Kind::Text => " PRIMARY KEY NOT NULL",
                (0, _) => " PRIMARY KEY",
                _ => "",
            };
            format!(
                "{} {}{key}",
                column_name(field.name),
                type_of(dialect, field)
            )
        })
        .collect();
    let mut script = format!("CREATE TABLE {table} ({});\n", columns.join(", "));
    for (n, columns) in entity.indices.iter().enumerate() {
        let first = columns.first().copied().unwrap_or_default();
        let rows = entity.index_of(first).map(|at| entity.field(at).indexed);
        let columns: Vec<String> = columns
            .iter()
            .filter_map(|name| entity.index_of(name))
            .map(|at| indexed(dialect, entity.field(at)))
            .collect();
        let name = table_name(prefix, &format!("{}_{n}", entity.table));
        let columns = columns.join(", ");
        let first = column_name(first);
        let only = match rows.unwrap_or(Indexed::All) {
            Indexed::All => String::new(),
            Indexed::Present => format!(" WHERE {first} IS NOT NULL"),
            Indexed::While(other, value) => format!(" WHERE {} = '{value}'", column_name(other)),
            Indexed::Unlike(other) => format!(" WHERE {first} <> {}", column_name(other)),
        };
        let _ = writeln!(script, "CREATE INDEX {name} ON {table} ({columns}){only};");
    }
    script
}

fn type_of(dialect: Dialect, field: &Field) -> &'static str {
    let is_text = matches!(field.kind, Kind::Text | Kind::Enum(_) | Kind::Json);
    match (dialect, is_text) {
        (Dialect::Sqlite, true) => "TEXT",
        (Dialect::Sqlite, false) => "INTEGER",
        // Texts are in the order of their bytes, whatever the language of the database.
        (Dialect::Postgres, true) => "TEXT COLLATE \"C\"",
        (Dialect::Postgres, false) => "BIGINT",
    }
}

/// What stands in an index for a column.
fn indexed(dialect: Dialect, field: &Field) -> String {
    let name = column_name(field.name);
    match begins(dialect, field) {
        true => format!("left({name}, {INDEXED_CHARACTERS})"),
        false => name,
    }
}

/// Whether an index has only the beginnings of a field's texts.
pub fn begins(dialect: Dialect, field: &Field) -> bool {
    dialect == Dialect::Postgres && field.kind == Kind::Text
}
