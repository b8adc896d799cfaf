//! Builds a node's data directory from a backup, before the node starts.
//!
//! Each node of the new cluster does this by itself, with its own settings. All get the same logs and the same initial cluster state, so
//! they agree when they meet. What they agree on beforehand is the epoch, which the first one claims in the store. A crash leaves a directory that does not start and has to be restored again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skep_backup::{
    BackupError, Joined, Manifest, Participant, PartitionManifest, Reader, Restored, foresee, join,
};
use skep_cluster::{Layout, State, member};
use skep_exporting::TargetError;
use skep_replication::{EntryId, History};
use skep_storage::StorageError;
use skep_storage::disk::{RealDisk, create_dir_durably};
use skep_storage::kv::{FjallConfig, FjallKv, KvStore};
use skep_storage::log::{Log, LogConfig};

use super::documents::Restoring;
use super::rows::Rows;
use crate::cluster::bootstrap::Identity;
use crate::cluster::{now, write_first};
use crate::config::BrokerConfig;
use crate::directory::{self, RESTORING, write_durably};
use crate::partition::restored_rows::RestoredRows;
use crate::partition::secondary::COPY;
use crate::replica_file::ReplicaOf;
use crate::router::OpenError;

#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The backup does not fit this node's settings.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Directory(#[from] OpenError),
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error("partition {partition} cannot be restored: {source}")]
    Storage {
        partition: u32,
        source: StorageError,
    },
    /// The rows in a database or a search server.
    #[error("how far the rows of secondary storage go cannot be read: {0}")]
    Rows(#[from] TargetError),
    #[error("the data directory cannot be written: {0}")]
    Io(#[from] std::io::Error),
}

/// The plan of a restore on this node.
#[derive(Debug)]
pub struct Plan {
    pub first: State,
    /// Partitions that this node gets a copy of.
    pub here: Vec<u32>,
    /// Bytes to fetch from the store.
    pub bytes: u64,
    /// The restore that this node takes part in, with its epoch.
    pub joined: Joined,
    pub documents: Vec<DocumentsHere>,
}

/// What becomes of the documents of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentsHere {
    /// The id of the store in the settings.
    pub store: String,
    pub fate: DocumentsFate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentsFate {
    /// This node gets them, in this directory.
    Restored(PathBuf),
    /// The backup has them, and the settings have no local store with this id.
    NoStore,
    /// The backup lacks them: each node of the cluster had its own.
    Missing,
}

/// What operators say about a restore.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// The epoch, if they name it.
    pub epoch: Option<u64>,
    /// The cluster takes no backups in the store that it comes from.
    pub drill: bool,
}

/// # Errors
/// The backup cannot be restored with these settings, or the directory has data or is in use.
pub fn plan(config: &BrokerConfig, reader: &Reader, how: How) -> Result<Plan, RestoreError> {
    let layout = layout(config, reader)?;
    rows(config, reader)?;
    expect_free(config)?;
    let attempt = attempt(&config.directory)?.unwrap_or_default();
    let by = participant(config, reader, how.epoch, &attempt);
    let joined = foresee(reader.store(), &restored(reader, &layout, how), &by)?;
    planned(config, reader, &layout, (joined, how))
}

/// The initial layout of the cluster.
fn layout(config: &BrokerConfig, reader: &Reader) -> Result<Layout, RestoreError> {
    let (manifest, wanted) = (&reader.manifest, config.layout());
    let refused = |text: String| Err(RestoreError::Refused(text));
    if config.is_gateway() {
        return refused("a gateway has no data: restore the nodes with partitions".to_string());
    }
    let partitions = manifest.cluster.partitions;
    if partitions != wanted.partitions {
        return refused(format!(
            "the backup has {partitions} partitions, and {} are configured (camunda.cluster.partition-count): configure {partitions}",
            wanted.partitions
        ));
    }
    if let Some(id) = &config.cluster_id
        && *id != manifest.cluster.cluster_id
    {
        return refused(format!(
            "the backup belongs to the cluster {}, but camunda.cluster.cluster-id is {id}",
            manifest.cluster.cluster_id
        ));
    }
    let layout = Layout {
        nodes: (0..wanted.size).collect(),
        copies: wanted.replication_factor.min(wanted.size),
        partitions,
    };
    Ok(match &config.cluster {
        Some(_) => layout,
        None => Layout {
            nodes: vec![config.node_id],
            ..layout
        },
    })
}

