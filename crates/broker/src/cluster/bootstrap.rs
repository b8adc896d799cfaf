//! Bootstrap: how a new cluster forms, and how a node knows that it belongs to one.
//!
//! A node without data makes nothing up. Only when *all* nodes have met and none of them has data does node 0 create an id, which the
//! others adopt. The cluster is formed once every node is known to have the id. From then on, a node of the cluster that comes without an
//! id has lost its data. It is refused, because other nodes rely on entries that it acknowledged and has forgotten. Any other node without
//! data waits until it is added to the cluster.

pub(super) mod disbelieved;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use skep_cluster::{EPOCHS_OF_A_RESTORE, is_gateway};
use skep_transport::{Greeting, Layout};

/// A node's identity in its cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Empty until the node belongs to a cluster.
    pub cluster_id: String,
    /// Whether all nodes have the id.
    pub formed: bool,
    /// How often the cluster was recovered without a majority, as far as this node took part.
    pub epoch: u64,
}

/// Separates the id from the epoch, if there is one. Nodes that know nothing of epochs see a different cluster and keep away.
const EPOCH: &str = " / epoch ";

impl Identity {
    /// The identity as nodes present it to each other.
    pub fn presented(&self) -> String {
        match self.epoch {
            0 => self.cluster_id.clone(),
            epoch => format!("{}{EPOCH}{epoch}", self.cluster_id),
        }
    }
}

/// The cluster id and epoch from a presented identity.
pub fn id_and_epoch(presented: &str) -> (&str, u64) {
    let parts = presented.rsplit_once(EPOCH);
    let parts = parts.and_then(|(id, epoch)| Some((id, epoch.parse().ok()?)));
    parts.unwrap_or((presented, 0))
}

/// Stores the identity in the data directory. Once it returns, the identity is durable.
pub type Keep = Box<dyn Fn(&Identity) -> std::io::Result<()> + Send + Sync>;

/// What a node knows of a majority of the cluster that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Majority {
    /// The cluster's own group has a leader.
    Leads,
    /// There is no leader as far as this node knows, but it may belong to a majority: its disk is full, so that it hears no leader, or it
    /// reaches most nodes, of which another one has a full disk.
    MayBe,
    Unknown,
}

pub struct Bootstrap {
    node: u32,
    layout: Layout,
    /// The configured cluster id (`camunda.cluster.cluster-id`).
    wanted: Option<String>,
    keep: Keep,
    state: Mutex<State>,
    changed: Condvar,
    /// See [`Bootstrap::with_patience`].
    patience: Duration,
}

#[derive(Debug, Default)]
struct State {
    identity: Identity,
    /// The ids that the other nodes have presented.
    met: BTreeMap<u32, String>,
    /// The nodes of the cluster that have data, once it is formed.
    nodes: Option<BTreeSet<u32>>,
    /// Nodes that may still be of an earlier epoch.
    awaited: BTreeSet<u32>,
    /// Why this node knows that the cluster continues without it, if it does.
    left_behind: Option<String>,
    /// There is a cluster, and this node is not part of it.
    outside: bool,
    /// Another process had this node's number, and its data may be somewhere. So this node takes no part in bootstrapping a cluster, as the
    /// other may already have founded one.
    only_joins: bool,
    /// When this node last belonged to a majority, as far as it could know; at first, its start.
    in_majority_at: Option<Instant>,
    /// The latest epoch of a recovery that a live majority has contradicted: it had a leader after the recovery, so an operator has to decide
    /// between the two.
    contradicted: u64,
    /// Why this node cannot continue.
    refused: Option<String>,
}

impl Bootstrap {
    pub fn new(
        node: u32,
        layout: Layout,
        wanted: Option<String>,
        known: Identity,
        keep: Keep,
    ) -> Bootstrap {
        let state = State {
            identity: known,
            in_majority_at: Some(Instant::now()),
            ..State::default()
        };
        Bootstrap {
            node,
            layout,
            wanted,
            keep,
            state: Mutex::new(state),
            changed: Condvar::new(),
            patience: Duration::ZERO,
        }
    }

