//! The cluster's state as this node sees it, and how this node joins the cluster.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use skep_cluster::{Layout, NodeState, State, member, node_of};
use skep_replication::{Members, Message as ReplicaMessage};

use super::Cluster;
use super::bootstrap::Majority;
use super::carried_over::{carried_over, forget_former, gets_another_number};
use super::metadata_group::{self, MetadataEvent, MetadataGroup};
use super::unsafe_recovery::{FIRST, first_state};
use super::wire::LogsOf;
use crate::config::BrokerConfig;
use crate::directory::{Claimed, write_durably};
use crate::ending::LIMIT;
use crate::metrics::changes::ChangeFamilies;
use crate::replica_file::ReplicaOf;
use crate::started;

pub(super) const DIRECTORY: &str = "cluster-state";
/// How long to wait silently before logging what is awaited.
const REMIND: Duration = Duration::from_secs(10);

/// This node's part in the metadata group.
pub(super) struct Metadata {
    own: Mutex<Option<Arc<MetadataGroup>>>,
    /// Held while the files of a member are opened, which takes as long as the disk takes: the transport's thread asks for `own` meanwhile.
    starts: Mutex<()>,
    /// Why this node cannot take part.
    failed: Mutex<Option<String>>,
    /// Whether a thread is making this node a member.
    joins: AtomicBool,
    changes: ChangeFamilies,
}

impl Metadata {
    pub(super) fn new(changes: ChangeFamilies) -> Metadata {
        Metadata {
            own: Mutex::default(),
            starts: Mutex::default(),
            failed: Mutex::default(),
            joins: AtomicBool::default(),
            changes,
        }
    }
}

/// Ends when the node is a member, or cannot be made one.
struct Joins<'a>(&'a AtomicBool);

impl Drop for Joins<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Sets the cluster's initial state, by writing it to the directory of the metadata group before that starts.
///
/// # Errors
/// The disk refuses it.
pub(crate) fn write_first(directory: &Path, first: &State) -> std::io::Result<()> {
    write_durably(&directory.join(FIRST), &first.encode())
}

/// Nodes that have data and must not come back without it.
fn settled(state: &State) -> BTreeSet<u32> {
    let nodes = state.nodes.iter();
    let settled =
        nodes.filter(|(id, node)| node.state != NodeState::Joining || state.awaited.contains(id));
    settled.map(|(node, _)| *node).collect()
}

/// The nodes that have data, as far as known before any node was heard, and those that may be of an earlier epoch. `None`: as configured.
pub(crate) fn known_nodes(
    config: &BrokerConfig,
    alone: bool,
) -> Option<(BTreeSet<u32>, BTreeSet<u32>)> {
    if config.is_gateway() {
        return None;
    }
    let directory = config.directory.join(DIRECTORY);
    match metadata_group::stored_state(&directory) {
        Some(state) => Some((settled(&state), state.awaited)),
        None => alone.then(|| ([config.node_id].into(), BTreeSet::new())),
    }
}

impl Cluster {
    /// The newest state known here.
    pub fn state(&self) -> Arc<State> {
        self.local.state()
    }

    /// The number of nodes in the cluster.
    pub fn size(&self) -> u32 {
        match self.state().nodes.len() {
            0 => self.config.layout().size,
            nodes => u32::try_from(nodes).unwrap_or(u32::MAX),
        }
    }

    /// The nodes of the cluster, and this one.
    pub(super) fn nodes(&self) -> BTreeSet<u32> {
        let mut nodes: BTreeSet<u32> = self.state().nodes.keys().copied().collect();
        nodes.insert(self.node());
        nodes
    }

    /// Whether there is such a partition.
    pub fn has_partition(&self, partition: u32) -> bool {
        self.state().has_partition(partition)
    }

    /// The nodes with a copy of the partition, the best leader first, as members of its group.
    pub fn replicas(&self, partition: u32) -> Vec<(u32, u64)> {
        self.state().replicas(partition)
    }

