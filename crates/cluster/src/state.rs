//! The state, and what can be read from it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use skep_protocol::Routing;

use crate::layout::{Layout, generation, member, node_of};
use crate::operation::Operation;
use crate::purge::Purge;

/// Changes that are remembered after their end.
pub(crate) const MAX_FINISHED: usize = 20;

/// What all nodes agree on. Times are milliseconds since 1970.
///
/// It is stored and sent as JSON. A member that comes later is left out as long as it says nothing, so that earlier versions read what they
/// know; a version that does not know a member refuses the state by its name, and never drops it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Empty before the cluster is bootstrapped.
    pub cluster_id: String,
    /// Grows with each entry: of two copies the one with more is newer.
    pub revision: u64,
    /// Grows with each change that is finished.
    pub version: u64,
    /// Those that exist. Not all of them may take part, see [`State::active_partitions`].
    pub partitions: u32,
    /// Partitions were added: how many there were when the cluster began, and how many take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled: Option<Scaled>,
    pub nodes: BTreeMap<u32, Node>,
    pub routing_version: u64,
    /// The greatest number of a change so far.
    pub changes: u64,
    pub running: Option<Running>,
    /// The newest last.
    pub finished: VecDeque<Finished>,
    /// How often the cluster was [recovered without a majority](crate::plan_unsafe_recovery). A node of an earlier time is refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epoch: u64,
    /// Nodes that have survived and may still be of an earlier time: they come with what they have.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub awaited: BTreeSet<u32>,
    /// By partition: new things get greater keys than this one. Lesser ones may have been given by copies that are lost.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub least_keys: BTreeMap<u32, u64>,
    /// How often everything was purged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub incarnation: u64,
    /// By partition: things with keys up to this one were purged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub purged_keys: BTreeMap<u32, u64>,
    /// A purge is half-way, under way or given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge: Option<Purge>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaled {
    /// Correlation keys are spread over these.
    pub founding: u32,
    pub active: u32,
    /// Those above are drained: they get no new instances. None: all that take part get some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepting: Option<u32>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    pub state: NodeState,
    /// The revision of the state that added it; 0: it is one of those with which the cluster was bootstrapped.
    pub generation: u64,
    pub version: u64,
    pub updated_at: i64,
    pub partitions: BTreeMap<u32, Replica>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum NodeState {
    Joining,
    Active,
    Leaving,
}

/// A copy of a partition on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replica {
    pub state: ReplicaState,
    /// Of several the one with the greatest leads best.
    pub priority: u32,
    /// The revision of the state that made it; 0: it was there from the beginning. A copy of an earlier revision that the state
    /// does not know was given up.
    pub generation: u64,
    /// It begins its group anew, alone, with what this earlier member has on the disk of the same node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReplicaState {
    Joining,
    Active,
    Leaving,
}

/// The change that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Running {
    pub id: u64,
    pub started_at: i64,
    /// Operations with the time at which they were done.
    pub completed: Vec<(Operation, i64)>,
    /// The first is being carried out.
    pub pending: VecDeque<Operation>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finished {
    pub change: Running,
    pub outcome: Outcome,
    pub finished_at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    Completed,
    Cancelled,
}

impl State {
    /// Where keys live.
    pub fn routing(&self) -> Routing {
        let Scaled {
            founding, active, ..
        } = self.scaling();
        Routing::scaled(founding, active, self.partitions)
            .accepting_only(self.accepting_partitions())
            .at_version(self.routing_version)
    }

    fn scaling(&self) -> Scaled {
        self.scaled.unwrap_or(Scaled {
            founding: self.partitions,
            active: self.partitions,
            accepting: None,
        })
    }

    /// The first ones take part; the others have just come about.
    pub fn active_partitions(&self) -> u32 {
        self.scaling().active
    }

    /// Of those that take part the first ones get new instances; the others are drained.
    pub fn accepting_partitions(&self) -> u32 {
        let scaling = self.scaling();
        scaling.accepting.unwrap_or(scaling.active)
    }

    /// Partitions exist that do not take part yet.
    pub fn is_scaling_up(&self) -> bool {
        self.active_partitions() < self.partitions
    }

    /// So many partitions exist from now on.
    pub(crate) fn begin_scaling(&mut self, partitions: u32) {
        if partitions > self.partitions {
            self.scaled = Some(self.scaling());
            self.partitions = partitions;
            self.routing_version += 1;
        }
    }

    /// The first `partitions` get new instances from now on. Those of them that have just come about take part.
    pub(crate) fn update_routing(&mut self, partitions: u32) {
        let before = self.scaling();
        let active = before.active.max(partitions.min(self.partitions));
        let after = Scaled {
            founding: before.founding,
            active,
            accepting: Some(partitions.max(before.founding)).filter(|first| *first < active),
        };
        if after != before {
            self.scaled = Some(after);
            self.routing_version += 1;
        }
    }

