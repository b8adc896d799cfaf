//! The world of a test case: a server, and the part of its contents that belongs to the case.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use skep_client::{Deployed, Resource};
use skep_protocol::Key;
use tokio::task::JoinSet;

use super::mock;
use crate::cli::deploy::deploy;
use crate::cli::fetch;
use crate::cli::rest::{Body, RestArgs, read};
use crate::cli::search::{items, word};

/// Maximum number of rows of a search.
const MOST: u64 = 10_000;
/// Number of instances that reach no further partition, in addition to one for each partition, after which no other is expected.
const TRIES: usize = 16;
/// The process of these instances.
const MARK: &str = "skep-test-mark";
const TIMEOUT: Duration = Duration::from_secs(15);

/// The highest key that existed before the case, by partition. `None`: the server is our own, and everything belongs to the case.
type Marks = Option<Arc<BTreeMap<u32, i64>>>;

pub struct World {
    pub rest: RestArgs,
    /// Time that an instruction waits for a condition.
    pub timeout: Duration,
    pub clock: Clock,
    before: Marks,
    /// Keys of the mock resources.
    mocks: Vec<i64>,
    pub workers: JoinSet<()>,
    /// Failures of mocked workers.
    pub trouble: Arc<Mutex<Vec<String>>>,
}

/// The clock to move.
pub enum Clock {
    /// The clock of a server of our own, which keeps running from where it is set: the address of its management port.
    Own(String),
    /// The engine's pinned clock, which stands still at the time last set.
    Pinned(Option<i64>),
}

impl World {
    pub fn new(rest: RestArgs, timeout: Duration, clock: Clock) -> World {
        let before = match clock {
            Clock::Own(_) => None,
            Clock::Pinned(_) => Some(Arc::default()),
        };
        World {
            rest,
            timeout,
            clock,
            before,
            mocks: Vec::new(),
            workers: JoinSet::new(),
            trouble: Arc::default(),
        }
    }

    /// Marks the beginning of the case: existing items do not belong to it. Keys ascend within a partition, so a new key of each partition
    /// separates old from new. Instances of an empty process yield them: like those of the case, they go round the partitions that take
    /// new instances, also the ones added later, which messages do not reach. A partition without a mark has nothing of the case.
    pub async fn begin(&mut self) -> anyhow::Result<()> {
        let partitions = partitions(&self.rest.get("topology").await?);
        self.mock(mock::process(MARK, None)).await?;
        let mut before = BTreeMap::new();
        let mut in_vain = 0;
        while partitions.iter().any(|it| !before.contains_key(it))
            && in_vain < partitions.len() + TRIES
        {
            let body = Body::default().with("processDefinitionId", MARK);
            let started = self.rest.post("process-instances", body).await?;
            let key: i64 = word(&started, "processInstanceKey").parse().unwrap_or(0);
            let partition = Key(key).partition();
            match partition.and_then(|partition| before.insert(partition, key)) {
                None if partition.is_some() => in_vain = 0,
                _ => in_vain += 1,
            }
        }
        self.before = Some(Arc::new(before));
        Ok(())
    }

    pub fn search(&self) -> Search {
        Search {
            rest: self.rest.clone(),
            before: self.before.clone(),
        }
    }

    /// Deploys a mock resource, which is deleted when the case is over.
    pub async fn mock(&mut self, resource: Resource) -> anyhow::Result<()> {
        let client = self.rest.client().await?;
        let deployment = deploy(&client, &[resource], None).await?;
        self.mocks
            .extend(deployment.items.iter().filter_map(|item| match item {
                Deployed::Process { key, .. } | Deployed::DecisionRequirements { key, .. } => {
                    Some(*key)
                }
                _ => None,
            }));
        Ok(())
    }

    pub async fn set_time(&mut self, millis: i64) -> anyhow::Result<()> {
        match &mut self.clock {
            Clock::Own(management) => {
                let now = fetch::get(management, "/actuator/clock", TIMEOUT).await?;
                let now = &read(now)?;
                let now = now["epochMilli"].as_i64().unwrap_or_default();
                add_to_clock(management, millis.saturating_sub(now)).await
            }
            Clock::Pinned(at) => {
                pin(&self.rest, millis).await?;
                *at = Some(millis);
                Ok(())
            }
        }
    }

    pub async fn increase_time(&mut self, millis: i64) -> anyhow::Result<()> {
        match &mut self.clock {
            Clock::Own(management) => add_to_clock(management, millis).await,
            Clock::Pinned(at) => {
                let now = at.unwrap_or_else(|| Timestamp::now().as_millisecond());
                let then = now.saturating_add(millis);
                pin(&self.rest, then).await?;
                *at = Some(then);
                Ok(())
            }
        }
    }

    /// Undoes what a case leaves behind on a server that continues: instances, mocks, the clock.
    pub async fn clean(&mut self) -> anyhow::Result<()> {
        self.workers.abort_all();
        let mut filter = Map::new();
        filter.insert("state".into(), "ACTIVE".into());
        for instance in &self.search().process_instances(filter).await? {
            if instance["parentProcessInstanceKey"].is_null() {
                let path = format!(
                    "process-instances/{}/cancellation",
                    word(instance, "processInstanceKey")
                );
                // The instance may have ended meanwhile.
                let _ = self.rest.post(&path, Body::default()).await;
            }
        }
        for key in self.mocks.drain(..) {
            let path = format!("resources/{key}/deletion");
            self.rest.post(&path, Body::default()).await?;
        }
        if let Clock::Pinned(Some(_)) = self.clock {
            self.rest.post("clock/reset", Body::default()).await?;
        }
        Ok(())
    }
}

