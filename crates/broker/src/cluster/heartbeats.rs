//! Heartbeats between nodes: one message for all partitions. Replicas without work hibernate, and rely on being told here when a node falls
//! silent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use skep_transport::Class;
use tokio::runtime::Handle;

use super::Cluster;
use super::metadata_group::MetadataEvent;
use super::wire::NodeStatus;
use crate::partition::Report;
use crate::partition::thread::HEARTBEAT_TICKS;

/// Heartbeats that may be late or lost before a node counts as silent. Replicas then count the time since the last one.
const MAY_BE_LOST: u32 = 3;

/// The last contact with another node.
struct LastContact {
    at: Instant,
    silent: bool,
}

#[derive(Default)]
pub(super) struct Heartbeats(Mutex<BTreeMap<u32, LastContact>>);

impl Heartbeats {
    fn note_contact(&self, node: u32) {
        let last = LastContact {
            at: Instant::now(),
            silent: false,
        };
        self.0.lock().insert(node, last);
    }

    /// The nodes that have fallen silent, and since when; each is returned once.
    fn fall_silent(&self, is_silent: impl Fn(u32, Duration) -> bool) -> Vec<(u32, Instant)> {
        let mut nodes = self.0.lock();
        let mut silent = Vec::new();
        for (node, last) in nodes.iter_mut() {
            if !last.silent && is_silent(*node, last.at.elapsed()) {
                last.silent = true;
                silent.push((*node, last.at));
            }
        }
        silent
    }

    fn alive_nodes(&self) -> Vec<u32> {
        let nodes = self.0.lock();
        let alive = nodes.iter().filter(|(_, last)| !last.silent);
        alive.map(|(node, _)| *node).collect()
    }

    /// How long nothing has been received from the node.
    fn silence(&self, node: u32) -> Duration {
        let nodes = self.0.lock();
        let last = nodes.get(&node);
        last.map_or(Duration::ZERO, |last| last.at.elapsed())
    }

    /// When something was last received from the node.
    fn last_contact(&self, node: u32) -> Option<Instant> {
        self.0.lock().get(&node).map(|last| last.at)
    }

    fn is_alive(&self, node: u32) -> bool {
        self.0.lock().get(&node).is_some_and(|last| !last.silent)
    }
}

/// Sends heartbeats for as long as this node exists.
pub(super) fn keep_beating(cluster: &Arc<Cluster>, runtime: &Handle) {
    let (heartbeat, cluster) = (cluster.heartbeat(), Arc::downgrade(cluster));
    runtime.spawn(async move {
        let mut pace = tokio::time::interval(heartbeat);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            pace.tick().await;
            let Some(cluster) = cluster.upgrade() else {
                return;
            };
            cluster.beat();
        }
    });
}

impl Cluster {
    /// The heartbeat interval.
    fn heartbeat(&self) -> Duration {
        self.config.tick() * HEARTBEAT_TICKS
    }

    /// Sends a heartbeat to all others, and tells the local replicas which nodes have fallen silent.
    fn beat(&self) {
        for node in self.peers() {
            let _ = self.send_bytes(node, Class::Consensus, Bytes::new());
        }
        let longest = self.heartbeat() * MAY_BE_LOST;
        self.report_silent(|_, silence| silence >= longest);
    }

    /// Notes that the node is alive.
    pub(super) fn note_contact(&self, node: u32) {
        self.peers.heartbeats.note_contact(node);
    }

    /// The connection to the node is lost: replicas need not wait for a long silence.
    pub(super) fn note_disconnect(&self, lost: u32) {
        self.report_silent(|node, _| node == lost);
    }

    /// Nobody listens at the node's address: its process has ended, and replicas that it leads get another leader at once.
    pub(super) fn is_gone(&self, node: u32) {
        self.notify_metadata_group(MetadataEvent::Gone { node });
        let local = self.local();
        for handle in local.into_iter().flat_map(|local| local.partitions()) {
            handle.inbox.send(Report::Gone { node });
        }
    }

