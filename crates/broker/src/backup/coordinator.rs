//! Takes a backup on the node that leads the metadata group, on a thread of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use skep_backup::{
    BackupError, BackupKind, Begun, DocumentsManifest, Manifest, PartitionManifest, Progress,
    Store, Writer, newest, own,
};
use skep_cluster::{Refusal, State};

use super::cut::{KeepAlive, Leaders};
use super::documents::{Limits, NotWritten};
use super::grown::{Replicas, expect_grown};
use super::lineage::Lineage;
use super::{Step, StepFailed, Stepped, documents};
use crate::cluster::{Cluster, now};

/// Interval between two polls of the nodes.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum interval between two polls, and between two looks for objects that are not visible yet.
const RARE_LOOK: Duration = Duration::from_secs(5);
/// How often progress is written to the store.
const PROGRESS: Duration = Duration::from_secs(10);
/// A node that does not answer for this long has failed.
const SILENT: Duration = Duration::from_secs(30);
/// How long objects of other nodes may take to be visible here.
const SEEN: Duration = Duration::from_secs(30);
/// Attempts to pause all partitions at the same time.
const CUTS: u32 = 20;

/// Allows one backup at a time.
#[derive(Default)]
pub struct Coordinating(Mutex<Phase>);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Takes,
    /// The store already says whether the backup is complete: whoever sees that may begin the next one, which waits until this one is
    /// cleaned up.
    Ends,
}

/// Held while a backup is being taken.
struct Turn(Arc<Cluster>);

impl Turn {
    fn take(cluster: &Arc<Cluster>) -> Option<Turn> {
        let began = Instant::now();
        loop {
            let mut phase = cluster.coordinating().0.lock();
            match *phase {
                Phase::Idle => {
                    *phase = Phase::Takes;
                    return Some(Turn(cluster.clone()));
                }
                Phase::Takes => return None,
                Phase::Ends if began.elapsed() > SILENT => return None,
                Phase::Ends => {}
            }
            drop(phase);
            std::thread::sleep(LOOK);
        }
    }

    fn ends(&self) {
        *self.0.coordinating().0.lock() = Phase::Ends;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.coordinating().0.lock() = Phase::Idle;
    }
}

/// An id derived from the current time, above the newest one.
pub fn next_id(newest: Option<u64>, offset: u64) -> u64 {
    let time = u64::try_from(now()).unwrap_or_default();
    time.saturating_add(offset)
        .max(newest.map_or(0, |newest| newest.saturating_add(1)))
}

/// Begins a backup, which continues in the background. Blocks until its id is reserved. Without an id, one is derived from the time.
///
/// # Errors
/// The backup is not possible, and nothing was done.
pub fn begin(cluster: &Arc<Cluster>, id: Option<u64>, kind: BackupKind) -> Result<u64, Refusal> {
    let Some(config) = cluster.parts().config() else {
        return Err(Refusal::Invalid(no_store()));
    };
    let state = cluster.state();
    if state.purge.is_some() {
        let text = "the cluster is being purged: a backup of partly purged data would be of no use";
        return Err(Refusal::Busy(text.to_string()));
    }
    if state.is_scaling_up() {
        let text = "partitions are being added: take the backup when they take part, or request them again if the change was cancelled \
                    (GET /actuator/cluster)";
        return Err(Refusal::Busy(text.to_string()));
    }
    let Some(turn) = Turn::take(cluster) else {
        let text =
            "another backup is being taken at the moment; look at GET /actuator/backupRuntime";
        return Err(Refusal::Busy(text.to_string()));
    };
    let unreachable = |error: &dyn std::fmt::Display| Refusal::Unreachable(error.to_string());
    let store = Store::open(&config.location).map_err(|error| unreachable(&error))?;
    claim(cluster, &store, &state).map_err(refused)?;
    let last = newest(&store).map_err(|error| unreachable(&error))?;
    let id = id.unwrap_or_else(|| next_id(last, config.schedule.offset));
    if let Some(last) = last.filter(|last| id <= *last) {
        return Err(Refusal::Busy(format!(
            "the id {id} is not above {last}, the id of the newest backup: ids must increase"
        )));
    }
    expect_grown(cluster, &store, Replicas::Leading).map_err(refused)?;
    let begun = Begun {
        backup_id: id,
        cluster_id: state.cluster_id.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        began_at: now(),
        broker_id: cluster.node(),
        partitions: state.partitions,
    };
    match begun.create(&store) {
        Ok(()) => {}
        Err(skep_backup::ObjectError::Exists { .. }) => {
            return Err(Refusal::Busy(format!("the id {id} is taken")));
        }
        Err(error) => return Err(unreachable(&error)),
    }
    let coordinator = Coordinator {
        leaders: Leaders {
            cluster: cluster.clone(),
            store,
        },
        begun,
        kind,
        said: Instant::now(),
        turn,
    };
    let thread = std::thread::Builder::new().name("backup".to_string());
    let spawned = thread.spawn(move || coordinator.run(&state));
    spawned.map_err(|error| unreachable(&error))?;
    Ok(id)
}

