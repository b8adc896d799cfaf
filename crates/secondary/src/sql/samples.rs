//! Sample rows and searches for tests: instances that differ in every field that searches use.

use std::time::Duration;

use rusqlite::{Connection, params_from_iter};
use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_DEFINITION, PROCESS_INSTANCE, VARIABLE};
use skep_query::{Condition, Cursor, Op, QueryError, Row, Search, Value, search};

use super::answer::Database;
use super::counts::Counts;
use super::{Dialect, Sql, Tables, active_instances, table_script};
use crate::sqlite::reader;
use crate::sqlite::writer::Bound;

/// A statement for [`tables`].
pub fn sql() -> Sql<'static> {
    Sql::new(Dialect::Sqlite, "")
}

/// The tenant of the instance with the key `k`.
const TENANT: &str =
    "CASE WHEN k % 199 = 1 THEN 'umbrella' WHEN k % 13 > 0 THEN '<default>' ELSE 'acme' END";

/// A database with or without support for time-limited attempts.
pub struct Tried<'a> {
    pub connection: &'a Connection,
    pub succeeds: bool,
    /// Whether the store is one whose callers belong to tenants.
    pub tenants: bool,
}

impl Database for Tried<'_> {
    fn sql(&self) -> Sql<'_> {
        sql().with_tenants(self.tenants)
    }

    fn rows(&self, sql: &Sql<'_>, columns: usize) -> Result<Vec<Row>, QueryError> {
        let mut statement = self.connection.prepare(&sql.text).expect("a statement");
        let parameters = params_from_iter(sql.parameters.iter().map(Bound));
        let rows = statement.query_map(parameters, |row| reader::values(row, columns));
        Ok(rows.expect("rows").map(|row| row.expect("a row")).collect())
    }

    fn rows_within(
        &self,
        sql: &Sql<'_>,
        columns: usize,
        _limit: Duration,
    ) -> Result<Option<Vec<Row>>, QueryError> {
        self.succeeds.then(|| self.rows(sql, columns)).transpose()
    }

    fn is_counted(&self, _counts: Counts) -> Result<bool, QueryError> {
        Ok(false)
    }
}

/// Creates tables with this number of instances, each with a variable and most with an element, and with the counts of active ones.
pub fn tables(instances: u32) -> Connection {
    filled(instances, false)
}

/// The same in a store whose callers belong to tenants.
pub fn tables_of_tenants(instances: u32) -> Connection {
    filled(instances, true)
}

fn filled(instances: u32, tenants: bool) -> Connection {
    let tables = Tables {
        dialect: Dialect::Sqlite,
        prefix: "",
        tenants,
    };
    let connection = Connection::open_in_memory().expect("a database");
    for entity in [
        &PROCESS_INSTANCE,
        &VARIABLE,
        &ELEMENT_INSTANCE,
        &PROCESS_DEFINITION,
    ] {
        let script = table_script(tables, entity);
        connection.execute_batch(&script).expect("a table");
    }
    let keys =
        "WITH RECURSIVE keys(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM keys WHERE k + 1 < ?)";
    for rows in [
        format!(
            r#"INSERT INTO process_instance ("processInstanceKey", "processDefinitionId", "processDefinitionKey", "processDefinitionVersion",
                "startDate", "endDate", "state", "hasIncident", "tenantId")
            SELECT k, 'p' || (k % 3), 10 + k % 3, 1 + k % 4, CASE WHEN k % 7 > 0 THEN k % 50 END, CASE WHEN k % 4 > 0 THEN k % 60 END,
                CASE WHEN k % 5 > 0 THEN 'ACTIVE' ELSE 'COMPLETED' END, k % 11 = 0,
                {TENANT} FROM keys"#
        ),
        format!(
            r#"INSERT INTO variable ("variableKey", "processInstanceKey", "name", "value", "tenantId")
            SELECT 1000000 + k, k, 'n', '"v' || (k % 2) || '"', {TENANT} FROM keys"#
        ),
        format!(
            r#"INSERT INTO element_instance ("elementInstanceKey", "processInstanceKey", "elementId", "state", "tenantId")
            SELECT 2000000 + k, k, 'task', 'ACTIVE', {TENANT} FROM keys WHERE k % 6 > 0"#
        ),
    ] {
        let insert = format!("{keys} {rows}");
        connection.execute(&insert, [instances]).expect("rows");
    }
    // Not of the third process.
    let definitions = r#"INSERT INTO process_definition ("processDefinitionKey", "processDefinitionId", "tenantId")
        VALUES (10, 'p0', '<default>'), (11, 'p1', '<default>')"#;
    connection.execute(definitions, []).expect("definitions");
    let recount = active_instances::recount(tables.dialect, tables.prefix, "");
    let counts = format!(
        "{}INSERT INTO active_instance {recount}",
        active_instances::script(tables.dialect, tables.prefix)
    );
    connection.execute_batch(&counts).expect("counts");
    connection
}

/// The condition for callers who belong to these tenants.
pub fn of_tenants(tenants: &[&str]) -> Condition {
    let tenants = tenants.iter().map(|id| Value::text(id)).collect();
    Condition::Field {
        field: PROCESS_INSTANCE.column("tenantId"),
        op: Op::In(tenants),
    }
}

pub const FILTERS: [&str; 9] = [
    "{}",
    r#"{"state": "ACTIVE"}"#,
    r#"{"state": {"$in": ["ACTIVE"]}}"#,
    r#"{"hasIncident": false, "processDefinitionName": {"$exists": false}}"#,
    r#"{"variables": [{"name": "n", "value": "\"v1\""}]}"#,
    r#"{"elementId": "task", "elementInstanceState": "ACTIVE", "variables": [{"name": "n", "value": "\"v0\""}]}"#,
    r#"{"processDefinitionId": {"$like": "p*"}, "state": "ACTIVE"}"#,
    r#"{"processDefinitionId": {"$in": ["p0", "p2"]}, "state": "ACTIVE"}"#,
    r#"{"$or": [{"processDefinitionId": "p0"}, {"processDefinitionId": "p2", "state": "ACTIVE"}]}"#,
];

/// Searches as lists make them, some with cursors in the middle.
pub fn searches(filters: &[&str], fields: &[&str]) -> Vec<Search> {
    let mut all = Vec::new();
    for (filter, field) in filters
        .iter()
        .flat_map(|f| fields.iter().map(move |s| (f, s)))
    {
        for order in ["ASC", "DESC"] {
            let cursor = if field.is_empty() {
                vec![Value::Int(150)]
            } else {
                vec![Value::Int(25), Value::Int(150)]
            };
            let cursor = Cursor(cursor).encode(&PROCESS_INSTANCE);
            let sort = if field.is_empty() {
                String::new()
            } else {
                format!(r#"{{"field": "{field}", "order": "{order}"}}"#)
            };
            for page in [
                r#""limit": 5"#.to_string(),
                format!(r#""limit": 5, "after": "{cursor}""#),
                format!(r#""limit": 5, "before": "{cursor}""#),
            ] {
                let body =
                    format!(r#"{{"filter": {filter}, "sort": [{sort}], "page": {{{page}}}}}"#);
                all.push(search(&PROCESS_INSTANCE, &body).expect("a search"));
            }
        }
    }
    all
}
