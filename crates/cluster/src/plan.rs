//! Plans the steps that turn a cluster into what an operator wants.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::layout::Layout;
use crate::operation::Operation;
use crate::state::State;
use crate::unsafe_recovery::UnsafeRecovery;
use crate::{MAX_NODE_ID, MAX_NODES, MAX_PARTITIONS};

/// An operator's request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Adds and removes brokers and changes the number of copies; the partitions are redistributed over the brokers that are there then.
    Scale {
        add: Vec<u32>,
        remove: Vec<u32>,
        /// Exactly the brokers from 0 to this number less one.
        count: Option<u32>,
        partitions: Option<u32>,
        replication_factor: Option<u32>,
    },
    /// These brokers and no others.
    Brokers {
        brokers: Vec<u32>,
        replication_factor: Option<u32>,
    },
    /// These brokers are lost; the others keep what they have.
    ForceRemove {
        brokers: Vec<u32>,
    },
    /// Adds a broker without partitions.
    AddBroker(u32),
    /// Removes a broker, which must have no partitions.
    RemoveBroker(u32),
    Join {
        broker: u32,
        partition: u32,
        priority: u32,
    },
    Leave {
        broker: u32,
        partition: u32,
    },
    /// Empties all partitions, and what they share.
    Purge,
}

impl Request {
    /// Whether it is about other brokers: `node`, which has no port for them, cannot do it.
    pub fn needs_others(&self, node: u32) -> bool {
        match self {
            Request::Purge => false,
            Request::Scale {
                add,
                remove,
                count,
                partitions: Some(_),
                replication_factor: None | Some(1),
            } => {
                let stays = count.is_none() || *count == Some(1) && node == 0;
                !stays || !add.is_empty() || !remove.is_empty()
            }
            _ => true,
        }
    }
}

/// The steps of a change, and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The revision of the state for which it was planned.
    pub revision: u64,
    pub change: u64,
    pub operations: Vec<Operation>,
    pub current: State,
    pub expected: State,
    /// The recovery without a majority of copies, if there is one. Nodes of earlier versions know it by its first name.
    #[serde(default, rename = "anew")]
    pub unsafe_recovery: Option<UnsafeRecovery>,
}

/// Why a change is not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Busy(String),
    #[error("{0}")]
    NotOffered(String),
    /// There is no such change.
    #[error("{0}")]
    Unknown(String),
    /// No node that could decide was reached.
    #[error("{0}")]
    Unreachable(String),
    /// The change may or may not happen.
    #[error("{0}")]
    Unanswered(String),
}

impl State {
    /// Plans a change, without making it.
    ///
    /// # Errors
    /// The change is impossible, or another one is under way.
    pub fn plan(&self, request: &Request, now: i64) -> Result<Planned, Refusal> {
        if let Some(running) = &self.running {
            return Err(Refusal::Busy(format!(
                "change {} is in progress, and only one can run at a time. Wait for its end, or cancel it with DELETE \
                 /actuator/cluster/changes/{}",
                running.id, running.id
            )));
        }
        self.is_whole_for(request)?;
        let operations = self.operations(request)?;
        let mut expected = self.clone();
        expected.changes += 1;
        Ok(Planned {
            revision: self.revision,
            change: self.changes + 1,
            expected: expected.after(&operations, now),
            operations,
            current: self.clone(),
            unsafe_recovery: None,
        })
    }

    fn operations(&self, request: &Request) -> Result<Vec<Operation>, Refusal> {
        match request {
            Request::Scale {
                add,
                remove,
                count,
                partitions,
                replication_factor,
            } => {
                let mut brokers: BTreeSet<u32> = self.nodes.keys().copied().collect();
                match count {
                    Some(_) if !add.is_empty() || !remove.is_empty() => {
                        return invalid(
                            "brokers.count cannot be given together with brokers.add or brokers.remove",
                        );
                    }
                    Some(count) => brokers = (0..*count).collect(),
                    None => {
                        brokers.extend(add);
                        for gone in remove {
                            if add.contains(gone) || !brokers.remove(gone) {
                                return invalid(format!(
                                    "broker {gone} cannot be removed: it is not part of the cluster"
                                ));
                            }
                        }
                    }
                }
                self.spread(&brokers, *replication_factor, *partitions)
            }
            Request::Brokers {
                brokers,
                replication_factor,
            } => self.spread(
                &brokers.iter().copied().collect(),
                *replication_factor,
                None,
            ),
            Request::ForceRemove { brokers } => self.force_remove(brokers),
            Request::AddBroker(broker) if self.is_ready(*broker) => Ok(Vec::new()),
            Request::AddBroker(broker) => {
                self.check_brokers(&self.nodes.keys().chain([broker]).copied().collect())?;
                Ok(vec![Operation::BrokerAdd { broker_id: *broker }])
            }
            Request::RemoveBroker(broker) => self.remove_broker(*broker),
            Request::Join {
                broker,
                partition,
                priority,
            } => self.join(*broker, *partition, *priority),
            Request::Leave { broker, partition } => self.leave(*broker, *partition),
            Request::Purge => self.purging(),
        }
    }

