//! The nodes' knowledge of each other: which nodes exist, and which one leads which partition.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_cluster::{FIRST_GATEWAY, MAX_GATEWAYS};
use skep_service::{BrokerInfo, PartitionHealth, PartitionInfo, PartitionRole};

use super::Cluster;
use super::wire::{LogsOf, NodeMessage, NodeStatus, ReplicaLoad, ReplicaStatus, StatusReport};
use crate::config::{BrokerConfig, ClusterConfig};
use crate::partition::StoreState;

/// The last log entry of a replica.
struct Applied {
    /// As last heard.
    now: u64,
    /// As heard more than a second ago.
    then: u64,
    /// The value that `then` takes next, and when it was heard.
    next: (u64, Instant),
}

impl Applied {
    fn new() -> Applied {
        Applied {
            now: 0,
            then: 0,
            next: (0, Instant::now()),
        }
    }

    fn note(&mut self, entry: u64) {
        self.now = entry;
        if self.next.1.elapsed() >= A_WHILE {
            self.then = self.next.0;
            self.next = (entry, Instant::now());
        }
    }
}

/// A store should have whatever others had this long ago.
const A_WHILE: Duration = Duration::from_secs(1);

/// Nodes that can be reached, as they last reported themselves.
#[derive(Default)]
struct Present {
    nodes: BTreeMap<u32, NodeStatus>,
    /// The node that leads each partition, and its term: gateways look it up for each request. If several nodes claim to lead, the most
    /// recently elected one does.
    leaders: FxHashMap<u32, (u32, u64)>,
    /// Of the nodes whose versions report them.
    loads: BTreeMap<u32, Vec<ReplicaLoad>>,
}

impl Present {
    fn note(&mut self, node: u32, status: NodeStatus) {
        let before = self.nodes.get(&node);
        let is_new = !before.into_iter().flat_map(leads).eq(leads(&status));
        self.nodes.insert(node, status);
        if is_new {
            self.find_leaders();
        }
    }

    fn lose(&mut self, node: u32) {
        self.loads.remove(&node);
        if self.nodes.remove(&node).is_some() {
            self.find_leaders();
        }
    }

    fn find_leaders(&mut self) {
        self.leaders.clear();
        for (node, status) in &self.nodes {
            for (partition, term) in leads(status) {
                let leader = self.leaders.entry(partition).or_insert((*node, term));
                if leader.1 <= term {
                    *leader = (*node, term);
                }
            }
        }
    }
}

/// The partitions that the node leads, with its terms.
fn leads(status: &NodeStatus) -> impl Iterator<Item = (u32, u64)> {
    let leading = |replica: &&ReplicaStatus| replica.role == PartitionRole::Leader as u8;
    let leading = status.partitions.iter().filter(leading);
    leading.map(|replica| (replica.partition, replica.term))
}

#[derive(Default)]
pub(super) struct Members {
    present: Mutex<Present>,
    /// The last log entry of each replica, by partition and node. Kept when the node is forgotten.
    applied: Mutex<BTreeMap<(u32, u32), Applied>>,
    /// The logs in which these entries are.
    logs: Mutex<LogsOf>,
}

impl Members {
    /// `logs`: those that the node reports about, unless its version does not say.
    fn note_status(&self, node: u32, logs: Option<LogsOf>, status: NodeStatus) {
        let mut applied = self.applied.lock();
        // A status from before a purge may have been under way.
        if logs.is_none_or(|logs| logs == *self.logs.lock()) {
            for replica in &status.partitions {
                let known = applied.entry((replica.partition, node));
                let known = known.or_insert_with(Applied::new);
                known.note(replica.applied);
            }
        }
        drop(applied);
        self.present.lock().note(node, status);
    }

    pub(super) fn note_loads(&self, node: u32, loads: Vec<ReplicaLoad>) {
        self.present.lock().loads.insert(node, loads);
    }

    /// What other nodes have reported about the loads of their replicas, by node.
    pub(super) fn loads(&self) -> BTreeMap<u32, Vec<ReplicaLoad>> {
        self.present.lock().loads.clone()
    }

    /// Sets the logs whose entries count. Those of former ones are to be forgotten after that.
    pub(super) fn logs_are(&self, logs: LogsOf) {
        *self.logs.lock() = logs;
    }

    /// The partition's leader, as nodes report.
    pub(super) fn leader(&self, partition: u32) -> Option<u32> {
        let present = self.present.lock();
        present.leaders.get(&partition).map(|(node, _)| *node)
    }

