//! Carries out the next step of the running cluster change, if this node leads the partition concerned.

use skep_cluster::{Entry, State, node_of};
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

    /// Another node proposes an entry for the metadata group.
    pub(super) fn proposed(&self, from: u32, entry: &[u8]) {
        let entry = Entry::decode(entry).ok();
        if let Some(entry) = entry.filter(|entry| counts(&self.state(), from, entry)) {
            self.notify_metadata_group(MetadataEvent::Propose(entry));
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

/// Whether an entry that another node proposes counts: a broker of the cluster reports what it has carried out.
fn counts(state: &State, from: u32, entry: &Entry) -> bool {
    entry.is_report() && state.nodes.contains_key(&from)
}

/// Milliseconds since 1970: for operators to read; nothing depends on it.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use skep_cluster::{Layout, Left, Operation};

    use super::{Entry, MetadataEvent, State, counts};
    use crate::hosting::alone_tests;

    #[test]
    fn only_reports_of_brokers_of_the_cluster_count() {
        let layout = Layout {
            nodes: vec![0, 1],
            copies: 2,
            partitions: 1,
        };
        let state = State::bootstrapped("a".to_string(), &layout, 0);
        let (change, now) = (1, 0);
        let operation = Operation::UpdateIncarnationNumber;
        let reports = [
            Entry::Done {
                change,
                operation: operation.clone(),
                now,
            },
            Entry::Left {
                change,
                operation: operation.clone(),
                left: Left::default(),
                now,
            },
        ];
        let decisions = [
            Entry::Bootstrap(Box::new(state.clone())),
            Entry::Begin {
                revision: state.revision,
                operations: vec![operation],
                now,
            },
            Entry::Cancel { change, now },
            Entry::UnsafeRecovery {
                revision: state.revision,
                state: Box::new(state.clone()),
            },
        ];
        for report in &reports {
            assert!(counts(&state, 1, report), "{report:?}");
            assert!(!counts(&state, 2, report), "not in the cluster: {report:?}");
            let gateway = skep_cluster::FIRST_GATEWAY;
            assert!(!counts(&state, gateway, report), "{report:?}");
        }
        for decision in &decisions {
            assert!(!counts(&state, 1, decision), "{decision:?}");
        }
    }

    #[test]
    fn another_node_cannot_replace_the_state_of_the_cluster() {
        let directory = tempfile::tempdir().unwrap();
        let broker = alone_tests::open(directory.path(), 1).unwrap();
        let cluster = &broker.shared().cluster;
        let deadline = Instant::now() + Duration::from_secs(60);
        while cluster.metadata_leader().is_none() {
            assert!(Instant::now() < deadline);
            std::thread::yield_now();
        }
        let known = cluster.state();
        let mut foreign = State::clone(&known);
        foreign.epoch += 1;
        foreign.nodes.clear();
        let entry = Entry::UnsafeRecovery {
            revision: known.revision,
            state: Box::new(foreign),
        };
        cluster.proposed(cluster.node(), &entry.encode());
        // What the leader decides after that takes effect, as the state has not changed.
        let entry = Entry::Begin {
            revision: known.revision,
            operations: vec![Operation::UpdateIncarnationNumber],
            now: 0,
        };
        cluster.notify_metadata_group(MetadataEvent::Propose(entry));
        while cluster.state().incarnation == known.incarnation {
            assert!(Instant::now() < deadline, "{:?}", cluster.state());
            std::thread::yield_now();
        }
        assert_eq!(cluster.state().epoch, known.epoch);
        assert!(broker.stop());
    }
}