    /// Whether it is fully part of the cluster, which it is not if its addition or removal was given up half-way.
    fn is_ready(&self, broker: u32) -> bool {
        let node = self.nodes.get(&broker);
        node.is_some_and(|node| node.state == crate::NodeState::Active)
    }

    fn check_brokers(&self, brokers: &BTreeSet<u32>) -> Result<(), Refusal> {
        if brokers.is_empty() || brokers.len() > MAX_NODES {
            return invalid(format!(
                "the cluster would have {} brokers; it can have 1 to {MAX_NODES}",
                brokers.len()
            ));
        }
        match brokers.iter().find(|broker| **broker > MAX_NODE_ID) {
            Some(broker) => invalid(format!(
                "broker {broker} is not possible: ids range from 0 to {MAX_NODE_ID}"
            )),
            None => Ok(()),
        }
    }

    /// The partitions redistributed over these brokers.
    fn spread(
        &self,
        brokers: &BTreeSet<u32>,
        copies: Option<u32>,
        partitions: Option<u32>,
    ) -> Result<Vec<Operation>, Refusal> {
        self.check_brokers(brokers)?;
        // Slots move only if somebody asks for a number of partitions, or did so before the change was given up.
        let relocates = partitions.is_some() || self.is_scaling_up();
        let partitions = partitions.unwrap_or_else(|| self.wanted_partitions());
        self.check_partitions(partitions)?;
        let copies = copies.unwrap_or_else(|| self.replication_factor());
        if copies == 0 || copies as usize > brokers.len() {
            return invalid(format!(
                "the replication factor would be {copies} with {} brokers: it must be at least 1, and at most the number of brokers \
                 (partitions.replicationFactor)",
                brokers.len()
            ));
        }
        let wanted = Layout {
            nodes: brokers.iter().copied().collect(),
            copies,
            // Drained partitions have their copies too.
            partitions: partitions.max(self.partitions),
        };
        let add = brokers.iter().filter(|broker| !self.is_ready(**broker));
        let mut operations: Vec<Operation> = add
            .map(|broker| Operation::BrokerAdd { broker_id: *broker })
            .collect();
        let (old, new): (Vec<_>, Vec<_>) = (wanted.replicas().into_iter())
            .partition(|(partition, _)| *partition <= self.active_partitions());
        if new.is_empty() && partitions != self.accepting_partitions() {
            operations.push(Operation::UpdateRoutingState {
                partition_count: partitions,
            });
        }
        self.scale_up(new, &mut operations);
        if relocates && self.needs_relocation(partitions) {
            operations.push(Operation::AwaitRelocation {
                partition_count: partitions,
            });
        }
        for (partition, replicas) in old {
            self.move_to(partition, &replicas, &mut operations);
        }
        let gone = self.nodes.keys().filter(|node| !brokers.contains(node));
        operations.extend(gone.map(|node| Operation::BrokerRemove { broker_id: *node }));
        Ok(operations)
    }

    /// The number of partitions that get new instances, or were to get them when scaling up was given up half-way.
    fn wanted_partitions(&self) -> u32 {
        if self.is_scaling_up() {
            self.partitions
        } else {
            self.accepting_partitions()
        }
    }

