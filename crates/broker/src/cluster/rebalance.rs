//! Placement of leaders: each partition prefers the first of its replicas, and these go round the nodes. A node without
//! disk space leads nothing, as long as there is another one.

use std::sync::atomic::Ordering;

use skep_service::PartitionRole;
use skep_transport::Class;

use super::Cluster;
use super::wire::NodeMessage;
use crate::local::Local;
use crate::partition::{PartitionHandle, Report};

/// Seconds without the loss of a node after which leaders move by themselves.
const STABLE_SECONDS: u32 = 30;

impl Cluster {
    /// Every node gives the partitions that it leads to their first replicas, as far as these are there and have what is needed.
    pub fn rebalance(&self) {
        self.broadcast(&NodeMessage::Rebalance);
        self.rebalance_here();
    }

    pub(super) fn rebalance_here(&self) {
        let Some(local) = self.local() else {
            return;
        };
        let partitions = local.partitions().into_iter();
        for handle in partitions.filter(|it| it.status.role() == PartitionRole::Leader) {
            let mut replicas = self.replicas(handle.status.partition).into_iter();
            let first = replicas.find(|(node, _)| match *node {
                node if node == self.node() => !lacks_disk_space(local, &handle),
                node => !self.peers.members.is_disk_low(node),
            });
            if let Some((first, member)) = first.filter(|(first, _)| *first != self.node())
                && self.is_connected(first, Class::Consensus)
            {
                handle.inbox.send(Report::HandOver(vec![member]));
            }
        }
    }

    /// To be called once a second.
    pub(super) fn rebalance_when_stable(&self) {
        if self.there() < self.size() {
            self.life.stable_for.store(0, Ordering::Relaxed);
        } else if self.life.stable_for.fetch_add(1, Ordering::Relaxed) >= STABLE_SECONDS {
            self.life.stable_for.store(0, Ordering::Relaxed);
            self.rebalance_here();
        }
    }

    /// Without room for new work others are to lead, and without room for anything they are to go on alone, as far as they can.
    /// To be called once a second.
    pub(super) fn rebalance_on_low_disk(&self) {
        let Some(local) = self.local() else {
            return;
        };
        let very_low = local.disk.very_low.load(Ordering::Relaxed);
        for handle in local.partitions() {
            let status = &handle.status;
            let leads = status.role() == PartitionRole::Leader;
            let hands_over = leads && lacks_disk_space(local, &handle);
            if !hands_over && !very_low {
                status.spared.store(false, Ordering::Relaxed);
                continue;
            }
            let voters = status.members().voters;
            let others = self.with_disk_space(status.partition, &voters);
            let majority = others.len() * 2 > voters.len();
            status.spared.store(very_low && majority, Ordering::Relaxed);
            if hands_over && !others.is_empty() {
                tracing::info!(
                    partition = status.partition,
                    "the disk has no room: another node is to lead"
                );
                handle.inbox.send(Report::HandOver(others));
            }
        }
    }

    /// Other members of the partition's group with a vote and room for new work, the best leader first.
    fn with_disk_space(&self, partition: u32, voters: &[u64]) -> Vec<u64> {
        let replicas = self.replicas(partition).into_iter();
        let others = replicas.filter(|(node, member)| {
            voters.contains(member)
                && self.peers.members.can_lead(*node, partition)
                && self.is_connected(*node, Class::Consensus)
        });
        others.map(|(_, member)| member).collect()
    }
}

fn lacks_disk_space(local: &Local, handle: &PartitionHandle) -> bool {
    local.is_disk_low() || handle.status.stalled.load(Ordering::Relaxed)
}
