//! The node's own steps of a purge (see [`skep_cluster::Purge`]): it removes its copies with their data, empties the shared
//! stores, and starts partitions again. Each step is repeated after a crash until the state says that it is done.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use skep_cluster::{Entry, KeptExporting, Left, Operation, State, SurvivingCopy};
use skep_protocol::Routing;
use skep_protocol::command::{Command, ExportingChange};
use skep_protocol::value::{ExportingPhase, ExportingValue};
use skep_storage::disk::create_dir_durably;

use crate::directory::write_durably;
use crate::hosting::Hosting;
use crate::partition::{PartitionHandle, Report};
use crate::replica_file::ReplicaOf;
use crate::scaling;
use crate::shared::Shared;

/// How long a partition may take to report what it has.
const PATIENCE: Duration = Duration::from_secs(10);
/// File beside the directory of a purged copy, with what it left behind.
const LEFT: &str = "left";
/// File that names the purge which has emptied the shared stores.
const HISTORY: &str = "history.purged";

/// A copy that was purged. It is never opened again.
#[derive(Serialize, Deserialize)]
struct Gone {
    member: u64,
    left: Left,
}

impl Hosting {
    /// Carries out the next operation, if it is for this node, and returns the report about it. `None`: there is none, or it has not taken
    /// effect.
    ///
    /// # Errors
    /// Why it cannot be done at the moment.
    pub(crate) fn carry_out(
        &self,
        shared: &Arc<Shared>,
        state: &State,
    ) -> Result<Option<Entry>, String> {
        let Some((change, operation)) = state.next_operation() else {
            return Ok(None);
        };
        if !self.carries_out(shared, operation) {
            return Ok(None);
        }
        let (operation, now) = (operation.clone(), crate::cluster::now());
        let has_come_about = match operation {
            Operation::PartitionLeave { partition_id, .. } => {
                let left = self.leave(shared, state, partition_id)?;
                return Ok(Some(Entry::Left {
                    change,
                    operation,
                    left,
                    now,
                }));
            }
            Operation::DeleteHistory { .. } => self.delete_history(state)?,
            Operation::PartitionBootstrap { partition_id, .. } => {
                self.bootstrap(shared, state, partition_id)?
            }
            Operation::StartPartitionScaleUp { .. }
            | Operation::AwaitRedistribution { .. }
            | Operation::AwaitRelocation { .. } => scaling::carry_out(shared, &operation),
            // Leaders of groups carry these out, or there is nothing to do.
            Operation::BrokerAdd { .. }
            | Operation::BrokerRemove { .. }
            | Operation::BrokerForceRemove { .. }
            | Operation::PartitionJoin { .. }
            | Operation::PartitionReconfigurePriority { .. }
            | Operation::UpdateRoutingState { .. }
            | Operation::PartitionForceReconfigure { .. }
            | Operation::UpdateIncarnationNumber => false,
        };
        Ok(has_come_about.then_some(Entry::Done {
            change,
            operation,
            now,
        }))
    }

    /// Whether this node carries the operation out by itself.
    pub(crate) fn carries_out(&self, shared: &Shared, operation: &Operation) -> bool {
        let leads_first = || shared.local.leads(Routing::FIRST);
        operation.node() == Some(self.config.node_id)
            || operation.is_of_first_partition() && leads_first()
    }

    /// Ends this node's copy and removes its files.
    fn leave(&self, shared: &Arc<Shared>, state: &State, partition: u32) -> Result<Left, String> {
        let Some(own) = state.replica_of(self.config.node_id, partition) else {
            return Ok(Left::default());
        };
        let io = |error: std::io::Error| format!("partition {partition}: {error}");
        let gone = self.gone(partition).map_err(io)?;
        let gone = gone.filter(|gone| gone.member == own);
        let left = match (shared.local.partition(partition), gone) {
            // It was recorded and told to end before, and can report nothing any more.
            (Some(handle), Some(gone)) if handle.is_ending() => {
                if !abandon(shared, &handle) {
                    return Err(hangs(&handle));
                }
                gone.left
            }
            // A record of a copy that still runs may be outdated: the attempt that wrote it failed.
            (Some(handle), _) => self.end(shared, own, &handle)?,
            (None, Some(gone)) => gone.left,
            (None, None) if self.has_files(state, partition, own).map_err(io)? => {
                return Err(format!(
                    "the copy of partition {partition} on this node is not open and cannot report the keys that it has assigned, which \
                     must not be assigned again: start the node again"
                ));
            }
            (None, None) => self.record(partition, own, Left::default()).map_err(io)?,
        };
        self.remove_all(partition).map_err(io)?;
        Ok(left)
    }

    /// Whether the directory of the partition is that of this member, or of the one whose copy it is to continue.
    fn has_files(&self, state: &State, partition: u32, own: u64) -> std::io::Result<bool> {
        let directory = self.directory(partition);
        let from = state.goes_on_from(self.config.node_id, partition);
        Ok(match ReplicaOf::read(&directory)? {
            Some(there) => there.own == own || from == Some(there.own),
            // A node that is alone does not write which member it is.
            None => self.config.cluster.is_none() && directory.exists(),
        })
    }

