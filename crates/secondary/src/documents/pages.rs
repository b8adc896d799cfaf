//! Pages of searches.

use serde_json::{Value as Json, json};
use skep_query::{Entity, ResultPage, Row, Search, Start, Value, merge};

use super::document::{self, BRIEF, WHOLE};
use super::filter::{all_of, beyond, order};
use super::related::{Loose, Resolver, rows_of, total};
use super::server::{Failure, Server, strange};
use super::walk;
use crate::bounded::BoundedRows;

/// Maximum number of matches to count.
pub const COUNTED: u64 = merge::MAX_COUNTED + 1;

pub fn search(server: &Server, search: &Search) -> Result<ResultPage, Failure> {
    let mut resolver = Resolver::new(server, None);
    let query = resolver.of_search(search)?;
    let (rows, counted) = match resolver.loose {
        Loose::Nothing => at_once(server, search, query)?,
        loose => walk::page(server, search, query, &loose)?,
    };
    Ok(ResultPage {
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
    // The total includes rows that the cursor skips.
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

pub fn cursor(search: &Search) -> Option<Json> {
    match &search.page.start {
        Start::Offset(_) => None,
        Start::After(cursor) => Some(beyond(search, cursor, false)),
        Start::Before(cursor) => Some(beyond(search, cursor, true)),
    }
}

/// Reads the rows again with all columns that lists show.
pub fn whole(server: &Server, search: &Search, wanted: &[Row]) -> Result<Vec<Row>, Failure> {
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

/// The rows in an answer.
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

/// The columns of a list: it omits hidden columns, and long values are cut to their previews, so that a page of large values
/// need not fit into memory.
fn listed(search: &Search) -> Json {
    if search.details {
        return json!(true);
    }
    let entity = search.entity;
    let is_sorted = |at: usize| search.sort.iter().any(|sort| sort.field == at);
    let mut names = Vec::new();
    for (at, field) in entity.fields.iter().enumerate() {
        // Cursors need the key and the sort values, shown or not.
        if at > 0 && (!field.shown || field.detail) && !is_sorted(at) {
            continue;
        }
        let is_preview = (entity.table, field.name) == ("variable", "value");
        let long = if is_preview && !search.whole_texts && !is_sorted(at) {
            BRIEF
        } else {
            WHOLE
        };
        names.push(field.name.to_string());
        if document::is_text(field) {
            names.push(format!("{long}.{}", field.name));
        }
    }
    json!(names)
}

/// Reads a row by key; sees writes without a refresh.
pub fn get(server: &Server, entity: &Entity, key: i64) -> Result<Option<Row>, Failure> {
    let wanted = (
        server.documents.index(entity.table),
        document::id_of(&Value::Int(key)),
    );
    let found = server.get(&[wanted])?.pop();
    let source = found.as_ref().and_then(|document| document.get("_source"));
    Ok(source.map(|source| document::read(entity, source)))
}
