//! Deletes history, by age or on request. Each partition deletes its own rows.

use skep_protocol::Key;
use skep_protocol::value::{HistoryDeletionType, HistoryDeletionValue};
use skep_query::entities::{
    self, DECISION_DEFINITION, DECISION_INSTANCE, DECISION_REQUIREMENTS, ELEMENT_INSTANCE,
    PROCESS_DEFINITION, PROCESS_INSTANCE, START_TIMER,
};
use skep_query::{Entity, Kind, Leaves, Value};
use tokio_postgres::types::Type;

use super::value::storable;
use super::writer::{Parameter, Statement, ints, texts};
use crate::sql::active_elements::ACTIVE_ELEMENT;
use crate::sql::active_instances::{self, ACTIVE_INSTANCE};
use crate::sql::{Dialect, Sql, column_name, statistics, table_name, unique_key};

/// Key range of a partition: its first key, and the first key after its last.
pub(super) fn keys_of(partition: u32) -> (i64, i64) {
    (Key::new(partition, 0).0, Key::new(partition + 1, 0).0)
}

/// Finds process instances of the partition that ended before `before`.
pub fn old_instances(prefix: &str, partition: u32, before: i64, limit: usize) -> Sql<'_> {
    let mut sql = Sql::new(Dialect::Postgres, prefix);
    let table = sql.table(&PROCESS_INSTANCE);
    let (from, to) = keys_of(partition);
    sql.push(&format!(
        r#"SELECT "processInstanceKey" FROM {table} WHERE "endDate" < {before} AND "processInstanceKey" >= {from}
            AND "processInstanceKey" < {to} ORDER BY "endDate" LIMIT {limit}"#
    ));
    sql
}

/// Deletes process instances and all rows that belong to them; the instances themselves last.
pub fn instances(prefix: &str, partition: u32, keys: &[i64], statements: &mut Vec<Statement<'_>>) {
    if keys.is_empty() {
        return;
    }
    let mut push = |text: String| {
        let parameters = vec![ints(keys.iter().copied())];
        statements.push(Statement { text, parameters });
    };
    push(of_elements(prefix, partition));
    let leaves = |entity: &&'static Entity| {
        let with_it = matches!(
            entity.leaves,
            Leaves::WithInstance | Leaves::WithInstanceOrAt(_)
        );
        with_it && entity.table != PROCESS_INSTANCE.table && entity.table != ELEMENT_INSTANCE.table
    };
    let parts = entities::ALL.into_iter().filter(leaves);
    for entity in parts {
        let table = table_name(prefix, entity.table);
        push(format!(
            "DELETE FROM {table} WHERE \"processInstanceKey\" = ANY($1)"
        ));
    }
    push(themselves(prefix, partition));
}

/// Deletes process instances and subtracts from the counts of active ones those that had not ended.
fn themselves(prefix: &str, partition: u32) -> String {
    let instances = table_name(prefix, PROCESS_INSTANCE.table);
    let counts = table_name(prefix, ACTIVE_INSTANCE);
    let columns = active_instances::columns();
    let same = active_instances::same(Dialect::Postgres, "t", "s");
    format!(
        r#"WITH gone AS (DELETE FROM {instances} WHERE "processInstanceKey" = ANY($1) RETURNING {columns}, state, "hasIncident"),
            active AS (SELECT {columns}, count(*) AS active, count(*) FILTER (WHERE "hasIncident" = 1) AS incidents
                FROM gone WHERE state = 'ACTIVE' GROUP BY {columns})
        UPDATE {counts} t SET active = t.active - (s.active - s.incidents), incidents = t.incidents - s.incidents
            FROM active s WHERE t.partition = {partition} AND {same}"#
    )
}

/// Deletes element instances and subtracts them from the counts of elements.
fn of_elements(prefix: &str, partition: u32) -> String {
    let elements = table_name(prefix, ELEMENT_INSTANCE.table);
    let ended = table_name(prefix, statistics::ENDED);
    let active_elements = table_name(prefix, ACTIVE_ELEMENT);
    format!(
        r#"WITH gone AS (DELETE FROM {elements} WHERE "processInstanceKey" = ANY($1)
                RETURNING "processDefinitionKey", "elementId", state, "hasIncident"),
            counted AS (SELECT "processDefinitionKey", "elementId", count(*) FILTER (WHERE state = 'COMPLETED') AS completed,
                count(*) FILTER (WHERE state = 'TERMINATED') AS terminated FROM gone GROUP BY 1, 2),
            active_elements AS (SELECT "processDefinitionKey", "elementId", count(*) AS active,
                count(*) FILTER (WHERE "hasIncident" = 1) AS incidents FROM gone WHERE state = 'ACTIVE' GROUP BY 1, 2),
            left_over AS (UPDATE {active_elements} t SET active = t.active - (s.active - s.incidents), incidents = t.incidents - s.incidents
                FROM active_elements s WHERE t.partition = {partition} AND t."processDefinitionKey" = s."processDefinitionKey"
                AND t."elementId" = s."elementId" AND md5(t."elementId") = md5(s."elementId"))
        UPDATE {ended} t SET completed = t.completed - c.completed, terminated = t.terminated - c.terminated
        FROM counted c WHERE t.partition = {partition} AND t."processDefinitionKey" = c."processDefinitionKey"
            AND t."elementId" = c."elementId" AND md5(t."elementId") = md5(c."elementId")"#
    )
}

