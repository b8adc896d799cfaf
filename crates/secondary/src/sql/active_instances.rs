//! Counts of active process instances, without and with incidents, by what they have of their definition.

use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{ActiveInstances, ActiveMeasure, COUNTED_BY, Kind};

use super::{Dialect, Sql, column, column_name, counts, indexed, select, statistics, table_name};

const TENANT: usize = PROCESS_INSTANCE.column("tenantId");

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
    let by_tenant = table_name(prefix, "active_instance_tenant");
    let columns = COUNTED_BY.map(|at| column(dialect, PROCESS_INSTANCE.field(at)));
    format!(
        "CREATE TABLE {if_absent}{table} ({partition}{}, active {number} NOT NULL, incidents {number} NOT NULL);
        CREATE UNIQUE INDEX {if_absent}{index} ON {table} ({});
        CREATE INDEX {if_absent}{by_tenant} ON {table} ({});
        ",
        columns.join(", "),
        key(dialect),
        indexed(dialect, PROCESS_INSTANCE.field(TENANT))
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
    select::restrict(&mut sql, &PROCESS_INSTANCE, &asked.filter, &asked.any_of);
    sql.push(&format!(
        " GROUP BY {by} LIMIT {}",
        skep_query::groups::MAX_GROUPS + 1
    ));
    sql
}

fn name(at: usize) -> String {
    column_name(PROCESS_INSTANCE.field(at).name)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use skep_query::{
        Answer, Condition, Groups, Measure, Op, Query, QueryError, Row, Search, Value,
    };

    use super::*;
    use crate::sql::answer::{Database, answer};
    use crate::sql::counts::Counts;
    use crate::sql::page::tests::first_columns;
    use crate::sql::samples::{self, Tried, of_tenants, tables};

    /// A database whose counts of instances hold.
    struct Kept<'a>(Tried<'a>);

    impl Database for Kept<'_> {
        fn sql(&self) -> Sql<'_> {
            self.0.sql()
        }

        fn rows(&self, sql: &Sql<'_>, columns: usize) -> Result<Vec<Row>, QueryError> {
            self.0.rows(sql, columns)
        }

        fn is_counted(&self, counts: Counts) -> Result<bool, QueryError> {
            Ok(counts == Counts::ActiveInstances)
        }
    }

    fn is(column: &str, op: Op) -> Condition {
        let field = PROCESS_INSTANCE.column(column);
        Condition::Field { field, op }
    }

    /// A question about active instances.
    fn asked(by: &[&str], also: Vec<Condition>) -> Groups {
        let with = |has: bool| Measure::RowsWhere(vec![is("hasIncident", Op::Eq(has.into()))]);
        let version = PROCESS_INSTANCE.column("processDefinitionVersion");
        let mut filter = vec![is("state", Op::Eq(Value::text("ACTIVE")))];
        filter.extend(also);
        Groups {
            search: Search::all(&PROCESS_INSTANCE, filter, 0),
            by: by
                .iter()
                .map(|name| PROCESS_INSTANCE.column(name))
                .collect(),
            span: None,
            measures: vec![
                with(true),
                with(false),
                Measure::Rows,
                Measure::Least(version),
                Measure::Most(version),
            ],
        }
    }

    fn rows(database: &impl Database, groups: &Groups) -> Vec<Row> {
        let Ok(Answer::Rows(mut rows)) = answer(database, &Query::Groups(groups.clone())) else {
            panic!("{groups:?}");
        };
        rows.sort_by_key(|row| format!("{row:?}"));
        rows
    }

    /// The answers from counts and from rows.
    fn both(connection: &Connection, groups: &Groups) -> [Vec<Row>; 2] {
        let tried = || Tried {
            connection,
            succeeds: false,
            tenants: true,
        };
        [rows(&Kept(tried()), groups), rows(&tried(), groups)]
    }

    #[test]
    fn counts_of_other_tenants_are_not_read() {
        let connection = tables(300);
        let limited = asked(
            &["processDefinitionId"],
            vec![of_tenants(&["acme", "umbrella"])],
        );
        let limited = ActiveInstances::of(&limited).expect("a question that counts answer");
        let sql = super::groups(samples::sql(), &limited);
        let plan: Vec<String> = first_columns(&connection, &sql, 3, "EXPLAIN QUERY PLAN ");
        let is_led = |step: &String| step.contains("active_instance_tenant (tenantId=?)");
        assert!(plan.iter().any(is_led), "{plan:?}");
    }

    #[test]
    fn counts_answer_as_rows_do() {
        let connection = tables(3_000);
        let ids = |ids: &[&str]| ids.iter().map(|id| Value::text(id)).collect();
        let granted = |these: &[&str]| is("processDefinitionId", Op::In(ids(these)));
        let nobody = is("tenantId", Op::Exists(false));
        let mut groups_found = 0;
        for by in [
            &["processDefinitionId", "tenantId"][..],
            &[
                "processDefinitionKey",
                "processDefinitionVersion",
                "processDefinitionName",
            ],
        ] {
            for also in [
                Vec::new(),
                vec![is("processDefinitionId", Op::Eq(Value::text("p1")))],
                vec![is("processDefinitionId", Op::Like("p*".into()))],
                vec![is("processDefinitionVersion", Op::Gt(Value::Int(1)))],
                vec![
                    of_tenants(&["acme"]),
                    Condition::Any(vec![vec![granted(&["p0", "p2"])]]),
                ],
                vec![of_tenants(&["globex"])],
                vec![Condition::Any(vec![
                    vec![nobody.clone()],
                    vec![granted(&["p2"])],
                ])],
            ] {
                let mut groups = asked(by, also);
                let [counted, scanned] = both(&connection, &groups);
                groups_found += counted.len();
                assert_eq!(counted, scanned, "{groups:?}");
                groups.search.any_of =
                    vec![vec![granted(&["p0"])], vec![of_tenants(&["umbrella"])]];
                let [counted, scanned] = both(&connection, &groups);
                groups_found += counted.len();
                assert_eq!(counted, scanned, "{groups:?}");
            }
        }
        assert!(groups_found > 50, "{groups_found}");
    }

    #[test]
    fn only_counts_are_read_and_only_if_they_answer_the_question() {
        let connection = tables(300);
        let name = "processDefinitionId";
        let all = asked(&[name], Vec::new());
        let started = asked(&[name], vec![is("startDate", Op::Exists(true))]);
        let before = [&all, &started].map(|groups| both(&connection, groups));
        let more = "UPDATE active_instance SET active = active + 1000";
        connection.execute(more, []).expect("more");
        let [counted, scanned] = both(&connection, &all);
        assert_ne!(counted, before[0][0]);
        assert_eq!(scanned, before[0][1]);
        assert_eq!(both(&connection, &started), before[1]);
        // Definitions whose instances have all ended are in no group.
        let none = "UPDATE active_instance SET active = 0, incidents = 0";
        connection.execute(none, []).expect("none");
        assert_eq!(both(&connection, &all)[0], [] as [Row; 0]);
    }
}
