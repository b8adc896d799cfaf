//! Conditions on rows of other entities. Search servers cannot join, so the keys are looked up first and become a list of
//! values.
//!
//! If the list would be too long, the rows are scanned in sort order instead, some thousands at a time. For each such [`Chunk`]
//! the list of keys is short again; see [`super::walk`].

use serde_json::{Value as Json, json};
use skep_protocol::Key;
use skep_query::entities::{ELEMENT_INSTANCE, INCIDENT, PROCESS_INSTANCE};
use skep_query::{Condition, Conditions, Entity, Op, Query, Related, Row, Search, Value, merge};

use super::filter::{all_of, among, everything, field, item, nothing, one_of};
use super::server::{Failure, FailureKind, Server, strange};

/// Keys read per page.
const PAGE: usize = 10_000;

/// Rows for which conditions are to be evaluated. Other rows are ignored.
pub type Chunk<'a> = Option<&'a [Row]>;

/// Conditions whose lists of keys would have been too long. They were replaced by the weaker conditions that can be checked on
/// the row itself. Within a chunk there are none.
#[derive(Clone, Debug, PartialEq)]
pub enum Loose {
    Nothing,
    /// These conditions, all of which must hold.
    All(Vec<Related>),
    /// At least one that is nested in other conditions.
    Within,
}

/// Builds queries from conditions.
pub struct Resolver<'a> {
    server: &'a Server,
    chunk: Chunk<'a>,
    pub loose: Loose,
}

impl<'a> Resolver<'a> {
    pub fn new(server: &'a Server, chunk: Chunk<'a>) -> Resolver<'a> {
        Resolver {
            server,
            chunk,
            loose: Loose::Nothing,
        }
    }

    /// The query of a search, without its cursor.
    pub fn of_search(&mut self, search: &Search) -> Result<Json, Failure> {
        let mut query = Vec::new();
        let mut loose = Vec::new();
        for condition in &search.filter {
            if let Condition::Related(related) = condition {
                let keys = self.keys_of(search.entity, related)?;
                if keys.is_none() {
                    loose.push((**related).clone());
                }
                query.push(restricted(search.entity, related, keys));
            } else {
                query.push(self.one(search.entity, condition)?);
            }
        }
        if !search.any_of.is_empty() {
            query.push(self.any(search.entity, &search.any_of)?);
        }
        if self.loose == Loose::Nothing && !loose.is_empty() {
            self.loose = Loose::All(loose);
        }
        Ok(all_of(query))
    }

    pub fn conditions(
        &mut self,
        entity: &'static Entity,
        conditions: &Conditions,
    ) -> Result<Json, Failure> {
        self.each(entity, conditions).map(all_of)
    }

    fn each(
        &mut self,
        entity: &'static Entity,
        conditions: &Conditions,
    ) -> Result<Vec<Json>, Failure> {
        conditions
            .iter()
            .map(|condition| self.one(entity, condition))
            .collect()
    }

    fn any(
        &mut self,
        entity: &'static Entity,
        alternatives: &[Conditions],
    ) -> Result<Json, Failure> {
        let alternatives = alternatives
            .iter()
            .map(|conditions| self.conditions(entity, conditions));
        Ok(one_of(alternatives.collect::<Result<_, Failure>>()?))
    }

    fn one(&mut self, entity: &'static Entity, condition: &Condition) -> Result<Json, Failure> {
        match condition {
            Condition::Field { field: at, op } => Ok(field(entity.field(*at).name, op)),
            Condition::Item { field, op } => Ok(item(entity, *field, op)),
            Condition::Within { field, key } => within(self.server, entity, *field, *key),
            Condition::Any(alternatives) => self.any(entity, alternatives),
            Condition::Related(related) => self.related(entity, related),
        }
    }

    fn related(&mut self, entity: &'static Entity, related: &Related) -> Result<Json, Failure> {
        let keys = self.keys_of(entity, related)?;
        if keys.is_none() {
            self.loose = Loose::Within;
        }
        Ok(restricted(entity, related, keys))
    }

    /// Values of the own column for which a condition holds. `None`: there are too many.
    pub fn keys_of(
        &self,
        entity: &'static Entity,
        related: &Related,
    ) -> Result<Option<Vec<Value>>, Failure> {
        let mut others = Resolver::new(self.server, None);
        let mut query = others.each(related.entity, &related.conditions)?;
        let of_others = others.loose != Loose::Nothing;
        if let Some(rows) = self.chunk {
            let own = entity.index_of(related.own);
            let owners = rows
                .iter()
                .filter_map(|row| own.and_then(|at| row.get(at)).cloned());
            query.push(among(related.link, &owners.collect::<Vec<Value>>()));
        }
        let keys = if of_others {
            None
        } else {
            // A chunk yields no more keys than it has rows.
            let limit = match self.chunk {
                Some(_) => usize::MAX,
                None => self.server.documents.settings.joined_keys,
            };
            let link = (related.entity, related.link);
            keys(self.server, link, &all_of(query), limit)?
        };
        match self.chunk {
            Some(_) if keys.is_none() => Err(too_many(self.server)),
            _ => Ok(keys),
        }
    }

    /// Number of rows for which a condition holds, up to one more than is counted. Only known if the related rows determine it:
    /// each row here has a key that they contain.
    pub fn holders(
        &self,
        entity: &'static Entity,
        related: &Related,
    ) -> Result<Option<u64>, Failure> {
        let mut others = Resolver::new(self.server, None);
        let query = others.each(related.entity, &related.conditions)?;
        if related.own != entity.key().name || others.loose != Loose::Nothing {
            return Ok(None);
        }
        let link = (related.entity, related.link);
        let most = merge::MAX_COUNTED as usize + 1;
        let keys = first_keys(self.server, link, &all_of(query), most)?;
        Ok(Some(keys.len().min(most) as u64))
    }
}

