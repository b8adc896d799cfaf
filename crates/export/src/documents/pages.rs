//! Pages of searches.

use serde_json::{Value as Json, json};
use skep_query::{Condition, Conditions, Entity, Found, Row, Search, Start, Value, merge};

use super::document::{self, BRIEF, WHOLE};
use super::filter::{all_of, beyond, order};
use super::related::{Resolver, rows_of, total};
use super::server::{Failure, Server, strange};
use crate::bounded::BoundedRows;

/// Rows that are looked at together where a search cannot say at once which ones it wants, at most.
const CHUNK: usize = 5_000;
/// Matches that are looked for.
const COUNTED: u64 = merge::MAX_COUNTED + 1;

pub fn search(server: &Server, search: &Search) -> Result<Found, Failure> {
    let mut resolver = Resolver::new(server, None);
    let query = resolver.of_search(search)?;
    let (rows, counted) = match resolver.is_relaxed {
        false => at_once(server, search, query)?,
        true => gone_through(server, search, &query)?,
    };
    Ok(Found {
        rows,
        total: counted.min(merge::MAX_COUNTED),
        more: counted > merge::MAX_COUNTED,
    })
}

fn at_once(server: &Server, search: &Search, query: Json) -> Result<(Vec<Row>, u64), Failure> {
    let index = server.documents.index(search.entity.table);
    let cursor = cursor(search);
    let reversed = matches!(search.page.start, Start::Before(_));
    let from = match search.page.start {
        Start::Offset(from) => from,
        Start::After(_) | Start::Before(_) => 0,
    };
    // What a cursor leaves out counts all the same.
    let counted = match &cursor {
        None => None,
        Some(_) => {
            let body = json!({"size": 0, "query": query, "track_total_hits": COUNTED});
            Some(total(&server.search(&index, &body)?))
        }
    };
    let body = json!({
        "from": from,
        "size": search.page.limit,
        "query": all_of(std::iter::once(query).chain(cursor).collect()),
        "sort": order(search, reversed),
        "_source": listed(search),
        "track_total_hits": if counted.is_some() { json!(false) } else { json!(COUNTED) },
    });
    let answer = server.search(&index, &body)?;
    let counted = counted.unwrap_or_else(|| total(&answer));
    let mut rows = rows(search.entity, &answer)?;
    if reversed {
        rows.reverse();
    }
    Ok((rows, counted))
}

fn cursor(search: &Search) -> Option<Json> {
    match &search.page.start {
        Start::Offset(_) => None,
        Start::After(cursor) => Some(beyond(search, cursor, false)),
        Start::Before(cursor) => Some(beyond(search, cursor, true)),
    }
}

/// `query` finds too much: what it finds is gone through in the order of the search, and judged.
fn gone_through(
    server: &Server,
    search: &Search,
    query: &Json,
) -> Result<(Vec<Row>, u64), Failure> {
    let limit = search.page.limit as usize;
    let (wanted, counted) = match search.page.start {
        Start::Offset(from) => {
            let from = from as usize;
            let most = (from + limit).max(COUNTED as usize);
            let found = matching(server, search, query.clone(), most)?;
            let counted = found.len() as u64;
            (found.into_iter().skip(from).take(limit).collect(), counted)
        }
        Start::After(_) | Start::Before(_) => {
            let mut all = search.clone();
            all.page.start = Start::Offset(0);
            let counted = matching(server, &all, query.clone(), COUNTED as usize)?.len();
            let query = all_of(
                std::iter::once(query.clone())
                    .chain(cursor(search))
                    .collect(),
            );
            (matching(server, search, query, limit)?, counted as u64)
        }
    };
    let mut found = whole(server, search, &wanted)?;
    if matches!(search.page.start, Start::Before(_)) {
        found.reverse();
    }
    Ok((found, counted))
}

/// The first rows that match, as far as they are needed to go on; in the order of the search, or before a cursor in the reverse
/// one.
fn matching(
    server: &Server,
    search: &Search,
    query: Json,
    most: usize,
) -> Result<Vec<Row>, Failure> {
    let reversed = matches!(search.page.start, Start::Before(_));
    let mut found: Vec<Row> = Vec::new();
    let mut last: Option<Row> = None;
    let index = server.documents.index(search.entity.table);
    let needed = needed(search);
    let size = CHUNK.min(server.documents.settings.joined_keys);
    loop {
        let after = last
            .as_ref()
            .map(|row| beyond(search, &merge::cursor_of(search, row), reversed));
        let body = json!({
            "size": size,
            "query": all_of(std::iter::once(query.clone()).chain(after).collect()),
            "sort": order(search, reversed),
            "_source": needed,
            "track_total_hits": false,
        });
        let chunk = rows(search.entity, &server.search(&index, &body)?)?;
        let Some(end) = chunk.last() else {
            return Ok(found);
        };
        last = Some(end.clone());
        let is_last = chunk.len() < size;
        found.append(&mut judged(server, search, chunk)?);
        if found.len() >= most {
            found.truncate(most);
            return Ok(found);
        }
        if is_last {
            return Ok(found);
        }
    }
}

