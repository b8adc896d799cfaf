//! Spreading leaders: each partition is best led by the first of its replicas, which goes round the nodes.

use std::sync::atomic::Ordering;

use skep_service::PartitionRole;
use skep_transport::Class;

use super::Cluster;
use super::wire::NodeMessage;
use crate::partition::Message;

/// Seconds without the loss of a node after which leaders move by themselves.
const CALM: u32 = 30;

impl Cluster {
    /// Every node gives the partitions that it leads to their first replicas, as far as these are there and have what is needed.
    pub fn rebalance(&self) {
        self.broadcast(&NodeMessage::Rebalance);
        self.rebalance_here();
    }

    pub(super) fn rebalance_here(&self) {
        let (Some(broker), Some(transport)) = (self.broker(), self.transport.get()) else {
            return;
        };
        for handle in broker.partitions() {
            let first = self.replicas(handle.status.partition).first().copied();
            if handle.status.role() == PartitionRole::Leader
                && let Some((first, member)) = first.filter(|(first, _)| *first != self.node())
                && transport.is_connected(first, Class::Consensus)
            {
                handle.inbox.send(Message::HandOver(member));
            }
        }
    }

    /// To be called once a second.
    pub(super) fn rebalance_when_calm(&self) {
        if self.reached() + 1 < self.size() {
            self.calm.store(0, Ordering::Relaxed);
        } else if self.calm.fetch_add(1, Ordering::Relaxed) >= CALM {
            self.calm.store(0, Ordering::Relaxed);
            self.rebalance_here();
        }
    }
}