    /// Takes in an agreed state. One older than the known state is ignored.
    pub(super) fn state_is(&self, state: &State) {
        let Some(known) = self.local.known.take_in(state) else {
            return;
        };
        self.metadata.changes.count(&known, state, self.node());
        let is_purged = state.incarnation > known.incarnation;
        let was_here = known.nodes.contains_key(&self.node());
        let is_here = state.nodes.contains_key(&self.node());
        if was_here && !is_here {
            tracing::warn!("this node is no longer part of the cluster: it can be stopped");
        }
        self.peers.members.logs_are(LogsOf::state(state));
        if is_purged {
            self.forget_progress();
        }
        // A partition that continues from an older copy has a new log from there on, in which old positions mean nothing.
        for (partition, least) in &state.least_keys {
            if known.least_keys.get(partition) != Some(least) {
                self.forget_progress_of(*partition);
            }
        }
        if state.routing_version != known.routing_version {
            self.local.routing_is(&self.local.known.routing());
        }
        self.bootstrap
            .nodes_are(settled(state), state.awaited.clone());
        self.look_after_replicas();
        self.hurry_change();
        self.send_state_to_gateways(state);
    }

    pub(super) fn metadata_directory(&self) -> PathBuf {
        self.config.directory.join(DIRECTORY)
    }

    /// The member that leads the metadata group, and this node's own member.
    pub(super) fn metadata_leader(&self) -> Option<(u64, u64)> {
        let own = self.metadata.own.lock();
        let own = own.as_ref()?;
        let leader = own.leader()?;
        debug_assert!(leader != own.own || own.leads());
        Some((leader, own.own))
    }

    /// Why this node takes no part in changes of the cluster, while it does not.
    pub(crate) fn metadata_trouble(&self) -> Option<String> {
        let own = self.metadata.own.lock();
        let own = own.as_ref()?;
        own.trouble()
    }

    /// Whether this node belongs to a majority of the cluster, or may.
    pub(super) fn majority(&self) -> Majority {
        if self.metadata_leader().is_some() {
            return Majority::Leads;
        }
        let is_deaf = {
            let own = self.metadata.own.lock();
            own.as_ref().is_some_and(|own| own.is_deaf())
        };
        let reaches_most = self.present_nodes() as usize * 2 > self.state().nodes.len();
        if is_deaf || reaches_most && self.state().is_bootstrapped() {
            Majority::MayBe
        } else {
            Majority::Unknown
        }
    }

    /// The node that leads the metadata group, as far as known here, and whether the local member hibernates.
    pub fn led_by(&self) -> Option<(u32, bool)> {
        let own = self.metadata.own.lock();
        let own = own.as_ref()?;
        Some((node_of(own.leader()?)?, own.hibernates()))
    }

    pub(super) fn notify_metadata_group(&self, event: MetadataEvent) {
        let own = self.metadata.own.lock().clone();
        if let Some(own) = own {
            own.notify(event);
        }
    }

    pub(super) fn metadata_group_message(&self, message: ReplicaMessage) {
        self.notify_metadata_group(MetadataEvent::Message(Box::new(message)));
    }

    /// Ends this node's member of the metadata group. False: its thread still runs at the deadline and may write to its files. Until it has
    /// ended it stays the member of this node, so that nobody else takes these files for free.
    pub(super) fn stop_metadata_group(&self, deadline: Instant) -> bool {
        // One that is starting is there soon.
        let Some(starts) = self.metadata.starts.try_lock_until(deadline) else {
            return false;
        };
        let own = self.metadata.own.lock().clone();
        drop(starts);
        let Some(own) = own else {
            return true;
        };
        let has_ended = own.stop_until(deadline);
        if has_ended {
            let mut known = self.metadata.own.lock();
            known.take_if(|known| Arc::ptr_eq(known, &own));
        }
        has_ended
    }

    /// Begins or continues to hold the state, once the node belongs to a cluster. Blocks until the state is known.
    ///
    /// # Errors
    /// Files cannot be read or written.
    pub(crate) fn take_part(self: &Arc<Self>, claimed: &Claimed) -> Result<(), String> {
        if self.is_gateway() {
            return self.wait_for_state();
        }
        self.finish_unsafe_recovery()?;
        if claimed.alone {
            gets_another_number(&self.config)?;
        }
        let there = ReplicaOf::read(&self.metadata_directory()).map_err(|e| e.to_string())?;
        let initial_member = member(self.node(), 0);
        match there {
            Some(replica) if replica.own != initial_member => {
                let first = first_state(&self.metadata_directory())?;
                self.start_metadata_group(replica, first)?;
            }
            // Also if the group was started before: all nodes may have stopped before they agreed on the initial state.
            _ if self.metadata.own.lock().is_none() => {
                let nodes = self.initial_nodes(there.as_ref(), claimed.alone);
                let voters = nodes.iter().map(|node| member(*node, 0)).collect();
                let first = match first_state(&self.metadata_directory())? {
                    // The cluster is restored from a backup.
                    Some(first) => first,
                    None => self.layout_of(nodes, claimed.partitions)?,
                };
                let replica = there.unwrap_or_else(|| ReplicaOf::bootstrap(initial_member, voters));
                self.start_metadata_group(replica, Some(first))?;
            }
            _ => {}
        }
        self.wait_for_state()?;
        forget_former(&self.config).map_err(|error| error.to_string())
    }