    pub fn has_partition(&self, partition: u32) -> bool {
        (1..=self.partitions).contains(&partition)
    }

    /// A cluster at its beginning.
    pub fn bootstrapped(cluster_id: String, layout: &Layout, now: i64) -> State {
        let node = |_| Node {
            state: NodeState::Active,
            generation: 0,
            version: 0,
            updated_at: now,
            partitions: BTreeMap::new(),
        };
        let nodes = layout.nodes.iter().map(|id| (*id, node(id)));
        let mut state = State {
            cluster_id,
            revision: 1,
            version: 1,
            partitions: layout.partitions,
            nodes: nodes.collect(),
            routing_version: 1,
            ..State::default()
        };
        for (partition, replicas) in layout.replicas() {
            for (node, priority) in replicas {
                let replica = Replica {
                    state: ReplicaState::Active,
                    priority,
                    generation: 0,
                    from: None,
                };
                if let Some(node) = state.nodes.get_mut(&node) {
                    node.partitions.insert(partition, replica);
                }
            }
        }
        state
    }

    pub fn is_bootstrapped(&self) -> bool {
        !self.cluster_id.is_empty()
    }

    /// What is to be done now, and in which change.
    pub fn next_operation(&self) -> Option<(u64, &Operation)> {
        let running = self.running.as_ref()?;
        Some((running.id, running.pending.front()?))
    }

    /// The nodes with a copy of the partition, the best leader first, as members of its group.
    pub fn replicas(&self, partition: u32) -> Vec<(u32, u64)> {
        let replica = |(node, it): (&u32, &Node)| {
            let replica = it.partitions.get(&partition)?;
            let name = (*node, member(*node, replica.generation));
            Some((replica.priority, name))
        };
        let mut replicas: Vec<_> = self.nodes.iter().filter_map(replica).collect();
        replicas.sort_by_key(|(priority, (node, _))| (std::cmp::Reverse(*priority), *node));
        replicas.into_iter().map(|(_, name)| name).collect()
    }

    /// The node as a member of the partition's group.
    pub fn replica_of(&self, node: u32, partition: u32) -> Option<u64> {
        let replica = self.nodes.get(&node)?.partitions.get(&partition)?;
        Some(member(node, replica.generation))
    }

    /// This member of the partition's group was given up. One that is newer than this state was not.
    pub fn has_given_up(&self, member: u64, partition: u32) -> bool {
        let node = node_of(member);
        let wanted = node.and_then(|node| self.replica_of(node, partition));
        let goes_on = node.and_then(|node| self.goes_on_from(node, partition));
        self.is_bootstrapped()
            && ![wanted, goes_on].contains(&Some(member))
            && generation(member) <= self.revision
    }

    /// The earlier member of the partition's group from which the node's copy goes on, alone.
    pub fn goes_on_from(&self, node: u32, partition: u32) -> Option<u64> {
        self.nodes.get(&node)?.partitions.get(&partition)?.from
    }

    /// The partition goes on from a copy of another node, which was chosen after this generation.
    pub fn went_on_since(&self, partition: u32, generation: u64) -> bool {
        let copies = self.nodes.values();
        let mut copies = copies.filter_map(|node| node.partitions.get(&partition));
        copies.any(|copy| copy.from.is_some() && copy.generation > generation)
    }

    /// No node has a copy of the partition any more.
    pub fn is_lost(&self, partition: u32) -> bool {
        self.replicas(partition).is_empty()
    }

    /// The node as a member of the metadata group.
    pub fn member(&self, node: u32) -> Option<u64> {
        Some(member(node, self.nodes.get(&node)?.generation))
    }

    /// Copies of each partition: of the one that has most.
    pub fn replication_factor(&self) -> u32 {
        let copies = |partition| self.replicas(partition).len() as u32;
        (1..=self.partitions).map(copies).max().unwrap_or_default()
    }

    /// A change that is under way, or has ended not long ago.
    pub fn change(&self, id: u64) -> Option<&Running> {
        let finished = self.finished.iter().map(|finished| &finished.change);
        let mut changes = self.running.iter().chain(finished);
        changes.find(|change| change.id == id)
    }

    /// The change that ended last.
    pub fn last_change(&self) -> Option<&Finished> {
        self.finished.back()
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// What [`State::encode`] wrote.
    ///
    /// # Errors
    /// The bytes are something else.
    pub fn decode(bytes: &[u8]) -> Result<State, String> {
        serde_json::from_slice(bytes).map_err(|error| {
            format!("the cluster's state cannot be read, perhaps because a newer version of Skep wrote it: {error}")
        })
    }
}
