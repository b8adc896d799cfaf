//! The backups in a store and their states.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use skep_objects::{Listed, ObjectError};

use crate::documents::DocumentsManifest;
use crate::manifest::{FORMAT, FORMAT_OF_PARTS, Manifest, is_read};
use crate::unused::delete_unused_documents;
use crate::upload::DOCUMENTS;
use crate::{BackupError, Store, Writer, own};

pub(crate) const ALL: &str = "backups";
pub(crate) const BEGUN: &str = "begun.json";
const PROGRESS: &str = "progress.json";
const FAILED: &str = "failed.json";
const MANIFEST: &str = "manifest.json";

/// Time without progress after which a backup counts as failed, because its node is gone.
pub const SILENT: Duration = Duration::from_secs(120);

/// The name of an object of a backup.
pub(crate) fn name(id: u64, object: &str) -> String {
    format!("{ALL}/{id}/{object}")
}

/// The first object of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Begun {
    pub backup_id: u64,
    pub cluster_id: String,
    pub version: String,
    pub began_at: i64,
    /// The node that takes it.
    pub broker_id: u32,
    pub partitions: u32,
}

/// The progress of a backup. Rewritten regularly to show that somebody is working on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub at: i64,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Failed {
    reason: String,
    at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupState {
    InProgress,
    Completed,
    Failed,
    /// Damaged, or written by another version, which this one cannot read.
    Incompatible,
}

impl BackupState {
    /// The name of the state in the API.
    pub fn name(self) -> &'static str {
        match self {
            BackupState::InProgress => "IN_PROGRESS",
            BackupState::Completed => "COMPLETED",
            BackupState::Failed => "FAILED",
            BackupState::Incompatible => "INCOMPATIBLE",
        }
    }
}

/// A backup as found in the store.
#[derive(Clone, Debug)]
pub struct Backup {
    pub id: u64,
    pub state: BackupState,
    /// The reason why it failed or cannot be read, the current step while it is in progress, or what is damaged or missing although it can be
    /// restored.
    pub note: Option<String>,
    pub begun: Option<Begun>,
    /// Only present in a complete backup.
    pub manifest: Option<Manifest>,
    pub updated_at: Option<SystemTime>,
}

impl Backup {
    /// The cluster that it is of, as far as its objects can be read.
    pub fn cluster_id(&self) -> Option<&str> {
        let begun = self.begun.as_ref().map(|begun| &begun.cluster_id);
        let manifest = self.manifest.as_ref();
        let complete = manifest.map(|manifest| &manifest.cluster.cluster_id);
        complete.or(begun).map(String::as_str)
    }
}

/// The backup IDs, newest first.
///
/// # Errors
/// The store cannot be used.
fn ids(store: &Store) -> Result<Vec<u64>, BackupError> {
    let mut ids = numbers(store, ALL)?;
    ids.reverse();
    Ok(ids)
}

