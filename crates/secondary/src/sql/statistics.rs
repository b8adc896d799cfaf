//! How many instances of each element are active, were canceled, have incidents and were completed, in this order, behind the
//! element's id.

use skep_protocol::Key;
use skep_query::Value;
use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_INSTANCE};

use super::{Dialect, Sql, table_name};

pub const COLUMNS: usize = 5;

/// Elements of one answer at most.
const MAX_ROWS: u32 = 10_000;

/// The table of how many instances of each element ended.
pub const ENDED: &str = "ended_element";

/// Of all instances of a definition: those that ended were counted.
pub fn of_definition(mut sql: Sql<'_>, process_definition_key: Key) -> Sql<'_> {
    let key = Value::Int(process_definition_key.0);
    let elements = sql.table(&ELEMENT_INSTANCE);
    let instances = sql.table(&PROCESS_INSTANCE);
    let ended = table_name(sql.prefix, ENDED);
    let sums = ["active", "canceled", "incidents", "completed"].map(|name| sum(&sql, name));
    sql.push(&format!(
        "SELECT \"elementId\", {} FROM (
            SELECT \"elementId\", 0 AS active, terminated AS canceled, 0 AS incidents, completed FROM {ended}
            WHERE (terminated > 0 OR completed > 0) AND \"processDefinitionKey\" = ",
        sums.join(", ")
    ));
    sql.bind(&key);
    sql.push(&format!(
        " UNION ALL SELECT t.\"elementId\", 1 - t.\"hasIncident\", 0, t.\"hasIncident\", 0 FROM {instances} p
            JOIN {elements} t ON t.\"processInstanceKey\" = p.\"processInstanceKey\"
            WHERE p.state = 'ACTIVE' AND t.state = 'ACTIVE' AND p.\"processDefinitionKey\" = "
    ));
    sql.bind(&key);
    sql.push(&format!(
        ") counted GROUP BY \"elementId\" ORDER BY \"elementId\" LIMIT {MAX_ROWS}"
    ));
    sql
}

/// Of one process instance.
pub fn of_instance(mut sql: Sql<'_>, process_instance_key: Key) -> Sql<'_> {
    let elements = sql.table(&ELEMENT_INSTANCE);
    let counts = [
        "state = 'ACTIVE' AND \"hasIncident\" = 0",
        "state = 'TERMINATED'",
        "state = 'ACTIVE' AND \"hasIncident\" = 1",
        "state = 'COMPLETED'",
    ]
    .map(|condition| format!("count(*) FILTER (WHERE {condition})"));
    sql.push(&format!(
        "SELECT \"elementId\", {} FROM {elements} WHERE \"processInstanceKey\" = ",
        counts.join(", ")
    ));
    sql.bind(&Value::Int(process_instance_key.0));
    sql.push(&format!(
        " GROUP BY \"elementId\" ORDER BY \"elementId\" LIMIT {MAX_ROWS}"
    ));
    sql
}

/// Sums of whole numbers are not whole to every database.
pub fn sum(sql: &Sql<'_>, column: &str) -> String {
    match sql.dialect {
        Dialect::Sqlite => format!("sum({column})"),
        Dialect::Postgres => format!("sum({column})::bigint"),
    }
}