/// Restricts the own column to these keys. If there are too many, only what the condition implies for the row itself remains.
fn restricted(entity: &Entity, related: &Related, keys: Option<Vec<Value>>) -> Json {
    match keys {
        Some(keys) => among(related.own, &keys),
        None => implied(entity, related),
    }
}

/// The condition on a process instance that follows from a condition on a row related to it. It narrows the search: most
/// instances have ended, and few have incidents.
fn implied(entity: &Entity, related: &Related) -> Json {
    const OWN: &str = "processInstanceKey";
    let of_instance = std::ptr::eq(entity, &PROCESS_INSTANCE);
    if !of_instance || (related.own, related.link) != (OWN, OWN) {
        return everything();
    }
    let asks = |name: &str, value: Value| {
        let at = related.entity.index_of(name);
        related.conditions.iter().any(|condition| match condition {
            Condition::Field { field, op } => Some(*field) == at && *op == Op::Eq(value.clone()),
            _ => false,
        })
    };
    let is_active = asks("state", Value::text("ACTIVE"));
    let of_elements = std::ptr::eq(related.entity, &ELEMENT_INSTANCE);
    let has_incident = if of_elements {
        asks("hasIncident", Value::from(true))
    } else {
        is_active && std::ptr::eq(related.entity, &INCIDENT)
    };
    if has_incident {
        field("hasIncident", &Op::Eq(Value::from(true)))
    } else if is_active && of_elements {
        field("state", &Op::Eq(Value::text("ACTIVE")))
    } else {
        everything()
    }
}

/// The failure for a query that would need too many keys.
pub fn too_many(server: &Server) -> Failure {
    let most = server.documents.settings.joined_keys;
    let reason = format!("a filter on related things finds more than {most} of them");
    Failure::new(FailureKind::TooLong, reason)
}