/// Checks that the store is this cluster's, or makes it that.
pub(super) fn claim(cluster: &Cluster, store: &Store, state: &State) -> Result<(), BackupError> {
    let parts = cluster.parts();
    parts.expect_mounted(store)?;
    let by = Writer {
        cluster_id: &state.cluster_id,
        epoch: state.epoch,
    };
    own(store, by, now())?;
    // From now on it is known where it is.
    parts.expect_mounted(store)
}

fn refused(error: BackupError) -> Refusal {
    match error {
        BackupError::OtherCluster { .. } | BackupError::OtherRestore { .. } => {
            Refusal::Invalid(error.to_string())
        }
        error => Refusal::Unreachable(error.to_string()),
    }
}

/// The error message of a cluster without a backup store.
pub fn no_store() -> String {
    "no store for backups is configured: set camunda.data.primary-storage.backup.store to FILESYSTEM, S3, GCS or AZURE".to_string()
}

struct Coordinator {
    leaders: Leaders,
    begun: Begun,
    kind: BackupKind,
    /// When progress was last written.
    said: Instant,
    turn: Turn,
}

impl Coordinator {
    fn run(mut self, state: &State) {
        let (id, began) = (self.begun.backup_id, Instant::now());
        tracing::info!(
            backup = id,
            to = self.leaders.store.shown(),
            "a backup begins"
        );
        match self.take(state) {
            Ok(()) => {
                tracing::info!(backup = id, took = ?began.elapsed(), "the backup is complete");
            }
            Err(reason) => {
                tracing::error!(code = "BACKUP_FAILED", backup = id, %reason, "the backup has failed");
                self.turn.ends();
                if let Err(error) = self.begun.fail(&self.leaders.store, &reason, now()) {
                    tracing::error!(
                        code = "BACKUP_FAILED",
                        backup = id,
                        %error,
                        "the failure of the backup cannot be written to the store"
                    );
                }
            }
        }
        let all: Vec<u32> = self.leaders.cluster.state().nodes.keys().copied().collect();
        for node in all {
            // A node that misses this message forgets the backup by itself.
            let _ = self.leaders.step(node, Step::Forget { backup: id });
        }
    }

    fn take(&mut self, state: &State) -> Result<(), String> {
        let backup = self.begun.backup_id;
        self.says("bases are written to the store")?;
        let mut nodes = BTreeMap::new();
        let alive = KeepAlive::begin(&self.leaders, backup).map_err(|error| error.to_string())?;
        for partition in 1..=state.partitions {
            let node = self.leaders.leader_of(partition)?;
            nodes.insert(partition, node);
            self.insist(node, &Step::Begin { backup, partition })?;
            // The next ones may take minutes, and a part that nobody asks about is forgotten.
            alive.add(partition, node);
        }
        let mut has_base = |stepped: &Stepped| matches!(stepped, Stepped::HasBase).then_some(());
        self.wait_for_all(&nodes, &mut has_base)?;
        self.says("all partitions are paused for a moment")?;
        let (cuts, cut_at) = self.leaders.cut(state.partitions, CUTS)?;
        tracing::info!(backup, "all partitions were paused");
        self.says("logs are written to the store")?;
        for (partition, cut) in cuts {
            let node = nodes.get(&partition).copied().unwrap_or_default();
            let step = Step::Ship {
                backup,
                partition,
                cut,
            };
            self.insist(node, &step)?;
        }
        let mut complete = |stepped: &Stepped| {
            let Stepped::Complete(manifest) = stepped else {
                return None;
            };
            Some(PartitionManifest::clone(manifest))
        };
        let partitions = self.wait_for_all(&nodes, &mut complete)?;
        let documents = self.documents();
        let documents = documents.map_err(|error| error.to_string())?;
        let now_is = self.leaders.cluster.state();
        if Lineage::of(&now_is) != Lineage::of(state) {
            let reason = "the cluster was purged, recovered without some copies, or changed its partitions meanwhile";
            return Err(reason.to_string());
        }
        let manifest = Manifest {
            format: Manifest::format_of(backup, &documents),
            backup_id: backup,
            version: self.begun.version.clone(),
            kind: self.kind,
            began_at: self.begun.began_at,
            cut_at,
            completed_at: now(),
            cluster: state.clone(),
            partitions,
            documents,
        };
        let stored = self.expect_objects(&manifest);
        stored.map_err(|error| error.to_string())?;
        self.turn.ends();
        let completed = self.begun.complete(&self.leaders.store, &manifest);
        completed.map_err(|error| error.to_string())
    }

