//! Starts and stops replicas of partitions on this node: at startup, and later as the cluster's state requires.

#[cfg(test)]
pub(crate) mod alone_tests;
mod given_up;
#[cfg(test)]
mod hanging_tests;
#[cfg(test)]
mod joining_tests;
pub(crate) mod purging;
pub(crate) mod scaling;
pub(crate) mod unsafe_recovery;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use skep_cluster::{Entry, ReplicaState, State, member};
use skep_replication::Members;
use skep_storage::disk::create_dir_durably;

use self::given_up::GivenUp;
use crate::clock::Clock;
use crate::cluster::HostingEvent;
use crate::config::BrokerConfig;
use crate::metrics::{BrokerMetrics, PartitionMetrics, WorkCounter};
use crate::partition::{Notice, OpenError, PartitionHandle, ReplicaMetrics, thread};
use crate::replica_file::ReplicaOf;
use crate::shared::Shared;
use crate::started;

/// How often the local replicas are compared with the state.
const LOOK: Duration = Duration::from_millis(500);
/// The same while a step is in progress.
const SOON: Duration = Duration::from_millis(20);
/// Directories of replicas that were given up, for a day. Those of a removed node stay until it is a member again.
const GIVEN_UP: &str = "given-up";
/// Directories of replicas that were given up because the partition continues from another one, until this node has a copy again.
const BEFORE: &str = "before";

/// Progress of the steps that this node carries out by itself.
pub(crate) struct Steps {
    /// Pause until the next check.
    pub(crate) pause: Duration,
    /// Why the last step was not carried out.
    failed: Option<String>,
    given_up: GivenUp,
}

impl Default for Steps {
    fn default() -> Steps {
        Steps {
            pause: LOOK,
            failed: None,
            given_up: GivenUp::default(),
        }
    }
}

/// Everything that replicas are created from.
pub(crate) struct Hosting {
    pub(crate) config: BrokerConfig,
    pub(crate) clock: Arc<Clock>,
    pub(crate) metrics: BrokerMetrics,
    pub(crate) shared: Weak<Shared>,
}

impl Hosting {
    /// The directory that contains all copies.
    pub(crate) fn partitions(&self) -> PathBuf {
        self.config.directory.join("partitions")
    }

    pub(crate) fn directory(&self, partition: u32) -> PathBuf {
        self.partitions().join(partition.to_string())
    }