/// The rows in the configured database or search server, if there is one: they must fit the moment.
fn rows(config: &BrokerConfig, reader: &Reader) -> Result<Option<Rows>, RestoreError> {
    let rows = Rows::read(config)?;
    if let Some(rows) = &rows {
        rows.expect_fit(&reader.manifest, reader.store())?;
    }
    Ok(rows)
}

/// Whether each copy of a partition has its rows in a file of its own.
fn is_embedded(config: &BrokerConfig) -> bool {
    let secondary = config.secondary_storage.as_ref();
    secondary.is_some_and(|secondary| !secondary.is_shared())
}

/// What all nodes of this restore have in common.
fn restored(reader: &Reader, layout: &Layout, how: How) -> Restored {
    Restored {
        cluster_id: reader.manifest.cluster.cluster_id.clone(),
        backup_id: reader.moment.backup,
        marker: reader.moment.marker,
        nodes: layout.nodes.clone(),
        copies: layout.copies,
        drill: how.drill,
    }
}

fn participant<'a>(
    config: &BrokerConfig,
    reader: &Reader,
    wanted: Option<u64>,
    attempt: &'a str,
) -> Participant<'a> {
    Participant {
        node: config.node_id,
        attempt,
        from: reader.manifest.cluster.epoch,
        wanted,
        now: now(),
    }
}

fn planned(
    config: &BrokerConfig,
    reader: &Reader,
    layout: &Layout,
    (joined, how): (Joined, How),
) -> Result<Plan, RestoreError> {
    let manifest = &reader.manifest;
    let last_keys: BTreeMap<u32, u64> = (manifest.partitions.iter())
        .map(|it| (it.partition, it.cut.last_key))
        .collect();
    let first = manifest
        .cluster
        .restored(layout, &last_keys, manifest.cut_at, joined.epoch);
    let own = first.nodes.get(&config.node_id);
    let own = own.ok_or_else(|| {
        RestoreError::Refused(format!(
            "node {} is not one of the {} initial nodes of the cluster (camunda.cluster.size)",
            config.node_id,
            layout.nodes.len()
        ))
    })?;
    let here: Vec<u32> = own.partitions.keys().copied().collect();
    let mut bytes = 0;
    for partition in &here {
        let of = part(reader, *partition)?;
        if of.query.is_none() && is_embedded(config) && of.log.base_index > 0 {
            return Err(RestoreError::Refused(
                "the backup has no rows of secondary storage: configure a database or a search server with a dump or snapshot of those \
                 that the cluster had (camunda.data.secondary-storage.type), or none"
                    .to_string(),
            ));
        }
        bytes += reader.bytes(of);
    }
    let documents = documents(config, manifest);
    if how.drill {
        expect_own_documents(&documents, joined.epoch)?;
    }
    if (documents.iter()).any(|it| matches!(it.fate, DocumentsFate::Restored(_))) {
        let objects = manifest.document_objects();
        bytes += objects.map(|object| object.bytes).sum::<u64>();
    }
    Ok(Plan {
        first,
        here,
        bytes,
        joined,
        documents,
    })
}

/// Every node gets all documents that are in the backup: it may be the only one, and readers ask any node.
fn documents(config: &BrokerConfig, manifest: &Manifest) -> Vec<DocumentsHere> {
    let stores = manifest.documents.iter().map(|of| {
        let mut locals = config.backup.iter().flat_map(|backup| &backup.documents);
        let local = locals.find(|local| local.store == of.store);
        let fate = match (&of.objects, local) {
            (None, _) => DocumentsFate::Missing,
            (Some(_), None) => DocumentsFate::NoStore,
            (Some(_), Some(local)) => DocumentsFate::Restored(local.directory.clone()),
        };
        DocumentsHere {
            store: of.store.clone(),
            fate,
        }
    });
    stores.collect()
}

/// The file that says that a directory of documents belongs to the drill with this epoch. The document store passes it over.
fn mark_of_drill(directory: &Path, epoch: u64) -> PathBuf {
    directory.join(format!("drill-{epoch}"))
}