    /// Ends the copy. Returns what it leaves behind, which is recorded before, because nobody can report it afterwards.
    fn end(
        &self,
        shared: &Shared,
        own: u64,
        handle: &Arc<PartitionHandle>,
    ) -> Result<Left, String> {
        let partition = handle.status.partition;
        if let Some(reason) = handle.status.failure() {
            return Err(format!(
                "the copy of partition {partition} on this node has stopped and cannot report the keys that it has assigned, which must \
                 not be assigned again: {reason}"
            ));
        }
        // No requests arrive from here on.
        shared.local.hosted.remove(partition);
        let survives = surviving_copy(handle);
        let survives =
            survives.ok_or_else(|| format!("partition {partition} does not report its state"));
        let recorded = survives.and_then(|copy| {
            let left = Left {
                last_key: copy.last_key,
                exporting: Some(kept(&handle.exporters.value())),
            };
            let recorded = self.record(partition, own, left);
            recorded.map_err(|error| format!("partition {partition}: {error}"))
        });
        let left = match recorded {
            Ok(left) => left,
            Err(reason) => {
                // The copy continues: a record, if there is one, would keep it from being opened at the next start.
                let _ = self.forget_gone(partition);
                shared.local.hosted.put(handle.clone());
                return Err(reason);
            }
        };
        if abandon(shared, handle) {
            Ok(left)
        } else {
            Err(hangs(handle))
        }
    }

    /// Records durably what a copy leaves behind. From here on nobody opens it again.
    fn record(&self, partition: u32, own: u64, left: Left) -> std::io::Result<Left> {
        let gone = Gone { member: own, left };
        let bytes = serde_json::to_vec(&gone)?;
        create_dir_durably(&self.partitions())?;
        write_durably(&self.left_file(partition), &bytes)?;
        tracing::info!(partition, "the copy of this node is purged");
        Ok(gone.left)
    }

    fn left_file(&self, partition: u32) -> PathBuf {
        self.directory(partition).with_extension(LEFT)
    }

