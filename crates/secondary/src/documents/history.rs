//! Deletes history, by age or on request. Rows are found by searches and deleted by bulk requests, which all search servers
//! support. Each partition deletes its own rows.

use serde_json::{Value as Json, json};
use skep_protocol::Key;
use skep_protocol::value::{HistoryDeletionType, HistoryDeletionValue};
use skep_query::entities::{
    self, DECISION_DEFINITION, DECISION_INSTANCE, DECISION_REQUIREMENTS, PROCESS_DEFINITION,
    PROCESS_INSTANCE, START_TIMER,
};
use skep_query::{Entity, Kind, Leaves, Op, Value};

use super::document::id_of;
use super::filter::{all_of, among, field, named};
use super::server::{Failure, FailureKind, Server, strange};
use super::writer::Bulk;

/// Documents deleted at a time.
const PAGE: usize = 5_000;
/// Documents deleted per slice, before other work gets its turn.
const SLICE: usize = 20_000;

/// Error type that a search server reports for an index none of whose shards has started.
const NO_SHARD: &str = "no_shard_available_action_exception";

/// Error type reported when no shard of an index answered.
const ALL_FAILED: &str = "search_phase_execution_exception";

/// A document to delete.
struct ExpiredDocument {
    index: String,
    id: String,
}

/// Deletes up to `limit` process instances of the partition that ended before `before`, with all rows that belong to them, and
/// up to `limit` rows of each entity that expires independently. Returns the largest of these counts; `limit` means that there
/// is more to do.
pub fn forget(
    server: &Server,
    partition: u32,
    before: i64,
    limit: usize,
    version: u64,
) -> Result<usize, Failure> {
    let mut searches = vec![(
        &PROCESS_INSTANCE,
        old(&PROCESS_INSTANCE, "endDate", before, partition, false),
        "endDate",
    )];
    for entity in entities::ALL {
        let (time, alone, before) = match entity.leaves {
            Leaves::Never | Leaves::WithInstance | Leaves::When(_) => continue,
            Leaves::At(time) => (time, false, before),
            Leaves::LaterAt(time, later) => (time, false, before.saturating_sub(later)),
            Leaves::WithInstanceOrAt(time) => (time, true, before),
        };
        let query = old(entity, time, before, partition, alone);
        searches.push((entity, query, time));
    }
    let mut found = all(server, &searches, limit)?.into_iter();
    let instances = found.next().unwrap_or_default();
    let mut most = 0;
    for aged in found {
        most = most.max(remove(server, &aged, version)?);
    }
    if instances.is_empty() {
        return Ok(most);
    }
    let keys = instances.iter().filter_map(|found| found.id.parse().ok());
    let keys: Vec<Value> = keys.map(Value::Int).collect();
    if !parts(server, &keys, version, SLICE)? {
        return Ok(limit);
    }
    let gone = remove(server, &instances, version)?;
    // Rows that are found again were deleted already, and are no reason to continue at once.
    Ok(gone.max(most))
}

