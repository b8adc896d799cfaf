//! Unsafe recovery: an operator has declared most nodes lost for good, and the survivors continue.
//!
//! The survivor with the lowest number decides. It asks the others what they have, computes the state from which they
//! continue (see [`skep_cluster::plan_unsafe_recovery`]), and writes it beside the old files of the metadata group. With
//! that the decision is made. The node restarts the group with itself as the only voter and the new state. The remaining
//! work is a cluster change like any other, which is part of that state: the other survivors join the group, continue from
//! their copies of partitions, and get new copies.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use skep_cluster::{Entry, Planned, Refusal, State, SurvivingCopy, Survivor, plan_unsafe_recovery};
use skep_service::PartitionRole;
use skep_storage::disk::create_dir_durably;
use skep_transport::Class;
use tokio::time::Instant;

use super::Cluster;
use super::changes::now;
use super::management::{Answer, Ask, Outcome};
use super::metadata_group::MetadataEvent;
use crate::directory::write_durably;
use crate::ending::LIMIT;
use crate::partition::Report;
use crate::replica_file::ReplicaOf;

/// How long a survivor may take to report what it has.
const PATIENCE: Duration = Duration::from_secs(5);
/// File with the group's initial state, in its directory.
pub(super) const FIRST: &str = "first";
/// Directory of the group's new files, next to the current ones. The name is older than the term "unsafe recovery", and stays: a node may be
/// upgraded between the decision and its next start.
const DECIDED: &str = "anew";

impl Cluster {
    /// Runs on any remaining node.
    pub(super) async fn remove_lost(
        self: &Arc<Self>,
        removed: Vec<u32>,
        dry_run: bool,
        deadline: Instant,
    ) -> Outcome {
        if removed.contains(&self.node()) {
            return Err(Refusal::Invalid(format!(
                "node {} received this request and is to be removed itself: send it to a node that stays",
                self.node()
            )));
        }
        let state = self.state();
        let lowest = state.nodes.keys().find(|node| !removed.contains(node));
        match lowest.copied() {
            Some(node) if node != self.node() => {
                let ask = Ask::RemoveLost { removed, dry_run };
                self.ask_node_for(node, &ask, deadline).await
            }
            _ => self.decide_without_majority(removed, dry_run).await,
        }
    }

    /// Runs on the remaining node with the lowest number.
    pub(super) async fn decide_without_majority(
        self: &Arc<Self>,
        removed: Vec<u32>,
        dry_run: bool,
    ) -> Outcome {
        let _one_at_a_time = self.exchanges.operator_requests.deciding.lock().await;
        let survivors = self.survivors(&removed).await?;
        let (first, planned) = plan_unsafe_recovery(&removed, self.node(), &survivors, now())?;
        if first.epoch == planned.current.epoch {
            let text = "a majority of the nodes stays: the metadata group will have a leader soon. Send the request again. Nothing was \
                        done";
            return Err(Refusal::Unreachable(text.to_string()));
        }
        if dry_run {
            return Ok(Answer::Planned(Box::new(planned)));
        }
        say(&planned);
        let (cluster, revision) = (self.clone(), first.revision);
        let begun =
            tokio::task::spawn_blocking(move || cluster.begin_unsafe_recovery(&first)).await;
        let begun = begun.map_err(|error| error.to_string()).flatten();
        begun.map_err(|reason| {
            Refusal::Unanswered(format!(
                "the recovery could not be started: {reason}. If the log of node {} shows that it was decided, it continues when that \
                 node is started again",
                self.node()
            ))
        })?;
        self.is_agreed(revision).await?;
        Ok(Answer::Planned(Box::new(planned)))
    }

    /// Runs on the leader of the metadata group: some partition has no majority without the removed nodes.
    pub(super) async fn decide_for_partitions(
        self: &Arc<Self>,
        removed: Vec<u32>,
        dry_run: bool,
    ) -> Outcome {
        let survivors = self.survivors(&removed).await?;
        let (state, planned) = plan_unsafe_recovery(&removed, self.node(), &survivors, now())?;
        if !dry_run {
            say(&planned);
            self.notify_metadata_group(MetadataEvent::Propose(Entry::UnsafeRecovery {
                revision: planned.revision,
                state: Box::new(state.clone()),
            }));
            self.is_agreed(state.revision).await?;
        }
        Ok(Answer::Planned(Box::new(planned)))
    }

