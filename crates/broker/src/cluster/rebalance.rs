//! Placement of leaders: all capable nodes should lead about as many partitions. Among the even distributions, each partition prefers the
//! first of its replicas. A node without disk space leads nothing, as long as there is another one. A node that is too busy has a stand-in
//! for one of them ([`skep_cluster::Relief`]).

mod load;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use skep_cluster::{CopyLoad, Relief, View};
use skep_service::{PartitionHealth, PartitionRole};
use skep_transport::Class;

pub(super) use self::load::Meters;
use super::Cluster;
use super::wire::{NodeMessage, ReplicaLoad};
use crate::config::REBALANCE_PACE;
use crate::local::Local;
use crate::partition::{PartitionHandle, Report};

/// Leaders move automatically once the same nodes have been reachable for this many seconds.
const STABLE_SECONDS: u32 = 10;
/// A leadership that was not taken is offered to the same node again after this many seconds.
const REPEAT_SECONDS: u32 = 30;

/// Whether the set of reachable nodes has been stable for a while. Checked once per second.
#[derive(Default)]
pub(super) struct Stability {
    reached: BTreeSet<u32>,
    seconds: u32,
    /// When each partition was last offered to each node.
    offered: BTreeMap<(u32, u32), u32>,
    relief: Relief,
}

impl Stability {
    /// Begins again: a node was lost, even if it is back already.
    pub(super) fn end(&mut self) {
        *self = Stability::default();
    }

    /// Whether a leader may move now; `pace`: seconds until the next one may.
    fn is_due(&mut self, reached: BTreeSet<u32>, pace: u32) -> bool {
        if reached != self.reached {
            *self = Stability {
                reached,
                ..Stability::default()
            };
            return false;
        }
        self.seconds = self.seconds.saturating_add(1);
        let stable_for = self.seconds.checked_sub(STABLE_SECONDS);
        stable_for.is_some_and(|seconds| seconds.is_multiple_of(pace))
    }

    /// Notes an offer of the partition to the node. False if one did not help a moment ago.
    fn offers(&mut self, partition: u32, to: u32) -> bool {
        let last = self.offered.get(&(partition, to));
        let repeats = last.is_some_and(|at| self.seconds < at.saturating_add(REPEAT_SECONDS));
        if !repeats {
            self.offered.insert((partition, to), self.seconds);
        }
        !repeats
    }
}

/// A leadership that is in the wrong place.
struct Misplaced {
    handle: Arc<PartitionHandle>,
    to: u32,
    member: u64,
}

impl Misplaced {
    fn offer(&self) {
        self.handle.inbox.send(Report::HandOver(vec![self.member]));
    }
}

impl Cluster {
    /// Makes every node immediately give away what others should lead, if these are there and are able to.
    pub fn rebalance(&self) {
        self.broadcast(&NodeMessage::Rebalance);
        self.rebalance_here();
    }

    pub(super) fn rebalance_here(&self) {
        let Some(local) = self.local() else {
            return;
        };
        for misplaced in self.misplaced(local, &self.view(local)) {
            misplaced.offer();
        }
    }

    /// In seconds.
    fn rebalance_pace(&self) -> u32 {
        let cluster = self.config.cluster.as_ref();
        let pace = cluster.map_or(REBALANCE_PACE, |cluster| cluster.rebalance_pace);
        u32::try_from(pace.as_secs()).unwrap_or(u32::MAX).max(1)
    }

    /// To be called once per second.
    pub(super) fn rebalance_when_stable(&self) {
        let Some(local) = self.local() else {
            return;
        };
        let handles = local.partitions().into_iter();
        let cpu = handles.map(|handle| (handle.status.partition, handle.metrics.cpu.get()));
        self.life.meters.read(cpu, Instant::now());
        // Nothing else is called while this is locked: the transport begins this again with locks of its own held.
        let (reached, pace) = (self.reached_nodes(), self.rebalance_pace());
        if !self.life.stability.lock().is_due(reached, pace) {
            return;
        }
        let view = self.view(local);
        self.relieve(&view);
        let misplaced = self.misplaced(local, &view);
        let mut stability = self.life.stability.lock();
        let mut next = misplaced.iter();
        let next = next.find(|it| stability.offers(it.handle.status.partition, it.to));
        drop(stability);
        if let Some(next) = next {
            next.offer();
        }
    }

    /// The partitions that this node leads and another one should lead.
    fn misplaced(&self, local: &Local, view: &View) -> Vec<Misplaced> {
        let wanted = view.placed();
        let handles = local.partitions().into_iter();
        let led = handles.filter(|it| it.status.role() == PartitionRole::Leader);
        let misplaced = led.filter_map(|handle| {
            let to = *wanted.get(&handle.status.partition)?;
            let mut replicas = self.replicas(handle.status.partition).into_iter();
            let (_, member) = replicas.find(|(node, _)| *node == to)?;
            (to != self.node()).then_some(Misplaced { handle, to, member })
        });
        misplaced.collect()
    }

