//! How entries change the state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::operation::Operation;
use crate::purge::Left;
use crate::state::{
    Finished, MAX_FINISHED, Node, NodeState, Outcome, Replica, ReplicaState, Running, State,
};

/// An entry of the metadata group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// The cluster begins. Has no effect once it has begun.
    #[serde(rename = "Found")]
    Bootstrap(Box<State>),
    /// Begins a change that was planned for the state of this revision. Has no effect if the revision has changed by now, or a change is
    /// under way.
    Begin {
        revision: u64,
        operations: Vec<Operation>,
        now: i64,
    },
    /// The first pending operation of the change was carried out. Has no effect for any other change.
    Done {
        change: u64,
        operation: Operation,
        now: i64,
    },
    /// A purged copy is gone: the first pending operation of the change was carried out.
    Left {
        change: u64,
        operation: Operation,
        left: Left,
        now: i64,
    },
    /// Gives up the pending operations of the change. Nothing is undone.
    Cancel { change: u64, now: i64 },
    /// Partitions continue without a majority of their copies: this state replaces the one of that revision, in which no change may be
    /// under way.
    #[serde(rename = "Anew")]
    UnsafeRecovery { revision: u64, state: Box<State> },
}

impl Entry {
    /// Encodes the entry.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether it only reports what a node has carried out. Everything else is decided by the leader of the metadata group.
    pub fn is_report(&self) -> bool {
        match self {
            Entry::Done { .. } | Entry::Left { .. } => true,
            Entry::Bootstrap(_)
            | Entry::Begin { .. }
            | Entry::Cancel { .. }
            | Entry::UnsafeRecovery { .. } => false,
        }
    }

    /// Decodes the output of [`Entry::encode`].
    ///
    /// # Errors
    /// The bytes are not an entry.
    pub fn decode(bytes: &[u8]) -> Result<Entry, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

impl State {
    /// Applies an entry. False if it had no effect: what it presupposes is not, or no longer, true.
    pub fn apply(&mut self, entry: Entry) -> bool {
        match entry {
            Entry::Bootstrap(state) if !self.is_bootstrapped() => *self = *state,
            Entry::Begin {
                revision,
                operations,
                now,
            } if revision == self.revision && self.running.is_none() => {
                self.revision += 1;
                self.changes += 1;
                self.running = Some(Running {
                    id: self.changes,
                    started_at: now,
                    completed: Vec::new(),
                    pending: operations.into(),
                });
                self.go_on(now);
            }
            Entry::Done {
                change,
                operation,
                now,
            } if self.next_operation() == Some((change, &operation)) => {
                self.revision += 1;
                self.note_done(now);
                self.go_on(now);
            }
            Entry::Left {
                change,
                operation,
                left,
                now,
            } if self.next_operation() == Some((change, &operation)) => {
                self.revision += 1;
                self.note_left(&operation, left);
                self.note_done(now);
                self.go_on(now);
            }
            Entry::Cancel { change, now } if self.is_running(change) => {
                self.revision += 1;
                self.end(Outcome::Cancelled, now);
            }
            Entry::UnsafeRecovery { revision, state }
                if revision == self.revision && self.running.is_none() =>
            {
                *self = *state;
            }
            _ => return false,
        }
        true
    }

    /// The state as if all of the operations had been carried out.
    pub(crate) fn after(&self, operations: &[Operation], now: i64) -> State {
        let mut state = self.clone();
        for operation in operations {
            state.begin(operation, now);
            state.finish(operation, now);
        }
        state
    }

