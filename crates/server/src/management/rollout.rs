//! Readiness of a node that an orchestrator replaces (`skep.cluster.revision`): the next one is replaced when this one is ready, so that
//! it first catches up. Once ready, it stays so: a follower is always a little behind under load.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use skep_broker::Broker;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::nodes;

/// Time between two looks at the copies.
pub const PACE: Duration = Duration::from_secs(1);
/// A node that is lost for good, for instance, must not keep this one from serving clients.
const LIMIT: Duration = Duration::from_secs(900);
/// The file in the data directory with the revision with which the node was ready last.
const FILE: &str = "revision";

/// What readiness waits for after a start; nothing by default.
#[derive(Debug, Default)]
pub struct Rollout {
    waits: AtomicBool,
}

impl Rollout {
    /// Waits until the copies of this node have caught up or, if it was ready last with another revision, all copies of the cluster. Has to
    /// be called in a runtime.
    pub fn start(
        revision: Option<&str>,
        directory: &Path,
        node: u32,
        broker: &Arc<Broker>,
    ) -> Arc<Rollout> {
        let Some(revision) = revision.map(str::to_string) else {
            return Arc::default();
        };
        let file = directory.join(FILE);
        let before = std::fs::read_to_string(&file).ok();
        let mut look = Look {
            node: node.to_string(),
            whole: before.is_some_and(|before| before != revision),
            newest: BTreeMap::new(),
        };
        let rollout = Arc::new(Rollout {
            waits: AtomicBool::new(true),
        });
        let (waiting, broker) = (Arc::clone(&rollout), Arc::downgrade(broker));
        tokio::spawn(async move {
            let end = Instant::now() + LIMIT;
            let mut pace = interval_at(Instant::now(), PACE);
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut said = String::new();
            loop {
                pace.tick().await;
                let Some(broker) = broker.upgrade() else {
                    return;
                };
                let answers = broker.ask_nodes(nodes::PARTITIONS).await;
                let Some(why) = look.missing(&read(answers)) else {
                    break;
                };
                if Instant::now() >= end {
                    tracing::warn!(%why, "ready although copies have not caught up within {} s", LIMIT.as_secs());
                    break;
                }
                if why != said {
                    tracing::info!(%why, "not ready yet");
                    said = why;
                }
            }
            waiting.waits.store(false, Ordering::Relaxed);
            remember(file, revision).await;
        });
        rollout
    }

    pub fn waits(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }
}

/// The partitions of each node; `None` for one that does not answer.
type Nodes = BTreeMap<u32, Option<Value>>;

fn read(answers: BTreeMap<u32, Option<String>>) -> Nodes {
    let answers = answers.into_iter();
    let answers = answers.map(|(node, answer)| {
        let partitions = answer.and_then(|text| serde_json::from_str(&text).ok());
        (node, partitions)
    });
    answers.collect()
}

async fn remember(file: PathBuf, revision: String) {
    let written = tokio::task::spawn_blocking(move || std::fs::write(file, revision)).await;
    let failed = match written {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(%failed, "the revision cannot be stored; the next start does not wait for all copies of the cluster");
}

/// Compares copies with their leaders.
struct Look {
    /// This node.
    node: String,
    /// Whether the copies of all nodes must have caught up.
    whole: bool,
    /// The last entry that the leader of each partition had applied one look before.
    newest: BTreeMap<String, u64>,
}

impl Look {
    /// The reason to wait, if there is one. A copy has caught up if it has what its leader had one look before.
    fn missing(&mut self, nodes: &Nodes) -> Option<String> {
        let before = std::mem::take(&mut self.newest);
        let mut why = None;
        for (node, partitions) in nodes {
            let Some(partitions) = partitions.as_ref().and_then(Value::as_object) else {
                if self.whole || node.to_string() == self.node {
                    why.get_or_insert_with(|| format!("node {node} does not answer"));
                }
                continue;
            };
            for (id, copy) in partitions {
                let applied = copy["appliedIndex"].as_u64().unwrap_or(0);
                if copy["role"] == "LEADER" {
                    // A node that was cut off may take itself for a leader still, with less than the other one has.
                    let newest = self.newest.entry(id.clone()).or_default();
                    *newest = applied.max(*newest);
                }
                if !self.whole && node.to_string() != self.node {
                    continue;
                }
                let reason = match before.get(id) {
                    None => format!("partition {id} had no leader"),
                    Some(newest) if applied < *newest => {
                        let lacks = newest - applied;
                        format!("node {node} lacks {lacks} entries of partition {id}")
                    }
                    Some(_) => continue,
                };
                why.get_or_insert(reason);
            }
        }
        why
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn look(whole: bool) -> Look {
        Look {
            node: "1".to_string(),
            whole,
            newest: BTreeMap::new(),
        }
    }

    /// Partition 1 on three nodes, led by node 0, with the last entries that they have applied; a node without one does not answer.
    fn nodes(applied: [Option<u64>; 3]) -> Nodes {
        let nodes = (0..).zip(applied).map(|(node, applied)| {
            let role = if node == 0 { "LEADER" } else { "FOLLOWER" };
            let copy = applied.map(|applied| json!({"1": {"role": role, "appliedIndex": applied}}));
            (node, copy)
        });
        nodes.collect()
    }

    #[test]
    fn a_node_waits_until_its_own_copies_have_what_their_leaders_had() {
        let mut look = look(false);
        let seen = nodes([Some(100), Some(40), None]);
        let first = look.missing(&seen);
        assert_eq!(first.as_deref(), Some("partition 1 had no leader"));
        let behind = look.missing(&nodes([Some(110), Some(90), None]));
        let said = "node 1 lacks 10 entries of partition 1";
        assert_eq!(behind.as_deref(), Some(said));
        // The leader goes on under load.
        assert_eq!(look.missing(&nodes([Some(120), Some(111), Some(0)])), None);
    }

    #[test]
    fn a_rollout_waits_for_the_copies_of_all_nodes() {
        let mut look = look(true);
        look.missing(&nodes([Some(100), Some(100), Some(100)]));
        let away = look.missing(&nodes([Some(100), Some(100), None]));
        assert_eq!(away.as_deref(), Some("node 2 does not answer"));
        let behind = look.missing(&nodes([Some(100), Some(100), Some(99)]));
        let said = "node 2 lacks 1 entries of partition 1";
        assert_eq!(behind.as_deref(), Some(said));
        let whole = look.missing(&nodes([Some(100), Some(100), Some(100)]));
        assert_eq!(whole, None);
        // Then its leader is lost.
        let lost = nodes([None, Some(100), Some(100)]);
        assert!(look.missing(&lost).is_some());
        let unled = look.missing(&nodes([Some(100), Some(100), Some(100)]));
        assert_eq!(unled.as_deref(), Some("partition 1 had no leader"));
    }

    #[test]
    fn of_two_leaders_the_one_with_more_entries_counts() {
        let mut look = look(false);
        let mut seen = nodes([Some(100), Some(40), None]);
        let old = json!({"1": {"role": "LEADER", "appliedIndex": 30}});
        seen.insert(2, Some(old));
        look.missing(&seen);
        let behind = look.missing(&seen);
        let said = "node 1 lacks 60 entries of partition 1";
        assert_eq!(behind.as_deref(), Some(said));
    }

    #[test]
    fn a_node_without_copies_waits_for_none() {
        let mut look = look(false);
        let mut seen = nodes([Some(100), None, None]);
        assert!(look.missing(&seen).is_some());
        seen.insert(1, Some(json!({})));
        assert_eq!(look.missing(&seen), None);
    }
}
