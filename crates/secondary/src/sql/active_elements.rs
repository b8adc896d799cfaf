//! Counts of active elements: how many instances stand at each element of a definition, without and with incidents.

use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_INSTANCE};
use skep_query::{ActiveElements, Value};

use super::{Dialect, Sql, counts, statistics, table_name};

/// The table of the counts.
pub const ACTIVE_ELEMENT: &str = "active_element";

/// The counts of all active elements, as the table has them: definition, element, without and with incidents. `own`: a further
/// condition on element instances.
pub fn recount(dialect: Dialect, prefix: &str, own: &str) -> String {
    let elements = table_name(prefix, ELEMENT_INSTANCE.table);
    let incidents = counts::with_incidents(dialect);
    // In the order of the partial index of active elements, nothing has to be sorted.
    format!(
        "SELECT \"processDefinitionKey\", \"elementId\", count(*) - {incidents}, {incidents} FROM {elements}
            WHERE state = 'ACTIVE' AND \"processDefinitionKey\" IS NOT NULL AND \"elementId\" IS NOT NULL{own}
            GROUP BY \"elementId\", \"processDefinitionKey\""
    )
}

/// Answers the question from the counts. Incidents are rare: what instances with incidents have beside them is counted row by row.
pub fn of_definition<'a>(mut sql: Sql<'a>, asked: &ActiveElements) -> Sql<'a> {
    let table = table_name(sql.prefix, ACTIVE_ELEMENT);
    let [active, incidents] = ["active", "incidents"].map(|name| statistics::sum(&sql, name));
    let key = Value::Int(asked.definition.0);
    let (counted, beside) = match asked.has_incident {
        None => ("active, incidents", None),
        Some(false) => ("active, 0 AS incidents", Some(-1)),
        Some(true) => ("0 AS active, incidents", Some(1)),
    };
    sql.push(&format!(
        "SELECT \"elementId\", {active}, {incidents} FROM (
            SELECT \"elementId\", {counted} FROM {table} WHERE \"processDefinitionKey\" = "
    ));
    sql.bind(&key);
    if let Some(sign) = beside {
        let (elements, instances) = (sql.table(&ELEMENT_INSTANCE), sql.table(&PROCESS_INSTANCE));
        // SQLite would enter by the state: here all instances are active, and few have incidents. Their index has the definition.
        let (join, looked_at) = match sql.dialect {
            Dialect::Sqlite => ("CROSS JOIN", "+"),
            Dialect::Postgres => ("JOIN", ""),
        };
        sql.push(&format!(
            " UNION ALL SELECT t.\"elementId\", {sign}, 0 FROM {instances} p {join} {elements} t
                ON t.\"processInstanceKey\" = p.\"processInstanceKey\"
                WHERE p.\"hasIncident\" = 1 AND {looked_at}p.state = 'ACTIVE' AND {looked_at}t.state = 'ACTIVE'
                AND t.\"hasIncident\" = 0 AND p.\"processDefinitionKey\" = "
        ));
        sql.bind(&key);
    }
    sql.push(&format!(
        ") counted GROUP BY \"elementId\" HAVING sum(active) > 0 OR sum(incidents) > 0 LIMIT {}",
        skep_query::groups::MAX_GROUPS + 1
    ));
    sql
}