    async fn is_agreed(&self, revision: u64) -> Result<(), Refusal> {
        let deadline = Instant::now() + PATIENCE;
        while self.state().revision < revision {
            if Instant::now() >= deadline {
                let text = "the recovery has begun but is not agreed on yet: GET /actuator/cluster shows when it is";
                return Err(Refusal::Unanswered(text.to_string()));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// The data of each remaining node.
    async fn survivors(self: &Arc<Self>, removed: &[u32]) -> Result<Vec<Survivor>, Refusal> {
        let mut survivors = vec![self.survives().await];
        let state = self.state();
        let stay = state.nodes.keys().copied();
        let others = stay.filter(|node| *node != self.node() && !removed.contains(node));
        for node in others.collect::<BTreeSet<u32>>() {
            let deadline = Instant::now() + PATIENCE;
            let answer = self.ask_node_for(node, &Ask::Survives, deadline).await;
            if let Ok(Answer::Survivor(survivor)) = answer {
                survivors.push(*survivor);
            } else {
                // Missing nodes are reported together with what can be done.
                tracing::warn!(node, "a node that is to stay does not report its data");
            }
        }
        Ok(survivors)
    }

    /// Reports what this node has.
    pub(super) async fn survives(self: &Arc<Self>) -> Survivor {
        let cluster = self.clone();
        let copies = tokio::task::spawn_blocking(move || cluster.copies()).await;
        let nodes = self.state().nodes.keys().copied().collect::<Vec<u32>>();
        let reaches = nodes.into_iter().filter(|node| {
            *node != self.node()
                && (self.is_alive(*node) || self.is_connected(*node, Class::Requests))
        });
        Survivor {
            node: self.node(),
            reaches: reaches.collect(),
            is_led: self.metadata_leader().is_some(),
            copies: copies.unwrap_or_default(),
            state: State::clone(&self.state()),
        }
    }

    /// The working copies on this node. Blocks.
    fn copies(&self) -> Vec<SurvivingCopy> {
        let Some(local) = self.local() else {
            return Vec::new();
        };
        let work = local.partitions().into_iter();
        let work = work.filter(|it| {
            it.status.failure().is_none() && it.status.role() != PartitionRole::Inactive
        });
        let asked = work.map(|handle| {
            let (sender, receiver) = crossbeam_channel::bounded(1);
            handle.inbox.send(Report::DescribeCopy(sender));
            receiver
        });
        let asked: Vec<_> = asked.collect();
        let until = std::time::Instant::now() + PATIENCE / 2;
        let copies = asked
            .iter()
            .filter_map(|answer| answer.recv_deadline(until).ok());
        copies.collect()
    }

    /// Makes the decision durable. Blocks.
    fn begin_unsafe_recovery(self: &Arc<Self>, first: &State) -> Result<(), String> {
        let own = first.member(self.node());
        let own = own.ok_or("this node is not one of those that stay")?;
        let decided = self.decided();
        let write = || -> std::io::Result<()> {
            remove(&decided)?;
            create_dir_durably(&decided)?;
            write_durably(&decided.join(FIRST), &first.encode())?;
            // Written last: with it the directory becomes valid.
            ReplicaOf::bootstrap(own, vec![own]).write(&decided)
        };
        write().map_err(|error| error.to_string())?;
        self.finish_unsafe_recovery()?;
        let there = ReplicaOf::read(&self.metadata_directory()).map_err(|e| e.to_string())?;
        let there = there.ok_or("its files are missing")?;
        self.start_metadata_group(there, Some(first.clone()))
    }

    fn decided(&self) -> PathBuf {
        self.metadata_directory().with_extension(DECIDED)
    }

    /// Replaces the current files with the decided ones, also after a crash. Blocks.
    pub(super) fn finish_unsafe_recovery(&self) -> Result<(), String> {
        let (directory, decided) = (self.metadata_directory(), self.decided());
        let text = |error: std::io::Error| error.to_string();
        if ReplicaOf::read(&decided).map_err(text)?.is_none() {
            // There was a crash before the decision was made.
            return remove(&decided).map_err(text);
        }
        let first = first_state(&decided)?.ok_or("the initial state of the group is missing")?;
        // From here on, nodes from before the recovery are refused.
        self.bootstrap.admitted(&first.cluster_id, first.epoch)?;
        tracing::error!(
            code = "CLUSTER_STATE",
            epoch = first.epoch,
            nodes = ?first.nodes.keys().collect::<Vec<_>>(),
            "this node recovers the cluster without a majority of its former nodes"
        );
        if !self.stop_metadata_group(std::time::Instant::now() + LIMIT) {
            return Err("the former member of this node does not end".to_string());
        }
        remove(&directory).map_err(text)?;
        std::fs::rename(&decided, &directory).map_err(text)?;
        let parent = directory.parent().map(std::fs::File::open);
        let flushed = parent.transpose().map_err(text)?.map(|it| it.sync_all());
        flushed.transpose().map_err(text)?;
        Ok(())
    }

    /// The cluster continues without this node, which stops acting in the cluster's name.
    pub(super) fn retire(self: &Arc<Self>) {
        let Some(reason) = self.bootstrap.left_behind() else {
            return;
        };
        // A node that has just started has nothing running yet.
        if self.local().is_none() {
            return;
        }
        if self.life.left.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::error!(code = "NODE_REFUSED", %reason, "this node no longer takes part in the cluster");
        let cluster = self.clone();
        // Stopping threads takes a moment.
        std::thread::spawn(move || {
            cluster.stop_metadata_group(std::time::Instant::now() + LIMIT);
            for handle in cluster.local.partitions() {
                handle.status.fail(reason.clone());
                handle.stop();
            }
        });
    }
}

/// The initial state of the group in this directory, if it was recovered without a majority.
pub(super) fn first_state(directory: &Path) -> Result<Option<State>, String> {
    match std::fs::read(directory.join(FIRST)) {
        Ok(bytes) => State::decode(&bytes).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Logs the plan on the node that decides it.
fn say(planned: &Planned) {
    if let Some(unsafe_recovery) = &planned.unsafe_recovery {
        tracing::error!(
            code = "CLUSTER_STATE",
            from = ?unsafe_recovery.from,
            lost = ?unsafe_recovery.lost,
            "partitions continue without a majority of their copies: acknowledged entries that none of the remaining copies has are lost"
        );
    }
}

fn remove(directory: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
