//! The entries that a query must see: everything that was committed when it arrived, on any node.
//!
//! The leader knows the position, once it is [confirmed](super::confirming). Other nodes ask the leader and wait for the rows up to there.
//! If there is no leader or it is unreachable, there may be newer entries, and the answer says since when this has been unknown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_query::{Consistency, Query, QueryError};
use skep_secondary::Store;

use super::positions::PositionKnown;
use crate::cluster::Cluster;
use crate::partition::PartitionHandle;
use crate::partition::{QueryResult, StoreState};

/// How long a query waits for a leader that knows the position, and the pause between two attempts.
const ELECTION: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);

impl Cluster {
    /// How much of the partition's acknowledged data the local store has.
    pub(crate) fn store_state(&self, handle: &PartitionHandle) -> StoreState {
        StoreState::of(handle, self.had(handle.status.partition))
    }

    fn position_of(self: &Arc<Self>, partition: u32, known: PositionKnown) {
        let handle = self.local().and_then(|local| local.partition(partition));
        if handle.is_some_and(|handle| handle.leads()) {
            self.confirm(partition, None, known);
        } else {
            self.ask_position(partition, known);
        }
    }

    /// Queries the local store for everything that is committed anywhere now.
    pub(crate) fn query_now(
        self: &Arc<Self>,
        handle: &Arc<PartitionHandle>,
        store: Arc<Store>,
        query: Query,
        done: impl FnOnce(QueryResult) + Send + 'static,
    ) {
        let partition = handle.status.partition;
        let (local, handle) = (self.local.clone(), handle.clone());
        let known = move |entry: Option<u64>| {
            let unsure = local.freshness.note_position(partition, entry);
            handle.progress.expect(entry.unwrap_or_default());
            store.query(query, Consistency::ReadYourWrites, move |answered| {
                done(answered.map(|(answer, behind)| (answer, behind.max(unsure))));
            });
        };
        self.position_of(partition, Box::new(known));
    }

    /// Answers a query of a node that knows that the partition is committed up to `wanted`.
    pub(in crate::cluster) fn answer_for_another(
        self: &Arc<Self>,
        partition: u32,
        query: Query,
        wanted: Option<u64>,
        done: impl FnOnce(QueryResult) + Send + 'static,
    ) {
        let handle = self.local.partition(partition);
        let store = handle.as_ref().and_then(|it| it.secondary.get().opened());
        let (Some(handle), Some(store)) = (handle, store) else {
            let text = format!("Secondary storage of partition {partition} is not on this node.");
            return done(Err(QueryError::Unavailable(text)));
        };
        match wanted {
            Some(entry) => {
                handle.progress.expect(entry);
                self.query_now(&handle, store, query, done);
            }
            None => store.query(query, Consistency::Eventual, done),
        }
    }

    /// Makes the local stores, which are one shared place, expect what other nodes have committed: for all partitions, or for the one that
    /// has the key. Waits for an election. Returns for how long one of the partitions could not tell.
    pub(crate) async fn expect_all(self: &Arc<Self>, of: Option<u32>) -> u64 {
        let began = Instant::now();
        let mut asked: Vec<Arc<PartitionHandle>> = self.local.partitions().into_iter().collect();
        asked.retain(|handle| of.is_none_or(|of| of == handle.status.partition));
        loop {
            let (unsure, left) = self.expect_of(asked).await;
            if left.is_empty() || began.elapsed() >= ELECTION {
                return unsure;
            }
            asked = left;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// One round of that for these partitions. Also returns those that could not tell.
    async fn expect_of(
        self: &Arc<Self>,
        asked: Vec<Arc<PartitionHandle>>,
    ) -> (u64, Vec<Arc<PartitionHandle>>) {
        let ask = |handle: Arc<PartitionHandle>| {
            let (known, position) = tokio::sync::oneshot::channel();
            let known = move |entry| {
                let _ = known.send(entry);
            };
            self.position_of(handle.status.partition, Box::new(known));
            (handle, position)
        };
        // All are asked before waiting for the first answer.
        let asked: Vec<_> = asked.into_iter().map(ask).collect();
        let (mut unsure, mut left) = (0, Vec::new());
        for (handle, position) in asked {
            let entry = position.await.ok().flatten();
            let freshness = &self.local.freshness;
            unsure = unsure.max(freshness.note_position(handle.status.partition, entry));
            match entry {
                Some(entry) => handle.progress.expect(entry),
                None => left.push(handle),
            }
        }
        (unsure, left)
    }
}