    /// Whether the node is alive: its heartbeats arrive. Replicas that have members on a silent node must not hibernate.
    pub(crate) fn is_alive(&self, node: u32) -> bool {
        self.peers.heartbeats.is_alive(node)
    }

    /// When something was last received from the node.
    pub(super) fn last_contact(&self, node: u32) -> Option<Instant> {
        self.peers.heartbeats.last_contact(node)
    }

    /// Whether the node has been silent long enough to count as lost.
    pub(super) fn has_fallen_silent(&self, node: u32) -> bool {
        self.peers.heartbeats.silence(node) >= self.config.election_timeout() * 2
    }

    /// Whether the node is connected and not silent for long: a busy machine sends its heartbeats late.
    pub(super) fn is_present(&self, node: u32) -> bool {
        self.is_connected(node, Class::Requests) && !self.has_fallen_silent(node)
    }

    /// The number of present cluster nodes, including this one if it is one of them.
    pub(super) fn present_nodes(&self) -> u32 {
        let nodes = self.nodes().into_iter();
        let others = nodes.filter(|node| *node != self.node() && self.is_present(*node));
        u32::try_from(others.count()).unwrap_or(u32::MAX) + u32::from(!self.is_gateway())
    }

    /// Nodes whose heartbeats arrive.
    pub(crate) fn alive_nodes(&self) -> Vec<u32> {
        self.peers.heartbeats.alive_nodes()
    }

    /// Notifies replicas that follow one on that node which has failed or hangs: the node is still heard, so they would not notice.
    pub(super) fn replace_failed_leaders(&self, node: u32, status: &NodeStatus) {
        let Some(local) = self.local() else {
            return;
        };
        let failed = status.partitions.iter().filter(|it| it.has_failed());
        for handle in failed.filter_map(|it| local.partition(it.partition)) {
            if handle.status.leader() == Some(node) {
                let since = Instant::now().checked_sub(self.config.election_timeout());
                let since = since.unwrap_or_else(Instant::now);
                handle.inbox.send(Report::NodeSilent { node, since });
            }
        }
    }

    /// Looks for leaders here whose threads hang. The others learn of it at once: their replicas may hibernate and hear this node.
    pub(super) fn observe_threads(&self) {
        let local = self.local();
        let mut changed = false;
        for handle in local.into_iter().flat_map(|local| local.partitions()) {
            if !handle.observe(self.config.election_timeout()) {
                continue;
            }
            changed = true;
            let partition = handle.status.partition;
            if handle.status.leadership.hangs() {
                tracing::error!(
                    code = "PARTITION_HANGS",
                    partition,
                    "the thread of a partition that is led here does not respond; another node should lead"
                );
            } else {
                tracing::info!(partition, "the partition's thread responds again");
            }
        }
        if changed {
            self.broadcast_status();
        }
    }

    fn report_silent(&self, is_silent: impl Fn(u32, Duration) -> bool) {
        for (node, since) in self.peers.heartbeats.fall_silent(is_silent) {
            self.notify_metadata_group(MetadataEvent::NodeSilent { node, since });
            let local = self.local();
            for handle in local.into_iter().flat_map(|local| local.partitions()) {
                handle.inbox.send(Report::NodeSilent { node, since });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Heartbeats;

    #[test]
    fn a_node_is_reported_silent_once_until_it_makes_contact_again() {
        let nodes = Heartbeats::default();
        assert!(!nodes.is_alive(1), "it was never heard");
        nodes.note_contact(1);
        nodes.note_contact(2);
        let of = |wanted| move |node, _| node == wanted;
        assert!(nodes.fall_silent(of(3)).is_empty());
        assert_eq!(nodes.fall_silent(of(1)).len(), 1);
        assert!(nodes.fall_silent(of(1)).is_empty());
        assert_eq!((nodes.is_alive(1), nodes.is_alive(2)), (false, true));
        nodes.note_contact(1);
        assert!(nodes.is_alive(1));
        assert_eq!(nodes.fall_silent(of(1)).len(), 1);
    }
}
