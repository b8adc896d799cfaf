//! A query of one partition, answered here or by another node that has its rows.

use std::sync::atomic::Ordering;
use std::time::Duration;

use skep_query::{Answer, Consistency, Query, QueryError};
use tokio::sync::oneshot;

use crate::partition::PartitionHandle;
use crate::partition::thread::Secondary;
use crate::shared::Shared;

pub type Answered = Result<(Answer, u64), QueryError>;

/// Another node gets so long to answer: it waits for what was acknowledged, and then for the database.
const PATIENCE: Duration = Duration::from_secs(15);

/// A question that is on its way.
pub struct Asked {
    partition: u32,
    query: Query,
    consistency: Consistency,
    /// Who can be asked next.
    others: Vec<Place>,
    answer: oneshot::Receiver<Answered>,
}

/// Where rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Here,
    Node(u32),
}

impl Shared {
    /// The store here has what the partition has acknowledged, or soon will.
    pub fn is_searchable(&self, handle: &PartitionHandle) -> bool {
        let Secondary::Open(store) = handle.secondary.get() else {
            return false;
        };
        let status = store.status();
        let cluster = self.cluster.get();
        let others_had = cluster.map_or(0, |cluster| cluster.had(handle.status.partition));
        status.fault().is_none() && status.exported_entry() >= others_had
    }

    /// Who can be asked, the best first.
    fn places(&self, partition: u32) -> Vec<Place> {
        let handle = self.partition(partition);
        let mut places = Vec::new();
        let fit = handle.is_some_and(|handle| self.is_searchable(handle));
        if fit {
            places.push(Place::Here);
        }
        if let Some(cluster) = self.cluster.get() {
            let nodes = cluster.searchable_elsewhere(partition);
            places.extend(nodes.into_iter().map(Place::Node));
        }
        // Rather an answer that lacks something, and says so, than none.
        if !fit && handle.is_some_and(|h| matches!(h.secondary.get(), Secondary::Open(_))) {
            places.push(Place::Here);
        }
        places
    }

    /// Asks the best place. The question leaves at once, before the answer is waited for.
    pub fn ask(
        &self,
        partition: u32,
        query: Query,
        consistency: Consistency,
    ) -> Result<Asked, QueryError> {
        let mut others = self.places(partition);
        others.reverse();
        while let Some(place) = others.pop() {
            if let Some(answer) = self.ask_at(place, partition, &query, consistency) {
                return Ok(Asked {
                    partition,
                    query,
                    consistency,
                    others,
                    answer,
                });
            }
        }
        Err(self.nobody_to_ask(partition))
    }

    fn ask_at(
        &self,
        place: Place,
        partition: u32,
        query: &Query,
        consistency: Consistency,
    ) -> Option<oneshot::Receiver<Answered>> {
        let handle = self.partition(partition);
        if let Place::Node(node) = place {
            let acknowledged = handle.map_or(0, |handle| handle.progress.acknowledged());
            let wanted = match consistency {
                Consistency::ReadYourWrites => Some(acknowledged),
                Consistency::Eventual => None,
            };
            return self.cluster.get()?.query(node, partition, query, wanted);
        }
        let Secondary::Open(store) = handle?.secondary.get() else {
            return None;
        };
        let (answer, answered) = oneshot::channel();
        store.query(query.clone(), consistency, move |answered| {
            // Who asked may have gone away.
            let _ = answer.send(answered);
        });
        Some(answered)
    }

    /// The answer; the next place is asked if one cannot give it.
    pub async fn answer(&self, asked: Result<Asked, QueryError>) -> Answered {
        let mut asked = asked?;
        loop {
            let answered = tokio::time::timeout(PATIENCE, asked.answer).await;
            let answered = match answered {
                Ok(Ok(answered)) => answered,
                Ok(Err(_)) => Err(gone()),
                Err(_) => Err(silent(asked.partition)),
            };
            if !matches!(answered, Err(QueryError::Unavailable(_))) {
                return answered;
            }
            let next = loop {
                let Some(place) = asked.others.pop() else {
                    return answered;
                };
                let next = self.ask_at(place, asked.partition, &asked.query, asked.consistency);
                if let Some(next) = next {
                    break next;
                }
            };
            asked.answer = next;
        }
    }

    /// Why a query cannot even be asked.
    fn nobody_to_ask(&self, partition: u32) -> QueryError {
        let handle = self.partition(partition);
        let reason = match handle.map(|handle| handle.secondary.get()) {
            Some(Secondary::Off) => return QueryError::Disabled,
            Some(Secondary::Broken(reason)) => {
                format!("Secondary storage of partition {partition} cannot be opened: {reason}.")
            }
            Some(Secondary::Fetching) => format!(
                "Secondary storage of partition {partition} lacks on this node what happened while the node was away, and no node \
                 that has it can be reached at the moment. It is fetched as soon as there is one; send the query again then."
            ),
            Some(Secondary::Open(_)) => "The node stops.".to_string(),
            None => format!("Partition {partition} has not started yet. Send the query again."),
        };
        QueryError::Unavailable(reason)
    }

    /// A node that asks has heard that the partition is committed up to `wanted`.
    pub fn answer_for_another(
        &self,
        partition: u32,
        query: Query,
        wanted: Option<u64>,
        done: impl FnOnce(Answered) + Send + 'static,
    ) {
        let handle = self.partition(partition);
        let (Some(handle), Some(Secondary::Open(store))) =
            (handle, handle.map(|handle| handle.secondary.get()))
        else {
            let text = format!("Secondary storage of partition {partition} is not on this node.");
            return done(Err(QueryError::Unavailable(text)));
        };
        let consistency = match wanted {
            Some(entry) => {
                handle.progress.expect(entry);
                Consistency::ReadYourWrites
            }
            None => Consistency::Eventual,
        };
        store.query(query, consistency, done);
    }

    /// How far the log was committed here when this was asked.
    pub fn applied(&self, partition: u32) -> u64 {
        let handle = self.partition(partition);
        handle.map_or(0, |handle| handle.status.applied.load(Ordering::Acquire))
    }
}

pub fn gone() -> QueryError {
    QueryError::Unavailable(
        "The query was given up because the node that was asked stops. Send it again.".to_string(),
    )
}

fn silent(partition: u32) -> QueryError {
    QueryError::Unavailable(format!(
        "The node that was asked for rows of partition {partition} has not answered for {} s. Send the query again.",
        PATIENCE.as_secs()
    ))
}