/// Those of the rows that match.
fn judged(server: &Server, search: &Search, rows: Vec<Row>) -> Result<Vec<Row>, Failure> {
    let query = Resolver::new(server, Some(&rows)).of_search(search)?;
    let body = json!({
        "size": rows.len(),
        "query": all_of(vec![rows_of(search.entity, &rows), query]),
        "_source": [search.entity.key().name],
        "sort": ["_doc"],
        "track_total_hits": false,
    });
    let index = server.documents.index(search.entity.table);
    let matching = self::rows(search.entity, &server.search(&index, &body)?)?;
    let keys: std::collections::HashSet<String> = matching
        .iter()
        .filter_map(|row| row.first().map(document::id_of))
        .collect();
    let is_one = |row: &Row| {
        let key = row.first().map(document::id_of);
        key.is_some_and(|key| keys.contains(&key))
    };
    Ok(rows.into_iter().filter(is_one).collect())
}

/// The rows with all that lists show.
fn whole(server: &Server, search: &Search, wanted: &[Row]) -> Result<Vec<Row>, Failure> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let body = json!({
        "size": wanted.len(),
        "query": rows_of(search.entity, wanted),
        "_source": listed(search),
        "track_total_hits": false,
    });
    let index = server.documents.index(search.entity.table);
    let found = rows(search.entity, &server.search(&index, &body)?)?;
    let id = |row: &Row| row.first().map(document::id_of);
    let mut by_id: std::collections::HashMap<_, Row> =
        found.into_iter().map(|row| (id(&row), row)).collect();
    Ok(wanted
        .iter()
        .filter_map(|row| by_id.remove(&id(row)))
        .collect())
}

/// The rows of an answer.
pub fn rows(entity: &Entity, answer: &Json) -> Result<Vec<Row>, Failure> {
    let hits = answer.pointer("/hits/hits").and_then(Json::as_array);
    let hits = hits.ok_or_else(|| strange("a search"))?;
    let sources = hits.iter().filter_map(|hit| hit.get("_source"));
    let mut rows = BoundedRows::default();
    for source in sources {
        rows.push(document::read(entity, source))?;
    }
    Ok(rows.done())
}

/// The columns of a list: without what it does not show, and of long values no more than their previews, so that a page of large
/// ones need not fit into memory.
fn listed(search: &Search) -> Json {
    if search.details {
        return json!(true);
    }
    let entity = search.entity;
    let is_sorted = |at: usize| search.sort.iter().any(|sort| sort.field == at);
    let mut names = Vec::new();
    for (at, field) in entity.fields.iter().enumerate() {
        // Cursors have the key and what is sorted by, shown or not.
        if at > 0 && (!field.shown || field.detail) && !is_sorted(at) {
            continue;
        }
        let is_preview = (entity.table, field.name) == ("variable", "value");
        let long = match is_preview && !search.whole_texts && !is_sorted(at) {
            true => BRIEF,
            false => WHOLE,
        };
        names.push(field.name.to_string());
        if document::is_text(field) {
            names.push(format!("{long}.{}", field.name));
        }
    }
    json!(names)
}

/// The columns by which rows are gone through: the key, those of the sort, and those that other entities know.
fn needed(search: &Search) -> Json {
    let entity = search.entity;
    let mut columns: Vec<usize> = search.sort.iter().map(|sort| sort.field).collect();
    columns.push(0);
    let all = std::iter::once(&search.filter).chain(&search.any_of);
    all.for_each(|conditions| owners(entity, conditions, &mut columns));
    let names = columns.iter().flat_map(|at| {
        let name = entity.field(*at).name;
        [name.to_string(), format!("{WHOLE}.{name}")]
    });
    json!(names.collect::<Vec<String>>())
}

fn owners(entity: &Entity, conditions: &Conditions, columns: &mut Vec<usize>) {
    for condition in conditions {
        match condition {
            Condition::Related(related) => columns.extend(entity.index_of(related.own)),
            Condition::Any(alternatives) => {
                let conditions = alternatives.iter();
                conditions.for_each(|conditions| owners(entity, conditions, columns));
            }
            _ => {}
        }
    }
}

/// The row of a key, seen without a refresh.
pub fn get(server: &Server, entity: &Entity, key: i64) -> Result<Option<Row>, Failure> {
    let wanted = (
        server.documents.index(entity.table),
        document::id_of(&Value::Int(key)),
    );
    let found = server.get(&[wanted])?.pop();
    let source = found.as_ref().and_then(|document| document.get("_source"));
    Ok(source.map(|source| document::read(entity, source)))
}
