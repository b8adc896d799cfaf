//! The state, and what can be read from it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use skep_protocol::Routing;

use crate::layout::{Layout, generation, member, node_of};
use crate::operation::Operation;
use crate::purge::Purge;

/// Number of finished changes that are remembered.
pub(crate) const MAX_FINISHED: usize = 20;

/// The state that all nodes agree on. Times are milliseconds since 1970.
///
/// It is stored and sent as JSON. Newer fields are left out while they have their default value, so that earlier versions can read what
/// they know. A version that does not know a field refuses the state, naming the field, and never drops it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Empty before the cluster is bootstrapped.
    pub cluster_id: String,
    /// Grows with each entry: of two copies, the one with the greater revision is newer.
    pub revision: u64,
    /// Grows with each finished change.
    pub version: u64,
    /// The partitions that exist. Not all of them may be active, see [`State::active_partitions`].
    pub partitions: u32,
    /// Set if partitions were added: how many there were when the cluster began, and how many are active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled: Option<Scaled>,
    pub nodes: BTreeMap<u32, Node>,
    pub routing_version: u64,
    /// The greatest number of a change so far.
    pub changes: u64,
    pub running: Option<Running>,
    /// Newest last.
    pub finished: VecDeque<Finished>,
    /// How often the cluster was [recovered without a majority](crate::plan_unsafe_recovery). A node from an earlier epoch is refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epoch: u64,
    /// Surviving nodes that may still be from an earlier epoch: they bring what they have.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub awaited: BTreeSet<u32>,
    /// By partition: new keys must be greater than this one. Smaller ones may have been assigned by lost copies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub least_keys: BTreeMap<u32, u64>,
    /// How often everything was purged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub incarnation: u64,
    /// By partition: keys up to this one were purged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub purged_keys: BTreeMap<u32, u64>,
    /// Set while a purge is unfinished, whether in progress or given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge: Option<Purge>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaled {
    /// The number of partitions with which the cluster began. Correlation keys are spread over them at first. Stored states have it under its first name.
    #[serde(rename = "founding")]
    pub initial: u32,
    pub active: u32,
    /// Partitions above this number are drained: they get no new instances. `None`: all active partitions get some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepting: Option<u32>,
    /// The numbers of partitions over which correlation keys were spread since, one after the other: each time only as many slots moved as
    /// necessary, so the table of slots follows from all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<u32>,
    /// Slots may have moved for a change that was cancelled: they are not where the table has them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub half_spread: bool,
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
    /// The replica with the greatest priority is the preferred leader.
    pub priority: u32,
    /// The revision of the state that created it; 0: it was there from the beginning. A copy of an earlier revision that is not in the
    /// state was given up.
    pub generation: u64,
    /// Set if it restarts its group as the only voter, with the data of this earlier member on the same node.
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

/// The change in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Running {
    pub id: u64,
    pub started_at: i64,
    /// Completed operations, with the time of completion.
    pub completed: Vec<(Operation, i64)>,
    /// The first one is being carried out.
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

impl Outcome {
    /// The status of a change that has ended like this.
    pub fn status(self) -> &'static str {
        match self {
            Outcome::Completed => "COMPLETED",
            Outcome::Cancelled => "CANCELLED",
        }
    }
}

impl State {
    /// The routing of keys to partitions.
    pub fn routing(&self) -> Routing {
        let Scaled {
            initial,
            active,
            spread,
            ..
        } = self.scaling();
        let next = self.next_operation();
        Routing::scaled(initial, active, self.partitions)
            .accepting_only(self.accepting_partitions())
            .spread_over(&spread)
            .relocating_to(next.and_then(|(_, operation)| operation.relocates_to()))
            .at_version(self.routing_version)
    }

    fn scaling(&self) -> Scaled {
        self.scaled.clone().unwrap_or(Scaled {
            initial: self.partitions,
            active: self.partitions,
            ..Scaled::default()
        })
    }

    /// The number of active partitions, which come first; the others were just created.
    pub fn active_partitions(&self) -> u32 {
        self.scaling().active
    }

    /// The number of active partitions that get new instances, which come first; the others are drained.
    pub fn accepting_partitions(&self) -> u32 {
        let scaling = self.scaling();
        scaling.accepting.unwrap_or(scaling.active)
    }

    /// Whether there are partitions that are not active yet.
    pub fn is_scaling_up(&self) -> bool {
        self.active_partitions() < self.partitions
    }

