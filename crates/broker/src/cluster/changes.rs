//! Carries out the next step of the running cluster change, if this node leads the partition concerned.

use skep_cluster::{Entry, node_of};
use skep_replication::{Change, Members};
use skep_service::PartitionRole;
use skep_transport::Class;

use super::Cluster;
use super::metadata_group::MetadataEvent;
use super::steps::{Next, next};
use super::wire::{ClusterMessage, NodeMessage};
use crate::partition::{Notice, Report};

impl Cluster {
    /// Carries out the next step if this node leads the partition that the running change is about. To be called periodically.
    pub(super) fn go_on_with_change(&self) {
        let state = self.state();
        let Some((change, operation)) = state.next_operation() else {
            return;
        };
        let handle = operation
            .partition()
            .zip(self.local())
            .and_then(|(partition, local)| local.partition(partition));
        let Some(handle) = handle.filter(|it| it.status.role() == PartitionRole::Leader) else {
            return;
        };
        let (partition, members) = (handle.status.partition, handle.status.members());
        match next(&state, operation, &members, handle.status.member()) {
            Next::Done => self.propose_metadata(Entry::Done {
                change,
                operation: operation.clone(),
                now: now(),
            }),
            Next::Change(change) => {
                if let (Change::Promote(member), Some(node)) = (change, node_of(change.member()))
                    && !self.peers.members.has_replica(node, partition)
                {
                    self.send_join(node, partition, member, &members);
                }
                let plan = state.revision;
                handle.inbox.send(Notice::ChangeMembers { change, plan });
            }
            Next::HandOver => {
                let others = members.voters.iter().copied();
                let reached = |member: &u64| {
                    let node = node_of(*member).filter(|node| *node != self.node());
                    node.is_some_and(|node| self.is_connected(node, Class::Consensus))
                };
                handle
                    .inbox
                    .send(Report::HandOver(others.rev().filter(reached).collect()));
            }
        }
    }

    /// A step of the running change may be possible now.
    pub(crate) fn hurry_change(&self) {
        self.life.change_is_due.notify_one();
    }

    fn send_join(&self, node: u32, partition: u32, member: u64, members: &Members) {
        let mut bytes = Vec::new();
        members.encode_into(&mut bytes);
        let message = ClusterMessage::JoinReplica {
            partition,
            member,
            members: bytes,
        };
        self.send(node, &NodeMessage::Cluster(message));
    }

    /// Sends an entry for the metadata group to its leader. It may be lost.
    pub(crate) fn propose_metadata(&self, entry: Entry) {
        let Some((leader, own)) = self.metadata_leader() else {
            return;
        };
        if leader == own {
            self.notify_metadata_group(MetadataEvent::Propose(entry));
        } else if let Some(node) = node_of(leader) {
            let entry = entry.encode();
            self.send(
                node,
                &NodeMessage::Cluster(ClusterMessage::Propose { entry }),
            );
        }
    }
}

/// Milliseconds since 1970: for operators to read; nothing depends on it.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