/// The directories below this one that are named by a number, in ascending order.
pub(crate) fn numbers(store: &Store, directory: &str) -> Result<Vec<u64>, BackupError> {
    let names = store.directories(directory)?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The greatest ID in use.
///
/// # Errors
/// The store cannot be used.
pub fn newest(store: &Store) -> Result<Option<u64>, BackupError> {
    Ok(ids(store)?.first().copied())
}

/// The newest complete backup for which `is_wanted` holds. Backups up to `known` are not read again.
///
/// # Errors
/// The store cannot be used.
pub fn newest_complete(
    store: &Store,
    known: Option<u64>,
    is_wanted: impl Fn(&Manifest) -> bool,
) -> Result<Option<Manifest>, BackupError> {
    let newer = |id: &u64| known.is_none_or(|known| *id > known);
    for id in ids(store)?.into_iter().filter(newer) {
        match manifest(store, id) {
            Ok(Some(manifest)) if is_wanted(&manifest) => return Ok(Some(manifest)),
            Ok(_) => {}
            // Another version has written it, or it is damaged: the log of such a backup cannot be continued.
            Err(BackupError::Unusable { .. } | BackupError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// All backups whose IDs start with these digits, newest first.
///
/// # Errors
/// The store cannot be used.
pub fn list(store: &Store, prefix: &str) -> Result<Vec<Backup>, BackupError> {
    list_newest(store, prefix, usize::MAX)
}

/// At most so many of them.
///
/// # Errors
/// The store cannot be used.
pub fn list_newest(store: &Store, prefix: &str, limit: usize) -> Result<Vec<Backup>, BackupError> {
    let ids = ids(store)?.into_iter();
    let wanted = ids
        .filter(|id| id.to_string().starts_with(prefix))
        .take(limit);
    let mut backups = Vec::new();
    for id in wanted {
        // A backup may be deleted in the meantime.
        backups.extend(look(store, id)?);
    }
    Ok(backups)
}

/// # Errors
/// [`BackupError::Unknown`], or the store cannot be used.
pub fn find(store: &Store, id: u64) -> Result<Backup, BackupError> {
    look(store, id)?.ok_or(BackupError::Unknown(id))
}

/// Deletes a backup for this cluster, to which the store must belong. Earlier versions let several clusters have one store: each deletes
/// its own.
///
/// # Errors
/// [`BackupError::OtherCluster`], [`BackupError::OtherRestore`], [`BackupError::Unknown`], or the store cannot be used.
pub fn delete_by(store: &Store, by: Writer<'_>, id: u64, now: i64) -> Result<(), BackupError> {
    match own(store, by, now) {
        Err(BackupError::OtherCluster { .. })
            if find(store, id)?.cluster_id() == Some(by.cluster_id) => {}
        owned => owned?,
    }
    delete(store, id)?;
    // The backup is gone in any case, and the next deletion tries that again.
    if let Err(error) = delete_unused_documents(store) {
        tracing::warn!(%error, "documents to which no backup refers any more are not deleted");
    }
    Ok(())
}

/// Whether a backup says itself that it has failed. One that has been silent for long counts as failed too, but may only be waiting for
/// the store.
///
/// # Errors
/// The store cannot be used.
pub(crate) fn has_given_up(store: &Store, id: u64) -> Result<bool, BackupError> {
    Ok(matches!(
        small::<Failed>(store, &name(id, FAILED))?,
        Small::Found(_)
    ))
}

/// Deletes all objects of a backup, the manifest first, so that a partly deleted backup does not look complete. Documents stay until
/// [`delete_unused_documents`].
///
/// # Errors
/// The store cannot be used.
pub fn delete(store: &Store, id: u64) -> Result<(), BackupError> {
    let objects = store.list(&name(id, ""))?;
    if objects.is_empty() {
        return Err(BackupError::Unknown(id));
    }
    store.delete(&name(id, MANIFEST))?;
    let first = name(id, BEGUN);
    let rest = objects.iter().filter(|object| object.name != first);
    for object in rest {
        store.delete(&object.name)?;
    }
    // The ID stays taken until everything else is gone.
    Ok(store.delete(&first)?)
}

fn read<T: DeserializeOwned>(name: &str, content: &Bytes) -> Result<T, BackupError> {
    serde_json::from_slice(content).map_err(|error| BackupError::damaged(name, error))
}

pub(crate) fn found<T: DeserializeOwned>(
    store: &Store,
    name: &str,
) -> Result<Option<T>, BackupError> {
    let content = store.find(name)?;
    content.map(|content| read(name, &content)).transpose()
}

/// A small object of a backup. A damaged one must not hide other backups.
enum Small<T> {
    Missing,
    Found(T),
    /// The damaged object and the reason.
    Damaged(String),
}

fn small<T: DeserializeOwned>(store: &Store, name: &str) -> Result<Small<T>, BackupError> {
    match found(store, name) {
        Ok(found) => Ok(found.map_or(Small::Missing, Small::Found)),
        Err(error @ BackupError::Damaged { .. }) => Ok(Small::Damaged(error.to_string())),
        Err(error) => Err(error),
    }
}

fn look(store: &Store, id: u64) -> Result<Option<Backup>, BackupError> {
    let directory = name(id, "");
    let objects = store.list(&directory)?;
    if objects.is_empty() {
        return Ok(None);
    }
    let last = |objects: &[Listed]| objects.iter().map(|object| object.modified).max();
    let (begun, damaged) = match small::<Begun>(store, &name(id, BEGUN))? {
        Small::Missing => (None, None),
        Small::Found(begun) => (Some(begun), None),
        Small::Damaged(what) => (None, Some(what)),
    };
    let mut backup = Backup {
        id,
        state: BackupState::InProgress,
        note: damaged.clone(),
        begun,
        manifest: None,
        updated_at: last(&objects),
    };
    match small::<Failed>(store, &name(id, FAILED))? {
        Small::Missing => {}
        Small::Found(failed) => {
            backup.state = BackupState::Failed;
            backup.note = Some(failed.reason);
            return Ok(Some(backup));
        }
        Small::Damaged(what) => {
            backup.state = BackupState::Incompatible;
            backup.note = Some(what);
            return Ok(Some(backup));
        }
    }
    match manifest(store, id) {
        Ok(Some(manifest)) => {
            backup.state = BackupState::Completed;
            let missing = manifest
                .documents
                .iter()
                .find_map(DocumentsManifest::missing);
            backup.note = backup.note.or(missing);
            backup.manifest = Some(manifest);
        }
        Ok(None) if damaged.is_some() => backup.state = BackupState::Incompatible,
        Ok(None) => still_taken(store, &mut backup)?,
        Err(error @ (BackupError::Unusable { .. } | BackupError::Damaged { .. })) => {
            backup.state = BackupState::Incompatible;
            backup.note = Some(error.to_string());
        }
        Err(error) => return Err(error),
    }
    Ok(Some(backup))
}

fn still_taken(store: &Store, backup: &mut Backup) -> Result<(), BackupError> {
    // Progress is only shown: what is damaged there changes nothing.
    backup.note = match small::<Progress>(store, &name(backup.id, PROGRESS))? {
        Small::Missing => None,
        Small::Found(progress) => Some(progress.text),
        Small::Damaged(what) => Some(what),
    };
    let silent = backup
        .updated_at
        .and_then(|updated| SystemTime::now().duration_since(updated).ok());
    if let Some(silent) = silent.filter(|silent| *silent > SILENT) {
        backup.state = BackupState::Failed;
        backup.note = Some(format!(
            "no node has worked on it for {} s: the one that took it has stopped",
            silent.as_secs()
        ));
    }
    Ok(())
}

/// The manifest, if the backup has one.
///
/// # Errors
/// The store cannot be used, or another version has written it.
pub(crate) fn manifest(store: &Store, id: u64) -> Result<Option<Manifest>, BackupError> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let name = name(id, MANIFEST);
    let Some(content) = store.find(&name)? else {
        return Ok(None);
    };
    let Format { format } = read(&name, &content)?;
    if !is_read(format) {
        return Err(BackupError::Unusable {
            id,
            reason: format!(
                "it has version {format} of the format, and this version of Skep reads the versions {FORMAT} to {FORMAT_OF_PARTS}"
            ),
        });
    }
    read(&name, &content).map(Some)
}

pub(crate) fn text(value: &impl Serialize) -> Bytes {
    serde_json::to_vec_pretty(value).unwrap_or_default().into()
}

/// Checks the first object of a complete backup. A restore does not need it.
///
/// # Errors
/// It is damaged, or the store cannot be used.
pub(crate) fn verify_begun(store: &Store, id: u64) -> Result<(), BackupError> {
    found::<Begun>(store, &name(id, BEGUN)).map(drop)
}

/// A backup that is being taken.
impl Begun {
    /// Claims the ID.
    ///
    /// # Errors
    /// [`ObjectError::Exists`]: the ID is taken. Or the store cannot be used.
    pub fn create(&self, store: &Store) -> Result<(), ObjectError> {
        store.create(&name(self.backup_id, BEGUN), text(self))
    }

    /// Checks on another node that its store is the one in which the cluster's backup has begun, and not, say, a directory whose mount is
    /// missing.
    ///
    /// # Errors
    /// [`BackupError::OtherStore`], or the store cannot be used.
    pub fn expect(store: &Store, id: u64, cluster_id: &str) -> Result<(), BackupError> {
        let other = |reason: String| {
            Err(BackupError::OtherStore {
                store: store.shown().to_string(),
                id,
                reason,
            })
        };
        let begun = name(id, BEGUN);
        match found::<Begun>(store, &begun)? {
            None => other(format!("the object '{begun}' is missing here")),
            Some(begun) if begun.cluster_id != cluster_id => other(format!(
                "the backup of this number is of the cluster {}",
                begun.cluster_id
            )),
            Some(_) if store.find(&name(id, MANIFEST))?.is_some() => {
                other("the backup of this number is already complete here".to_string())
            }
            Some(_) => Ok(()),
        }
    }

    /// Checks that all objects of the manifest are in this store, with their sizes.
    ///
    /// # Errors
    /// [`BackupError::OtherStore`], or the store cannot be used.
    pub fn expect_objects(&self, store: &Store, manifest: &Manifest) -> Result<(), BackupError> {
        let mut listed = store.list(&name(self.backup_id, ""))?;
        if manifest.document_objects().next().is_some() {
            // Those of earlier backups too.
            listed.extend(store.list(DOCUMENTS)?);
        }
        let sizes: BTreeMap<&str, u64> = listed
            .iter()
            .map(|object| (object.name.as_str(), object.bytes))
            .collect();
        let of_partitions = manifest.partitions.iter().flat_map(|of| {
            let objects = of.objects();
            objects.map(move |object| (of.broker_id, object))
        });
        let documents = manifest.document_objects();
        let documents = documents.chain(manifest.listing_objects());
        let documents = documents.map(|object| (self.broker_id, object));
        for (node, object) in of_partitions.chain(documents) {
            let size = sizes.get(object.name.as_str());
            if size == Some(&object.bytes) {
                continue;
            }
            let size = size.map_or("nothing".to_string(), |size| format!("{size} bytes"));
            return Err(BackupError::OtherStore {
                store: store.shown().to_string(),
                id: self.backup_id,
                reason: format!(
                    "node {} has written {} bytes to '{}', and there is {size} here",
                    node, object.bytes, object.name
                ),
            });
        }
        Ok(())
    }

    /// # Errors
    /// The store cannot be used.
    pub fn progress(&self, store: &Store, progress: &Progress) -> Result<(), ObjectError> {
        store.put(&name(self.backup_id, PROGRESS), text(progress))
    }

    /// # Errors
    /// The store cannot be used.
    pub fn fail(&self, store: &Store, reason: &str, at: i64) -> Result<(), ObjectError> {
        let reason = reason.to_string();
        let failed = text(&Failed { reason, at });
        store.put(&name(self.backup_id, FAILED), failed)
    }

    /// Marks the backup as complete, after all its objects have been written.
    ///
    /// # Errors
    /// The store cannot be used.
    pub fn complete(&self, store: &Store, manifest: &Manifest) -> Result<(), ObjectError> {
        debug_assert_eq!(manifest.backup_id, self.backup_id);
        store.create(&name(self.backup_id, MANIFEST), text(manifest))
    }
}