    fn is_running(&self, change: u64) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| running.id == change)
    }

    /// Begins the next operation, and ends those that only need to be recorded.
    pub(crate) fn go_on(&mut self, now: i64) {
        while let Some(operation) = self.next_operation().map(|(_, next)| next.clone()) {
            self.begin(&operation, now);
            if !operation.is_done_at_once() {
                return;
            }
            self.note_done(now);
        }
        self.end(Outcome::Completed, now);
    }

    fn note_done(&mut self, now: i64) {
        let Some(running) = &mut self.running else {
            return;
        };
        let Some(operation) = running.pending.pop_front() else {
            return;
        };
        running.completed.push((operation.clone(), now));
        self.finish(&operation, now);
    }

    pub(crate) fn end(&mut self, outcome: Outcome, now: i64) {
        let next = self.next_operation();
        if next.is_some_and(|(_, operation)| operation.relocates_to().is_some()) {
            // No more slots begin to move.
            self.routing_version += 1;
        }
        let Some(change) = self.running.take() else {
            return;
        };
        self.version += 1;
        self.finished.push_back(Finished {
            change,
            outcome,
            finished_at: now,
        });
        while self.finished.len() > MAX_FINISHED {
            self.finished.pop_front();
        }
    }

    /// Looks up a node that is about to change.
    fn touch(&mut self, node: u32, now: i64) -> Option<&mut Node> {
        let node = self.nodes.get_mut(&node)?;
        node.version += 1;
        node.updated_at = now;
        Some(node)
    }

    /// The operation begins: its result may partly exist already, left by a change that was given up.
    fn begin(&mut self, operation: &Operation, now: i64) {
        let generation = self.revision;
        match operation {
            Operation::BrokerAdd { broker_id } => {
                let new = || Node {
                    state: NodeState::Joining,
                    generation,
                    version: 0,
                    updated_at: now,
                    partitions: BTreeMap::new(),
                };
                self.nodes.entry(*broker_id).or_insert_with(new).state = NodeState::Joining;
            }
            Operation::BrokerRemove { broker_id } | Operation::BrokerForceRemove { broker_id } => {
                if let Some(node) = self.touch(*broker_id, now) {
                    node.state = NodeState::Leaving;
                }
            }
            Operation::PartitionJoin {
                broker_id,
                partition_id,
                priority,
            }
            | Operation::PartitionBootstrap {
                broker_id,
                partition_id,
                priority,
            } => {
                let new = || Replica {
                    state: ReplicaState::Joining,
                    priority: *priority,
                    generation,
                    from: None,
                };
                if let Some(node) = self.touch(*broker_id, now) {
                    let replica = node.partitions.entry(*partition_id).or_insert_with(new);
                    replica.state = ReplicaState::Joining;
                    replica.priority = *priority;
                }
            }
            Operation::PartitionLeave {
                broker_id,
                partition_id,
                purge,
            } => {
                if *purge {
                    self.begin_purge();
                }
                self.replica_is(*broker_id, *partition_id, ReplicaState::Leaving, now);
            }
            Operation::PartitionForceReconfigure {
                partition_id,
                brokers,
            } => {
                for node in self.others(*partition_id, brokers) {
                    self.replica_is(node, *partition_id, ReplicaState::Leaving, now);
                }
            }
            Operation::AwaitRelocation { .. } => self.begin_relocation(),
            Operation::PartitionReconfigurePriority { .. }
            | Operation::DeleteHistory { .. }
            | Operation::UpdateIncarnationNumber
            | Operation::StartPartitionScaleUp { .. }
            | Operation::AwaitRedistribution { .. }
            | Operation::UpdateRoutingState { .. } => {}
        }
    }

    /// The operation was carried out.
    fn finish(&mut self, operation: &Operation, now: i64) {
        match operation {
            Operation::BrokerAdd { broker_id } => {
                if let Some(node) = self.touch(*broker_id, now) {
                    node.state = NodeState::Active;
                }
                self.awaited.remove(broker_id);
            }
            Operation::BrokerRemove { broker_id } | Operation::BrokerForceRemove { broker_id } => {
                self.nodes.remove(broker_id);
                self.awaited.remove(broker_id);
                self.forget_in_purge(*broker_id);
            }
            Operation::DeleteHistory { .. } | Operation::AwaitRedistribution { .. } => {}
            Operation::StartPartitionScaleUp { partition_count } => {
                self.begin_scaling(*partition_count);
            }
            Operation::AwaitRelocation { partition_count } => {
                self.finish_relocation(*partition_count);
            }
            Operation::UpdateRoutingState { partition_count } => {
                self.update_routing(*partition_count);
            }
            Operation::UpdateIncarnationNumber => self.begin_incarnation(),
            Operation::PartitionBootstrap {
                broker_id,
                partition_id,
                ..
            } => {
                self.replica_is(*broker_id, *partition_id, ReplicaState::Active, now);
                self.end_purge();
            }
            Operation::PartitionJoin {
                broker_id,
                partition_id,
                ..
            } => self.replica_is(*broker_id, *partition_id, ReplicaState::Active, now),
            Operation::PartitionLeave {
                broker_id,
                partition_id,
                ..
            } => self.give_up(*broker_id, *partition_id, now),
            Operation::PartitionForceReconfigure {
                partition_id,
                brokers,
            } => {
                for node in self.others(*partition_id, brokers) {
                    self.give_up(node, *partition_id, now);
                }
            }
            Operation::PartitionReconfigurePriority {
                broker_id,
                partition_id,
                priority,
            } => {
                let node = self.touch(*broker_id, now);
                let replica = node.and_then(|node| node.partitions.get_mut(partition_id));
                if let Some(replica) = replica {
                    replica.priority = *priority;
                }
            }
        }
    }

    /// Nodes with a copy of the partition that are not in this list.
    fn others(&self, partition: u32, brokers: &[u32]) -> Vec<u32> {
        let replicas = self.replicas(partition).into_iter();
        let others = replicas.filter(|(node, _)| !brokers.contains(node));
        others.map(|(node, _)| node).collect()
    }

    fn replica_is(&mut self, node: u32, partition: u32, state: ReplicaState, now: i64) {
        let node = self.touch(node, now);
        if let Some(replica) = node.and_then(|node| node.partitions.get_mut(&partition)) {
            replica.state = state;
        }
    }

    fn give_up(&mut self, node: u32, partition: u32, now: i64) {
        if let Some(node) = self.touch(node, now) {
            node.partitions.remove(&partition);
        }
    }
}

#[cfg(test)]
mod tests;
