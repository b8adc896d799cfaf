//! Searches of tests in secondary storage, and accessors of their results.

use std::time::{Duration, Instant};

use skep_query::{
    Answer, Consistency, Entity, Query, QueryError, ResultPage, Row, Storage, answer, search,
};

use crate::support::{PATIENCE, Rig};

/// Searches once, in a store that is up to date.
pub async fn find(rig: &Rig, entity: &'static Entity, body: &str) -> ResultPage {
    let search = search(entity, body).expect("a search");
    let began = Instant::now();
    loop {
        let query = Query::Search(search.clone());
        let answer = rig.broker.query(query, Consistency::ReadYourWrites);
        match answer.await {
            Ok((Answer::Page(found), 0)) => return found,
            // A search server may not be able yet to read a newly created index.
            Err(QueryError::Unavailable(_)) if began.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}

/// A field in its API representation.
pub fn text(entity: &Entity, row: &Row, field: &str) -> String {
    let at = entity.index_of(field).expect("a field");
    let mut out = String::new();
    answer::write_value(&entity.fields[at], &row[at], &mut out);
    out
}

pub fn texts(entity: &Entity, found: &ResultPage, field: &str) -> Vec<String> {
    let rows = found.rows.iter();
    rows.map(|row| text(entity, row, field)).collect()
}
