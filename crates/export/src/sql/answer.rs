//! Answers to queries out of any database that understands SQL.

use skep_protocol::Key;
use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{
    Answer, Entity, Found, Groups, Query, QueryError, Row, Search, Start, groups, merge,
};

use super::{Sql, flows, page, select, statistics};

/// What queries are asked of.
pub trait Database {
    /// The beginning of a statement.
    fn sql(&self) -> Sql<'_>;

    /// The rows that a statement finds, with so many columns. No more than [`MAX_BYTES`](crate::bounded::MAX_BYTES) of texts, but one row
    /// in any case.
    fn rows(&self, sql: &Sql<'_>, columns: usize) -> Result<Vec<Row>, QueryError>;
}

pub fn answer(from: &impl Database, query: &Query) -> Result<Answer, QueryError> {
    match query {
        Query::Search(wanted) => search(from, wanted).map(Answer::Found),
        Query::Get { entity, key } => get(from, entity, *key).map(Answer::Row),
        Query::SequenceFlows {
            process_instance_key,
        } => {
            let found = get(from, &PROCESS_INSTANCE, *process_instance_key)?;
            Ok(Answer::Rows(
                found.map(|row| flows::of(&row)).unwrap_or_default(),
            ))
        }
        Query::Groups(wanted) => grouped(from, wanted).map(Answer::Rows),
        Query::DefinitionStatistics {
            process_definition_key,
        } => {
            let sql = statistics::of_definition(from.sql(), *process_definition_key);
            from.rows(&sql, statistics::COLUMNS).map(Answer::Rows)
        }
        Query::ElementStatistics {
            process_instance_key,
        } => {
            let sql = statistics::of_instance(from.sql(), *process_instance_key);
            from.rows(&sql, statistics::COLUMNS).map(Answer::Rows)
        }
    }
}

fn search(from: &impl Database, search: &Search) -> Result<Found, QueryError> {
    let counted = from.rows(&select::count(from.sql(), search), 1)?;
    let counted = counted.first().and_then(|row| row.first()?.as_int());
    let counted = u64::try_from(counted.unwrap_or_default()).unwrap_or_default();
    let more = counted > merge::MAX_COUNTED;
    let (mut rows, mut left) = (Vec::new(), search.page.limit);
    for part in page::parts(search) {
        let part = page::rows(from.sql(), search, *part, left, more);
        rows.extend(from.rows(&part, search.entity.fields.len())?);
        left = search
            .page
            .limit
            .saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        // Nothing is left to look for.
        if left == 0 || u64::try_from(rows.len()) == Ok(counted) {
            break;
        }
    }
    if matches!(search.page.start, Start::Before(_)) {
        rows.reverse();
    }
    Ok(Found {
        rows,
        total: counted.min(merge::MAX_COUNTED),
        more,
    })
}

fn get(from: &impl Database, entity: &Entity, key: Key) -> Result<Option<Row>, QueryError> {
    let sql = select::get(from.sql(), entity, key.0);
    Ok(from.rows(&sql, entity.fields.len())?.pop())
}

fn grouped(from: &impl Database, groups: &Groups) -> Result<Vec<Row>, QueryError> {
    let columns = groups.by.len() + groups.measures.len();
    let rows = from.rows(&select::groups(from.sql(), groups), columns)?;
    if rows.len() > groups::MAX_GROUPS {
        let groups = groups::MAX_GROUPS;
        return Err(QueryError::TooMany { groups });
    }
    Ok(rows)
}