    /// Whether the node has reported a replica of the partition.
    pub(super) fn has_replica(&self, node: u32, partition: u32) -> bool {
        let present = self.present.lock();
        let status = present.nodes.get(&node);
        status.is_some_and(|status| {
            let mut replicas = status.partitions.iter();
            replicas.any(|replica| replica.partition == partition)
        })
    }

    /// Whether the node has reported that its disk has no room for new work.
    pub(super) fn is_disk_low(&self, node: u32) -> bool {
        let present = self.present.lock();
        let status = present.nodes.get(&node);
        status.is_some_and(|status| status.disk_low)
    }

    /// Whether the node has reported a healthy replica of the partition, and room for new work.
    pub(super) fn can_lead(&self, node: u32, partition: u32) -> bool {
        let present = self.present.lock();
        let status = present.nodes.get(&node);
        let status = status.filter(|status| !status.disk_low);
        let mut replicas = status.into_iter().flat_map(|status| &status.partitions);
        replicas.any(|replica| {
            replica.partition == partition && replica.health == PartitionHealth::Healthy as u8
        })
    }

    /// Forgets all positions: all logs start over.
    pub(super) fn forget_progress(&self) {
        self.applied.lock().clear();
    }

    /// Forgets the positions of this partition, whose log was replaced.
    pub(super) fn forget_progress_of(&self, partition: u32) {
        let mut applied = self.applied.lock();
        applied.retain(|(of, _), _| *of != partition);
    }

    pub(super) fn lose(&self, node: u32) {
        self.present.lock().lose(node);
    }
}

impl Cluster {
    /// This node's status. `None` for a gateway, which is not a broker.
    fn own_status(&self) -> Option<NodeStatus> {
        let local = self.local().filter(|_| !self.is_gateway())?;
        let partitions = local.partitions().into_iter().map(|handle| ReplicaStatus {
            partition: handle.status.partition,
            role: handle.status.role() as u8,
            health: handle.status.health() as u8,
            term: handle.status.term(),
            applied: handle.status.applied.load(Ordering::Acquire),
            store: self.store_state(&handle),
        });
        Some(NodeStatus {
            version: env!("CARGO_PKG_VERSION").to_string(),
            host: self.config.advertised.host.clone(),
            port: self.config.advertised.port,
            disk_low: local.is_disk_low(),
            partitions: partitions.collect(),
        })
    }

    /// Forgets all positions: all partitions start over.
    pub(super) fn forget_progress(&self) {
        self.peers.members.forget_progress();
        self.exchanges.held.clear();
        self.local.freshness.forget_expected();
    }

    /// The partition continues from a copy that may lack the last entries. Reads must not wait for those.
    pub(super) fn forget_progress_of(&self, partition: u32) {
        self.peers.members.forget_progress_of(partition);
        self.local.freshness.forget_expected_of(partition);
    }

    /// Broadcasts this node's status.
    pub(super) fn broadcast_status(&self) {
        // Before its replicas are looked at: entries in newer logs do not count as those of older ones.
        let logs = LogsOf::state(&self.state());
        if let Some(status) = self.own_status() {
            let partitions = status.partitions.iter().map(|replica| replica.partition);
            let loads = self.own_loads(partitions);
            let report = StatusReport {
                logs,
                status,
                loads,
            };
            self.send_to_all(&NodeMessage::StatusOf(report), |_| true);
        }
    }

    /// Another node has reported about itself.
    pub(super) fn note_report(&self, node: u32, report: StatusReport) {
        self.peers.members.note_loads(node, report.loads);
        self.note_status(node, Some(report.logs), report.status);
    }

    /// `logs`: see [`Members::note_status`].
    pub(super) fn note_status(&self, node: u32, logs: Option<LogsOf>, status: NodeStatus) {
        self.replace_failed_leaders(node, &status);
        self.peers.members.note_status(node, logs, status);
    }

