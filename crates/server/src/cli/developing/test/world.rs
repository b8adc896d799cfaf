//! The world of a test case: a server, and the part of its contents that belongs to the case.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use skep_client::{Deployed, Resource};
use skep_protocol::Key;
use tokio::task::JoinSet;

use crate::cli::deploy::deploy;
use crate::cli::fetch;
use crate::cli::rest::{Body, RestArgs, read};
use crate::cli::search::{items, word};

/// Maximum number of rows of a search.
const MOST: u64 = 10_000;
/// Maximum number of messages published per partition to find its current key.
const TRIES: u64 = 64;
const TIMEOUT: Duration = Duration::from_secs(15);

pub struct World {
    pub rest: RestArgs,
    /// Time that an instruction waits for a condition.
    pub timeout: Duration,
    pub clock: Clock,
    /// The highest key that existed before the case, by partition.
    before: Arc<BTreeMap<u32, i64>>,
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
        World {
            rest,
            timeout,
            clock,
            before: Arc::default(),
            mocks: Vec::new(),
            workers: JoinSet::new(),
            trouble: Arc::default(),
        }
    }

    /// Marks the beginning of the case: existing items do not belong to it. Keys ascend within a partition, so a new key of each partition
    /// separates old from new; a message without time to live yields one.
    pub async fn begin(&mut self) -> anyhow::Result<()> {
        let topology = &self.rest.get("topology").await?;
        let partitions = topology["partitionsCount"].as_u64().unwrap_or(1);
        let mut before = BTreeMap::new();
        for number in 0..partitions.saturating_mul(TRIES) {
            let body = Body::default()
                .with("name", "skep-test")
                .with("correlationKey", format!("{number}"))
                .with("timeToLive", 0);
            let published = self.rest.post("messages/publication", body).await?;
            let key: i64 = word(&published, "messageKey").parse().unwrap_or_default();
            if let Some(partition) = Key(key).partition() {
                before.insert(partition, key);
            }
            if before.len() as u64 >= partitions {
                break;
            }
        }
        self.before = Arc::new(before);
        Ok(())
    }

    pub fn search(&self) -> Search {
        Search {
            rest: self.rest.clone(),
            before: Arc::clone(&self.before),
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
    before: Arc<BTreeMap<u32, i64>>,
}

impl Search {
    fn is_ours(&self, item: &Value, key: &str) -> bool {
        // Keys of decision instances end with a number.
        let key = word(item, key);
        let key = key.split('-').next().unwrap_or_default();
        let Ok(key) = key.parse::<i64>() else {
            return false;
        };
        let before = Key(key).partition().and_then(|part| self.before.get(&part));
        before.is_none_or(|before| key > *before)
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
