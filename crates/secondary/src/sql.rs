//! SQL shared by all databases: searches, and the names and values in statements.

pub mod active_elements;
pub mod active_instances;
pub mod answer;
pub mod counts;
pub mod flows;
mod like;
pub mod page;
#[cfg(test)]
mod samples;
pub mod select;
mod settled;
pub mod statistics;
mod tenants;
mod unselective;
pub mod upsert;

use std::fmt::Write as _;

use skep_query::entities::VARIABLE;
use skep_query::{Entity, Field, Indexed, Kind, Related, Value};

/// Characters of a text that are indexed by databases whose indices cannot contain long texts.
const INDEXED_CHARACTERS: usize = 200;

/// SQL dialects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

/// How the tables of a store are created.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    pub dialect: Dialect,
    /// Prefix of all table names.
    pub prefix: &'a str,
    /// Whether callers belong to tenants; see [`Indexed::OfTenants`].
    pub tenants: bool,
}

/// A statement with its parameters.
#[derive(Debug)]
pub struct Sql<'a> {
    pub text: String,
    pub parameters: Vec<Value>,
    pub dialect: Dialect,
    /// The columns of the only indices that are entered. All other conditions are only evaluated.
    walks: Option<Vec<&'static str>>,
    /// Whether only rows of one tenant are asked for, or of a few: of the indices that lead to them, the tenant is the first column.
    of_tenant: bool,
    /// Columns whose indices are not entered.
    without: Vec<&'static str>,
    /// Conditions on related rows that match very many of them. They are evaluated row by row.
    broad: Vec<&'a Related>,
    /// Columns of the index by which related rows are found. Conditions on other columns are only evaluated.
    entered: Option<&'static [&'static str]>,
    /// Whether rows have an index on their tenant; see [`Indexed::OfTenants`].
    tenants: bool,
    /// Prefix of all table names.
    prefix: &'a str,
}

/// Columns at the beginning of an index.
pub type Columns = &'static [&'static str];

impl<'a> Sql<'a> {
    pub fn new(dialect: Dialect, prefix: &'a str) -> Sql<'a> {
        Sql {
            text: String::new(),
            parameters: Vec::new(),
            dialect,
            walks: None,
            of_tenant: false,
            without: Vec::new(),
            broad: Vec::new(),
            entered: None,
            tenants: false,
            prefix,
        }
    }

    /// For a store in which rows have an index on their tenant, if `tenants`.
    pub fn with_tenants(self, tenants: bool) -> Sql<'a> {
        Sql { tenants, ..self }
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

    /// Whether a condition on this column of the searched rows is only to be evaluated, and not to lead to an index.
    fn is_looked_at(&self, entity: &Entity, name: &str) -> bool {
        if self.of_tenant && name == tenants::TENANT {
            return false;
        }
        let is_elsewhere = |columns: &Vec<&str>| !columns.contains(&name);
        self.walks.as_ref().is_some_and(is_elsewhere)
            || self.without.contains(&name)
            || tenants::is_only_of_all(self, entity, name)
    }

    /// A unary plus keeps SQLite from using an index for a column. PostgreSQL has statistics, and needs none.
    fn sign(&self, is_looked_at: bool) -> &'static str {
        match self.dialect {
            Dialect::Sqlite if is_looked_at => "+",
            Dialect::Sqlite | Dialect::Postgres => "",
        }
    }

    /// The name of an entity's table.
    pub fn table(&self, entity: &Entity) -> String {
        table_name(self.prefix, entity.table)
    }
}

/// The quoted name of a table.
pub fn table_name(prefix: &str, table: &str) -> String {
    format!("\"{prefix}{table}\"")
}

/// The quoted name of a column.
pub fn column_name(name: &str) -> String {
    format!("\"{name}\"")
}

/// Statements that create the table of an entity and its indices. In a shared database they can be run repeatedly and add what
/// is missing.
pub fn table_script(tables: Tables<'_>, entity: &Entity) -> String {
    let Tables {
        dialect, prefix, ..
    } = tables;
    let table = table_name(prefix, entity.table);
    let if_absent = match dialect {
        Dialect::Sqlite => "",
        Dialect::Postgres => "IF NOT EXISTS ",
    };
    let fields = entity.fields.iter();
    let columns: Vec<String> = fields.map(|field| column(dialect, field)).collect();
    let (key, others) = columns
        .split_first()
        .map_or(("", [].as_slice()), |(k, o)| (k, o));
    let others = others.join(", ");
    let key = match (dialect, has_text_key(entity)) {
        (Dialect::Sqlite, true) => format!("{key} PRIMARY KEY NOT NULL"),
        (Dialect::Postgres, true) => format!("{key} NOT NULL"),
        (_, false) => format!("{key} PRIMARY KEY"),
    };
    let mut script = format!("CREATE TABLE {if_absent}{table} ({key}, {others});\n");
    if dialect == Dialect::Postgres && has_text_key(entity) {
        let index = |suffix: &str| table_name(prefix, &format!("{}_{suffix}", entity.table));
        let unique = unique_key(dialect, entity);
        let beginning = indexed(dialect, entity.key());
        let _ = writeln!(
            script,
            "CREATE UNIQUE INDEX IF NOT EXISTS {} ON {table} ({unique});
            CREATE INDEX IF NOT EXISTS {} ON {table} ({beginning});",
            index("key"),
            index("text"),
        );
    }
    let indices = indices(tables, entity).into_iter();
    for index in indices.filter(|index| index.is_wanted) {
        let _ = writeln!(script, "CREATE INDEX {if_absent}{};", index.made);
    }
    script
}

