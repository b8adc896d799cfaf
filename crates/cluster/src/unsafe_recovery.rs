//! Unsafe recovery: most nodes, or most replicas of a partition, are lost for good, and the survivors continue with what they have.
//!
//! A partition without a majority continues from one copy, the one with the longest log of the latest term: a new member, alone in its
//! group, takes over the files of the earlier one. Other survivors get new copies from it, as new members. The same happens to the group
//! that holds this state if most nodes are lost: one survivor restarts the group with the state computed here, and the others join again.
//! Members of the earlier groups do not belong to the new ones, so their messages reach nobody.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::operation::Operation;
use crate::plan::{Planned, Refusal};
use crate::state::{NodeState, Outcome, Replica, ReplicaState, Running, State};

/// Number of revisions to skip: the lost nodes may have made some that no survivor knows.
pub(crate) const LEAP: u64 = 1 << 16;
/// Number of keys to skip: the lost copies may have assigned some that no survivor knows.
pub(crate) const KEYS: u64 = 1 << 32;

/// The state of a node that should continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    pub node: u32,
    /// The cluster state that it knows.
    pub state: State,
    /// Nodes that it can reach.
    pub reaches: Vec<u32>,
    /// Whether the group that holds the state has a leader, as far as it knows.
    pub is_led: bool,
    pub copies: Vec<SurvivingCopy>,
}

/// A copy of a partition on a survivor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurvivingCopy {
    pub partition: u32,
    /// Its member number in the partition's group.
    pub member: u64,
    /// The entry that set the members, and the voters since then, as far as the copy knows.
    pub members_index: u64,
    pub voters: Vec<u64>,
    /// The last entry of its log, committed or not.
    pub term: u64,
    pub index: u64,
    /// Counter part of the newest key that it knows.
    pub last_key: u64,
}

/// A recovery without a majority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsafeRecovery {
    /// The epoch of the new state.
    pub epoch: u64,
    /// By partition, the copy from which it continues.
    pub from: BTreeMap<u32, GoesOn>,
    /// Partitions of which no copy with a vote has survived.
    pub lost: Vec<u32>,
}

/// The copy that a partition continues from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GoesOn {
    pub broker_id: u32,
    pub term: u64,
    pub index: u64,
}

/// The outcome for a partition.
enum Fate {
    /// It has a majority.
    Lives,
    From {
        node: u32,
        copy: SurvivingCopy,
    },
    Lost,
}

/// The state with which the survivors continue when the nodes `removed` are lost for good, and the plan. `decides`: the survivor that makes
/// the decision, and restarts the metadata group if that has lost its majority too.
///
/// # Errors
/// A remaining node was not heard, a node to be removed is alive, or a majority exists without this.
pub fn plan_unsafe_recovery(
    removed: &[u32],
    decides: u32,
    survivors: &[Survivor],
    now: i64,
) -> Result<(State, Planned), Refusal> {
    let newest = survivors.iter().map(|it| &it.state);
    let Some(newest) = newest.max_by_key(|state| state.revision) else {
        return Err(Refusal::Invalid("nobody is to stay".to_string()));
    };
    let left = check(newest, removed, survivors)?;
    let is_led = left.len() * 2 > newest.nodes.len();
    let mut made = Making {
        state: newest.clone(),
        pending: Vec::new(),
        completed: Vec::new(),
        unsafe_recovery: UnsafeRecovery {
            // The epochs of restores are multiples of a great number, so this one belongs to no restore.
            epoch: newest.epoch + u64::from(!is_led),
            from: BTreeMap::new(),
            lost: Vec::new(),
        },
    };
    if !is_led && made.state.running.is_some() {
        made.state.end(Outcome::Cancelled, now);
    }
    made.state.revision += if is_led { 1 } else { LEAP };
    if is_led {
        made.removes(removed)
    } else {
        made.restart_metadata_group(removed, &left, decides, now)
    }
    for partition in 1..=newest.partitions {
        match fate(newest, partition, survivors) {
            Fate::Lives => made.lives(newest, partition, &left),
            Fate::From { node, copy } => made.goes_on(partition, node, &copy, &left),
            Fate::Lost => made.is_lost(partition),
        }
    }
    Ok(made.planned(newest, is_led, now))
}

