//! What the nodes know of each other: who is there, and who leads what.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use skep_service::{BrokerInfo, PartitionHealth, PartitionInfo, PartitionRole};

use super::Cluster;
use super::wire::{NodeMessage, NodeStatus, ReplicaStatus};

#[derive(Default)]
pub(super) struct Members(Mutex<BTreeMap<u32, NodeStatus>>);

impl Members {
    pub(super) fn heard(&self, node: u32, status: NodeStatus) {
        self.0.lock().insert(node, status);
    }

    pub(super) fn lose(&self, node: u32) {
        self.0.lock().remove(&node);
    }
}

impl Cluster {
    fn own_status(&self) -> Option<NodeStatus> {
        let broker = self.broker()?;
        let partitions = broker.partitions().iter().map(|handle| ReplicaStatus {
            partition: handle.status.partition,
            role: handle.status.role() as u8,
            health: handle.status.health() as u8,
            term: handle.status.term(),
        });
        Some(NodeStatus {
            version: env!("CARGO_PKG_VERSION").to_string(),
            host: self.config.advertised_host.clone(),
            port: self.config.advertised_port,
            partitions: partitions.collect(),
        })
    }

    /// Tells all others how this node is.
    pub(super) fn tell_status(&self) {
        if let Some(status) = self.own_status() {
            self.broadcast(&NodeMessage::Status(status));
        }
    }

    /// This node and those that can be reached, with what they do.
    pub fn brokers(&self) -> Vec<BrokerInfo> {
        let mut nodes = self.members.0.lock().clone();
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
