//! Element statistics. Columns: element ID, then the number of active, canceled, incident and completed instances.

use skep_protocol::Key;
use skep_query::Value;
use skep_query::entities::ELEMENT_INSTANCE;

use super::active_elements::ACTIVE_ELEMENT;
use super::{Dialect, Sql, table_name};

pub const COLUMNS: usize = 5;

/// Maximum number of elements in one answer.
const MAX_ROWS: u32 = 10_000;

/// The table with the number of ended instances of each element.
pub const ENDED: &str = "ended_element";

/// Statistics of all instances of a definition. Ended elements have been counted already. `is_counted`: and so have active ones.
pub fn of_definition(mut sql: Sql<'_>, process_definition_key: Key, is_counted: bool) -> Sql<'_> {
    let key = Value::Int(process_definition_key.0);
    let ended = table_name(sql.prefix, ENDED);
    let sums = ["active", "canceled", "incidents", "completed"].map(|name| sum(&sql, name));
    sql.push(&format!(
        "SELECT \"elementId\", {} FROM (
            SELECT \"elementId\", 0 AS active, terminated AS canceled, 0 AS incidents, completed FROM {ended}
            WHERE (terminated > 0 OR completed > 0) AND \"processDefinitionKey\" = ",
        sums.join(", ")
    ));
    sql.bind(&key);
    if is_counted {
        let active_elements = table_name(sql.prefix, ACTIVE_ELEMENT);
        sql.push(&format!(
            " UNION ALL SELECT \"elementId\", active, 0, incidents, 0 FROM {active_elements}
                WHERE (active > 0 OR incidents > 0) AND \"processDefinitionKey\" = "
        ));
    } else {
        let elements = sql.table(&ELEMENT_INSTANCE);
        sql.push(&format!(
            " UNION ALL SELECT \"elementId\", 1 - \"hasIncident\", 0, \"hasIncident\", 0 FROM {elements}
                WHERE state = 'ACTIVE' AND \"elementId\" IS NOT NULL AND \"processDefinitionKey\" = "
        ));
    }
    sql.bind(&key);
    sql.push(&format!(
        ") counted GROUP BY \"elementId\" ORDER BY \"elementId\" LIMIT {MAX_ROWS}"
    ));
    sql
}

/// Statistics of one process instance.
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

/// The sum of integers as an integer; not every database returns one.
pub fn sum(sql: &Sql<'_>, column: &str) -> String {
    match sql.dialect {
        Dialect::Sqlite => format!("sum({column})"),
        Dialect::Postgres => format!("sum({column})::bigint"),
    }
}