    /// Starts the replicas that the node has at startup. If one cannot start, it reports the reason and the others still start.
    ///
    /// # Errors
    /// None of several can start, or the only one cannot.
    pub(crate) fn open_all(&self, state: &State) -> Result<(), OpenError> {
        let node = self.config.node_id;
        let (mut failed, mut several) = (None, 0);
        let here = state.nodes.get(&node).map(|node| &node.partitions);
        for (partition, it) in here.into_iter().flatten() {
            several += 1;
            let own = member(node, it.generation);
            let bootstrap = || {
                let initial_nodes = state.replicas(*partition).into_iter();
                ReplicaOf::bootstrap(own, initial_nodes.map(|(_, member)| member).collect())
            };
            let io = |source| OpenError::Io {
                partition: *partition,
                source,
            };
            if self.is_gone(*partition, own).map_err(io)? {
                continue;
            }
            let there = ReplicaOf::read(&self.directory(*partition)).map_err(io)?;
            let replica = match there {
                Some(there) if there.own == own => there,
                Some(there) if it.from == Some(there.own) => {
                    let unsafe_recovery =
                        unsafe_recovery::begin(&self.directory(*partition), own, state, *partition);
                    unsafe_recovery.map_err(io)?
                }
                // The leader says when it is to start. A replica that was started and is gone reports that.
                _ if it.generation > 0 && !self.was_started(*partition, own).map_err(io)? => {
                    continue;
                }
                _ => bootstrap(),
            };
            if let Err(error) = self.open(*partition, &replica) {
                failed.get_or_insert(error);
            }
        }
        match failed {
            Some(error) if several == 1 || self.all_failed() => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether this member, or a later one of this node, has taken part in the partition's group.
    fn was_started(&self, partition: u32, own: u64) -> std::io::Result<bool> {
        started::was_started(&self.config.directory, &partition.to_string(), own)
    }

    fn all_failed(&self) -> bool {
        let shared = self.shared.upgrade();
        shared.is_none_or(|shared| {
            let partitions = shared.local.partitions();
            partitions.iter().all(|p| p.status.failure().is_some())
        })
    }

    pub(crate) fn open(&self, partition: u32, replica: &ReplicaOf) -> Result<(), OpenError> {
        let Some(shared) = self.shared.upgrade() else {
            return Ok(());
        };
        let metrics = Arc::new(self.metrics.partition(partition));
        let started = thread::start(
            &self.config,
            (partition, replica, shared.local.least_key(partition)),
            shared.clone(),
            (shared.routing(), shared.local.oldest_node.clone()),
            self.clock.clone(),
            thread::Counters {
                metrics: metrics.clone(),
                work: WorkCounter::new(&self.metrics.work, partition),
                exporting: self.metrics.exporting.clone(),
                replica: self.replica_metrics(partition, &metrics),
            },
        );
        let (handle, outcome) = match started {
            Ok(handle) => (handle, Ok(())),
            Err(error) => {
                tracing::error!(code = "PARTITION_CANNOT_START", partition, %error, "a partition cannot start");
                let reason = error.to_string();
                let handle = PartitionHandle::failed(
                    &self.config,
                    (partition, replica.own),
                    metrics,
                    reason,
                );
                (handle, Err(error))
            }
        };
        shared.local.streams.attach(&handle);
        for stream in shared.all_streams() {
            handle.inbox.send(Notice::StreamOpened(stream));
        }
        // The cluster may have agreed on another routing in the meantime.
        shared.local.hosted.put(handle.clone());
        handle.inbox.send(Notice::Routing(shared.routing()));
        outcome
    }

    fn replica_metrics(&self, partition: u32, own: &Arc<PartitionMetrics>) -> ReplicaMetrics {
        let heartbeat = self.config.tick() * thread::HEARTBEAT_TICKS;
        let families = self.metrics.replication.clone();
        ReplicaMetrics::new(partition, families, own.clone(), heartbeat)
    }

    /// Runs until every sender is dropped, or the node stops.
    pub(crate) fn run(&self, events: &Receiver<HostingEvent>) {
        let mut steps = Steps {
            given_up: self.find_given_up(),
            ..Steps::default()
        };
        // Changes in the state may not have been carried out yet.
        let mut event = HostingEvent::Look;
        loop {
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            let cluster = &shared.cluster;
            let handled = cluster.step(|| self.handle(event, &shared, &mut steps));
            if handled.is_none() {
                return;
            }
            let looks = cluster.has_others() || cluster.state().running.is_some();
            drop(shared);
            let next = if looks {
                events.recv_timeout(steps.pause)
            } else {
                events.recv().map_err(RecvTimeoutError::from)
            };
            event = match next {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => HostingEvent::Look,
                Err(RecvTimeoutError::Disconnected) => return,
            };
        }
    }

    fn handle(&self, event: HostingEvent, shared: &Arc<Shared>, steps: &mut Steps) {
        let state = shared.cluster.state();
        match event {
            HostingEvent::Join {
                partition,
                member,
                members,
            } => self.join(shared, &state, partition, member, members),
            HostingEvent::Look => {
                self.recover_partitions(shared, &state);
                self.give_up(shared, &state, &mut steps.given_up);
                self.clear_given_up(shared, &state, &mut steps.given_up);
                self.clear_aside(&state);
                if let Some(entry) = self.step(shared, &state, steps) {
                    shared.cluster.propose_metadata(entry);
                }
            }
        }
    }

    /// The report about the next operation of a change, if this node carries it out by itself.
    pub(crate) fn step(
        &self,
        shared: &Arc<Shared>,
        state: &State,
        steps: &mut Steps,
    ) -> Option<Entry> {
        let next = state.next_operation();
        let is_own = next.is_some_and(|(_, next)| self.carries_out(shared, next));
        let failed = std::mem::take(&mut steps.failed);
        match self.carry_out(shared, state) {
            Ok(entry) => {
                steps.pause = if is_own { SOON } else { LOOK };
                entry
            }
            Err(reason) => {
                if failed.as_ref() != Some(&reason) {
                    tracing::error!(
                        code = "CLUSTER_STATE",
                        %reason,
                        "a step of a cluster change failed on this node; it is retried until it succeeds or the change is cancelled"
                    );
                }
                steps.pause = LOOK;
                steps.failed = Some(reason);
                None
            }
        }
    }

    fn join(
        &self,
        shared: &Arc<Shared>,
        state: &State,
        partition: u32,
        own: u64,
        members: Vec<u8>,
    ) {
        // The local state may be older than that of the leader, which will repeat the message.
        let wanted = state.replica_of(self.config.node_id, partition) == Some(own);
        let Ok(members) = Members::decode(members.into()) else {
            return;
        };
        let there = shared.local.partition(partition);
        // A replica that cannot start is no reason not to create another one.
        let replaced =
            |it: &PartitionHandle| it.status.failure().is_some() && it.status.member() < own;
        if !wanted || there.as_ref().is_some_and(|it| !replaced(it)) {
            return;
        }
        // A repeated message that arrives after a purge has removed the copy: nobody opens it again, and its record is still needed.
        match self.is_gone(partition, own) {
            Ok(false) => {}
            Ok(true) => return,
            Err(error) => {
                tracing::error!(code = "CLUSTER_STATE", partition, %error, "the record of purged copies cannot be read");
                return;
            }
        }
        if let Some(failed) = there
            && !stop(shared, &failed)
        {
            return;
        }
        let replica = ReplicaOf { own, members };
        let begun = self.begin(partition, replica);
        let outcome = begun.map_err(|e| e.to_string()).and_then(|replica| {
            tracing::info!(partition, "this node gets a copy of the partition");
            self.open(partition, &replica).map_err(|e| e.to_string())
        });
        if let Err(reason) = outcome {
            tracing::error!(code = "CLUSTER_STATE", partition, %reason, "this node cannot get a copy of the partition");
        }
    }

    /// Prepares the replica's directory and returns the replica as it began. A replica of an earlier member is removed: that was given up.
    pub(crate) fn begin(&self, partition: u32, replica: ReplicaOf) -> std::io::Result<ReplicaOf> {
        let directory = self.directory(partition);
        if let Some(there) = ReplicaOf::read(&directory)?
            && there.own == replica.own
        {
            return Ok(there);
        }
        self.forget(partition)?;
        create_dir_durably(&directory)?;
        replica.write(&directory)?;
        self.forget_gone(partition)?;
        Ok(replica)
    }

    /// Lets replicas of groups that have lost their majority continue alone, as new members.
    fn recover_partitions(&self, shared: &Arc<Shared>, state: &State) {
        let node = self.config.node_id;
        for handle in shared.local.partitions() {
            let (partition, old) = (handle.status.partition, handle.status.member());
            let own = state.replica_of(node, partition);
            let from = state.goes_on_from(node, partition);
            let Some(own) = own.filter(|own| from == Some(old) && *own != old) else {
                continue;
            };
            if !stop(shared, &handle) {
                continue;
            }
            drop(handle);
            let begun = unsafe_recovery::begin(&self.directory(partition), own, state, partition);
            let outcome = begun
                .map_err(|e| e.to_string())
                .and_then(|replica| self.open(partition, &replica).map_err(|e| e.to_string()));
            if let Err(reason) = outcome {
                tracing::error!(
                    code = "CLUSTER_STATE",
                    partition,
                    %reason,
                    "this node's copy, from which the partition is to continue, cannot be opened: fix the cause and start the node again"
                );
            }
        }
    }

    /// Ends replicas that the state no longer has. A replica newer than the state known here stays.
    fn give_up(&self, shared: &Arc<Shared>, state: &State, given_up: &mut GivenUp) {
        let is_member = state.nodes.contains_key(&self.config.node_id);
        for handle in shared.local.partitions() {
            let (partition, own) = (handle.status.partition, handle.status.member());
            if own == 0 || !state.has_given_up(own, partition) {
                continue;
            }
            if !handle.is_ending() {
                tracing::info!(partition, "this node removes its copy of the partition");
            }
            if !stop(shared, &handle) {
                continue;
            }
            let generation = skep_cluster::generation(own);
            let outcome = if state.went_on_since(partition, generation) {
                self.put_aside(partition)
            } else {
                given_up.note(partition, Instant::now());
                self.move_away(partition, is_member).map(drop)
            };
            if let Err(error) = outcome {
                tracing::error!(
                    code = "CLUSTER_STATE",
                    partition,
                    %error,
                    "a copy that left the partition cannot be moved away"
                );
            }
        }
    }

    /// Moves the local copy aside: it may hold data that nobody else has, until this node has a copy again.
    fn put_aside(&self, partition: u32) -> std::io::Result<()> {
        let directory = self.directory(partition);
        let aside = directory.with_extension(BEFORE);
        remove(&aside)?;
        started::forget(&self.config.directory, &partition.to_string())?;
        if !directory.exists() {
            return Ok(());
        }
        std::fs::rename(&directory, &aside)
    }

    /// Removes copies that were put aside, once there is another copy here.
    fn clear_aside(&self, state: &State) {
        let here = state.nodes.get(&self.config.node_id);
        let here = here.into_iter().flat_map(|node| &node.partitions);
        for (partition, replica) in here {
            let aside = self.directory(*partition).with_extension(BEFORE);
            let is_whole = replica.state == ReplicaState::Active && replica.from.is_none();
            if is_whole && state.least_keys.contains_key(partition) && aside.exists() {
                let _ = remove(&aside);
            }
        }
    }

    fn forget(&self, partition: u32) -> std::io::Result<()> {
        remove(&self.move_away(partition, true)?)
    }

    /// Moves the local copy out of the way, in place of an earlier one. Returns where it is.
    ///
    /// A node that is not a member any more knows that from others, and its own files do not say so. Then the record that the copy was started
    /// stays: the node may start with that older state, and must not vote as the member that it was, without its log.
    fn move_away(&self, partition: u32, is_member: bool) -> std::io::Result<PathBuf> {
        let directory = self.directory(partition);
        let gone = directory.with_extension(GIVEN_UP);
        remove(&gone)?;
        if is_member {
            started::forget(&self.config.directory, &partition.to_string())?;
        }
        if directory.exists() {
            std::fs::rename(&directory, &gone)?;
        }
        Ok(gone)
    }

    /// Removes all copies, including those that were put aside.
    pub(crate) fn remove_all(&self, partition: u32) -> std::io::Result<()> {
        self.forget(partition)?;
        remove(&self.directory(partition).with_extension(BEFORE))
    }

    /// Files of copies that were given up before this process began.
    fn find_given_up(&self) -> GivenUp {
        let mut given_up = GivenUp::default();
        let files = std::fs::read_dir(self.partitions()).into_iter().flatten();
        for file in files.flatten() {
            let path = file.path();
            let is_given_up = path.extension().is_some_and(|it| it == GIVEN_UP);
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let partition: Option<u32> = stem.and_then(|stem| stem.parse().ok());
            if let Some(partition) = partition.filter(|_| is_given_up) {
                given_up.note(partition, Instant::now());
            }
        }
        given_up
    }

    /// Removes files of copies that were given up, when it is time to, unless this node was removed.
    fn clear_given_up(&self, shared: &Arc<Shared>, state: &State, given_up: &mut GivenUp) {
        if !state.nodes.contains_key(&self.config.node_id) {
            return;
        }
        let is_low = shared.local.is_disk_low();
        for partition in given_up.due(Instant::now(), is_low, state.incarnation) {
            let gone = self.directory(partition).with_extension(GIVEN_UP);
            if let Err(error) = remove(&gone) {
                tracing::error!(
                    code = "CLUSTER_STATE",
                    partition,
                    %error,
                    "a copy that left the partition cannot be deleted from the disk"
                );
            }
        }
    }
}

/// Ends a copy. False: a thread of it still runs and may write into its directory, so nothing may be done with that; the copy stays in the
/// list, as one that has failed, and this is tried again with the next look or message.
fn stop(shared: &Shared, handle: &Arc<PartitionHandle>) -> bool {
    // No requests arrive from here on.
    shared.local.hosted.remove(handle.status.partition);
    let has_ended = handle.stop();
    if !has_ended {
        shared.local.hosted.put(handle.clone());
    }
    has_ended
}

fn remove(directory: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
