//! Queries. If each partition has its own store, the answers of all are merged; otherwise all rows are in one place.

pub(crate) mod asking;
pub(crate) mod freshness;
pub(crate) mod pulse;
pub(crate) mod work;

use std::sync::Arc;

use skep_protocol::Key;
use skep_query::entities::ELEMENT_INSTANCE;
use skep_query::{
    Answer, BoxFuture, Consistency, Groups, Measure, Pulse, Query, QueryError, Row, Search,
    Storage, groups, merge,
};
use skep_secondary::Store;
use tokio::sync::oneshot;

use crate::asking::gone;
use crate::partition::{PartitionHandle, QueryResult};
use crate::router::Broker;

impl Storage for Broker {
    fn is_off(&self) -> bool {
        self.config().secondary_storage.is_none()
    }

    fn pulse(&self) -> BoxFuture<'_, Pulse> {
        Box::pin(self.current_pulse())
    }

    fn query(&self, query: Query, consistency: Consistency) -> BoxFuture<'_, QueryResult> {
        if let Some(stores) = self.sharing() {
            return Box::pin(self.ask_shared(stores, query, consistency));
        }
        if self.partitions().is_empty() && self.shares_database() {
            // Any node that has a store there can answer for all partitions.
            return Box::pin(self.ask(1, query, consistency));
        }
        match query {
            Query::Search(search) => Box::pin(self.search(search, consistency)),
            Query::Get { entity, .. } if entity.everywhere => {
                Box::pin(self.ask(1, query, consistency))
            }
            Query::Groups(groups) => Box::pin(self.groups(groups, consistency)),
            Query::DefinitionStatistics { .. } => {
                Box::pin(self.definition_statistics(query, consistency))
            }
            Query::Get { key, .. }
            | Query::SequenceFlows {
                process_instance_key: key,
            }
            | Query::ElementStatistics {
                process_instance_key: key,
            } => {
                let none = if matches!(query, Query::Get { .. }) {
                    Answer::Row(None)
                } else {
                    Answer::Rows(Vec::new())
                };
                match self.home_of(key) {
                    Some(partition) => Box::pin(self.ask(partition, query, consistency)),
                    // No partition can have assigned such a key.
                    None => Box::pin(async move { Ok((none, 0)) }),
                }
            }
        }
    }
}

impl Broker {
    /// The stores of all partitions, if their rows are in one place.
    fn sharing(&self) -> Option<Vec<Arc<Store>>> {
        let open = |handle: &Arc<PartitionHandle>| {
            let store = handle.secondary.get().opened();
            store.filter(|store| store.is_shared())
        };
        let stores: Vec<Arc<Store>> = self.partitions().iter().filter_map(open).collect();
        (!stores.is_empty()).then_some(stores)
    }

    pub(crate) fn shares_database(&self) -> bool {
        let secondary = self.config().secondary_storage.as_ref();
        secondary.is_some_and(skep_secondary::Config::is_shared)
    }

    /// Queries one place for the rows of all partitions.
    async fn ask_shared(
        &self,
        stores: Vec<Arc<Store>>,
        query: Query,
        consistency: Consistency,
    ) -> QueryResult {
        let unsure = match consistency {
            Consistency::ReadYourWrites => {
                let of = if let Query::Get { entity, key } = query
                    && !entity.everywhere
                {
                    self.home_of(key)
                } else {
                    None
                };
                match self.shared().others() {
                    Some(cluster) => cluster.expect_all(of).await,
                    None => 0,
                }
            }
            Consistency::Eventual => 0,
        };
        let (answer, behind) = received(ask_shared(&stores, query, consistency)).await?;
        Ok((answer, behind.max(unsure)))
    }

    fn home_of(&self, key: Key) -> Option<u32> {
        self.routing().home(key)
    }

    async fn search(&self, search: Search, consistency: Consistency) -> QueryResult {
        if search.entity.everywhere {
            return self.ask(1, Query::Search(search), consistency).await;
        }
        let part = merge::for_partition(&search);
        let shared = self.shared();
        // All are asked before waiting for the first answer.
        let partitions = self.routing().partitions();
        let asked: Vec<_> = partitions
            .map(|partition| shared.ask(partition, Query::Search(part.clone()), consistency))
            .collect();
        let (mut parts, mut behind) = (Vec::with_capacity(asked.len()), 0);
        for answer in asked {
            if let (Answer::Page(found), lacking) = shared.answer(answer).await? {
                parts.push(found);
                behind = behind.max(lacking);
            }
        }
        Ok((Answer::Page(merge::join(&search, parts)), behind))
    }

    /// The rows from every partition, one list for each.
    async fn ask_all(
        &self,
        query: Query,
        consistency: Consistency,
    ) -> Result<(Vec<Vec<Row>>, u64), QueryError> {
        let shared = self.shared();
        let partitions = self.routing().partitions();
        let asked: Vec<_> = partitions
            .map(|partition| shared.ask(partition, query.clone(), consistency))
            .collect();
        let (mut parts, mut behind) = (Vec::with_capacity(asked.len()), 0);
        for answer in asked {
            if let (Answer::Rows(rows), lacking) = shared.answer(answer).await? {
                parts.push(rows);
                behind = behind.max(lacking);
            }
        }
        Ok((parts, behind))
    }

    async fn groups(&self, groups: Groups, consistency: Consistency) -> QueryResult {
        let query = Query::Groups(groups.clone());
        let (parts, behind) = self.ask_all(query, consistency).await?;
        Ok((Answer::Rows(groups::join(&groups, parts)), behind))
    }

    async fn definition_statistics(&self, query: Query, consistency: Consistency) -> QueryResult {
        let (parts, behind) = self.ask_all(query, consistency).await?;
        // By element id, with four counts.
        let groups = Groups {
            search: Search::all(&ELEMENT_INSTANCE, Vec::new(), 0),
            by: vec![const { ELEMENT_INSTANCE.column("elementId") }],
            span: None,
            measures: vec![Measure::Rows; 4],
        };
        Ok((Answer::Rows(groups::join(&groups, parts)), behind))
    }

    async fn ask(&self, partition: u32, query: Query, consistency: Consistency) -> QueryResult {
        let shared = self.shared();
        let asked = shared.ask(partition, query, consistency);
        shared.answer(asked).await
    }
}

/// Queries one place for the rows of all partitions.
fn ask_shared(
    stores: &[Arc<Store>],
    query: Query,
    consistency: Consistency,
) -> oneshot::Receiver<QueryResult> {
    let (answer, answered) = oneshot::channel();
    if let Some((first, others)) = stores.split_first() {
        first.query_with(others, query, consistency, move |answered| {
            // The requester may be gone.
            let _ = answer.send(answered);
        });
    }
    answered
}

async fn received(asked: oneshot::Receiver<QueryResult>) -> QueryResult {
    asked.await.unwrap_or_else(|_| Err(gone()))
}
