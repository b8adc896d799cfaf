//! Pages of searches whose conditions on other entities match too many rows for a list of keys.
//!
//! The rows that match the rest of the search are scanned in sort order and evaluated chunk by chunk: for a few thousand rows
//! the related entities can be queried. Most such searches match many rows, so the first chunk already fills a page.

use serde_json::{Value as Json, json};
use skep_query::{Condition, Conditions, Entity, Related, Row, Search, Start, Value};

use super::document;
use super::filter::{all_of, order, value_of};
use super::pages::{self, COUNTED, cursor, whole};
use super::related::{Loose, Resolver, rows_of};
use super::server::{Failure, Server, strange};

/// Minimum and maximum rows evaluated together.
const FIRST_CHUNK: usize = 500;
const CHUNK: usize = 5_000;

/// Rows of the page, and the total count. `query` matches a superset: it also finds rows for which only `loose` does not hold.
pub fn page(
    server: &Server,
    search: &Search,
    query: Json,
    loose: &Loose,
) -> Result<(Vec<Row>, u64), Failure> {
    let walk = Walk {
        server,
        search,
        loose,
    };
    let known = walk.known_count()?;
    let limit = search.page.limit as usize;
    let (wanted, counted) = match search.page.start {
        Start::Offset(from) => {
            let from = from as usize;
            let counted = if known.is_some() { 0 } else { COUNTED as usize };
            let found = walk.matching(query, false, counted.max(from + limit))?;
            let counted = known.unwrap_or(found.len() as u64);
            (found.into_iter().skip(from).take(limit).collect(), counted)
        }
        Start::After(_) | Start::Before(_) => {
            let counted = match known {
                Some(known) => known,
                None => walk.matching(query.clone(), false, COUNTED as usize)?.len() as u64,
            };
            let beside = std::iter::once(query).chain(cursor(search));
            let reversed = matches!(search.page.start, Start::Before(_));
            let found = walk.matching(all_of(beside.collect()), reversed, limit)?;
            (found, counted)
        }
    };
    let mut found = whole(server, search, &wanted)?;
    if matches!(search.page.start, Start::Before(_)) {
        found.reverse();
    }
    Ok((found, counted))
}

struct Walk<'a> {
    server: &'a Server,
    search: &'a Search,
    loose: &'a Loose,
}

/// Rows with only the columns that other entities refer to, and the sort position after the last row.
struct Chunk {
    rows: Vec<Row>,
    end: Json,
}