/// Deletes up to `limit` rows of each entity that builds before 30 November 2026 marked instead of deleting them. Returns the largest
/// count of one entity.
pub fn marked(server: &Server, limit: usize, version: u64) -> Result<usize, Failure> {
    let marked = entities::ALL.into_iter();
    let marked = marked.filter_map(|entity| entity.mark().map(|column| (entity, column)));
    let marked: Vec<(&'static Entity, &'static str)> = marked.collect();
    let entities: Vec<&'static Entity> = marked.iter().map(|(entity, _)| *entity).collect();
    // A row may be in use again, as that of a member who came back, and the search must see it.
    let unseen = server.documents.unseen(&entities);
    let indices = entities.iter().map(|entity| entity.table);
    let indices: Vec<String> = indices.map(|it| server.documents.index(it)).collect();
    server.refresh(&indices)?;
    server.documents.saw(&unseen);
    let query = |column| field(column, &Op::Eq(Value::from(true)));
    let searches: Vec<(&'static Entity, Json, &str)> = marked
        .into_iter()
        .map(|(entity, column)| (entity, query(column), column))
        .collect();
    let mut most = 0;
    for found in all(server, &searches, limit)? {
        most = most.max(remove(server, &found, version)?);
    }
    Ok(most)
}

/// Query for rows of the partition older than a given time.
fn old(entity: &Entity, time: &str, before: i64, partition: u32, alone: bool) -> Json {
    let mut conditions = vec![field(time, &Op::Lt(Value::Int(before)))];
    if alone {
        conditions.push(field("processInstanceKey", &Op::Exists(false)));
    }
    // Rows whose keys contain no partition may be anyone's. A partition that did not write one cannot delete it.
    if entity.key().kind == Kind::Key {
        let (from, to) = (Key::new(partition, 0).0, Key::new(partition + 1, 0).0);
        conditions.push(field(entity.key().name, &Op::Gte(Value::Int(from))));
        conditions.push(field(entity.key().name, &Op::Lt(Value::Int(to))));
    }
    all_of(conditions)
}

/// Sends several searches in one request, sorted by age, oldest first.
fn all(
    server: &Server,
    searches: &[(&'static Entity, Json, &str)],
    limit: usize,
) -> Result<Vec<Vec<ExpiredDocument>>, Failure> {
    let mut body = String::new();
    for (entity, query, time) in searches {
        let index = server.documents.index(entity.table);
        let order = json!([named(time, json!("asc"))]);
        let header = json!({"index": index, "ignore_unavailable": true});
        let search = json!({
            "size": limit, "query": query, "sort": order, "_source": false, "track_total_hits": false,
        });
        body.push_str(&format!("{header}\n{search}\n"));
    }
    let answer = server.lines("/_msearch", body.into_bytes())?;
    let answers = answer.get("responses").and_then(Json::as_array);
    let answers = answers.ok_or_else(|| strange("/_msearch"))?;
    answers.iter().map(hits).collect()
}

fn hits(answer: &Json) -> Result<Vec<ExpiredDocument>, Failure> {
    if let Some(error) = answer.get("error") {
        if without_shards(error) {
            return Ok(Vec::new());
        }
        let reason = format!("the search for expired data failed: {error}");
        return Err(Failure::new(FailureKind::Away, reason));
    }
    let hits = answer.pointer("/hits/hits").and_then(Json::as_array);
    let hits = hits.ok_or_else(|| strange("a search"))?;
    let text = |hit: &Json, name: &str| hit.get(name)?.as_str().map(str::to_string);
    let found = hits.iter().filter_map(|hit| {
        let (index, id) = (text(hit, "_index")?, text(hit, "_id")?);
        Some(ExpiredDocument { index, id })
    });
    Ok(found.collect())
}

/// Whether the error means that no shard has started: the index was just created by another partition. The server says so, or
/// gives no cause. Nothing in a new index is old, and a lost shard is reported by the next write.
fn without_shards(error: &Json) -> bool {
    let said = |of: &Json, what: &str| of.get("type").and_then(Json::as_str) == Some(what);
    let causes = error.get("root_cause").and_then(Json::as_array);
    said(error, ALL_FAILED)
        && causes.is_some_and(|causes| causes.iter().all(|cause| said(cause, NO_SHARD)))
}

/// Returns how many of the documents existed.
fn remove(server: &Server, found: &[ExpiredDocument], version: u64) -> Result<usize, Failure> {
    let mut bulk = Bulk::new(server);
    for ExpiredDocument { index, id } in found {
        bulk.delete(index, id, version)?;
    }
    bulk.send()?;
    let known = entities::ALL.into_iter().enumerate();
    for (at, entity) in known {
        let index = server.documents.index(entity.table);
        if found.iter().any(|one| one.index == index) {
            server.documents.wrote(at);
        }
    }
    Ok(bulk.deleted)
}

/// Deletes the rows that belong to process instances, but not the instances. Returns false if there are more than `limit`.
fn parts(server: &Server, keys: &[Value], version: u64, limit: usize) -> Result<bool, Failure> {
    let leaves = |entity: &&'static Entity| {
        let with_it = matches!(
            entity.leaves,
            Leaves::WithInstance | Leaves::WithInstanceOrAt(_)
        );
        with_it && entity.table != PROCESS_INSTANCE.table
    };
    let parts: Vec<&'static Entity> = entities::ALL.into_iter().filter(leaves).collect();
    let query = among("processInstanceKey", keys);
    delete_all(server, &parts, &query, version, limit)
}

/// Deletes everything that a query matches in the indices of these entities. Returns false if there are more than `limit`.
fn delete_all(
    server: &Server,
    entities: &[&'static Entity],
    query: &Json,
    version: u64,
    limit: usize,
) -> Result<bool, Failure> {
    let indices = entities
        .iter()
        .map(|entity| server.documents.index(entity.table));
    let indices: Vec<String> = indices.collect();
    let mut left = limit;
    loop {
        // Makes the latest writes and deletions visible to the search.
        let unseen = server.documents.unseen(entities);
        server.refresh(&indices)?;
        server.documents.saw(&unseen);
        let body = json!({
            "size": PAGE, "query": query, "sort": ["_doc"], "_source": false, "track_total_hits": false,
        });
        let found = hits(&server.search(&indices.join(","), &body)?)?;
        if found.is_empty() {
            return Ok(true);
        }
        if left == 0 {
            return Ok(false);
        }
        if remove(server, &found, version)? == 0 {
            let reason = "another process has changed the data to be deleted meanwhile";
            return Err(Failure::new(FailureKind::Overtaken, reason));
        }
        left = left.saturating_sub(found.len());
    }
}

/// Deletes the target of a HISTORY_DELETION, in the entities that this partition writes.
pub fn delete(
    server: &Server,
    deletion: &HistoryDeletionValue,
    version: u64,
    writes: impl Fn(&Entity) -> bool,
) -> Result<(), Failure> {
    let key = Value::Int(deletion.resource_key.0);
    let rows: &[(&'static Entity, &str)] = match deletion.kind {
        HistoryDeletionType::ProcessInstance => {
            parts(server, std::slice::from_ref(&key), version, usize::MAX)?;
            let index = server.documents.index(PROCESS_INSTANCE.table);
            let id = id_of(&key);
            return remove(server, &[ExpiredDocument { index, id }], version).map(drop);
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
    for (entity, column) in rows.iter().filter(|(entity, _)| writes(entity)) {
        let query = field(column, &Op::Eq(key.clone()));
        delete_all(server, &[*entity], &query, version, usize::MAX)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(causes: &Json) -> Json {
        json!({"status": 503, "error": {
            "type": ALL_FAILED, "reason": "all shards failed", "phase": "query", "root_cause": causes,
        }})
    }

    #[test]
    fn nothing_is_old_in_an_index_that_has_just_come_about() {
        for causes in [json!([]), json!([{"type": NO_SHARD, "reason": null}])] {
            assert_eq!(hits(&refused(&causes)).unwrap().len(), 0);
        }
    }

    #[test]
    fn another_failure_is_said() {
        let causes = json!([{"type": "circuit_breaking_exception", "reason": "too large"}]);
        let failure = hits(&refused(&causes)).err().unwrap();
        let reason = failure.reason;
        assert!(reason.contains("circuit_breaking_exception"), "{reason}");
    }
}
