//! Queries that another node answers, and queries that this node answers for others.

pub(super) mod confirming;
pub(crate) mod freshness;
pub(crate) mod positions;
pub(super) mod unanswered;

use std::sync::Arc;
use std::sync::LazyLock;

use skep_query::{Query, QueryError};
use tokio::sync::oneshot;

use self::unanswered::Unanswered;
use super::Cluster;
use super::wire::NodeMessage;
use crate::partition::QueryResult;

/// Fingerprint of what the columns of rows mean, see [`skep_query::fingerprint`].
static COLUMNS: LazyLock<u64> = LazyLock::new(skep_query::fingerprint);

/// Callers whose queries are at other nodes.
pub(super) type Queries = Unanswered<oneshot::Sender<QueryResult>>;

impl Cluster {
    /// Asks a node. `None`: the query cannot be sent.
    pub fn query(
        &self,
        node: u32,
        partition: u32,
        query: &Query,
        wanted: Option<u64>,
    ) -> Option<oneshot::Receiver<QueryResult>> {
        let (answer, answered) = oneshot::channel();
        let queries = &self.exchanges.queries;
        let id = queries.add(node, answer, oneshot::Sender::is_closed);
        let message = NodeMessage::Query {
            id,
            partition,
            columns: *COLUMNS,
            query: query.clone(),
            wanted,
        };
        if self.send(node, &message) {
            return Some(answered);
        }
        queries.take(node, id);
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

    pub(super) fn found(&self, from: u32, id: u64, answered: QueryResult) {
        if let Some(waiting) = self.exchanges.queries.take(from, id) {
            let _ = waiting.send(answered);
        }
    }

    /// The connection with the node is lost: waiting callers ask another one.
    pub(super) fn lose_queries(&self, node: u32) {
        self.exchanges.queries.take_all(node).for_each(drop);
    }
}