impl Walk<'_> {
    /// Number of matching rows, if the search has a single condition that determines it.
    fn known_count(&self) -> Result<Option<u64>, Failure> {
        match (self.loose, self.search.filter.as_slice()) {
            (Loose::All(loose), [_]) if self.search.any_of.is_empty() => match loose.as_slice() {
                [related] => Resolver::new(self.server, None).holders(self.search.entity, related),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The first matching rows, up to `most`, in sort order or in reverse.
    fn matching(&self, query: Json, reversed: bool, most: usize) -> Result<Vec<Row>, Failure> {
        let largest = CHUNK.min(self.server.documents.settings.joined_keys);
        let mut size = most.clamp(FIRST_CHUNK, CHUNK).min(largest);
        let (mut found, mut after) = (Vec::new(), None);
        while found.len() < most {
            let chunk = self.chunk(&query, reversed, size, after)?;
            let is_last = chunk.rows.len() < size;
            found.append(&mut self.judged(chunk.rows)?);
            if is_last {
                break;
            }
            after = Some(chunk.end);
            size = (size * 2).min(largest);
        }
        found.truncate(most);
        Ok(found)
    }

    /// Rows that the query matches, in order, without their sources: keys and sort values come from the index.
    fn chunk(
        &self,
        query: &Json,
        reversed: bool,
        size: usize,
        after: Option<Json>,
    ) -> Result<Chunk, Failure> {
        let entity = self.search.entity;
        let known = owners(self.search);
        let names: Vec<&str> = known.iter().map(|at| entity.field(*at).name).collect();
        let mut body = json!({
            "size": size,
            "query": query,
            "sort": order(self.search, reversed),
            "_source": false,
            "docvalue_fields": names,
            "track_total_hits": false,
        });
        if let (Some(after), Json::Object(body)) = (after, &mut body) {
            body.insert("search_after".to_string(), after);
        }
        let index = self.server.documents.index(entity.table);
        let mut answer = self.server.search(&index, &body)?;
        let hits = answer
            .pointer_mut("/hits/hits")
            .and_then(Json::as_array_mut);
        let hits = hits.ok_or_else(|| strange("a search"))?;
        let rows = hits.iter().map(|hit| row(entity, &known, hit)).collect();
        let end = hits.last_mut().and_then(|hit| hit.get_mut("sort"));
        Ok(Chunk {
            rows,
            end: end.map(Json::take).unwrap_or_default(),
        })
    }

    /// Filters the rows by the loose conditions.
    fn judged(&self, rows: Vec<Row>) -> Result<Vec<Row>, Failure> {
        let Loose::All(loose) = self.loose else {
            return self.searched(rows);
        };
        let mut rows = rows;
        for related in loose {
            rows = self.related(related, rows)?;
        }
        Ok(rows)
    }

    /// Keeps rows with a related row that satisfies the condition.
    fn related(&self, related: &Related, mut rows: Vec<Row>) -> Result<Vec<Row>, Failure> {
        let entity = self.search.entity;
        if rows.is_empty() {
            return Ok(rows);
        }
        let keys = Resolver::new(self.server, Some(&rows)).keys_of(entity, related)?;
        let keys: std::collections::HashSet<String> =
            keys.iter().flatten().map(document::id_of).collect();
        let own = entity.index_of(related.own).unwrap_or_default();
        rows.retain(|row| {
            let own = row.get(own).map(document::id_of);
            own.is_some_and(|own| keys.contains(&own))
        });
        Ok(rows)
    }

    /// Keeps rows that the whole search matches. Each list of keys is computed for these rows only.
    fn searched(&self, rows: Vec<Row>) -> Result<Vec<Row>, Failure> {
        let entity = self.search.entity;
        let query = Resolver::new(self.server, Some(&rows)).of_search(self.search)?;
        let body = json!({
            "size": rows.len(),
            "query": all_of(vec![rows_of(entity, &rows), query]),
            "_source": [entity.key().name],
            "sort": ["_doc"],
            "track_total_hits": false,
        });
        let index = self.server.documents.index(entity.table);
        let matching = pages::rows(entity, &self.server.search(&index, &body)?)?;
        let key = |row: &Row| row.first().map(document::id_of);
        let keys: std::collections::HashSet<_> = matching.iter().map(key).collect();
        let is_one = |row: &Row| keys.contains(&key(row));
        Ok(rows.into_iter().filter(is_one).collect())
    }
}

fn row(entity: &Entity, known: &[usize], hit: &Json) -> Row {
    let mut row = vec![Value::Null; entity.fields.len()];
    for at in known {
        let field = entity.field(*at);
        let value = hit.get("fields").and_then(|fields| fields.get(field.name));
        let value = value.and_then(|values| values.get(0));
        if let (Some(place), Some(value)) = (row.get_mut(*at), value) {
            *place = value_of(field.kind, value);
        }
    }
    row
}

/// Columns needed to evaluate rows: the key, and those that other entities refer to.
fn owners(search: &Search) -> Vec<usize> {
    let mut columns = vec![0];
    let all = std::iter::once(&search.filter).chain(&search.any_of);
    all.for_each(|conditions| owners_of(search.entity, conditions, &mut columns));
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn owners_of(entity: &Entity, conditions: &Conditions, columns: &mut Vec<usize>) {
    for condition in conditions {
        match condition {
            Condition::Related(related) => columns.extend(entity.index_of(related.own)),
            Condition::Any(alternatives) => {
                let conditions = alternatives.iter();
                conditions.for_each(|conditions| owners_of(entity, conditions, columns));
            }
            _ => {}
        }
    }
}
