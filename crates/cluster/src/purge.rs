//! A purge: all copies of all partitions are removed with their data, then the shared stores are emptied, and then each
//! partition starts again on one node and gets its other copies.
//!
//! Each node removes its own copy and reports it: when the last one is gone, no node is left that could bring old data back. The new copies
//! are other members of other groups, and new keys are above all earlier ones.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::operation::Operation;
use crate::plan::{Refusal, Request};
use crate::state::State;

/// Number of keys to skip: a removed copy may have entries in its log that it has not applied, and others have assigned these keys.
const KEYS: u64 = 1 << 28;

/// The copies and settings to restore after a purge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// By partition: nodes with their priorities.
    pub copies: BTreeMap<u32, BTreeMap<u32, u32>>,
    /// By partition.
    #[serde(default)]
    pub exporting: BTreeMap<u32, KeptExporting>,
}

/// Operators' exporter settings of a partition, in the partition's own terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptExporting {
    pub phase: String,
    pub disabled: Vec<String>,
}

/// Data that a purged copy leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Counter part of the newest key that it knew.
    pub last_key: u64,
    /// `None`: the node had no copy.
    pub exporting: Option<KeptExporting>,
}

impl State {
    /// Refuses requests that need all groups whole: a purge given up half-way has left groups that rely on missing members.
    pub(crate) fn is_whole_for(&self, request: &Request) -> Result<(), Refusal> {
        let goes = matches!(request, Request::Purge | Request::ForceRemove { .. });
        if self.purge.is_none() || goes {
            return Ok(());
        }
        Err(Refusal::Invalid(
            "a purge was cancelled halfway: partitions lack copies or are missing. Request the purge again (POST \
             /actuator/cluster/purge), after lost brokers are removed (PATCH /actuator/cluster?force=true)"
                .to_string(),
        ))
    }

    pub(crate) fn purging(&self) -> Result<Vec<Operation>, Refusal> {
        let copies = self.copies_to_be();
        let Some(first) = self.nodes.keys().next().filter(|_| !copies.is_empty()) else {
            return Err(Refusal::Invalid(
                "there is no partition that could be purged".to_string(),
            ));
        };
        let mut operations = Vec::new();
        for partition in copies.keys() {
            // The preferred leader is removed last.
            for (broker_id, _) in self.replicas(*partition).into_iter().rev() {
                operations.push(Operation::PartitionLeave {
                    broker_id,
                    partition_id: *partition,
                    purge: true,
                });
            }
        }
        operations.push(Operation::DeleteHistory { broker_id: *first });
        operations.push(Operation::UpdateIncarnationNumber);
        // All partitions work again before the first one gets its other copies.
        let mut joins = Vec::new();
        for (partition_id, nodes) in copies {
            let mut nodes: Vec<(u32, u32)> = nodes.into_iter().collect();
            nodes.sort_by_key(|(node, priority)| (Reverse(*priority), *node));
            for (at, (broker_id, priority)) in nodes.into_iter().enumerate() {
                match at {
                    0 => operations.push(Operation::PartitionBootstrap {
                        broker_id,
                        partition_id,
                        priority,
                    }),
                    _ => joins.push(Operation::PartitionJoin {
                        broker_id,
                        partition_id,
                        priority,
                    }),
                }
            }
        }
        operations.append(&mut joins);
        Ok(operations)
    }

    /// The existing copies, and those that a purge which was given up has removed. Lost partitions stay lost: nobody knows which keys they
    /// have assigned.
    fn copies_to_be(&self) -> BTreeMap<u32, BTreeMap<u32, u32>> {
        let mut copies: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
        for (id, node) in &self.nodes {
            for (partition, replica) in &node.partitions {
                let nodes = copies.entry(*partition).or_default();
                nodes.insert(*id, replica.priority);
            }
        }
        for (partition, nodes) in self.purge.iter().flat_map(|purge| &purge.copies) {
            let there = nodes.iter().filter(|(id, _)| self.nodes.contains_key(id));
            let there: BTreeMap<u32, u32> = there.map(|(id, priority)| (*id, *priority)).collect();
            if !there.is_empty() {
                copies.insert(*partition, there);
            }
        }
        copies
    }

    pub(crate) fn begin_purge(&mut self) {
        if self.purge.is_none() {
            self.purge = Some(Purge {
                copies: self.copies_to_be(),
                exporting: BTreeMap::new(),
            });
        }
    }

    pub(crate) fn note_left(&mut self, operation: &Operation, left: Left) {
        let Operation::PartitionLeave { partition_id, .. } = operation else {
            return;
        };
        let least = self.least_keys.entry(*partition_id).or_default();
        *least = left.last_key.max(*least);
        if let (Some(purge), Some(exporting)) = (&mut self.purge, left.exporting) {
            purge.exporting.insert(*partition_id, exporting);
        }
    }

    /// No node has a copy: everything from now on is new.
    pub(crate) fn begin_incarnation(&mut self) {
        self.incarnation += 1;
        self.forget_relocations();
        for partition in self.purge.iter().flat_map(|purge| purge.copies.keys()) {
            let least = self.least_keys.entry(*partition).or_default();
            *least = least.saturating_add(KEYS);
            self.purged_keys.insert(*partition, *least);
        }
    }

    /// Ends the purge once all partitions are there again.
    pub(crate) fn end_purge(&mut self) {
        let copies = self.purge.iter().flat_map(|purge| &purge.copies);
        let mut partitions = copies.map(|(partition, _)| *partition);
        if partitions.all(|partition| !self.is_lost(partition)) {
            self.purge = None;
        }
    }

    /// Removes a node that was lost meanwhile. A partition that only it had is lost.
    pub(crate) fn forget_in_purge(&mut self, node: u32) {
        if let Some(purge) = &mut self.purge {
            purge.copies.retain(|_, nodes| {
                nodes.remove(&node);
                !nodes.is_empty()
            });
        }
        self.purge.take_if(|purge| purge.copies.is_empty());
    }
}

#[cfg(test)]
mod tests;
