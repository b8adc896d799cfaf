//! Counts of active process instances, without and with incidents, by what they have of their definition.

use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{ActiveInstances, ActiveMeasure, COUNTED_BY, Kind};

use super::{Dialect, Sql, column, column_name, counts, select, statistics, table_name};

/// The table of the counts.
pub const ACTIVE_INSTANCE: &str = "active_instance";

/// Statements that create the table. In a shared database they can be run repeatedly.
pub fn script(dialect: Dialect, prefix: &str) -> String {
    let (if_absent, partition, number) = match dialect {
        Dialect::Sqlite => ("", "", "INTEGER"),
        Dialect::Postgres => ("IF NOT EXISTS ", "partition INT NOT NULL, ", "BIGINT"),
    };
    let table = table_name(prefix, ACTIVE_INSTANCE);
    let index = table_name(prefix, "active_instance_key");
    let columns = COUNTED_BY.map(|at| column(dialect, PROCESS_INSTANCE.field(at)));
    format!(
        "CREATE TABLE {if_absent}{table} ({partition}{}, active {number} NOT NULL, incidents {number} NOT NULL);
        CREATE UNIQUE INDEX {if_absent}{index} ON {table} ({});
        ",
        columns.join(", "),
        key(dialect)
    )
}

/// The quoted names of the columns that instances are counted by.
pub fn columns() -> String {
    COUNTED_BY.map(name).join(", ")
}

/// The expressions that identify a row. Columns are null where the definition is not known, or has no name, and nulls would all be
/// different.
pub fn key(dialect: Dialect) -> String {
    let of = |at: usize| {
        let column = name(at);
        match (dialect, PROCESS_INSTANCE.field(at).kind) {
            (Dialect::Sqlite, _) => format!("quote({column})"),
            // Indices cannot contain long texts.
            (Dialect::Postgres, Kind::Text) => format!("(md5(coalesce('=' || {column}, '')))"),
            (Dialect::Postgres, _) => format!("(coalesce({column}, -1))"),
        }
    };
    let partition = match dialect {
        Dialect::Sqlite => "",
        Dialect::Postgres => ", partition",
    };
    format!("{}{partition}", COUNTED_BY.map(of).join(", "))
}

/// The condition that two tables agree in the columns.
pub fn same(dialect: Dialect, one: &str, other: &str) -> String {
    let is = match dialect {
        Dialect::Sqlite => "IS",
        Dialect::Postgres => "IS NOT DISTINCT FROM",
    };
    let same = COUNTED_BY.map(|at| format!("{one}.{0} {is} {other}.{0}", name(at)));
    same.join(" AND ")
}

/// The counts of all active instances, as the table has them. `own`: a further condition on instances.
pub fn recount(dialect: Dialect, prefix: &str, own: &str) -> String {
    let instances = table_name(prefix, PROCESS_INSTANCE.table);
    let incidents = counts::with_incidents(dialect);
    let columns = columns();
    format!(
        "SELECT {columns}, count(*) - {incidents}, {incidents} FROM {instances} WHERE state = 'ACTIVE'{own} GROUP BY {columns}"
    )
}

/// Answers the question from the counts.
pub fn groups<'a>(mut sql: Sql<'a>, asked: &ActiveInstances) -> Sql<'a> {
    let column = |at: usize| format!("t.{}", name(at));
    let by: Vec<String> = asked.by.iter().map(|at| column(*at)).collect();
    let measures: Vec<String> = asked
        .measures
        .iter()
        .map(|measure| match measure {
            ActiveMeasure::Instances => statistics::sum(&sql, "t.active + t.incidents"),
            ActiveMeasure::WithIncident => statistics::sum(&sql, "t.incidents"),
            ActiveMeasure::WithoutIncident => statistics::sum(&sql, "t.active"),
            ActiveMeasure::Least(at) => format!("min({})", column(*at)),
            ActiveMeasure::Most(at) => format!("max({})", column(*at)),
        })
        .collect();
    let by = by.join(", ");
    let selected: Vec<String> = std::iter::once(by.clone()).chain(measures).collect();
    // Definitions whose instances have all ended keep a row.
    sql.push(&format!(
        "SELECT {} FROM {} t WHERE (t.active > 0 OR t.incidents > 0)",
        selected.join(", "),
        table_name(sql.prefix, ACTIVE_INSTANCE)
    ));
    select::restrict(&mut sql, &PROCESS_INSTANCE, (&asked.filter, &asked.any_of));
    sql.push(&format!(
        " GROUP BY {by} LIMIT {}",
        skep_query::groups::MAX_GROUPS + 1
    ));
    sql
}

fn name(at: usize) -> String {
    column_name(PROCESS_INSTANCE.field(at).name)
}