    /// The nodes with which the cluster begins: if this node has begun already, the ones it began with. A node that was alone is the first
    /// of its cluster.
    fn initial_nodes(&self, begun: Option<&ReplicaOf>, alone: bool) -> Vec<u32> {
        match begun {
            Some(begun) => {
                let voters = begun.members.voters.iter().copied();
                voters.filter_map(node_of).collect()
            }
            None if alone => vec![self.node()],
            None => (0..self.config.layout().size).collect(),
        }
    }

    /// The cluster's initial state.
    fn layout_of(&self, nodes: Vec<u32>, partitions: u32) -> Result<State, String> {
        let most = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let layout = Layout {
            copies: self.config.layout().replication_factor.min(most),
            nodes,
            partitions,
        };
        let id = self.bootstrap.identity().cluster_id;
        let first = State::bootstrapped(id, &layout, super::changes::now());
        carried_over(&self.config, first)
    }

    pub(super) fn start_metadata_group(
        self: &Arc<Self>,
        replica: ReplicaOf,
        first: Option<State>,
    ) -> Result<(), String> {
        let _starts = self.metadata.starts.lock();
        // Who stops the node has waited for the start before this one only.
        if self.is_stopped() {
            return Err("the node stops".to_string());
        }
        let known = self.metadata.own.lock().as_ref().map(|known| known.own);
        if known == Some(replica.own) {
            return Ok(());
        }
        let group =
            metadata_group::start(self, replica, first).map_err(|error| error.to_string())?;
        *self.metadata.own.lock() = Some(Arc::new(group));
        Ok(())
    }

    fn wait_for_state(&self) -> Result<(), String> {
        while !self.local.known.wait(REMIND) {
            if let Some(reason) = self.metadata.failed.lock().clone() {
                return Err(reason);
            }
            if self.is_stopped() {
                return Err("the node stops".to_string());
            }
            tracing::info!(
                "waiting for a majority of nodes to agree on the initial state of the cluster"
            );
        }
        Ok(())
    }

    /// Whether the metadata group has a leader that is not on that node, as far as this node's member hears. What that node says of the
    /// cluster does not count then.
    pub(super) fn hears_another_leader(&self, than: u32) -> bool {
        let leader = self.metadata_leader();
        leader.is_some_and(|(leader, _)| node_of(leader) != Some(than))
    }

    /// Whether that node can make this one this member of the metadata group.
    pub(super) fn can_be_admitted(&self, from: u32, own: u64, state: &State) -> bool {
        let known = self.metadata.own.lock().as_ref().map(|known| known.own);
        // A leader repeats what this node has heard already.
        if known >= Some(own) || state.member(self.node()) != Some(own) {
            return false;
        }
        let is_foreign = self.hears_another_leader(from);
        if is_foreign {
            self.disbelieves(from);
        }
        !is_foreign
    }

    /// The leader of the metadata group says that this node is now part of the cluster.
    pub(super) fn admitted(
        self: &Arc<Self>,
        from: u32,
        own: u64,
        members: Vec<u8>,
        state: Vec<u8>,
    ) {
        let (Ok(members), Ok(state)) = (Members::decode(members.into()), State::decode(&state))
        else {
            return;
        };
        if !self.can_be_admitted(from, own, &state) {
            return;
        }
        // The leader repeats it, and files are written, which takes a moment, or longer on a disk that does not answer.
        if self.metadata.joins.swap(true, Ordering::AcqRel) {
            return;
        }
        let cluster = self.clone();
        let thread = std::thread::Builder::new().name("joins".to_string());
        let begun = thread.spawn(move || {
            let _joins = Joins(&cluster.metadata.joins);
            if let Err(reason) = cluster.be_admitted(ReplicaOf { own, members }, &state) {
                tracing::error!(code = "CLUSTER_STATE", %reason, "this node cannot join the cluster");
            }
        });
        if let Err(error) = begun {
            drop(Joins(&self.metadata.joins));
            tracing::error!(code = "CLUSTER_STATE", %error, "the thread in which this node joins the cluster cannot start");
        }
    }