    /// Looks whether this node should give a partition to a stand-in, or take one back. The others learn of it at once.
    fn relieve(&self, view: &View) {
        let decided = self.life.stability.lock().relief.look(self.node(), view);
        let Some(decided) = decided else {
            return;
        };
        let (partition, node) = (decided.partition, decided.to);
        if node == self.node() {
            tracing::info!(partition, "this node has room to lead the partition again");
        } else {
            tracing::info!(
                partition,
                node,
                "a node uses much more CPU than the others: another one should lead one of its partitions"
            );
        }
        self.broadcast_status();
    }

    /// Which nodes could lead, which ones do, and how busy they are, as far as it is known here.
    fn view(&self, local: &Local) -> View {
        let candidates = self.candidates(local);
        let partitions = candidates.keys().copied();
        let leaders = partitions.filter_map(|it| Some((it, self.leader_of(it)?)));
        let leaders = leaders.collect();
        let mut loads = self.peers.members.loads();
        loads.insert(self.node(), self.own_loads(candidates.keys().copied()));
        let copies = loads.into_iter().flat_map(|(node, loads)| {
            loads.into_iter().map(move |load| {
                let copy = CopyLoad {
                    cpu: load.cpu,
                    stand_in: load.stand_in,
                };
                ((node, load.partition), copy)
            })
        });
        let copies = copies.collect();
        View {
            candidates,
            leaders,
            copies,
        }
    }

    /// The loads of this node's replicas of these partitions, and who stands in for it.
    pub(super) fn own_loads(&self, partitions: impl Iterator<Item = u32>) -> Vec<ReplicaLoad> {
        let stability = self.life.stability.lock();
        let loads = partitions.map(|partition| ReplicaLoad {
            partition,
            cpu: self.life.meters.of(partition),
            stand_in: stability.relief.stand_in(partition),
        });
        loads.collect()
    }

    /// By partition, the nodes that could lead it.
    fn candidates(&self, local: &Local) -> BTreeMap<u32, Vec<u32>> {
        let could_lead = |node: u32, partition: u32| match node {
            node if node == self.node() => local.partition(partition).is_some_and(|handle| {
                handle.status.health() == PartitionHealth::Healthy
                    && !lacks_disk_space(local, &handle)
            }),
            node => {
                self.peers.members.can_lead(node, partition)
                    && self.is_connected(node, Class::Consensus)
            }
        };
        let partitions = 1..=self.state().partitions;
        let candidates = partitions.map(|partition| {
            let replicas = self.replicas(partition).into_iter();
            let nodes = replicas.map(|(node, _)| node);
            let nodes = nodes.filter(|node| could_lead(*node, partition));
            (partition, nodes.collect())
        });
        candidates.collect()
    }

    /// Without room for new work, others should lead; without room for anything, they should continue without this node, as far as they
    /// can. To be called once per second.
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
                status.space.spared.store(false, Ordering::Relaxed);
                continue;
            }
            let voters = status.members().voters;
            let others = self.with_disk_space(status.partition, &voters);
            let majority = others.len() * 2 > voters.len();
            status
                .space
                .spared
                .store(very_low && majority, Ordering::Relaxed);
            if hands_over && !others.is_empty() {
                tracing::info!(
                    partition = status.partition,
                    "the disk is full: another node should lead"
                );
                handle.inbox.send(Report::HandOver(others));
            }
        }
    }

    /// Other voters of the partition's group that have room for new work, the best leader first.
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

#[cfg(test)]
mod tests {
    use super::{REBALANCE_PACE, REPEAT_SECONDS, Stability};

    fn due(stability: &mut Stability, nodes: &[u32], seconds: u32) -> Vec<u32> {
        let reached = || nodes.iter().copied().collect();
        (1..=seconds)
            .filter(|_| stability.is_due(reached(), REBALANCE_PACE.as_secs() as u32))
            .collect()
    }

    #[test]
    fn leaders_move_one_by_one_once_the_same_nodes_are_reached_for_a_while() {
        let mut stability = Stability::default();
        assert_eq!(due(&mut stability, &[1, 2], 20), [11, 16]);
        // One node is missing: the others become balanced without it after the same delay.
        assert_eq!(due(&mut stability, &[1], 17), [11, 16]);
        assert!(due(&mut stability, &[1, 2], 9).is_empty());
        stability.end();
        assert_eq!(due(&mut stability, &[1, 2], 11), [11]);
    }

    #[test]
    fn leadership_that_a_node_did_not_take_is_not_offered_again_at_once() {
        let mut stability = Stability::default();
        due(&mut stability, &[1, 2], 11);
        assert!(stability.offers(1, 2));
        assert!(!stability.offers(1, 2) && stability.offers(3, 2) && stability.offers(1, 0));
        due(&mut stability, &[1, 2], REPEAT_SECONDS);
        assert!(stability.offers(1, 2));
    }
}