/// Distinct values of a column in the rows that match a query. `None`: there are, or may be, more than `limit`.
pub fn keys(
    server: &Server,
    (entity, column): (&'static Entity, &str),
    query: &Json,
    limit: usize,
) -> Result<Option<Vec<Value>>, Failure> {
    let index = server.documents.index(entity.table);
    if limit < usize::MAX {
        let count = json!({"size": 0, "query": query, "track_total_hits": limit + 1});
        if total(&server.search(&index, &count)?) > limit as u64 {
            return Ok(None);
        }
    }
    first_keys(server, (entity, column), query, usize::MAX).map(Some)
}

/// The first distinct values of a column, sorted: at least as many as needed.
fn first_keys(
    server: &Server,
    (entity, column): (&'static Entity, &str),
    query: &Json,
    needed: usize,
) -> Result<Vec<Value>, Failure> {
    let index = server.documents.index(entity.table);
    let kind = entity
        .index_of(column)
        .map(|at| entity.field(at).kind)
        .unwrap_or(skep_query::Kind::Key);
    let (mut found, mut after) = (Vec::new(), Json::Null);
    while found.len() < needed {
        let mut composite = json!({
            "size": PAGE, "sources": [{"key": {"terms": {"field": column}}}],
        });
        if let (Json::Object(fields), false) = (&mut composite, after.is_null()) {
            fields.insert("after".to_string(), after);
        }
        let body = json!({
            "size": 0, "track_total_hits": false, "query": query, "aggs": {"keys": {"composite": composite}},
        });
        let mut answer = server.search(&index, &body)?;
        let Some(buckets) = answer.pointer("/aggregations/keys/buckets") else {
            // The index does not exist yet.
            break;
        };
        let buckets = buckets
            .as_array()
            .ok_or_else(|| strange("an aggregation"))?;
        let values = buckets
            .iter()
            .filter_map(|bucket| bucket.pointer("/key/key"));
        found.extend(values.map(|value| super::filter::value_of(kind, value)));
        let is_last = buckets.len() < PAGE;
        after = answer
            .pointer_mut("/aggregations/keys/after_key")
            .map(Json::take)
            .unwrap_or_default();
        if is_last || after.is_null() {
            break;
        }
    }
    Ok(found)
}

/// The total number of matches in an answer.
pub fn total(answer: &Json) -> u64 {
    let total = answer.pointer("/hits/total/value");
    total.and_then(Json::as_u64).unwrap_or_default()
}

/// Matches rows that belong to a process or element instance, to anything inside it, or to instances called from it. Scopes
/// lead to elements, and call activities to process instances.
fn within(server: &Server, entity: &'static Entity, at: usize, key: Key) -> Result<Json, Failure> {
    let mut called = Vec::new();
    let mut elements = vec![Value::Int(key.0)];
    let own = server.documents.index(PROCESS_INSTANCE.table);
    let found = server.get(&[(own, key.to_string())])?;
    let is_instance = found
        .iter()
        .any(|document| document.get("_source").is_some());
    if is_instance {
        called.push(Value::Int(key.0));
    } else {
        // The element instances inside, and the process instances they called.
        let mut level = elements.clone();
        while !level.is_empty() {
            let callers = among("parentElementInstanceKey", &level);
            called.extend(few(server, &PROCESS_INSTANCE, &callers)?);
            let inside = among("elementInstanceScopeKey", &level);
            level = few(server, &ELEMENT_INSTANCE, &inside)?;
            elements.extend(level.iter().cloned());
            if elements.len() > server.documents.settings.joined_keys {
                return Err(too_many(server));
            }
        }
    }
    let mut level = called.clone();
    while !level.is_empty() {
        let callers = among("parentProcessInstanceKey", &level);
        level = few(server, &PROCESS_INSTANCE, &callers)?;
        called.extend(level.iter().cloned());
        if called.len() > server.documents.settings.joined_keys {
            return Err(too_many(server));
        }
    }
    let field = entity.field(at).name;
    let of_instances = match entity.index_of("processInstanceKey") {
        Some(_) => among("processInstanceKey", &called),
        None => nothing(),
    };
    Ok(one_of(vec![
        among(field, &elements),
        among(field, &called),
        of_instances,
    ]))
}

/// The keys of an entity's rows; fails if there are too many.
fn few(server: &Server, entity: &'static Entity, query: &Json) -> Result<Vec<Value>, Failure> {
    let limit = server.documents.settings.joined_keys;
    let found = keys(server, (entity, entity.key().name), query, limit)?;
    found.ok_or_else(|| too_many(server))
}

/// The entities that a query reads.
pub fn entities_of(query: &Query) -> Vec<&'static Entity> {
    let mut found = Vec::new();
    match query {
        Query::Search(search) => of_search(search, &mut found),
        Query::Groups(groups) => of_search(&groups.search, &mut found),
        Query::DefinitionStatistics { .. } | Query::ElementStatistics { .. } => {
            found.push(&ELEMENT_INSTANCE);
        }
        // Reads by key see writes without a refresh.
        Query::Get { .. } | Query::SequenceFlows { .. } => {}
    }
    found.sort_by_key(|entity| entity.table);
    found.dedup_by_key(|entity| entity.table);
    found
}

fn of_search(search: &Search, found: &mut Vec<&'static Entity>) {
    found.push(search.entity);
    let alternatives = std::iter::once(&search.filter).chain(&search.any_of);
    alternatives.for_each(|conditions| of_conditions(conditions, found));
}

fn of_conditions(conditions: &Conditions, found: &mut Vec<&'static Entity>) {
    for condition in conditions {
        match condition {
            Condition::Field { .. } | Condition::Item { .. } => {}
            Condition::Within { .. } => found.extend([&ELEMENT_INSTANCE, &PROCESS_INSTANCE]),
            Condition::Any(alternatives) => {
                let conditions = alternatives.iter();
                conditions.for_each(|conditions| of_conditions(conditions, found));
            }
            Condition::Related(related) => {
                found.push(related.entity);
                of_conditions(&related.conditions, found);
            }
        }
    }
}

/// Matches the documents of these rows.
pub fn rows_of(entity: &Entity, rows: &[Row]) -> Json {
    let keys: Vec<Value> = rows.iter().filter_map(|row| row.first().cloned()).collect();
    among(entity.key().name, &keys)
}
