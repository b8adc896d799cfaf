//! Questions that ask the store many times, one query after the other: they have one limit for all their queries, and a client has few of
//! them in progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_INSTANCE};
use skep_query::{
    Answer, BoxFuture, Consistency, Groups, Query, QueryError, ResultPage, Row, Storage, Value,
};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::fake::{KEY, start_over};
use crate::http::{self, send};

/// The most that one client may have in progress.
const SHARE: usize = 16;

fn row_with(entity: &'static skep_query::Entity, column: usize, value: Value) -> Row {
    let mut row = vec![Value::Null; entity.fields.len()];
    row[column] = value;
    row
}

/// A store in which every instance was called by one more.
#[derive(Default)]
struct EndlessCalls {
    asked: AtomicUsize,
}

impl Storage for EndlessCalls {
    fn query(
        &self,
        query: Query,
        _: Consistency,
    ) -> BoxFuture<'_, Result<(Answer, u64), QueryError>> {
        const PARENT: usize = PROCESS_INSTANCE.column("parentProcessInstanceKey");
        let Query::Get { entity, key } = query else {
            panic!("{query:?}");
        };
        self.asked.fetch_add(1, Ordering::Relaxed);
        let row = row_with(entity, PARENT, Value::Int(key.0));
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok((Answer::Row(Some(row)), 0))
        })
    }
}

#[tokio::test]
async fn no_further_query_begins_when_the_time_of_a_question_is_over() {
    let storage = Arc::new(EndlessCalls::default());
    let gateway = start_over(Arc::clone(&storage) as Arc<dyn Storage>, |config| {
        config.request_timeout = Duration::from_millis(100);
    })
    .await;
    let path = format!("/v2/process-instances/{KEY}/call-hierarchy");
    let answer = send(gateway.rest, "GET", &path, None, "").await;
    let (status, title, detail) = answer.problem();
    assert_eq!((status, &*title), (504, "DEADLINE_EXCEEDED"), "{detail}");
    assert!(detail.contains("skep.api.request-timeout"), "{detail}");
    // Each takes 5 ms at least.
    let asked = storage.asked.load(Ordering::Relaxed);
    assert!((1..=21).contains(&asked), "{asked}");
}

/// A store of many processes, which is slow to say where tokens wait.
struct SlowCounts {
    takes: Duration,
    asked: AtomicUsize,
}

impl SlowCounts {
    /// The definitions and elements that completed.
    fn groups(groups: &Groups) -> Vec<Row> {
        let row = |n: i64| match groups.by.len() {
            1 => vec![Value::Int(n), Value::Int(1)],
            _ => vec![Value::Int(n), Value::text("charge"), Value::Int(1)],
        };
        (1..=100).map(row).collect()
    }
}

impl Storage for SlowCounts {
    fn query(
        &self,
        query: Query,
        _: Consistency,
    ) -> BoxFuture<'_, Result<(Answer, u64), QueryError>> {
        match query {
            Query::Groups(groups) => {
                let rows = SlowCounts::groups(&groups);
                Box::pin(async move { Ok((Answer::Rows(rows), 0)) })
            }
            Query::Search(search) if std::ptr::eq(search.entity, &ELEMENT_INSTANCE) => {
                self.asked.fetch_add(1, Ordering::Relaxed);
                Box::pin(async move {
                    tokio::time::sleep(self.takes).await;
                    Ok((Answer::Page(ResultPage::default()), 0))
                })
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn overdue_elements_are_those_found_in_half_of_the_time() {
    let seconds = Duration::from_secs;
    // Within its time there are all.
    for (whole, takes, expected) in [
        (seconds(300), Duration::ZERO, 100),
        (seconds(4), seconds(2), 1),
    ] {
        let storage = Arc::new(SlowCounts {
            takes,
            asked: AtomicUsize::default(),
        });
        let gateway = start_over(Arc::clone(&storage) as Arc<dyn Storage>, |config| {
            config.request_timeout = whole;
        })
        .await;
        let path = "/skep/v1/element-instances/overdue";
        let answer = send(gateway.rest, "GET", path, None, "").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.json()["hasMore"], expected == 1);
        assert_eq!(storage.asked.load(Ordering::Relaxed), expected);
    }
}

/// A store that does not answer until it is switched to refusing.
struct Held(Semaphore);

impl Storage for Held {
    fn query(&self, _: Query, _: Consistency) -> BoxFuture<'_, Result<(Answer, u64), QueryError>> {
        Box::pin(async move {
            let _closed = self.0.acquire().await;
            Err(QueryError::Busy)
        })
    }
}

#[tokio::test]
async fn a_client_has_sixteen_such_questions_in_progress() {
    let hierarchy = format!("/v2/process-instances/{KEY}/call-hierarchy");
    let diagnosis = format!("/skep/v1/process-instances/{KEY}/diagnosis");
    let waits = format!("/v2/process-instances/{KEY}/waiting-states");
    let overdue = "/skep/v1/element-instances/overdue".to_string();
    for path in [diagnosis, waits, overdue, hierarchy] {
        let storage = Arc::new(Held(Semaphore::new(0)));
        let gateway = start_over(Arc::clone(&storage) as Arc<dyn Storage>, |config| {
            config.request_timeout = Duration::from_millis(200);
        })
        .await;
        let rest = gateway.rest;
        let mut asked: JoinSet<http::Answer> = (0..=SHARE)
            .map(|_| {
                let path = path.clone();
                async move { send(rest, "GET", &path, None, "").await }
            })
            .collect();
        let refused = asked
            .join_next()
            .await
            .expect("an answer")
            .expect("no panic");
        let (status, _, detail) = refused.problem();
        assert_eq!(status, 503, "{path}: {detail}");
        assert!(detail.contains("16 requests of this kind"), "{detail}");
        storage.0.close();
        let others = asked.join_all().await;
        assert_eq!(others.len(), SHARE);
        for other in others {
            assert_eq!(other.problem().2, QueryError::Busy.to_string(), "{path}");
        }
    }
}