    /// For so long without a majority, this node expects to find a majority of the cluster that it knows.
    pub fn with_patience(mut self, patience: Duration) -> Bootstrap {
        self.patience = patience;
        self
    }

    /// The node is to be added to an existing cluster, and founds none.
    pub fn only_joins(&self) {
        self.state.lock().only_joins = true;
    }

    pub fn identity(&self) -> Identity {
        self.state.lock().identity.clone()
    }

    /// Another node presents itself. `Err`: the other does not belong here, or this node does not belong there.
    pub fn meets(&self, other: &Greeting, majority: Majority) -> Result<(), String> {
        if let Some(reason) = self.disbelieves(other, majority) {
            return Err(reason);
        }
        let mut state = self.state.lock();
        // The configured layout counts before a cluster is formed; the agreed one afterwards.
        if other.layout != self.layout && !state.identity.formed && !other.formed {
            return Err(format!(
                "node {} is configured for {}, and node {} for {}: size, replication factor and partition count must be the same \
                 on all nodes",
                other.node, other.layout, self.node, self.layout
            ));
        }
        let own = state.identity.cluster_id.clone();
        let (theirs, epoch) = id_and_epoch(&other.cluster_id);
        match (own.is_empty(), theirs.is_empty()) {
            (false, false) if own == theirs && epoch != state.identity.epoch => {
                return self.meets_of_epoch(&mut state, other, epoch);
            }
            (false, false) if own != theirs => {
                return Err(format!(
                    "node {} belongs to the cluster {theirs}, but node {} to {own}",
                    other.node, self.node
                ));
            }
            (false, true) if state.identity.formed => {
                return if self.has_data(&state, other.node) {
                    Err(without_data(other.node))
                } else {
                    Ok(())
                };
            }
            (true, false) if other.formed && !other.members.contains(&self.node) => {
                state.outside = true;
                return Ok(());
            }
            (true, false) if other.formed => {
                let reason = without_data(self.node);
                state.refused = Some(reason.clone());
                self.changed.notify_all();
                return Err(reason);
            }
            _ => {}
        }
        if state.only_joins && own.is_empty() {
            return Err(founds_nothing(self.node));
        }
        state.met.insert(other.node, theirs.to_string());
        self.go_on(&mut state, other);
        Ok(())
    }

    /// Handles a difference in epochs: the cluster was recovered without one of the two nodes, or with it, and that node does not know yet.
    fn meets_of_epoch(
        &self,
        state: &mut State,
        other: &Greeting,
        epoch: u64,
    ) -> Result<(), String> {
        let restore = |epoch: u64| epoch / EPOCHS_OF_A_RESTORE;
        let left_behind = if restore(epoch) == restore(state.identity.epoch) {
            left_behind
        } else {
            of_another_restore
        };
        if epoch < state.identity.epoch {
            return if state.awaited.contains(&other.node) {
                Ok(())
            } else {
                Err(left_behind(other.node))
            };
        }
        if other.members.contains(&self.node) {
            return Ok(());
        }
        let reason = left_behind(self.node);
        state.left_behind.get_or_insert(reason.clone());
        state.refused.get_or_insert(reason.clone());
        self.changed.notify_all();
        Err(reason)
    }

    /// Notes whether this node may belong to a majority now.
    pub fn note_majority(&self, majority: Majority) {
        if majority != Majority::Unknown {
            self.state.lock().in_majority_at = Some(Instant::now());
        }
    }

