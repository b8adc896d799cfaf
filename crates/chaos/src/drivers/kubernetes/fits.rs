//! Whether a plan fits the cluster of the pods, as far as only its brokers know.

use std::io;

use crate::drivers::Cluster;
use crate::plan::{Plan, Who};

impl Cluster {
    /// What the cluster of the pods lacks for a plan; nothing if the run has started the nodes. Blocks.
    ///
    /// # Errors
    /// No broker answers.
    pub fn unfit(&mut self, plan: &Plan) -> io::Result<Option<String>> {
        if self.pods.is_none() {
            return Ok(None);
        }
        let topology = self.topology()?;
        let brokers = self.nodes.len();
        let Some(pods) = &mut self.pods else {
            return Ok(None);
        };
        pods.copies = topology.copies();
        let why = pods.not_enforced.clone();
        Ok(why.or_else(|| lack(plan, topology.partitions(), brokers)))
    }
}

/// Why not every node that the plan is about can be found among so many brokers.
pub(super) fn lack(plan: &Plan, partitions: usize, brokers: usize) -> Option<String> {
    let all = plan.steps.iter().filter_map(|step| step.action.who());
    let mut missing = all.filter(|who| match who {
        Who::Node(_) => false,
        Who::LeaderOf(partition) => usize::try_from(*partition).is_ok_and(|it| it > partitions),
        Who::Follower => partitions >= brokers,
    });
    let who = missing.next()?;
    Some(format!(
        "the plan is about {who}, and there is none: {brokers} brokers lead {partitions} partitions"
    ))
}