/// The remaining nodes.
fn check(
    newest: &State,
    removed: &[u32],
    survivors: &[Survivor],
) -> Result<BTreeSet<u32>, Refusal> {
    if let Some(unknown) = removed.iter().find(|id| !newest.nodes.contains_key(id)) {
        return Err(Refusal::Invalid(format!(
            "broker {unknown} is not part of the cluster"
        )));
    }
    let stays = newest.nodes.keys().filter(|id| !removed.contains(id));
    let left: BTreeSet<u32> = stays.copied().collect();
    let reported: BTreeSet<u32> = survivors.iter().map(|it| it.node).collect();
    if let Some(missing) = left.difference(&reported).next() {
        return Err(Refusal::Unreachable(format!(
            "broker {missing} is to stay but has not reported its data. Start it, or remove it too if it is lost for good. Nothing was done"
        )));
    }
    for survivor in survivors {
        if let Some(there) = survivor.reaches.iter().find(|id| removed.contains(id)) {
            return Err(Refusal::Busy(format!(
                "broker {there} is to be removed as lost, but broker {} reaches it: only brokers that are lost for good can be removed \
                 without a majority. Stop it for good, or keep it. Nothing was done",
                survivor.node
            )));
        }
    }
    let has_majority = left.len() * 2 > newest.nodes.len();
    if let Some(led) = survivors.iter().find(|it| it.is_led)
        && !has_majority
    {
        return Err(Refusal::Busy(format!(
            "broker {} knows a leader of the cluster's own state: a majority seems to be available. Send the request again in a moment. \
             Nothing was done",
            led.node
        )));
    }
    Ok(left)
}

/// The survivors' copies that were complete at some time, and were not given up.
fn copies<'a>(
    newest: &'a State,
    partition: u32,
    survivors: &'a [Survivor],
) -> impl Iterator<Item = (u32, &'a SurvivingCopy)> {
    let all = survivors.iter().flat_map(|survivor| {
        let copies = survivor.copies.iter();
        copies.map(|copy| (survivor.node, copy))
    });
    all.filter(move |(_, copy)| {
        copy.partition == partition
            && copy.voters.contains(&copy.member)
            && !newest.has_given_up(copy.member, partition)
    })
}

fn fate(newest: &State, partition: u32, survivors: &[Survivor]) -> Fate {
    let there: Vec<_> = copies(newest, partition, survivors).collect();
    let Some((_, knows)) = there.iter().max_by_key(|(_, copy)| copy.members_index) else {
        return Fate::Lost;
    };
    let is_there = |member: &&u64| there.iter().any(|(_, copy)| copy.member == **member);
    if knows.voters.iter().filter(is_there).count() * 2 > knows.voters.len() {
        return Fate::Lives;
    }
    let longest = there
        .into_iter()
        .max_by_key(|(node, copy)| (copy.term, copy.index, Reverse(*node)));
    match longest {
        Some((node, copy)) => Fate::From {
            node,
            copy: copy.clone(),
        },
        None => Fate::Lost,
    }
}

/// The state under construction, with what is done by it and what remains to be done.
struct Making {
    state: State,
    completed: Vec<Operation>,
    pending: Vec<Operation>,
    unsafe_recovery: UnsafeRecovery,
}

impl Making {
    /// The metadata group has a majority: it removes the lost nodes at the end, as usual.
    fn removes(&mut self, removed: &[u32]) {
        let distinct: BTreeSet<u32> = removed.iter().copied().collect();
        let gone = distinct.into_iter();
        let gone = gone.map(|broker_id| Operation::BrokerForceRemove { broker_id });
        self.pending.extend(gone);
    }

    /// The metadata group restarts with one member, and admits the others.
    fn restart_metadata_group(
        &mut self,
        removed: &[u32],
        left: &BTreeSet<u32>,
        decides: u32,
        now: i64,
    ) {
        self.state.epoch = self.unsafe_recovery.epoch;
        self.state.nodes.retain(|id, _| left.contains(id));
        self.state.awaited = left.iter().copied().filter(|id| *id != decides).collect();
        for (id, node) in &mut self.state.nodes {
            node.generation = self.state.revision;
            node.version += 1;
            node.updated_at = now;
            node.state = if *id == decides {
                NodeState::Active
            } else {
                NodeState::Joining
            };
        }
        let distinct: BTreeSet<u32> = removed.iter().copied().collect();
        let gone = distinct.into_iter();
        let gone = gone.map(|broker_id| Operation::BrokerForceRemove { broker_id });
        self.completed.extend(gone);
        let come = self.state.awaited.iter();
        let come = come.map(|id| Operation::BrokerAdd { broker_id: *id });
        self.pending.extend(come);
    }