    /// Why a report that the cluster continues without this node is not believed.
    ///
    /// A majority that is alive yields neither to a minority that was recovered without it, nor to anybody who claims that there is one. It may
    /// lack a leader for a while, as when one of its nodes starts again, or has a full disk.
    fn disbelieves(&self, other: &Greeting, majority: Majority) -> Option<String> {
        self.note_majority(majority);
        if !self.is_left_behind_by(other) {
            return None;
        }
        let (_, epoch) = id_and_epoch(&other.cluster_id);
        let mut state = self.state.lock();
        if majority == Majority::Leads && epoch > state.contradicted {
            state.contradicted = epoch;
            let reason = majority_lives(self.node, other.node);
            tracing::error!(code = "NODE_REFUSED", %reason, "another part of the cluster is kept away");
        }
        if epoch <= state.contradicted {
            return Some(majority_lives(self.node, other.node));
        }
        let waits = state
            .in_majority_at
            .is_some_and(|then| then.elapsed() < self.patience);
        let looks = waits || majority == Majority::MayBe;
        looks.then(|| not_believed_yet(self.node, other.node))
    }

    /// Whether the other node is of the same cluster, but of a later epoch that knows nothing of this node.
    fn is_left_behind_by(&self, other: &Greeting) -> bool {
        let identity = self.identity();
        let (id, epoch) = id_and_epoch(&other.cluster_id);
        id == identity.cluster_id && epoch > identity.epoch && !other.members.contains(&self.node)
    }

    /// Why the cluster continues without this node, which must stop acting for it.
    pub fn left_behind(&self) -> Option<String> {
        self.state.lock().left_behind.clone()
    }

    fn has_data(&self, state: &State, node: u32) -> bool {
        match &state.nodes {
            Some(nodes) => nodes.contains(&node),
            None => node < self.layout.size,
        }
    }

    /// Sets the nodes of the cluster that have data, and those of them that may still be of an earlier epoch.
    pub fn nodes_are(&self, nodes: BTreeSet<u32>, awaited: BTreeSet<u32>) {
        let mut state = self.state.lock();
        state.nodes = Some(nodes);
        state.awaited = awaited;
    }

    /// Nodes that others must not mistake for new ones.
    pub fn members(&self) -> Vec<u32> {
        let state = self.state.lock();
        (0..=skep_cluster::MAX_NODE_ID)
            .filter(|node| state.identity.formed && self.has_data(&state, *node))
            .collect()
    }