    /// The entry up to which the replicas of all other nodes have the partition's log. 0 until all of them were heard: a node that is away
    /// must find what it lacks when it returns.
    pub fn replicated(&self, partition: u32) -> u64 {
        let applied = self.peers.members.applied.lock();
        let others = self.replicas(partition).into_iter().map(|(node, _)| node);
        let others = others.filter(|node| *node != self.node());
        let known = others.map(|node| applied.get(&(partition, node)).map(|known| known.now));
        known
            .map(Option::unwrap_or_default)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// The entry up to which other nodes had the partition's log a while ago.
    pub fn had(&self, partition: u32) -> u64 {
        let applied = self.peers.members.applied.lock();
        let of_partition = applied.range((partition, 0)..=(partition, u32::MAX));
        of_partition.map(|(_, known)| known.then).max().unwrap_or(0)
    }

    /// Other nodes whose store of the partition is in this state. Followers come first, as they have less to do.
    pub fn stores_elsewhere(&self, partition: u32, state: StoreState) -> Vec<u32> {
        let present = self.peers.members.present.lock();
        let replicas = present.nodes.iter().flat_map(|(node, status)| {
            let of_node = status.partitions.iter();
            of_node
                .filter(|replica| replica.partition == partition && replica.store == state)
                .map(|replica| (replica.role == PartitionRole::Leader as u8, *node))
        });
        let mut replicas: Vec<(bool, u32)> = replicas.collect();
        replicas.sort_unstable();
        replicas.into_iter().map(|(_, node)| node).collect()
    }

    /// This node and those that can be reached, with their roles.
    pub fn brokers(&self) -> Vec<BrokerInfo> {
        let mut nodes = self.peers.members.present.lock().nodes.clone();
        // The connections to a node that is cut off may stay open for minutes.
        nodes.retain(|node, _| self.is_present(*node));
        nodes.extend(self.own_status().map(|own| (self.node(), own)));
        let mut leading: BTreeMap<u32, u64> = BTreeMap::new();
        for replica in nodes.values().flat_map(|node| &node.partitions) {
            if replica.role == PartitionRole::Leader as u8 {
                let term = leading.entry(replica.partition).or_default();
                *term = (*term).max(replica.term);
            }
        }
        let info = |replica: &ReplicaStatus| PartitionInfo {
            partition_id: replica.partition,
            role: match replica.role {
                0 if leading.get(&replica.partition) == Some(&replica.term) => {
                    PartitionRole::Leader
                }
                0 | 1 => PartitionRole::Follower,
                _ => PartitionRole::Inactive,
            },
            health: match replica.health {
                0 => PartitionHealth::Healthy,
                1 => PartitionHealth::Unhealthy,
                _ => PartitionHealth::Dead,
            },
        };
        let broker = |(node, status): (u32, NodeStatus)| BrokerInfo {
            node_id: i32::try_from(node).unwrap_or(i32::MAX),
            partitions: status.partitions.iter().map(info).collect(),
            host: status.host,
            port: status.port,
            version: status.version,
        };
        nodes.into_iter().map(broker).collect()
    }
}

/// Where this node listens, and for which nodes.
pub(super) fn wire_of(config: &BrokerConfig, cluster: &ClusterConfig) -> skep_transport::Config {
    skep_transport::Config {
        node: config.node_id,
        // Gateways do not talk to each other.
        size: if cluster.gateway {
            FIRST_GATEWAY
        } else {
            FIRST_GATEWAY + MAX_GATEWAYS
        },
        first_gateway: FIRST_GATEWAY,
        listen: cluster.listen,
        contact_points: cluster.contact_points.clone(),
        tls: cluster.tls.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use skep_service::{PartitionHealth, PartitionRole};

    use super::{Applied, LogsOf, Members, NodeStatus, ReplicaLoad, ReplicaStatus};
    use crate::hosting::alone_tests;
    use crate::partition::StoreState;

    /// The status of a node that leads these partitions, in these terms, and follows in all others.
    fn leads(leading: &[(u32, u64)]) -> NodeStatus {
        let replica = |partition| {
            let term = leading.iter().find(|(of, _)| *of == partition);
            ReplicaStatus {
                partition,
                role: match term {
                    Some(_) => PartitionRole::Leader as u8,
                    None => PartitionRole::Follower as u8,
                },
                health: PartitionHealth::Healthy as u8,
                term: term.map_or(9, |(_, term)| *term),
                applied: 0,
                store: StoreState::None,
            }
        };
        NodeStatus {
            version: String::new(),
            host: String::new(),
            port: 0,
            disk_low: false,
            partitions: (1..=3).map(replica).collect(),
        }
    }

    #[test]
    fn the_leader_that_was_elected_last_is_found_whatever_nodes_report() {
        let members = Members::default();
        let found = || [1, 2, 3].map(|partition| members.leader(partition));
        assert_eq!(found(), [None; 3]);
        members.note_status(0, None, leads(&[(1, 4), (2, 4)]));
        members.note_status(1, None, leads(&[]));
        assert_eq!(found(), [Some(0), Some(0), None]);
        // A leader that does not know yet that another one was elected.
        members.note_status(1, None, leads(&[(1, 5)]));
        assert_eq!(found(), [Some(1), Some(0), None]);
        members.note_status(0, None, leads(&[(1, 4), (2, 4), (3, 6)]));
        assert_eq!(found(), [Some(1), Some(0), Some(0)]);
        members.lose(1);
        assert_eq!(found(), [Some(0); 3]);
        members.note_status(0, None, leads(&[(2, 7)]));
        assert_eq!(found(), [None, Some(0), None]);
        members.note_status(1, None, leads(&[(2, 6)]));
        assert_eq!(found(), [None, Some(0), None]);
        members.note_status(1, None, leads(&[(2, 8)]));
        assert_eq!(found(), [None, Some(1), None], "only its term is another");
        members.lose(0);
        members.lose(1);
        assert_eq!(found(), [None; 3]);
    }

    #[test]
    fn the_loads_of_a_node_are_known_until_it_is_lost() {
        let members = Members::default();
        let load = ReplicaLoad {
            partition: 1,
            cpu: 250,
            stand_in: Some(2),
        };
        members.note_status(0, None, leads(&[(1, 4)]));
        assert!(members.loads().is_empty(), "its version reports none");
        members.note_loads(0, vec![load]);
        members.note_loads(1, Vec::new());
        let both = BTreeMap::from([(0, vec![load]), (1, Vec::new())]);
        assert_eq!(members.loads(), both);
        members.lose(0);
        assert_eq!(members.loads(), BTreeMap::from([(1, Vec::new())]));
    }

    #[test]
    fn a_partition_recovered_from_an_older_copy_is_not_expected_to_have_lost_entries() {
        let directory = tempfile::tempdir().unwrap();
        let broker = alone_tests::open(directory.path(), 1).unwrap();
        let cluster = &broker.shared().cluster;
        let freshness = &cluster.local.freshness;
        for partition in [1, 2] {
            freshness.expect(partition, 1000);
            let had = Applied {
                then: 1000,
                ..Applied::new()
            };
            let mut applied = cluster.peers.members.applied.lock();
            applied.insert((partition, 7), had);
        }
        let mut state = cluster.state().as_ref().clone();
        state.revision += 1;
        state.least_keys.insert(1, 1 << 32);
        cluster.state_is(&state);
        assert_eq!((freshness.expected(1), freshness.expected(2)), (0, 1000));
        assert_eq!((cluster.had(1), cluster.had(2)), (0, 1000));
        // Repeating it changes nothing.
        freshness.expect(1, 40);
        state.revision += 1;
        cluster.state_is(&state);
        assert_eq!(freshness.expected(1), 40);
        broker.stop();
    }

    #[test]
    fn a_status_that_was_under_way_when_everything_was_purged_brings_no_positions() {
        let directory = tempfile::tempdir().unwrap();
        let broker = alone_tests::open(directory.path(), 1).unwrap();
        let cluster = &broker.shared().cluster;
        let report = |logs, entry| {
            let mut status = leads(&[(1, 4)]);
            for replica in &mut status.partitions {
                replica.applied = entry;
            }
            cluster.note_status(7, logs, status);
        };
        let heard = || {
            let applied = cluster.peers.members.applied.lock();
            applied.get(&(1, 7)).map(|it| it.now)
        };
        let mut state = cluster.state().as_ref().clone();
        let before = LogsOf::state(&state);
        report(Some(before), 1000);
        assert_eq!(heard(), Some(1000));
        state.revision += 1;
        state.incarnation += 1;
        cluster.state_is(&state);
        assert_eq!(heard(), None);
        report(Some(before), 1000);
        assert_eq!(heard(), None);
        let leader = cluster.peers.members.leader(1);
        assert_eq!(leader, Some(7), "the rest of it counts");
        let now = LogsOf::state(&state);
        report(Some(now), 3);
        assert_eq!(heard(), Some(3));
        // The node knows already that partitions were recovered.
        let epoch = now.epoch + 1;
        report(Some(LogsOf { epoch, ..now }), 2);
        assert_eq!(heard(), Some(3));
        // Nodes of earlier versions do not say.
        report(None, 5);
        assert_eq!(heard(), Some(5));
        broker.stop();
    }
}
