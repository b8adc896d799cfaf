//! Asks the leaders of all partitions at the same time, and pauses them: where their logs end then is one moment of the whole cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use parking_lot::Mutex;
use skep_backup::{Cut, Store};
use tokio::task::JoinSet;

use super::{Step, StepFailed, StepResult, Stepped};
use crate::cluster::{Cluster, now};

/// Interval between two checks whether a partition has a leader.
const LOOK: Duration = Duration::from_millis(100);
const BETWEEN_CUTS: Duration = Duration::from_millis(250);
/// How long to wait for a partition's leader, for example after an election.
const ELECTION: Duration = Duration::from_secs(30);
/// How often each part of a backup is asked about at least: it is forgotten, with the log that is kept for it, when nobody does.
const ASKS: Duration = Duration::from_secs(10);

/// The nodes that lead partitions, as the coordinator calls them.
#[derive(Clone)]
pub struct Leaders {
    pub cluster: Arc<Cluster>,
    /// Provides the runtime in which answers are awaited.
    pub store: Store,
}

/// Why the partitions were not paused together.
#[derive(Debug, thiserror::Error)]
enum NotTogether {
    #[error("node {node}: {reason}")]
    Refused { node: u32, reason: String },
    #[error("node {0} did not pause its partitions")]
    NotPaused(u32),
    #[error("node {0} does not report some partitions")]
    Missing(u32),
    #[error("one of them resumed too early")]
    TooEarly,
}

impl Leaders {
    /// The node that leads the partition. Waits while there is an election.
    pub fn leader_of(&self, partition: u32) -> Result<u32, String> {
        let began = Instant::now();
        loop {
            if let Some(leader) = self.cluster.leader(partition) {
                return Ok(leader);
            }
            if began.elapsed() > ELECTION || self.cluster.is_stopped() {
                return Err(format!("partition {partition} has no leader"));
            }
            std::thread::sleep(LOOK);
        }
    }

    pub fn step(&self, node: u32, step: Step) -> StepResult {
        self.store.wait(ask(self.cluster.clone(), node, step))
    }

    /// Sends steps to several nodes concurrently.
    fn steps(&self, steps: Vec<(u32, Step)>) -> Vec<(u32, StepResult)> {
        let asks = steps.into_iter();
        let asks = asks.map(|(node, step)| (node, ask(self.cluster.clone(), node, step)));
        self.store.wait(all_at_once(asks))
    }

    /// Asks how far the parts of a backup are, by partition: all at once, as a node that is paused takes seconds not to answer.
    pub fn looks(&self, backup: u64, nodes: &Nodes) -> BTreeMap<u32, StepResult> {
        let asks = nodes.iter().map(|(&partition, &node)| {
            let look = Step::Look { backup, partition };
            (partition, ask(self.cluster.clone(), node, look))
        });
        let asked = self.store.wait(all_at_once(asks));
        asked.into_iter().collect()
    }

    /// Pauses all partitions together. Returns where their logs end, and when that was.
    pub fn cut(&self, partitions: u32, attempts: u32) -> Result<(BTreeMap<u32, Cut>, i64), String> {
        let mut reason = String::new();
        for _ in 0..attempts {
            let mut led = BTreeMap::<u32, Vec<u32>>::new();
            for partition in 1..=partitions {
                led.entry(self.leader_of(partition)?)
                    .or_default()
                    .push(partition);
            }
            match self.stand_still(&led) {
                Ok(cut) => return Ok(cut),
                Err(why) => reason = why.to_string(),
            }
            std::thread::sleep(BETWEEN_CUTS);
        }
        Err(format!(
            "the partitions could not be paused together in {attempts} attempts: {reason}"
        ))
    }

    fn stand_still(
        &self,
        led: &BTreeMap<u32, Vec<u32>>,
    ) -> Result<(BTreeMap<u32, Cut>, i64), NotTogether> {
        let began = Instant::now();
        let steps = |step: fn(Vec<u32>) -> Step| {
            let steps = led.iter();
            steps.map(move |(node, partitions)| (*node, step(partitions.clone())))
        };
        let stand = steps(|partitions| Step::StandStill { partitions });
        let stood = self.steps(stand.collect());
        let cut_at = now();
        let go_on = steps(|partitions| Step::GoOn { partitions });
        let gone_on = self.steps(go_on.collect());
        let took = began.elapsed();
        let cuts = together(led, stood, &gone_on)?;
        debug_assert!(
            cuts.keys().copied().eq(1..=cuts.len() as u32),
            "each partition is cut once"
        );
        tracing::debug!(?took, "all partitions were paused");
        Ok((cuts, cut_at))
    }
}

/// Where the logs are cut, if all partitions were paused at the same time. `stood`, `gone_on`: the answers of all nodes that lead some.
fn together(
    led: &BTreeMap<u32, Vec<u32>>,
    stood: Vec<(u32, StepResult)>,
    gone_on: &[(u32, StepResult)],
) -> Result<BTreeMap<u32, Cut>, NotTogether> {
    let mut cuts = BTreeMap::new();
    for (node, stepped) in stood {
        let partitions = led.get(&node).map(Vec::as_slice).unwrap_or_default();
        let refused = |failed: StepFailed| NotTogether::Refused {
            node,
            reason: failed.reason,
        };
        let Stepped::Stands(of) = stepped.map_err(refused)? else {
            return Err(NotTogether::NotPaused(node));
        };
        if of.len() != partitions.len() {
            return Err(NotTogether::Missing(node));
        }
        cuts.extend(partitions.iter().copied().zip(of));
    }
    // A partition that resumed before all others had paused may have caused something that is in their logs.
    let all = gone_on
        .iter()
        .all(|(_, stepped)| matches!(stepped, Ok(Stepped::GoneOn(true))));
    all.then_some(cuts).ok_or(NotTogether::TooEarly)
}

