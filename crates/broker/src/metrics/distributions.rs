//! Counters of commands that every partition carries out: those in progress, by partition.

use std::collections::BTreeMap;

use skep_engine::RemoteCommand;
use skep_engine::state::State;
use skep_metrics::{Counter, Gauge};
use skep_protocol::Key;

use super::families::{TargetLabels, WorkFamilies};

/// The counts of one partition. Partitions of a node share the series: each adds its part and removes it again.
#[derive(Debug)]
pub(super) struct Distributing {
    families: WorkFamilies,
    active: i64,
    targets: BTreeMap<u32, Target>,
}

#[derive(Debug)]
struct Target {
    pending_gauge: Gauge,
    inflight_gauge: Gauge,
    pending: i64,
    inflight: i64,
    retries: Counter,
    /// Key of the last command sent.
    sent: Option<Key>,
}

impl Distributing {
    pub fn new(families: &WorkFamilies) -> Distributing {
        Distributing {
            families: families.clone(),
            active: 0,
            targets: BTreeMap::new(),
        }
    }

    /// A command is sent to another partition.
    pub fn sent(&mut self, to: u32, command: &RemoteCommand) {
        match command {
            RemoteCommand::Distribute {
                distribution_key, ..
            } => {
                let target = self.target(to);
                let before = target.sent.replace(*distribution_key);
                let again = before == Some(*distribution_key);
                target.retries.inc_by(u64::from(again));
            }
            RemoteCommand::AcknowledgeDistribution { .. } => {
                self.families.acknowledged_sent.of(target(to)).inc();
            }
            RemoteCommand::OpenMessageSubscription(_)
            | RemoteCommand::MessageSubscriptionOpened { .. }
            | RemoteCommand::CorrelateSubscription(_)
            | RemoteCommand::MessageCorrelated { .. }
            | RemoteCommand::RejectCorrelation { .. }
            | RemoteCommand::CloseMessageSubscription { .. }
            | RemoteCommand::CloseMessageSubscriptionByKey { .. }
            | RemoteCommand::MessageSubscriptionClosed { .. }
            | RemoteCommand::BatchPart { .. }
            | RemoteCommand::Scaling(_)
            | RemoteCommand::Routing(_)
            | RemoteCommand::SentOn { .. } => {}
        }
    }

    /// Updates the gauges of commands in progress; a partition that is led elsewhere has none.
    pub fn look(&mut self, state: Option<&State>) {
        let distributions = state.map(|state| &state.distributions);
        let now = distributions.map_or(0, |all| all.table.len());
        let change = i64::try_from(now).unwrap_or(i64::MAX) - self.active;
        self.active += change;
        self.families.distributions_active.inc_by(change);
        let waiting = distributions.map(|all| all.waiting()).into_iter().flatten();
        let waiting: BTreeMap<u32, usize> = waiting.collect();
        for partition in waiting.keys() {
            self.target(*partition);
        }
        for (partition, target) in &mut self.targets {
            let pending = waiting.get(partition).copied().unwrap_or(0);
            let pending = i64::try_from(pending).unwrap_or(i64::MAX);
            // A partition gets one at a time.
            let inflight = pending.min(1);
            target.pending_gauge.inc_by(pending - target.pending);
            target.inflight_gauge.inc_by(inflight - target.inflight);
            (target.pending, target.inflight) = (pending, inflight);
        }
    }

    fn target(&mut self, partition: u32) -> &mut Target {
        let families = &self.families;
        self.targets.entry(partition).or_insert_with(|| Target {
            pending_gauge: families.distributions_pending.of(target(partition)),
            inflight_gauge: families.distributions_inflight.of(target(partition)),
            pending: 0,
            inflight: 0,
            retries: families.distribution_retries.of(target(partition)),
            sent: None,
        })
    }
}

fn target(partition: u32) -> TargetLabels {
    TargetLabels {
        targetPartition: partition,
    }
}