/// Deletes up to `limit` rows older than `before` from each entity whose rows expire independently.
pub fn aged(
    prefix: &str,
    partition: u32,
    before: i64,
    limit: usize,
    statements: &mut Vec<Statement<'_>>,
) {
    for entity in entities::ALL {
        let (time, alone, before) = match entity.leaves {
            Leaves::Never | Leaves::WithInstance | Leaves::When(_) => continue,
            Leaves::At(time) => (time, "", before),
            Leaves::LaterAt(time, later) => (time, "", before.saturating_sub(later)),
            Leaves::WithInstanceOrAt(time) => (time, " AND \"processInstanceKey\" IS NULL", before),
        };
        // Rows whose keys contain no partition are shared. Rows that another partition is about to delete are skipped.
        let (from, to) = keys_of(partition);
        let key = column_name(entity.key().name);
        let own = match entity.key().kind {
            Kind::Key => format!(" AND {key} >= {from} AND {key} < {to}"),
            _ => String::new(),
        };
        let (table, time) = (table_name(prefix, entity.table), column_name(time));
        let text = format!(
            "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE {time} < {before}{alone}{own}
                ORDER BY {time} LIMIT {limit} FOR UPDATE SKIP LOCKED)"
        );
        statements.push(Statement {
            text,
            parameters: Vec::new(),
        });
    }
}

/// Deletes up to `limit` rows of each entity that builds before 30 November 2026 marked instead of deleting them.
pub fn marked(prefix: &str, limit: usize, statements: &mut Vec<Statement<'_>>) {
    for entity in entities::ALL {
        let Some(column) = entity.mark() else {
            continue;
        };
        let (table, column) = (table_name(prefix, entity.table), column_name(column));
        let key = unique_key(Dialect::Postgres, entity);
        let text = format!(
            "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE {column} = 1 LIMIT {limit} FOR UPDATE)"
        );
        statements.push(Statement {
            text,
            parameters: Vec::new(),
        });
    }
}

/// Deletes the rows with these keys.
pub fn rows<'a>(prefix: &str, entity: &Entity, keys: &[&'a Value]) -> Option<Statement<'a>> {
    let (given, parameter) = match entity.key().kind {
        Kind::Text => (
            "ARRAY(SELECT md5(given) FROM unnest($1) given)",
            texts(keys.iter().map(|key| key.as_text().map(storable))),
        ),
        _ => ("$1", ints(keys.iter().map(|key| key.as_int()))),
    };
    let table = table_name(prefix, entity.table);
    let key = unique_key(Dialect::Postgres, entity);
    let text = format!("DELETE FROM {table} WHERE {key} = ANY({given})");
    let parameters = vec![parameter];
    (!keys.is_empty()).then_some(Statement { text, parameters })
}

/// Deletes the target of a HISTORY_DELETION.
pub fn delete(
    prefix: &str,
    partition: u32,
    deletion: &HistoryDeletionValue,
    statements: &mut Vec<Statement<'_>>,
) {
    let key = deletion.resource_key.0;
    let rows: &[(&Entity, &str)] = match deletion.kind {
        HistoryDeletionType::ProcessInstance => {
            return instances(prefix, partition, &[key], statements);
        }
        HistoryDeletionType::ProcessDefinition => &[
            (&PROCESS_DEFINITION, "processDefinitionKey"),
            (&START_TIMER, "processDefinitionKey"),
        ],
        HistoryDeletionType::DecisionInstance => &[(&DECISION_INSTANCE, "decisionEvaluationKey")],
        HistoryDeletionType::DecisionRequirements => &[
            (&DECISION_DEFINITION, "decisionRequirementsKey"),
            (&DECISION_REQUIREMENTS, "decisionRequirementsKey"),
        ],
    };
    for (entity, column) in rows {
        let (table, column) = (table_name(prefix, entity.table), column_name(column));
        statements.push(Statement {
            text: format!("DELETE FROM {table} WHERE {column} = $1"),
            parameters: vec![(Box::new(key) as Parameter<'_>, Type::INT8)],
        });
    }
}
