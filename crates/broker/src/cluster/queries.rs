//! Queries that another node answers, and queries that this node answers for others.

pub(super) mod confirming;
pub(crate) mod freshness;
pub(crate) mod positions;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use skep_query::{Query, QueryError};
use tokio::sync::oneshot;

use super::Cluster;
use super::wire::NodeMessage;
use crate::partition::QueryResult;

/// Fingerprint of what the columns of rows mean, see [`skep_query::fingerprint`].
static COLUMNS: LazyLock<u64> = LazyLock::new(skep_query::fingerprint);

/// Queries that are at other nodes: by number, with the node that was asked and the waiting caller.
#[derive(Default)]
pub(super) struct Queries {
    next: AtomicU64,
    pending: Mutex<HashMap<u64, (u32, oneshot::Sender<QueryResult>)>>,
}

impl Cluster {
    /// Asks a node. `None`: the query cannot be sent.
    pub fn query(
        &self,
        node: u32,
        partition: u32,
        query: &Query,
        wanted: Option<u64>,
    ) -> Option<oneshot::Receiver<QueryResult>> {
        let id = self.exchanges.queries.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let message = NodeMessage::Query {
            id,
            partition,
            columns: *COLUMNS,
            query: query.clone(),
            wanted,
        };
        let mut pending = self.exchanges.queries.pending.lock();
        pending.retain(|_, (_, waiting)| !waiting.is_closed());
        pending.insert(id, (node, answer));
        drop(pending);
        if self.send(node, &message) {
            return Some(answered);
        }
        self.exchanges.queries.pending.lock().remove(&id);
        None
    }

    /// Answers a query from another node.
    pub(super) fn answer_query(
        self: &Arc<Self>,
        from: u32,
        (id, columns): (u64, u64),
        (partition, query): (u32, Query),
        wanted: Option<u64>,
    ) {
        let cluster = self.clone();
        let done = move |answered| {
            cluster.send(from, &NodeMessage::QueryAnswer { id, answered });
        };
        if columns != *COLUMNS {
            let text = "The node that was asked has another version of Skep, with other columns.";
            return done(Err(QueryError::Unavailable(text.to_string())));
        }
        match self.local() {
            Some(_) => self.answer_for_another(partition, query, wanted, done),
            None => {
                let text = "The node that was asked has not started yet.";
                done(Err(QueryError::Unavailable(text.to_string())));
            }
        }
    }

    pub(super) fn found(&self, id: u64, answered: QueryResult) {
        let waiting = self.exchanges.queries.pending.lock().remove(&id);
        if let Some((_, waiting)) = waiting {
            let _ = waiting.send(answered);
        }
    }

    /// The connection with the node is lost: waiting callers ask another one.
    pub(super) fn lose_queries(&self, node: u32) {
        let mut pending = self.exchanges.queries.pending.lock();
        pending.retain(|_, (asked, _)| *asked != node);
    }
}
