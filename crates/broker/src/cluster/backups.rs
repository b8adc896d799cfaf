//! Backups: messages between the coordinator and the nodes that lead partitions.

use std::sync::Arc;
use std::time::Duration;

use skep_backup::{BackupKind, Mount};
use skep_cluster::Refusal;
use tokio::time::Instant;

use super::Cluster;
use super::management::{Answer, Ask, Outcome};
use crate::backup::coordinator::{self, Coordinating};
use crate::backup::parts::Parts;
use crate::backup::{Step, StepFailed, StepResult};
use crate::config::BrokerConfig;
use crate::metrics::backups::BackupFamilies;
use crate::partition::PartitionHandle;

/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// This node's part in backups.
pub(super) struct Backups {
    parts: Parts,
    coordinating: Coordinating,
}

impl Backups {
    pub(super) fn new(config: &BrokerConfig, metrics: BackupFamilies) -> Backups {
        // A gateway has no data directory, and takes no backups.
        let mount = if config.is_gateway() {
            Mount::default()
        } else {
            Mount::recorded_in(&config.directory)
        };
        Backups {
            parts: Parts::new(config.backup.clone(), metrics, mount),
            coordinating: Coordinating::default(),
        }
    }
}

impl Cluster {
    pub(crate) fn parts(&self) -> &Parts {
        &self.backups.parts
    }

    pub(crate) fn coordinating(&self) -> &Coordinating {
        &self.backups.coordinating
    }

    /// This node's replica of the partition.
    pub(crate) fn replica_here(&self, partition: u32) -> Option<Arc<PartitionHandle>> {
        self.local()?.partition(partition)
    }

    /// All replicas on this node.
    pub(crate) fn replicas_here(&self) -> Vec<Arc<PartitionHandle>> {
        self.local.partitions().to_vec()
    }

    /// The node that leads the partition.
    pub(crate) fn leader(&self, partition: u32) -> Option<u32> {
        if self.local()?.leads(partition) {
            Some(self.node())
        } else {
            self.leader_of(partition)
        }
    }

    /// Whether this node coordinates backups, as leader of the metadata group.
    pub(crate) fn leads_metadata(&self) -> bool {
        self.metadata_leader()
            .is_some_and(|(leader, own)| leader == own)
    }

    /// The number of partitions that are led here.
    pub(crate) fn leads_how_many(&self) -> u64 {
        let handles = self.local.partitions();
        handles.iter().filter(|handle| handle.leads()).count() as u64
    }

    /// Whether each replica has a searchable file of its own.
    pub(crate) fn has_embedded_storage(&self) -> bool {
        let secondary = self.config.secondary_storage.as_ref();
        secondary.is_some_and(|secondary| !secondary.is_shared())
    }

    /// Begins a backup, as leader of the metadata group.
    pub(super) async fn begin_backup(self: &Arc<Self>, id: Option<u64>) -> Outcome {
        self.know_backups()?;
        let cluster = self.clone();
        let begun = move || coordinator::begin(&cluster, id, BackupKind::Manual);
        let begun = tokio::task::spawn_blocking(begun).await;
        let id = begun.unwrap_or_else(|error| Err(Refusal::Unanswered(error.to_string())))?;
        Ok(Answer::Backup(id))
    }

    pub(super) async fn backup_step(self: &Arc<Self>, step: Step) -> Outcome {
        let cluster = self.clone();
        let stepped = tokio::task::spawn_blocking(move || cluster.parts().step(&cluster, step));
        let stepped = stepped.await;
        let stepped = stepped.map_err(|error| Refusal::Unanswered(error.to_string()))?;
        Ok(Answer::BackupStep(stepped))
    }

    /// Sends a step to another node.
    pub(crate) async fn ask_for_step(&self, node: u32, step: Step) -> StepResult {
        let deadline = Instant::now() + PATIENCE;
        let ask = Ask::BackupStep(step);
        match self.ask_node_for(node, &ask, deadline).await {
            Ok(Answer::BackupStep(stepped)) => stepped,
            Ok(_) => Err(StepFailed::for_now(format!(
                "node {node} gave an unexpected answer"
            ))),
            Err(refusal) => Err(StepFailed::for_now(refusal)),
        }
    }
}
