//! What tests ask secondary storage, and how they read its answers.

use std::time::{Duration, Instant};

use skep_query::{
    Answer, Consistency, Entity, Query, QueryError, ResultPage, Row, Storage, answer, search,
};

use crate::support::{PATIENCE, Rig};

/// What is found at once, and by a store that is not behind.
pub async fn find(rig: &Rig, entity: &'static Entity, body: &str) -> ResultPage {
    let search = search(entity, body).expect("a search");
    let began = Instant::now();
    loop {
        let query = Query::Search(search.clone());
        let answer = rig.broker.query(query, Consistency::ReadYourWrites);
        match answer.await {
            Ok((Answer::Page(found), 0)) => return found,
            // A search server takes its time until it can read what it has just created.
            Err(QueryError::Unavailable(_)) if began.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}

/// A field as it stands in the API's answers.
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