    /// This node was added to a cluster, or continues with it into a new epoch.
    ///
    /// # Errors
    /// The data directory cannot be written.
    pub fn admitted(&self, cluster_id: &str, epoch: u64) -> Result<(), String> {
        let mut state = self.state.lock();
        let identity = Identity {
            cluster_id: cluster_id.to_string(),
            formed: true,
            epoch: epoch.max(state.identity.epoch),
        };
        if state.identity != identity {
            (self.keep)(&identity)
                .map_err(|error| format!("the data directory cannot be written: {error}"))?;
            state.identity = identity;
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Stops the node before it belongs to a cluster.
    pub fn give_up(&self, reason: &str) {
        self.state.lock().refused = Some(reason.to_string());
        self.changed.notify_all();
    }

    fn go_on(&self, state: &mut State, other: &Greeting) {
        let mut next = state.identity.clone();
        let others = || (0..self.layout.size).filter(|node| *node != self.node);
        let all_met =
            |id: &str| others().all(|node| state.met.get(&node).is_some_and(|met| met == id));
        if next.cluster_id.is_empty() {
            if !other.cluster_id.is_empty() {
                next.cluster_id.clone_from(&other.cluster_id);
            } else if self.node == 0 && all_met("") {
                let new = || uuid::Uuid::new_v4().to_string();
                next.cluster_id = self.wanted.clone().unwrap_or_else(new);
            }
        }
        if !next.cluster_id.is_empty() {
            next.formed |= other.formed || all_met(&next.cluster_id);
        }
        if next == state.identity {
            return;
        }
        match (self.keep)(&next) {
            Ok(()) => {
                tracing::info!(
                    cluster_id = next.cluster_id,
                    formed = next.formed,
                    "cluster"
                );
                state.identity = next;
            }
            Err(error) => {
                state.refused = Some(format!("the data directory cannot be written: {error}"))
            }
        }
        self.changed.notify_all();
    }

    /// Waits until the node belongs to a cluster, and returns the cluster's id. Blocks, forever if the others do not come.
    ///
    /// # Errors
    /// The node cannot belong to this cluster.
    pub fn wait(&self) -> Result<String, String> {
        let mut state = self.state.lock();
        loop {
            if let Some(reason) = &state.refused {
                return Err(reason.clone());
            }
            if !state.identity.cluster_id.is_empty() {
                return Ok(state.identity.cluster_id.clone());
            }
            if self
                .changed
                .wait_for(&mut state, Duration::from_secs(10))
                .timed_out()
            {
                if state.outside {
                    tracing::info!(
                        node = self.node,
                        "waiting to be added to the cluster: send PATCH /actuator/cluster with {{\"brokers\":{{\"add\":[{}]}}}} to one \
                         of its nodes",
                        self.node
                    );
                    continue;
                }
                if is_gateway(self.node) {
                    tracing::info!("waiting for a node of a cluster at the contact points");
                    continue;
                }
                let here: Vec<u32> = state.met.keys().copied().collect();
                tracing::info!(
                    node = self.node,
                    found = ?here,
                    size = self.layout.size,
                    "waiting for the other nodes: a new cluster starts when all of them are connected"
                );
            }
        }
    }
}

fn founds_nothing(node: u32) -> String {
    format!(
        "node {node} has taken over its number from a process whose data is elsewhere, so it can only be added to an existing cluster \
         (skep.cluster.replace-lost-nodes). If there never was a cluster, stop all nodes, empty their data directories, delete the \
         objects below node-ids/ in the bucket of camunda.cluster.node-id-provider.s3, and start the nodes again"
    )
}

fn left_behind(node: u32) -> String {
    format!(
        "node {node} was removed as lost for good, and the cluster continues without its data. If most nodes of the cluster that it knows are \
         running, they keep working, and an operator has to decide which part continues. Otherwise its data is outdated and must not come \
         back: to use the node again, stop it, empty its data directory, start it, and add it with PATCH /actuator/cluster and \
         {{\"brokers\":{{\"add\":[{node}]}}}} at another node"
    )
}

fn of_another_restore(node: u32) -> String {
    format!(
        "node {node} has data from before the cluster was restored, or of another restore: the same command must restore the same moment on \
         all nodes, which then print the same epoch. Stop it, empty its data directory, and run `skep restore` there with the --epoch of \
         the other nodes if they have not worked yet; otherwise start it and add it with PATCH /actuator/cluster"
    )
}

/// Why a node that has a majority continues, although another one says that the cluster continues without it.
fn majority_lives(node: u32, other: u32) -> String {
    format!(
        "node {other} reports that the cluster was recovered without node {node} (?force=true), but most nodes of the cluster were \
         running and had a leader: they keep working, and node {other} is not admitted. Two parts of the cluster accept commands now. \
         Stop the part whose data is to be discarded, keep a copy of its directories, empty them, start its nodes and add them again \
         with PATCH /actuator/cluster"
    )
}

/// Why a node without a leader does not yield to another one that says that the cluster continues without it.
fn not_believed_yet(node: u32, other: u32) -> String {
    format!(
        "node {other} reports that the cluster was recovered without node {node} (?force=true); node {node} may belong to a majority \
         that goes on without that: it has started or lost its leader a moment ago, its disk is full, or it reaches most nodes of the cluster \
         that it knows. If these have no leader for long, look for a full disk, or for a node without its data directory, among them"
    )
}

fn without_data(node: u32) -> String {
    format!(
        "node {node} has no data, but every node of this cluster had data: its data directory is lost, or is not the right one. Start it \
         with its data directory. If its data is lost for good, remove it from the cluster with PATCH /actuator/cluster?force=true and \
         {{\"brokers\":{{\"remove\":[{node}]}}}} at another node, start it, and add it again with {{\"brokers\":{{\"add\":[{node}]}}}}"
    )
}

#[cfg(test)]
mod majority_tests;
#[cfg(test)]
mod tests;