    fn check_partitions(&self, partitions: u32) -> Result<(), Refusal> {
        let there = self.partitions;
        let initial = self.routing().initial();
        if partitions < there && self.is_scaling_up() {
            return invalid(format!(
                "the change to {there} partitions was cancelled halfway; request {there} partitions again to resume it"
            ));
        }
        if partitions < initial {
            return invalid(format!(
                "the cluster would have {partitions} partitions, but it began with {initial}: correlation keys are spread over these, so \
                 it needs them. Request {initial} or more"
            ));
        }
        if partitions > MAX_PARTITIONS {
            return invalid(format!(
                "the cluster would have {partitions} partitions; it can have at most {MAX_PARTITIONS}"
            ));
        }
        Ok(())
    }

    /// New partitions have all their copies before they get work.
    fn scale_up(&self, new: Vec<(u32, Vec<(u32, u32)>)>, operations: &mut Vec<Operation>) {
        let Some((partition_count, _)) = new.last().cloned() else {
            return;
        };
        operations.push(Operation::StartPartitionScaleUp { partition_count });
        for (partition, replicas) in &new {
            if self.is_begun(*partition) {
                self.move_to(*partition, replicas, operations)
            } else {
                self.begin_partition(*partition, replicas, operations)
            }
        }
        operations.push(Operation::AwaitRedistribution { partition_count });
        operations.push(Operation::UpdateRoutingState { partition_count });
    }

    fn is_begun(&self, partition: u32) -> bool {
        let copies = self.nodes.values();
        let mut copies = copies.filter_map(|node| node.partitions.get(&partition));
        copies.any(|copy| copy.state != crate::ReplicaState::Joining)
    }

    /// It starts on its preferred leader, unless another node may have started it already before a previous attempt was given up.
    fn begin_partition(
        &self,
        partition_id: u32,
        wanted: &[(u32, u32)],
        operations: &mut Vec<Operation>,
    ) {
        let half_begun = self.replicas(partition_id).first().map(|(node, _)| *node);
        let Some(first) = half_begun.or(wanted.first().map(|(node, _)| *node)) else {
            return;
        };
        let kept = wanted.iter().find(|(node, _)| *node == first);
        operations.push(Operation::PartitionBootstrap {
            broker_id: first,
            partition_id,
            priority: kept.map_or(1, |(_, priority)| *priority),
        });
        for (broker_id, priority) in wanted.iter().copied() {
            if broker_id != first {
                operations.push(Operation::PartitionJoin {
                    broker_id,
                    partition_id,
                    priority,
                });
            }
        }
        if kept.is_none() {
            operations.push(Operation::PartitionLeave {
                broker_id: first,
                partition_id,
                purge: false,
            });
        }
    }

    /// New copies are added before old ones are removed.
    fn move_to(&self, partition: u32, wanted: &[(u32, u32)], operations: &mut Vec<Operation>) {
        // Nobody has the data that a new copy would need.
        if self.is_lost(partition) {
            return;
        }
        let replica = |node: u32| {
            let partitions = self.nodes.get(&node).map(|node| &node.partitions);
            partitions.and_then(|partitions| partitions.get(&partition))
        };
        let mut priorities = Vec::new();
        for (node, priority) in wanted.iter().copied() {
            match replica(node) {
                Some(there) if there.state == crate::ReplicaState::Active => {
                    if there.priority != priority {
                        priorities.push(Operation::PartitionReconfigurePriority {
                            broker_id: node,
                            partition_id: partition,
                            priority,
                        });
                    }
                }
                _ => operations.push(Operation::PartitionJoin {
                    broker_id: node,
                    partition_id: partition,
                    priority,
                }),
            }
        }
        for (node, _) in self.replicas(partition) {
            if !wanted.iter().any(|(kept, _)| *kept == node) {
                operations.push(Operation::PartitionLeave {
                    broker_id: node,
                    partition_id: partition,
                    purge: false,
                });
            }
        }
        operations.append(&mut priorities);
    }