/// A drill with the settings of the original cluster must not bring documents back that were deleted there, nor work on its documents.
fn expect_own_documents(documents: &[DocumentsHere], epoch: u64) -> Result<(), RestoreError> {
    for here in documents {
        let DocumentsFate::Restored(directory) = &here.fate else {
            continue;
        };
        // Nodes of the drill may share the directory.
        if mark_of_drill(directory, epoch).exists() {
            continue;
        }
        let is_empty = match std::fs::read_dir(directory) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(error.into()),
        };
        if !is_empty {
            return Err(RestoreError::Refused(format!(
                "the directory {} of the document store '{}' has content, perhaps that of the original cluster: give the store an empty \
                 directory for the drill",
                directory.display(),
                here.store
            )));
        }
    }
    Ok(())
}

fn restore_documents(
    plan: &Plan,
    reader: &Reader,
    how: How,
    says: &mut dyn FnMut(String),
) -> Result<(), RestoreError> {
    for here in &plan.documents {
        let DocumentsFate::Restored(directory) = &here.fate else {
            continue;
        };
        let mut stores = reader.manifest.documents.iter();
        if let Some(of) = stores.find(|of| of.store == here.store) {
            says(format!("documents of the store '{}'", here.store));
            if how.drill {
                create_dir_durably(directory)?;
                File::create(mark_of_drill(directory, plan.joined.epoch))?.sync_all()?;
            }
            let damaged = Restoring::run(reader, of, directory).map_err(|error| match error {
                RestoreError::Io(error) => RestoreError::Refused(format!(
                    "the directory {} of the document store '{}' cannot be written: {error}",
                    directory.display(),
                    here.store
                )),
                error => error,
            })?;
            for damaged in damaged {
                says(format!(
                    "WARNING: {damaged}. Documents that are in there are not restored"
                ));
            }
        }
    }
    Ok(())
}

fn part(reader: &Reader, partition: u32) -> Result<&PartitionManifest, RestoreError> {
    let found = reader.manifest.partition(partition);
    found.ok_or_else(|| {
        RestoreError::Refused(format!(
            "the manifest of the backup lacks partition {partition}"
        ))
    })
}