/// The answers to all questions, in any order. None waits for another one.
async fn all_at_once<K, F>(asks: impl Iterator<Item = (K, F)>) -> Vec<(K, F::Output)>
where
    K: Send + 'static,
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let mut asked = JoinSet::new();
    for (of, ask) in asks {
        asked.spawn(async move { (of, ask.await) });
    }
    asked.join_all().await
}

/// By partition: the node that makes its part of the backup.
type Nodes = BTreeMap<u32, u32>;

/// Asks about the parts of a backup until it is dropped, on a thread of its own: a store that hesitates keeps whoever writes to it for
/// minutes.
pub struct KeepAlive {
    parts: Arc<Mutex<Nodes>>,
    _ends: Sender<()>,
}

impl KeepAlive {
    /// # Errors
    /// No thread can be started.
    pub fn begin(leaders: &Leaders, backup: u64) -> std::io::Result<KeepAlive> {
        let leaders = leaders.clone();
        KeepAlive::every(ASKS, move |nodes| {
            // Whoever waits for a part notices what is missing.
            let _ = leaders.looks(backup, nodes);
            !leaders.cluster.is_stopped()
        })
    }

    /// The node has begun the partition's part.
    pub fn add(&self, partition: u32, node: u32) {
        self.parts.lock().insert(partition, node);
    }

    /// Calls `asks` with the parts at this interval, as long as it returns true.
    fn every(
        interval: Duration,
        mut asks: impl FnMut(&Nodes) -> bool + Send + 'static,
    ) -> std::io::Result<KeepAlive> {
        let (ends, ended) = bounded::<()>(0);
        let parts = Arc::new(Mutex::new(Nodes::new()));
        let begun = parts.clone();
        let thread = std::thread::Builder::new().name("backup-asks".to_string());
        thread.spawn(move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let nodes = begun.lock().clone();
                if !asks(&nodes) {
                    return;
                }
            }
        })?;
        Ok(KeepAlive { parts, _ends: ends })
    }
}

/// Sends a step to a node, which may be this one.
async fn ask(cluster: Arc<Cluster>, node: u32, step: Step) -> StepResult {
    if node != cluster.node() {
        return cluster.ask_for_step(node, step).await;
    }
    let here = tokio::task::spawn_blocking(move || cluster.parts().step(&cluster, step)).await;
    here.unwrap_or_else(|error| Err(StepFailed::new(format!("this is a bug: {error}"))))
}

#[cfg(test)]
mod causality_tests;

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    use parking_lot::Mutex;
    use tokio::sync::Barrier;

    use super::{KeepAlive, Nodes, all_at_once};

    const LONG: Duration = Duration::from_secs(20);

    /// Twelve paused partitions took a minute, one after the other, and the parts on other nodes were forgotten meanwhile.
    #[tokio::test]
    async fn no_partition_waits_for_the_answer_of_another_one() {
        let together = Arc::new(Barrier::new(12));
        let asks = (1..=12).map(|partition| {
            let together = together.clone();
            (partition, async move { together.wait().await.is_leader() })
        });
        let asked = tokio::time::timeout(LONG, all_at_once(asks)).await;
        let mut asked = asked.expect("all are asked before any answers");
        asked.sort_unstable();
        assert!(asked.iter().map(|(partition, _)| *partition).eq(1..=12));
        assert_eq!(asked.iter().filter(|(_, is_last)| *is_last).count(), 1);
    }

    #[test]
    fn parts_are_asked_about_while_whoever_takes_the_backup_waits_for_the_store() {
        let asked = Arc::new(AtomicU32::new(0));
        let counts = asked.clone();
        let alive = KeepAlive::every(Duration::from_millis(1), move |_| {
            counts.fetch_add(1, Ordering::Relaxed);
            true
        });
        let alive = alive.unwrap();
        let began = Instant::now();
        while asked.load(Ordering::Relaxed) < 3 {
            assert!(began.elapsed() < LONG, "nobody asks");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(alive);
        // The thread has no reference left once it has ended.
        while Arc::strong_count(&asked) > 1 {
            assert!(began.elapsed() < LONG, "it goes on after the backup");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The first parts were forgotten when three slow partitions took a minute and a half to begin theirs.
    #[test]
    fn a_part_is_asked_about_before_all_have_begun() {
        let asked = Arc::new(Mutex::new(Nodes::new()));
        let notes = asked.clone();
        let alive = KeepAlive::every(Duration::from_millis(1), move |nodes| {
            notes.lock().clone_from(nodes);
            true
        });
        let alive = alive.unwrap();
        let began = Instant::now();
        let mut begun = Nodes::new();
        for (partition, node) in [(1, 0), (2, 1)] {
            alive.add(partition, node);
            begun.insert(partition, node);
            while *asked.lock() != begun {
                assert!(began.elapsed() < LONG, "nobody asks about {partition}");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
