//! Pauses all partitions at the same time: where their logs end then is one moment of the whole cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_backup::{Cut, Store};
use tokio::task::JoinSet;

use super::{Step, StepFailed, StepResult, Stepped};
use crate::cluster::{Cluster, now};

/// Interval between two checks whether a partition has a leader.
const LOOK: Duration = Duration::from_millis(100);
const BETWEEN_CUTS: Duration = Duration::from_millis(250);
/// How long to wait for a partition's leader, for example after an election.
const ELECTION: Duration = Duration::from_secs(30);

/// The nodes that lead partitions, as the coordinator calls them.
pub struct Leaders {
    pub cluster: Arc<Cluster>,
    /// Provides the runtime in which answers are awaited.
    pub store: Store,
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
        self.store.wait(async {
            let mut asked = JoinSet::new();
            for (node, step) in steps {
                let cluster = self.cluster.clone();
                asked.spawn(async move { (node, ask(cluster, node, step).await) });
            }
            asked.join_all().await
        })
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
                Err(why) => reason = why,
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
    ) -> Result<(BTreeMap<u32, Cut>, i64), String> {
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
        let mut cuts = BTreeMap::new();
        for (node, stepped) in stood {
            let partitions = led.get(&node).map(Vec::as_slice).unwrap_or_default();
            let stood = stepped.map_err(|failed| format!("node {node}: {}", failed.reason))?;
            let Stepped::Stands(of) = stood else {
                return Err(format!("node {node} did not pause its partitions"));
            };
            if of.len() != partitions.len() {
                return Err(format!("node {node} does not report some partitions"));
            }
            cuts.extend(partitions.iter().copied().zip(of));
        }
        // A partition that resumed before all others had paused may have caused something that is in their logs.
        let all = gone_on
            .iter()
            .all(|(_, stepped)| matches!(stepped, Ok(Stepped::GoneOn(true))));
        if !all {
            return Err("one of them resumed too early".to_string());
        }
        debug_assert!(
            cuts.keys().copied().eq(1..=cuts.len() as u32),
            "each partition is cut once"
        );
        tracing::debug!(?took, "all partitions were paused");
        Ok((cuts, cut_at))
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