/// The attempt that an interrupted restore has left in the directory.
fn attempt(root: &Path) -> std::io::Result<Option<String>> {
    match std::fs::read_to_string(root.join(RESTORING)) {
        Ok(text) => Ok(text.lines().nth(1).map(str::to_string)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Carries out the plan for this node. Blocks. `says`: receives progress messages.
///
/// # Errors
/// The directory already has data, the backup is damaged, or the disk fails. The directory does not start in that case.
pub fn run(
    config: &BrokerConfig,
    reader: &Reader,
    how: How,
    says: &mut dyn FnMut(String),
) -> Result<Plan, RestoreError> {
    // What does not fit is refused before anything is written.
    plan(config, reader, how)?;
    let layout = layout(config, reader)?;
    let rows = rows(config, reader)?;
    let root = &config.directory;
    create_dir_durably(root)?;
    let _lock = directory::lock(config)?;
    expect_empty(root)?;
    let attempt = attempt(root)?.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    let text = format!("{}\n{attempt}\n", reader.manifest.backup_id);
    write_durably(&root.join(RESTORING), text.as_bytes())?;
    let by = participant(config, reader, how.epoch, &attempt);
    let joined = join(reader.store(), &restored(reader, &layout, how), &by)?;
    let plan = planned(config, reader, &layout, (joined, how))?;
    for half in ["partitions", "replicas", "cluster-state"] {
        remove(&root.join(half))?;
    }
    let partitions = root.join("partitions");
    create_dir_durably(&partitions)?;
    for partition in &plan.here {
        says(format!("partition {partition}"));
        let directory = partitions.join(partition.to_string());
        create_dir_durably(&directory)?;
        if config.cluster.is_some() {
            let replicas = plan.first.replicas(*partition).into_iter();
            let voters = replicas.map(|(_, member)| member).collect();
            ReplicaOf::bootstrap(member(config.node_id, 0), voters).write(&directory)?;
        }
        restore_partition(config, (*partition, &directory), reader, rows.as_ref())?;
    }
    restore_documents(&plan, reader, how, says)?;
    let metadata = root.join("cluster-state");
    create_dir_durably(&metadata)?;
    write_first(&metadata, &plan.first)?;
    let voters = plan.first.nodes.keys().map(|node| member(*node, 0));
    ReplicaOf::bootstrap(member(config.node_id, 0), voters.collect()).write(&metadata)?;
    directory::keeper(config)(&Identity {
        cluster_id: plan.first.cluster_id.clone(),
        formed: true,
        epoch: plan.first.epoch,
    })?;
    // From here on the node may start.
    std::fs::remove_file(root.join(RESTORING))?;
    File::open(root)?.sync_all()?;
    Ok(plan)
}

/// Checks what a restore would find, and writes nothing, not even the file of the lock.
fn expect_free(config: &BrokerConfig) -> Result<(), RestoreError> {
    let root = &config.directory;
    if root.join("lock").exists() {
        directory::lock(config)?;
    }
    if root.exists() {
        expect_empty(root)?;
    }
    Ok(())
}

/// Checks that there is nothing here except leftovers of an earlier attempt.
fn expect_empty(root: &Path) -> Result<(), RestoreError> {
    if root.join(RESTORING).exists() {
        return Ok(());
    }
    for entry in std::fs::read_dir(root)? {
        let name = entry?.file_name();
        if name != "lock" {
            return Err(RestoreError::Refused(format!(
                "the data directory {} has data already ('{}'): a backup is restored into an empty one",
                root.display(),
                name.display()
            )));
        }
    }
    Ok(())
}

fn remove(directory: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Creates the partition's state store in its directory, with the rows of the checkpoint.
pub(super) fn install_state(
    reader: &Reader,
    of: &PartitionManifest,
    directory: &Path,
) -> Result<FjallKv, RestoreError> {
    let partition = of.partition;
    let storage = |source| RestoreError::Storage { partition, source };
    let rows = reader.state(of).map_err(storage)?;
    let meta = rows.meta().map(<[u8]>::to_vec);
    let mut kv = FjallKv::open(directory.join("state"), FjallConfig::default()).map_err(storage)?;
    kv.install(Box::new(rows), meta).map_err(storage)?;
    Ok(kv)
}

fn restore_partition(
    config: &BrokerConfig,
    (partition, directory): (u32, &Path),
    reader: &Reader,
    rows: Option<&Rows>,
) -> Result<(), RestoreError> {
    let of = part(reader, partition)?;
    drop(install_state(reader, of, directory)?);
    if let Some(query) = of.query.as_ref().filter(|_| is_embedded(config)) {
        let copy = directory.join(format!("{COPY}restored"));
        let mut file = File::create(&copy)?;
        for content in reader.contents(query) {
            file.write_all(&content?)?;
        }
        drop(file);
        skep_secondary::put_copy(&copy, directory)?;
    }
    restore_log(config, (of, directory), reader, rows)?;
    File::open(directory)?.sync_all()?;
    Ok(())
}

/// Writes the partition's log up to the cut. The rows must be made from it.
fn restore_log(
    config: &BrokerConfig,
    (of, directory): (&PartitionManifest, &Path),
    reader: &Reader,
    rows: Option<&Rows>,
) -> Result<(), RestoreError> {
    let partition = of.partition;
    let storage = |source| RestoreError::Storage { partition, source };
    let mut rows = rows.map(|rows| (rows.history(partition), rows));
    let log_config = LogConfig {
        segment_bytes: config.log_segment_bytes,
        ..LogConfig::default()
    };
    let opened = Log::open(Arc::new(RealDisk), directory.join("log"), log_config);
    let (mut log, _) = opened.map_err(storage)?;
    let base = EntryId {
        index: of.log.base_index,
        term: of.log.base_term,
    };
    debug_assert!(
        base.index <= of.cut.index,
        "the log goes from its base to the cut"
    );
    let mut history = History::begin(&mut log, base).map_err(storage)?;
    for entries in reader.log(of) {
        let entries = entries?;
        if let Some((of_rows, _)) = &mut rows {
            of_rows.pass(&entries);
        }
        history.append(entries).map_err(storage)?;
    }
    let last = history.end().map_err(storage)?;
    if (last.index, last.term) != (of.cut.index, of.cut.term) {
        return Err(RestoreError::Refused(format!(
            "the log of partition {partition} ends with entry {} of term {}, but the manifest says {} of term {}",
            last.index, last.term, of.cut.index, of.cut.term
        )));
    }
    log.close().map_err(storage)?;
    if let Some((of_rows, rows)) = rows {
        of_rows.expect_same(&rows.place)?;
        let (entry, end) = (of_rows.entry(), of.cut.index);
        RestoredRows { entry, end }.write(directory)?;
    }
    Ok(())
}