/// The partitions of all nodes.
fn partitions(topology: &Value) -> BTreeSet<u32> {
    let brokers = topology["brokers"].as_array().into_iter().flatten();
    let partitions = brokers.flat_map(|broker| broker["partitions"].as_array());
    let ids = partitions.flatten().map(|it| it["partitionId"].as_u64());
    ids.flatten().filter_map(|id| id.try_into().ok()).collect()
}

async fn pin(rest: &RestArgs, millis: i64) -> anyhow::Result<()> {
    let body = Body::default().with("timestamp", millis);
    rest.send(Method::PUT, "clock", body).await.map(drop)
}

async fn add_to_clock(management: &str, millis: i64) -> anyhow::Result<()> {
    let body = Body::default().with("offsetMilli", millis).text()?;
    let answer = fetch::post(management, "/actuator/clock/add", body, TIMEOUT).await?;
    match answer.0 {
        StatusCode::OK => Ok(()),
        _ => read(answer).map(drop),
    }
}

/// Searches for items that belong to a test case.
#[derive(Clone)]
pub struct Search {
    pub rest: RestArgs,
    before: Marks,
}

impl Search {
    fn is_ours(&self, item: &Value, key: &str) -> bool {
        // Keys of decision instances end with a number.
        let key = word(item, key);
        let key = key.split('-').next().unwrap_or_default();
        let Ok(key) = key.parse::<i64>() else {
            return false;
        };
        let Some(marks) = &self.before else {
            return true;
        };
        let before = Key(key).partition().and_then(|part| marks.get(&part));
        // At its end, the case cancels its instances: another's must not be taken for one of them.
        before.is_some_and(|before| key > *before)
    }

    /// The items that belong to the case, oldest first. `key` is the field that identifies and sorts them.
    pub async fn ours(
        &self,
        what: &str,
        key: &str,
        filter: Map<String, Value>,
    ) -> anyhow::Result<Vec<Value>> {
        let sort = json!([{"field": key, "order": "DESC"}]);
        self.sorted(what, key, filter, Some(sort)).await
    }

    async fn sorted(
        &self,
        what: &str,
        key: &str,
        filter: Map<String, Value>,
        sort: Option<Value>,
    ) -> anyhow::Result<Vec<Value>> {
        let body = Body::default()
            .with("filter", filter)
            .with_some("sort", sort)
            .with("page", json!({"limit": MOST}));
        let found = self.rest.post(what, body).await?;
        let ours = items(&found).filter(|item| self.is_ours(item, key));
        let mut ours: Vec<Value> = ours.cloned().collect();
        let number = |item: &Value| {
            let key = word(item, key);
            let mut parts = key.split('-').map(|part| part.parse::<i64>().unwrap_or(0));
            (parts.next(), parts.next())
        };
        ours.sort_by_key(number);
        Ok(ours)
    }

    pub async fn process_instances(
        &self,
        filter: Map<String, Value>,
    ) -> anyhow::Result<Vec<Value>> {
        self.ours("process-instances/search", "processInstanceKey", filter)
            .await
    }

    pub async fn user_tasks(&self, filter: Map<String, Value>) -> anyhow::Result<Vec<Value>> {
        // These cannot be sorted by key.
        let sort = json!([{"field": "creationDate", "order": "DESC"}]);
        self.sorted("user-tasks/search", "userTaskKey", filter, Some(sort))
            .await
    }

    /// The items that belong to one process instance, oldest first.
    pub async fn of_instance(
        &self,
        what: &str,
        key: &str,
        instance: &str,
    ) -> anyhow::Result<Vec<Value>> {
        let mut filter = Map::new();
        filter.insert("processInstanceKey".into(), instance.into());
        self.ours(what, key, filter).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(before: Marks) -> Search {
        Search {
            rest: RestArgs {
                json: false,
                address: String::new(),
            },
            before,
        }
    }

    #[test]
    fn nothing_of_a_partition_without_a_mark_belongs_to_the_case() {
        let key = |partition: i64, number: i64| partition << 51 | number;
        let marks = BTreeMap::from([(1, key(1, 7)), (2, key(2, 9))]);
        let shared = search(Some(Arc::new(marks)));
        let is_ours = |search: &Search, key: i64| {
            search.is_ours(
                &json!({"processInstanceKey": key.to_string()}),
                "processInstanceKey",
            )
        };
        for (key, ours) in [
            (key(1, 7), false),
            (key(1, 8), true),
            (key(2, 8), false),
            (key(2, 10), true),
            (key(3, 1_000), false),
        ] {
            assert_eq!(is_ours(&shared, key), ours, "{key}");
            assert!(is_ours(&search(None), key));
        }
        let rest = shared.rest.clone();
        let unmarked = World::new(rest.clone(), TIMEOUT, Clock::Pinned(None)).search();
        assert!(!is_ours(&unmarked, key(1, 8)));
        let own = World::new(rest, TIMEOUT, Clock::Own(String::new())).search();
        assert!(is_ours(&own, key(1, 8)));
    }

    #[test]
    fn the_partitions_are_those_of_all_nodes() {
        let topology = json!({"partitionsCount": 2, "brokers": [
            {"partitions": [{"partitionId": 1}, {"partitionId": 2}]},
            {"partitions": [{"partitionId": 2}, {"partitionId": 5}]},
        ]});
        assert_eq!(partitions(&topology), BTreeSet::from([1, 2, 5]));
        assert!(partitions(&Value::Null).is_empty());
    }
}