    /// Writes the documents that this node has for all nodes.
    fn documents(&mut self) -> Result<Vec<DocumentsManifest>, NotWritten> {
        let begun = self.begun.clone();
        let config = self.leaders.cluster.parts().config().cloned();
        let (store, cluster) = (self.leaders.store.clone(), self.leaders.cluster.clone());
        let mut written = Vec::new();
        for local in config.iter().flat_map(|config| &config.documents) {
            let rate = config.as_ref().map_or(1, |config| config.rate);
            let what = format!("documents of the store '{}' are written", local.store);
            self.says(&what).map_err(NotWritten::GivenUp)?;
            let keeps_on = &mut || {
                if cluster.is_stopped() {
                    let reason = "the node that takes it is stopping";
                    return Err(NotWritten::GivenUp(reason.to_string()));
                }
                if self.said.elapsed() < PROGRESS {
                    return Ok(());
                }
                self.says(&what).map_err(NotWritten::GivenUp)
            };
            let limits = Limits::at(rate);
            let documents = documents::upload(local, (&store, &begun), limits, keeps_on)?;
            if documents.objects.is_none() {
                tracing::warn!(
                    backup = begun.backup_id,
                    store = %local.store,
                    "the backup lacks the documents of a local store: each node has its own. Copy their directories, or use a bucket"
                );
            }
            if let Some(missing) = documents.missing() {
                tracing::warn!(backup = begun.backup_id, "{missing}");
            }
            written.push(documents);
        }
        Ok(written)
    }

    /// What nodes have written must be here too: each may have mounted something else. Mounted directories may show it later.
    fn expect_objects(&self, manifest: &Manifest) -> Result<(), BackupError> {
        let (began, mut pause) = (Instant::now(), LOOK);
        loop {
            let found = self.begun.expect_objects(&self.leaders.store, manifest);
            match found {
                Ok(()) => return Ok(()),
                Err(error) if began.elapsed() > SEEN || self.leaders.cluster.is_stopped() => {
                    return Err(error);
                }
                // All documents are listed, which are a thousand requests for a million objects.
                Err(_) => std::thread::sleep(pause),
            }
            pause = (2 * pause).min(RARE_LOOK);
        }
    }

    fn says(&mut self, text: &str) -> Result<(), String> {
        self.said = Instant::now();
        let progress = Progress {
            at: now(),
            text: text.to_string(),
        };
        let said = self.begun.progress(&self.leaders.store, &progress);
        said.map_err(|error| BackupError::from(error).to_string())
    }

    /// Repeats the request until there is an answer.
    fn insist(&self, node: u32, step: &Step) -> Result<(), String> {
        let began = Instant::now();
        loop {
            match self.leaders.step(node, step.clone()) {
                Ok(_) => return Ok(()),
                Err(failed) if failed.again && began.elapsed() < SILENT => {
                    std::thread::sleep(LOOK);
                }
                Err(failed) => return Err(format!("node {node}: {}", failed.reason)),
            }
        }
    }

    /// Polls until the parts of all partitions are as wanted. Results are in partition order.
    fn wait_for_all<T>(
        &mut self,
        nodes: &BTreeMap<u32, u32>,
        is_done: &mut dyn FnMut(&Stepped) -> Option<T>,
    ) -> Result<Vec<T>, String> {
        let backup = self.begun.backup_id;
        let mut done = BTreeMap::new();
        let mut last_contact: BTreeMap<u32, Instant> = BTreeMap::new();
        loop {
            let (mut doing, asks) = (Vec::new(), Instant::now());
            let looks = self.leaders.looks(backup, nodes);
            let pause = pause_after(asks.elapsed());
            for (partition, stepped) in looks {
                let node = nodes.get(&partition).copied().unwrap_or_default();
                let last = last_contact.entry(node).or_insert_with(Instant::now);
                let stepped = match stepped {
                    Ok(stepped) => stepped,
                    Err(failed) if failed.again && last.elapsed() < SILENT => continue,
                    Err(StepFailed { reason, .. }) => {
                        return Err(format!("partition {partition} on node {node}: {reason}"));
                    }
                };
                if let Stepped::Working(what) = &stepped {
                    doing.push(format!("partition {partition}: {what}"));
                }
                *last = Instant::now();
                if let Some(result) = is_done(&stepped) {
                    done.insert(partition, result);
                }
            }
            if done.len() == nodes.len() {
                return Ok(done.into_values().collect());
            }
            if self.leaders.cluster.is_stopped() {
                return Err("the node that takes it is stopping".to_string());
            }
            if self.said.elapsed() >= PROGRESS {
                self.says(&doing.join("; "))?;
            }
            std::thread::sleep(pause);
        }
    }
}

/// The interval after a poll that took so long: with hundreds of partitions, nodes answer polls in a third of the time at most.
fn pause_after(took: Duration) -> Duration {
    (2 * took).clamp(LOOK, RARE_LOOK)
}

#[cfg(test)]
mod tests {
    use super::{LOOK, RARE_LOOK, pause_after};

    #[test]
    fn polls_of_many_partitions_take_a_third_of_the_time_at_most() {
        assert_eq!(pause_after(LOOK / 100), LOOK);
        assert_eq!(pause_after(3 * LOOK), 6 * LOOK);
        assert_eq!(pause_after(100 * LOOK), RARE_LOOK);
    }
}