    fn gone(&self, partition: u32) -> std::io::Result<Option<Gone>> {
        match std::fs::read(self.left_file(partition)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the copy was purged and must not be opened.
    pub(crate) fn is_gone(&self, partition: u32, own: u64) -> std::io::Result<bool> {
        let gone = self.gone(partition)?;
        Ok(gone.is_some_and(|gone| gone.member == own))
    }

    /// Removes the record of a purged copy: it was reported, and there is another copy now.
    pub(crate) fn forget_gone(&self, partition: u32) -> std::io::Result<()> {
        match std::fs::remove_file(self.left_file(partition)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Empties what partitions share beside their copies, once per purge: new rows appear as soon as others know that it is done.
    fn delete_history(&self, state: &State) -> Result<bool, String> {
        let secondary = self.config.secondary_storage.as_ref();
        let Some(secondary) = secondary.filter(|it| it.is_shared()) else {
            return Ok(true);
        };
        let marker = self.partitions().join(HISTORY);
        let running = state.running.as_ref();
        let this = running.map(|running| format!("{} {}", running.id, running.started_at));
        let this = this.unwrap_or_default();
        let text = |error: std::io::Error| error.to_string();
        match std::fs::read_to_string(&marker) {
            Ok(known) if known == this => return Ok(true),
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(text(error)),
            _ => {}
        }
        create_dir_durably(&self.partitions()).map_err(text)?;
        let emptied = secondary.purge(&state.cluster_id, number(state));
        emptied.map_err(|error| error.to_string())?;
        write_durably(&marker, this.as_bytes()).map_err(text)?;
        Ok(true)
    }

    /// Restarts the partition on this node as its only voter. True once it leads and exports as before.
    fn bootstrap(
        &self,
        shared: &Arc<Shared>,
        state: &State,
        partition: u32,
    ) -> Result<bool, String> {
        let Some(own) = state.replica_of(self.config.node_id, partition) else {
            return Ok(false);
        };
        let handle = match shared.local.partition(partition) {
            Some(handle) => handle,
            None => {
                let begun = self.found(partition, own).map_err(|e| e.to_string())?;
                tracing::info!(partition, "the partition starts over on this node");
                self.open(partition, &begun).map_err(|e| e.to_string())?;
                let opened = shared.local.partition(partition);
                opened.ok_or("the node stops")?
            }
        };
        if let Some(reason) = handle.status.failure() {
            return Err(format!("partition {partition} cannot start: {reason}"));
        }
        let purge = state.purge.as_ref();
        let before = purge.and_then(|purge| purge.exporting.get(&partition).cloned());
        let wanted = before.or_else(|| exporting_of_others(shared, state, partition));
        Ok(handle.leads() && wanted.is_none_or(|wanted| exports_as(shared, &handle, &wanted)))
    }

    fn found(&self, partition: u32, own: u64) -> std::io::Result<ReplicaOf> {
        let replica = ReplicaOf::bootstrap(own, vec![own]);
        if self.config.cluster.is_some() {
            return self.begin(partition, replica);
        }
        // The only member, whatever its number is: the record of what it left behind would keep it from being opened.
        self.forget_gone(partition)?;
        self.remove_all(partition)?;
        Ok(replica)
    }
}

/// Ends a copy whose record is written. False: a thread of it still runs and may write into its directory, which must stay until then.
fn abandon(shared: &Shared, handle: &Arc<PartitionHandle>) -> bool {
    shared.local.hosted.remove(handle.status.partition);
    let has_ended = handle.abandon();
    if let Some(cluster) = shared.others() {
        // Others that rely on this copy should know soon.
        cluster.role_changed();
    }
    if !has_ended {
        shared.local.hosted.put(handle.clone());
    }
    has_ended
}

/// Why a copy cannot be removed yet.
fn hangs(handle: &PartitionHandle) -> String {
    let reason = handle.status.failure().unwrap_or_default();
    let partition = handle.status.partition;
    format!("partition {partition} cannot be emptied: {reason}")
}

/// The partition's surviving copy, described after all earlier messages were handled.
fn surviving_copy(handle: &PartitionHandle) -> Option<SurvivingCopy> {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    handle.inbox.send(Report::DescribeCopy(sender));
    receiver.recv_deadline(Instant::now() + PATIENCE).ok()
}

/// The exporter settings made by operators.
fn kept(value: &ExportingValue) -> KeptExporting {
    let disabled = value.exporters.iter().filter(|one| !one.is_enabled);
    KeptExporting {
        phase: phase_name(value.phase),
        disabled: disabled.map(|one| one.id.to_string()).collect(),
    }
}

/// Exporter settings of the existing partitions, which apply to an added one too.
fn exporting_of_others(shared: &Shared, state: &State, partition: u32) -> Option<KeptExporting> {
    if partition <= state.active_partitions() {
        return None;
    }
    let partitions = shared.local.partitions();
    let takes_part = |it: &&Arc<PartitionHandle>| {
        it.status.partition <= state.active_partitions() && it.status.failure().is_none()
    };
    let other = partitions.iter().find(takes_part)?;
    Some(kept(&other.exporters.value()))
}

fn phase_name(phase: ExportingPhase) -> String {
    let name = serde_json::to_value(phase).unwrap_or_default();
    name.as_str().unwrap_or_default().to_string()
}

/// The number of the running purge: greater than that of every earlier change, including those before an unsafe recovery, after which
/// changes may be counted from an older state.
fn number(state: &State) -> u64 {
    const OF_AN_EPOCH: u32 = 40;
    let change = state.running.as_ref().map_or(state.changes, |it| it.id);
    debug_assert!(
        change < 1 << OF_AN_EPOCH,
        "the number of change {change} leaves no room for the epoch"
    );
    (state.epoch << OF_AN_EPOCH) | change
}

/// True if exporters are set as required. Otherwise sends the partition what is missing.
fn exports_as(shared: &Shared, handle: &PartitionHandle, kept: &KeptExporting) -> bool {
    let value = handle.exporters.value();
    let mut changes = Vec::new();
    if phase_name(value.phase) != kept.phase
        && let Ok(phase) = serde_json::from_value(kept.phase.clone().into())
    {
        changes.push(ExportingChange::Phase(phase));
    }
    for id in &kept.disabled {
        if value.exporter(id).is_none_or(|one| one.is_enabled) {
            let id = id.as_str().into();
            changes.push(ExportingChange::Disable { id });
        }
    }
    for change in &changes {
        let partition = handle.status.partition;
        let command = Command::ChangeExporting {
            partition,
            change: change.clone(),
        };
        // The outcome is seen the next time.
        shared.local.command(partition, command);
    }
    changes.is_empty()
}

#[cfg(test)]
mod tests {
    use skep_cluster::{Left, member};

    use crate::hosting::alone_tests::open;
    use crate::hosting::hanging_tests::{hangs, hosting};

    #[test]
    fn a_purge_removes_no_files_of_a_copy_whose_thread_still_runs() {
        let directory = tempfile::tempdir().unwrap();
        let broker = open(directory.path(), 2).unwrap();
        let (hosting, shared, state) = (hosting(&broker), broker.shared(), broker.cluster_state());
        let release = hangs(&broker, 1);
        let left = Left {
            last_key: 77,
            ..Left::default()
        };
        hosting.record(1, member(0, 0), left).unwrap();
        let refused = hosting.leave(shared, &state, 1).unwrap_err();
        assert!(
            refused.contains("the partition's thread does not end"),
            "{refused}"
        );
        assert!(hosting.directory(1).exists());
        drop(release);
        let left = loop {
            match hosting.leave(shared, &state, 1) {
                Ok(left) => break left,
                Err(_) => std::thread::yield_now(),
            }
        };
        assert_eq!(left.last_key, 77, "as it was recorded");
        assert!(!hosting.directory(1).exists());
        assert!(broker.stop());
    }
}
