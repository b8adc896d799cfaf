//! A query of one partition: answered here, or by another node that has its rows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_query::{Consistency, Query, QueryError};
use tokio::sync::oneshot;

use crate::partition::{QueryResult, Secondary, StoreState};
use crate::shared::Shared;

/// Timeout for another node to answer: it waits for acknowledged rows, and then for the database.
const PATIENCE: Duration = Duration::from_secs(15);
/// Timeout for another node if there already is an answer that may lack rows.
const SHORT_PATIENCE: Duration = Duration::from_secs(1);
/// How long a query waits for a node that can answer it.
const GRACE: Duration = Duration::from_secs(2);
/// The pause between two attempts to find such a node.
const PAUSE: Duration = Duration::from_millis(100);

/// A query that is waiting for its result.
pub struct PendingQuery {
    partition: u32,
    query: Query,
    consistency: Consistency,
    /// The nodes that can be asked next.
    others: Vec<Location>,
    /// `None`: there is no node to ask.
    answer: Option<oneshot::Receiver<QueryResult>>,
}

/// A place with the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    Here,
    Node(u32),
}

impl Shared {
    /// The places that can be asked, the best one last. An answer that lacks rows, and says so, is better than none.
    fn locations(&self, partition: u32) -> Vec<Location> {
        let had = self.others().map_or(0, |cluster| cluster.had(partition));
        let handle = self.local.partition(partition);
        let here = handle.map_or(StoreState::None, |handle| StoreState::of(&handle, had));
        let mut locations = Vec::new();
        for state in [StoreState::Behind, StoreState::Whole] {
            if let Some(cluster) = self.others() {
                let nodes = cluster.stores_elsewhere(partition, state).into_iter().rev();
                let alive = nodes.filter(|node| cluster.is_alive(*node));
                locations.extend(alive.map(Location::Node));
            }
            if here == state {
                locations.push(Location::Here);
            }
        }
        locations
    }

    /// Asks the best place. The query is sent at once, without waiting for the answer.
    pub fn ask(
        self: &Arc<Self>,
        partition: u32,
        query: Query,
        consistency: Consistency,
    ) -> PendingQuery {
        let mut pending = PendingQuery {
            partition,
            query,
            consistency,
            others: self.locations(partition),
            answer: None,
        };
        self.ask_next(&mut pending);
        pending
    }

    /// Asks the next place. False if there is no place left.
    fn ask_next(self: &Arc<Self>, pending: &mut PendingQuery) -> bool {
        pending.answer = None;
        while pending.answer.is_none()
            && let Some(location) = pending.others.pop()
        {
            pending.answer = self.ask_at(
                location,
                pending.partition,
                &pending.query,
                pending.consistency,
            );
        }
        pending.answer.is_some()
    }

    fn ask_at(
        self: &Arc<Self>,
        location: Location,
        partition: u32,
        query: &Query,
        consistency: Consistency,
    ) -> Option<oneshot::Receiver<QueryResult>> {
        let handle = self.local.partition(partition);
        if let Location::Node(node) = location {
            let acknowledged = match handle {
                Some(handle) => handle.progress.acknowledged(),
                None => self.local.freshness.expected(partition),
            };
            let wanted = match consistency {
                Consistency::ReadYourWrites => Some(acknowledged),
                Consistency::Eventual => None,
            };
            return self.others()?.query(node, partition, query, wanted);
        }
        let handle = handle?;
        let Secondary::Open(store) = handle.secondary.get() else {
            return None;
        };
        let (answer, answered) = oneshot::channel();
        let done = move |answered| {
            // The requester may be gone.
            let _ = answer.send(answered);
        };
        match (self.others(), consistency) {
            (Some(cluster), Consistency::ReadYourWrites) => {
                cluster.query_now(&handle, store, query.clone(), done);
            }
            (None, _) | (_, Consistency::Eventual) => store.query(query.clone(), consistency, done),
        }
        Some(answered)
    }

    /// The answer. The next place is asked if one cannot give it, or lacks acknowledged data.
    pub async fn answer(self: &Arc<Self>, mut pending: PendingQuery) -> QueryResult {
        let began = Instant::now();
        let mut lacking = None;
        loop {
            let answered = match pending.answer.take() {
                Some(answer) => {
                    let patience = match lacking {
                        Some(Ok(_)) => SHORT_PATIENCE,
                        _ => PATIENCE,
                    };
                    received(pending.partition, answer, patience).await
                }
                None => Err(self.nobody_to_ask(pending.partition)),
            };
            if matches!(answered, Ok((_, 1..))) {
                lacking = Some(answered);
            } else if matches!(answered, Err(QueryError::Unavailable(_))) {
                lacking.get_or_insert(answered);
            } else {
                return answered;
            }
            if self.ask_next(&mut pending) {
                continue;
            }
            match lacking {
                // No node can answer at the moment: one has just started, or is gone.
                Some(Err(_)) if self.others().is_some() && began.elapsed() < GRACE => {
                    tokio::time::sleep(PAUSE).await;
                    pending.others = self.locations(pending.partition);
                    self.ask_next(&mut pending);
                    lacking = None;
                }
                lacking => return lacking.unwrap_or_else(|| Err(gone())),
            }
        }
    }

    /// Why a query cannot be asked at all.
    fn nobody_to_ask(&self, partition: u32) -> QueryError {
        let handle = self.local.partition(partition);
        let reason = match handle.map(|handle| handle.secondary.get()) {
            Some(Secondary::Off) => return QueryError::Disabled,
            Some(Secondary::Broken(reason)) => {
                format!("Secondary storage of partition {partition} cannot be opened: {reason}.")
            }
            Some(Secondary::Fetching) => format!(
                "Secondary storage of partition {partition} on this node lacks the changes made while the node was away, and no node \
                 that has them can be reached at the moment. They are fetched as soon as one can be reached; send the query again then."
            ),
            Some(Secondary::Open(_)) => "The node is stopping.".to_string(),
            None => format!("Partition {partition} has not started yet. Send the query again."),
        };
        QueryError::Unavailable(reason)
    }
}

async fn received(
    partition: u32,
    answer: oneshot::Receiver<QueryResult>,
    patience: Duration,
) -> QueryResult {
    match tokio::time::timeout(patience, answer).await {
        Ok(answered) => answered.unwrap_or_else(|_| Err(gone())),
        Err(_) => Err(QueryError::Unavailable(format!(
            "The node that was asked for rows of partition {partition} has not answered for {} s. Send the query again.",
            patience.as_secs()
        ))),
    }
}

pub fn gone() -> QueryError {
    QueryError::Unavailable(
        "The query was cancelled because the node that was asked is stopping. Send it again."
            .to_string(),
    )
}