/// An index of the current schema version.
pub struct TableIndex {
    /// The name, without quotes.
    pub name: String,
    pub columns: usize,
    pub is_partial: bool,
    /// Whether this store has it.
    pub is_wanted: bool,
    /// The definition after `CREATE INDEX`.
    pub made: String,
}

/// The indices of an entity's table, other than that of its key.
pub fn indices(tables: Tables<'_>, entity: &Entity) -> Vec<TableIndex> {
    let Tables {
        dialect,
        prefix,
        tenants,
    } = tables;
    let table = table_name(prefix, entity.table);
    let rows_of = |column: Option<&&str>| {
        let field = column.and_then(|name| entity.index_of(name));
        field.map_or(Indexed::All, |at| entity.field(at).indexed)
    };
    let made = |(n, columns): (usize, &Columns)| {
        let is_of_tenants = rows_of(columns.first()) == Indexed::OfTenants;
        let first = columns.get(usize::from(is_of_tenants)).copied();
        let rows = rows_of(first.as_ref());
        let mut columns = tenants::columns_of(entity, columns, tenants);
        if is_of_tenants && columns.len() == 1 && dialect == Dialect::Postgres {
            // Which the indices of SQLite have by themselves, so that the rows of a tenant are in the order of their keys.
            columns.push(entity.key().name);
        }
        let fields: Vec<String> = columns
            .iter()
            .filter_map(|name| entity.index_of(name))
            .map(|at| indexed(dialect, entity.field(at)))
            .collect();
        let name = format!("{prefix}{}_{n}", entity.table);
        let first = column_name(first.unwrap_or_default());
        let only = match rows {
            Indexed::All | Indexed::OfTenants => String::new(),
            Indexed::Present => format!(" WHERE {first} IS NOT NULL"),
            Indexed::Absent => format!(" WHERE {first} IS NULL"),
            Indexed::True => format!(" WHERE {first} = 1"),
            Indexed::While(other, value) => format!(" WHERE {} = '{value}'", column_name(other)),
            Indexed::Unlike(other) => format!(" WHERE {first} <> {}", column_name(other)),
        };
        TableIndex {
            columns: fields.len(),
            is_partial: !only.is_empty(),
            is_wanted: tenants || !is_of_tenants,
            made: format!("\"{name}\" ON {table} ({}){only}", fields.join(", ")),
            name,
        }
    };
    let mut indices: Vec<_> = entity.indices.iter().enumerate().map(made).collect();
    if entity.table == VARIABLE.table {
        indices.push(values(tables));
    }
    indices
}

/// The index on names and values of variables. Values can be as long as a message, so it has their beginnings.
fn values(tables: Tables<'_>) -> TableIndex {
    let Tables {
        dialect,
        prefix,
        tenants,
    } = tables;
    let name = format!("{prefix}variable_by_value");
    let (made, columns) = match dialect {
        Dialect::Sqlite => (
            format!("{name} ON {prefix}variable"),
            ["tenantId", "name", "substr(value, 1, 64)"],
        ),
        Dialect::Postgres => (
            format!("\"{name}\" ON {}", table_name(prefix, VARIABLE.table)),
            [
                r#"left("tenantId", 200)"#,
                r#"left("name", 200)"#,
                r#"substr("value", 1, 64)"#,
            ],
        ),
    };
    let columns = columns.get(usize::from(!tenants)..).unwrap_or_default();
    TableIndex {
        name,
        columns: columns.len(),
        is_partial: false,
        is_wanted: true,
        made: format!("{made} ({})", columns.join(", ")),
    }
}

/// The expression that identifies a row: the key, or its hash if it may be too long for an index.
pub fn unique_key(dialect: Dialect, entity: &Entity) -> String {
    let name = column_name(entity.key().name);
    if dialect == Dialect::Postgres && has_text_key(entity) {
        format!("md5({name})")
    } else {
        name
    }
}

fn has_text_key(entity: &Entity) -> bool {
    entity.key().kind == Kind::Text
}

/// A column definition: name and type.
pub fn column(dialect: Dialect, field: &Field) -> String {
    format!("{} {}", column_name(field.name), type_of(dialect, field))
}

fn type_of(dialect: Dialect, field: &Field) -> &'static str {
    let is_text = matches!(field.kind, Kind::Text | Kind::Enum(_) | Kind::Json);
    match (dialect, is_text) {
        (Dialect::Sqlite, true) => "TEXT",
        (Dialect::Sqlite, false) => "INTEGER",
        // Texts are ordered by their bytes, regardless of the database's locale.
        (Dialect::Postgres, true) => "TEXT COLLATE \"C\"",
        (Dialect::Postgres, false) => "BIGINT",
    }
}

/// The indexed expression for a column.
fn indexed(dialect: Dialect, field: &Field) -> String {
    let name = column_name(field.name);
    if begins(dialect, field) {
        format!("left({name}, {INDEXED_CHARACTERS})")
    } else {
        name
    }
}

/// Whether indices contain only the beginnings of the field's texts.
pub fn begins(dialect: Dialect, field: &Field) -> bool {
    dialect == Dialect::Postgres && field.kind == Kind::Text
}