    /// The partition has a majority: its leader removes the lost members.
    fn lives(&mut self, newest: &State, partition: u32, left: &BTreeSet<u32>) {
        let replicas = newest.replicas(partition).into_iter();
        let (stay, go): (Vec<u32>, Vec<u32>) = replicas
            .map(|(node, _)| node)
            .partition(|node| left.contains(node));
        if !go.is_empty() {
            let operation = Operation::PartitionForceReconfigure {
                partition_id: partition,
                brokers: stay,
            };
            self.pending.insert(self.places(), operation);
        }
    }

    /// Where to insert operations: nodes are removed only after the operations on their partitions.
    fn places(&self) -> usize {
        let goes = |it: &Operation| matches!(it, Operation::BrokerForceRemove { .. });
        let first = self.pending.iter().position(goes);
        first.unwrap_or(self.pending.len())
    }

    /// One copy continues, and other survivors that had a copy get a new one.
    fn goes_on(&mut self, partition: u32, from: u32, copy: &SurvivingCopy, left: &BTreeSet<u32>) {
        let generation = self.state.revision;
        let nodes = self.state.nodes.iter_mut();
        let had = nodes.filter_map(|(id, node)| {
            let replica = node.partitions.remove(&partition)?;
            Some((*id, replica.priority))
        });
        let had: BTreeMap<u32, u32> = had.collect();
        let replica = Replica {
            state: ReplicaState::Active,
            priority: had.get(&from).copied().unwrap_or(1),
            generation,
            from: Some(copy.member),
        };
        if let Some(node) = self.state.nodes.get_mut(&from) {
            node.partitions.insert(partition, replica);
        }
        // The last key may be the lower one, if nothing was created since a purge.
        let least = self.state.least_keys.entry(partition).or_default();
        *least = copy.last_key.max(*least).saturating_add(KEYS);
        self.completed.push(Operation::PartitionForceReconfigure {
            partition_id: partition,
            brokers: vec![from],
        });
        let again = had.into_iter();
        let again = again.filter(|(node, _)| *node != from && left.contains(node));
        let mut again: Vec<(u32, u32)> = again.collect();
        again.sort_by_key(|(node, priority)| (Reverse(*priority), *node));
        for (broker_id, priority) in again {
            self.pending.insert(
                self.places(),
                Operation::PartitionJoin {
                    broker_id,
                    partition_id: partition,
                    priority,
                },
            );
        }
        let goes_on = GoesOn {
            broker_id: from,
            term: copy.term,
            index: copy.index,
        };
        self.unsafe_recovery.from.insert(partition, goes_on);
    }

    fn is_lost(&mut self, partition: u32) {
        for node in self.state.nodes.values_mut() {
            node.partitions.remove(&partition);
        }
        self.unsafe_recovery.lost.push(partition);
    }

    fn planned(mut self, newest: &State, is_led: bool, now: i64) -> (State, Planned) {
        self.state.changes += 1;
        let mut expected = self.state.after(&self.pending, now);
        expected.awaited.clear();
        self.state.running = Some(Running {
            id: self.state.changes,
            started_at: now,
            completed: self.completed.iter().map(|it| (it.clone(), now)).collect(),
            pending: self.pending.iter().cloned().collect(),
        });
        self.state.go_on(now);
        let planned = Planned {
            // The revision of the state that the plan is for: a proposal for another one has no effect.
            revision: if is_led {
                newest.revision
            } else {
                self.state.revision
            },
            change: self.state.changes,
            operations: [self.completed, self.pending].concat(),
            current: newest.clone(),
            expected,
            unsafe_recovery: Some(self.unsafe_recovery),
        };
        (self.state, planned)
    }
}

impl State {
    /// Whether a majority of the nodes can remove the brokers, but some partition has no majority without them.
    pub fn splits_from(&self, removed: &[u32]) -> bool {
        let is_left = |node: &u32| !removed.contains(node);
        let left = self.nodes.keys().filter(|node| is_left(node)).count();
        let is_split = |partition| {
            let replicas = self.replicas(partition);
            let kept = replicas.iter().filter(|(node, _)| is_left(node)).count();
            kept < replicas.len() && kept * 2 <= replicas.len()
        };
        self.purge.is_none() && left * 2 > self.nodes.len() && (1..=self.partitions).any(is_split)
    }
}

#[cfg(test)]
mod tests;