    /// This many partitions exist from now on.
    pub(crate) fn begin_scaling(&mut self, partitions: u32) {
        if partitions > self.partitions {
            self.scaled = Some(self.scaling());
            self.partitions = partitions;
            self.routing_version += 1;
        }
    }

    /// The first `partitions` get new instances from now on. Newly created ones among them become active.
    pub(crate) fn update_routing(&mut self, partitions: u32) {
        let before = self.scaling();
        let active = before.active.max(partitions.min(self.partitions));
        let after = Scaled {
            active,
            accepting: Some(partitions.max(before.initial)).filter(|first| *first < active),
            ..before.clone()
        };
        if after != before {
            self.scaled = Some(after);
            self.routing_version += 1;
        }
    }

    /// Whether slots of correlation keys have to move so that they are spread over this many partitions.
    pub(crate) fn needs_relocation(&self, partitions: u32) -> bool {
        let scaling = self.scaling();
        let spread_over = scaling.spread.last().unwrap_or(&scaling.initial);
        scaling.half_spread || *spread_over != partitions
    }

    /// The partitions move slots from now on. Until it ends, some are not where the table has them.
    pub(crate) fn begin_relocation(&mut self) {
        let half_spread = true;
        self.scaled = Some(Scaled {
            half_spread,
            ..self.scaling()
        });
        self.routing_version += 1;
    }

    /// All slots are where they are to be.
    pub(crate) fn finish_relocation(&mut self, partitions: u32) {
        let mut scaled = self.scaling();
        scaled.half_spread = false;
        if scaled.spread.last().unwrap_or(&scaled.initial) != &partitions {
            scaled.spread.push(partitions);
        }
        self.scaled = Some(scaled);
        self.routing_version += 1;
    }

    /// After a purge there is nothing that belongs to a slot: each is where it was when the cluster began.
    pub(crate) fn forget_relocations(&mut self) {
        if let Some(scaled) = &mut self.scaled {
            scaled.spread.clear();
            scaled.half_spread = false;
            self.routing_version += 1;
        }
    }

    pub fn has_partition(&self, partition: u32) -> bool {
        (1..=self.partitions).contains(&partition)
    }

    /// A cluster's initial state.
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

    /// The operation to carry out now, with the change that it belongs to.
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

    /// Whether this member of the partition's group was given up. A member newer than this state was not.
    pub fn has_given_up(&self, member: u64, partition: u32) -> bool {
        let node = node_of(member);
        let wanted = node.and_then(|node| self.replica_of(node, partition));
        let goes_on = node.and_then(|node| self.goes_on_from(node, partition));
        self.is_bootstrapped()
            && ![wanted, goes_on].contains(&Some(member))
            && generation(member) <= self.revision
    }

    /// The earlier member of the partition's group from which the node's copy continues, alone.
    pub fn goes_on_from(&self, node: u32, partition: u32) -> Option<u64> {
        self.nodes.get(&node)?.partitions.get(&partition)?.from
    }

    /// Whether the partition continues from a copy of another node that was chosen after this generation.
    pub fn went_on_since(&self, partition: u32, generation: u64) -> bool {
        let copies = self.nodes.values();
        let mut copies = copies.filter_map(|node| node.partitions.get(&partition));
        copies.any(|copy| copy.from.is_some() && copy.generation > generation)
    }

    /// Whether no node has a copy of the partition any more.
    pub fn is_lost(&self, partition: u32) -> bool {
        self.replicas(partition).is_empty()
    }

    /// The node as a member of the metadata group.
    pub fn member(&self, node: u32) -> Option<u64> {
        Some(member(node, self.nodes.get(&node)?.generation))
    }

    /// The number of copies of each partition: the maximum over all partitions.
    pub fn replication_factor(&self) -> u32 {
        let copies = |partition| self.replicas(partition).len() as u32;
        (1..=self.partitions).map(copies).max().unwrap_or_default()
    }

    /// A change that is in progress, or ended recently.
    pub fn change(&self, id: u64) -> Option<&Running> {
        let finished = self.finished.iter().map(|finished| &finished.change);
        let mut changes = self.running.iter().chain(finished);
        changes.find(|change| change.id == id)
    }

    /// The most recently ended change.
    pub fn last_change(&self) -> Option<&Finished> {
        self.finished.back()
    }

    /// Encodes the state.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Decodes the output of [`State::encode`].
    ///
    /// # Errors
    /// The bytes are not a state.
    pub fn decode(bytes: &[u8]) -> Result<State, String> {
        serde_json::from_slice(bytes).map_err(|error| {
            format!("the cluster's state cannot be read, perhaps because a newer version of Skep wrote it: {error}")
        })
    }
}
