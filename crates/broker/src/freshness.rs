//! What a query is to see of a partition: everything that was committed when it was asked, on whichever node.
//!
//! The leader knows. Elsewhere it is asked, and the answer waits for the rows up to there. Where nobody can tell, because none leads or
//! the leader is not reached, there may be more than is known here, and the answer says since when.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use skep_cluster::node_of;
use skep_export::Store;
use skep_query::{Consistency, Query};

use crate::asking::QueryResult;
use crate::partition::PartitionHandle;
use crate::shared::Shared;

/// How long a query waits for somebody who can tell, and between two looks for one.
const ELECTION: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);

impl Shared {
    /// Up to which entry the partition is committed, if this node leads it and hears a majority of its replicas: no other node can lead
    /// it then.
    pub(crate) fn surely_committed(&self, partition: u32) -> Option<u64> {
        let handle = self.partition(partition).filter(|handle| handle.leads())?;
        let committed = handle.status.applied.load(Ordering::Acquire);
        let cluster = self.cluster.get()?;
        let voters = handle.status.members().voters;
        let is_there = |member: &&u64| {
            node_of(**member).is_some_and(|node| node == cluster.node() || cluster.is_heard(node))
        };
        let there = voters.iter().filter(is_there).count();
        // It may have lost the lead meanwhile.
        (2 * there > voters.len() && handle.leads()).then_some(committed)
    }

    /// Asks the store here for what is committed anywhere now.
    pub(crate) fn query_now(
        self: &Arc<Self>,
        handle: &Arc<PartitionHandle>,
        store: Arc<Store>,
        query: Query,
        done: impl FnOnce(QueryResult) + Send + 'static,
    ) {
        let Some(cluster) = self.cluster.get() else {
            return store.query(query, Consistency::ReadYourWrites, done);
        };
        let partition = handle.status.partition;
        let (shared, handle) = (self.clone(), handle.clone());
        let known = move |entry| {
            let unsure = shared.hears_position(partition, entry);
            handle.progress.expect(entry.unwrap_or_default());
            store.query(query, Consistency::ReadYourWrites, move |answered| {
                done(answered.map(|(answer, behind)| (answer, behind.max(unsure))));
            });
        };
        match self.surely_committed(partition) {
            Some(entry) => known(Some(entry)),
            None => cluster.ask_position(partition, Box::new(known)),
        }
    }

    /// For how many milliseconds nobody could tell how far the partition is committed.
    fn hears_position(&self, partition: u32, entry: Option<u64>) -> u64 {
        let mut heard = self.heard.lock();
        if entry.is_some() {
            heard.insert(partition, Instant::now());
            return 0;
        }
        let since = heard.entry(partition).or_insert(self.opened);
        u64::try_from(since.elapsed().as_millis()).map_or(u64::MAX, |passed| passed.max(1))
    }

    /// What other nodes have committed is expected in the stores here, which are one place: of all partitions, or of the one that has
    /// the key. An election is waited for. Returns for how long one of them could not tell.
    pub(crate) async fn expect_all(self: &Arc<Self>, of: Option<u32>) -> u64 {
        let began = Instant::now();
        let mut asked: Vec<Arc<PartitionHandle>> = self.partitions().into_iter().collect();
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

    /// The same once, of these: with those that could not tell.
    async fn expect_of(
        self: &Arc<Self>,
        asked: Vec<Arc<PartitionHandle>>,
    ) -> (u64, Vec<Arc<PartitionHandle>>) {
        let Some(cluster) = self.cluster.get() else {
            return (0, Vec::new());
        };
        let ask = |handle: Arc<PartitionHandle>| {
            let partition = handle.status.partition;
            let (known, position) = tokio::sync::oneshot::channel();
            let known = move |entry| {
                let _ = known.send(entry);
            };
            match self.surely_committed(partition) {
                Some(entry) => known(Some(entry)),
                None => cluster.ask_position(partition, Box::new(known)),
            }
            (handle, position)
        };
        // All are asked before the first is waited for.
        let asked: Vec<_> = asked.into_iter().map(ask).collect();
        let (mut unsure, mut left) = (0, Vec::new());
        for (handle, position) in asked {
            let entry = position.await.ok().flatten();
            unsure = unsure.max(self.hears_position(handle.status.partition, entry));
            match entry {
                Some(entry) => handle.progress.expect(entry),
                None => left.push(handle),
            }
        }
        (unsure, left)
    }
}