    fn be_admitted(self: &Arc<Self>, replica: ReplicaOf, state: &State) -> Result<(), String> {
        let known = self.metadata.own.lock().as_ref().map(|known| known.own);
        if known >= Some(replica.own) {
            return Ok(());
        }
        // A survivor of the former cluster: before its files change, so that after a crash it comes back as a node of the new epoch.
        if self.bootstrap.identity().formed {
            self.bootstrap.admitted(&state.cluster_id, state.epoch)?;
        }
        // An earlier member of this node was removed: nobody relies on it any more.
        if !self.stop_metadata_group(Instant::now() + LIMIT) {
            return Err("its former member does not end".to_string());
        }
        let directory = self.metadata_directory();
        let there = ReplicaOf::read(&directory).map_err(|error| error.to_string())?;
        if directory.exists() && there.is_none_or(|there| there.own != replica.own) {
            started::give_up(&self.config.directory, DIRECTORY, &directory)
                .map_err(|error| error.to_string())?;
        }
        tracing::info!(cluster_id = state.cluster_id, "this node joins the cluster");
        self.start_metadata_group(replica, None)?;
        self.state_is(state);
        self.bootstrap.admitted(&state.cluster_id, state.epoch)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::MetadataGroup;
    use crate::ending::LIMIT;
    use crate::hosting::alone_tests;
    use crate::replica_file::ReplicaOf;

    /// The node leaves the cluster, and is admitted again or stops.
    #[test]
    fn a_member_that_hangs_is_there_for_all_who_wait_for_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let broker = alone_tests::open(directory.path(), 1).unwrap();
        let cluster = &broker.shared().cluster;
        assert!(cluster.stop_metadata_group(Instant::now() + LIMIT));
        let (release, hangs) = crossbeam_channel::bounded::<()>(0);
        let thread = std::thread::spawn(move || {
            let _ = hangs.recv();
        });
        let own = Arc::new(MetadataGroup::with_thread(1, thread));
        *cluster.metadata.own.lock() = Some(own.clone());
        std::thread::scope(|scope| {
            let late = Instant::now() + Duration::from_secs(600);
            let first = scope.spawn(move || cluster.stop_metadata_group(late));
            while !own.is_ending() {
                std::thread::yield_now();
            }
            assert!(!cluster.stop_metadata_group(Instant::now()));
            drop(release);
            // Whether it was in time for that, or had waited in vain.
            first.join().unwrap();
        });
        while !cluster.stop_metadata_group(Instant::now()) {
            std::thread::yield_now();
        }
        assert!(cluster.metadata.own.lock().is_none());
        assert!(broker.stop());
    }

    /// A disk that does not answer a read: here a pipe in place of the file.
    #[test]
    fn nobody_waits_for_files_that_are_being_opened_who_asks_for_the_leader() {
        let directory = tempfile::tempdir().unwrap();
        let broker = alone_tests::open(directory.path(), 1).unwrap();
        let cluster = &broker.shared().cluster;
        assert!(cluster.stop_metadata_group(Instant::now() + LIMIT));
        let files = cluster.metadata_directory();
        let (replica, file) = (ReplicaOf::read(&files).unwrap(), files.join("state"));
        let content = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        mknodat(CWD, &file, FileType::Fifo, Mode::from(0o600), 0).unwrap();
        std::thread::scope(|scope| {
            let start = scope.spawn(|| cluster.start_metadata_group(replica.unwrap(), None));
            while !cluster.metadata.starts.is_locked() {
                std::thread::yield_now();
            }
            let (answer, asked) = crossbeam_channel::bounded(1);
            scope.spawn(move || answer.send(cluster.metadata_leader()));
            let asked = asked.recv_timeout(Duration::from_secs(60));
            let has_ended = asked.is_ok() && cluster.stop_metadata_group(Instant::now());
            // The read ends, whatever was found.
            std::fs::write(&file, content).unwrap();
            start.join().unwrap().unwrap();
            assert_eq!(asked, Ok(None), "it waits for the disk");
            assert!(!has_ended, "its files are in use");
        });
        assert!(cluster.stop_metadata_group(Instant::now() + LIMIT));
        assert!(broker.stop());
    }
}