    fn force_remove(&self, brokers: &[u32]) -> Result<Vec<Operation>, Refusal> {
        if let Some(unknown) = brokers
            .iter()
            .find(|broker| !self.nodes.contains_key(broker))
        {
            return invalid(format!("broker {unknown} is not part of the cluster"));
        }
        let distinct: BTreeSet<&u32> = brokers.iter().collect();
        let left = self.nodes.len() - distinct.len();
        if left * 2 <= self.nodes.len() {
            return invalid(format!(
                "a majority of the {} brokers is available, and without {brokers:?} there would be none: only brokers that are lost for \
                 good can be removed by force. Remove them without force",
                self.nodes.len()
            ));
        }
        let mut operations = Vec::new();
        // Groups that are to be purged need no majority.
        let partitions = if self.purge.is_some() {
            0
        } else {
            self.partitions
        };
        for partition in 1..=partitions {
            let replicas = self.replicas(partition);
            let kept = replicas.iter().filter(|(node, _)| !brokers.contains(node));
            let kept: Vec<u32> = kept.map(|(node, _)| *node).collect();
            // It has no data yet, and starts again elsewhere.
            let is_new = partition > self.active_partitions();
            if is_new && kept.is_empty() {
                continue;
            }
            if kept.len() < replicas.len() {
                // Handled by [`crate::plan_unsafe_recovery`].
                if kept.len() * 2 <= replicas.len() {
                    return Err(Refusal::NotOffered(format!(
                        "without the brokers {brokers:?} there is no majority of partition {partition}'s copies"
                    )));
                }
                operations.push(Operation::PartitionForceReconfigure {
                    partition_id: partition,
                    brokers: kept,
                });
            }
        }
        let gone = distinct.into_iter().copied();
        operations.extend(gone.map(|broker_id| Operation::BrokerForceRemove { broker_id }));
        Ok(operations)
    }

    fn remove_broker(&self, broker: u32) -> Result<Vec<Operation>, Refusal> {
        let Some(node) = self.nodes.get(&broker) else {
            return Ok(Vec::new());
        };
        if !node.partitions.is_empty() {
            let partitions: Vec<u32> = node.partitions.keys().copied().collect();
            return invalid(format!(
                "broker {broker} still has the partitions {partitions:?}; they have to leave it first"
            ));
        }
        let others = self.nodes.keys().filter(|node| **node != broker);
        self.check_brokers(&others.copied().collect())?;
        Ok(vec![Operation::BrokerRemove { broker_id: broker }])
    }

    fn place(&self, broker: u32, partition: u32) -> Result<&crate::Node, Refusal> {
        if partition == 0 || partition > self.partitions {
            return invalid(format!(
                "partition {partition} does not exist: the cluster has the partitions 1 to {}",
                self.partitions
            ));
        }
        self.nodes.get(&broker).ok_or_else(|| {
            Refusal::Invalid(format!(
                "broker {broker} is not part of the cluster; add it first"
            ))
        })
    }

    fn join(&self, broker: u32, partition: u32, priority: u32) -> Result<Vec<Operation>, Refusal> {
        let node = self.place(broker, partition)?;
        if !self.is_ready(broker) {
            return invalid(format!(
                "broker {broker} is only partly added or removed: a change was cancelled halfway. Add it again first"
            ));
        }
        if self.is_lost(partition) {
            return invalid(format!(
                "partition {partition} is lost: no broker has a copy of it, so none can get one"
            ));
        }
        match node.partitions.get(&partition) {
            Some(there) if there.state == crate::ReplicaState::Active => {
                let change = Operation::PartitionReconfigurePriority {
                    broker_id: broker,
                    partition_id: partition,
                    priority,
                };
                Ok(Vec::from_iter(
                    (there.priority != priority).then_some(change),
                ))
            }
            _ => Ok(vec![Operation::PartitionJoin {
                broker_id: broker,
                partition_id: partition,
                priority,
            }]),
        }
    }

    fn leave(&self, broker: u32, partition: u32) -> Result<Vec<Operation>, Refusal> {
        let node = self.place(broker, partition)?;
        if !node.partitions.contains_key(&partition) {
            return invalid(format!(
                "broker {broker} has no copy of partition {partition}"
            ));
        }
        let is_whole = |(id, node): (&u32, &crate::Node)| {
            let replica = node.partitions.get(&partition);
            *id != broker && replica.is_some_and(|it| it.state == crate::ReplicaState::Active)
        };
        if !self.nodes.iter().any(is_whole) {
            return invalid(format!(
                "broker {broker} has the only whole copy of partition {partition}; let another broker join it first"
            ));
        }
        Ok(vec![Operation::PartitionLeave {
            broker_id: broker,
            partition_id: partition,
            purge: false,
        }])
    }
}

fn invalid<T>(text: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Invalid(text.into()))
}

#[cfg(test)]
mod tests;
