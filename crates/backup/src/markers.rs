//! Moments after a backup. At a marker, all partitions were paused together, and their logs up to it are in the store.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use skep_cluster::State;
use skep_objects::ObjectError;

use crate::backups::{found, name, text};
use crate::manifest::{Cut, FORMAT, Manifest};
use crate::{BackupError, Store};

const BEGUN: &str = "continued/begun.json";
const BROKEN: &str = "continued/broken.json";
const LATEST: &str = "continued/latest.json";
const MARKERS: &str = "continued/markers";

/// A moment to which the cluster can be restored. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Marker {
    pub format: u32,
    /// The backup that the marker continues.
    pub backup_id: u64,
    /// All partitions were paused at this time. Unique among the markers of a backup.
    pub at: i64,
    /// By partition.
    pub cuts: BTreeMap<u32, Cut>,
    pub cluster: State,
}

/// The first object that continues a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Continued {
    /// The previous backup, if its log reaches this one: both then form one range.
    pub after: Option<u64>,
    pub at: i64,
}

/// The reason why nothing continues a backup any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    pub reason: String,
    pub at: i64,
}

fn marker_name(backup: u64, at: i64) -> String {
    name(backup, &format!("{MARKERS}/{at:015}.json"))
}

/// Marks the backup as continued. The first such object is kept.
///
/// # Errors
/// The store cannot be used.
pub fn begin(store: &Store, backup: u64, continued: &Continued) -> Result<(), BackupError> {
    once(store.create(&name(backup, BEGUN), text(continued)))
}

/// `None`: the backup was never continued.
///
/// # Errors
/// The object is damaged, or the store cannot be used.
pub fn begun(store: &Store, backup: u64) -> Result<Option<Continued>, BackupError> {
    found(store, &name(backup, BEGUN))
}

/// Records that nothing continues the backup any more. The first reason is kept.
///
/// # Errors
/// The store cannot be used.
pub fn break_off(store: &Store, backup: u64, broken: &Broken) -> Result<(), BackupError> {
    once(store.create(&name(backup, BROKEN), text(broken)))
}

/// # Errors
/// The object is damaged, or the store cannot be used.
pub fn broken(store: &Store, backup: u64) -> Result<Option<Broken>, BackupError> {
    found(store, &name(backup, BROKEN))
}

fn once(created: Result<(), ObjectError>) -> Result<(), BackupError> {
    match created {
        Ok(()) | Err(ObjectError::Exists { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The newest marker, which nodes poll every few seconds. It may be slightly outdated.
///
/// # Errors
/// The object is damaged, or the store cannot be used.
pub fn latest(store: &Store, backup: u64) -> Result<Option<Marker>, BackupError> {
    found(store, &name(backup, LATEST))
}

/// The times of the markers of a backup, in ascending order.
///
/// # Errors
/// The store cannot be used.
pub fn times(store: &Store, backup: u64) -> Result<Vec<i64>, BackupError> {
    let listed = store.list(&name(backup, MARKERS))?;
    let times = listed.iter().map(|object| {
        let file = object.name.rsplit('/').next().unwrap_or_default();
        let time = file.strip_suffix(".json").unwrap_or(file).parse();
        time.map_err(|_| BackupError::damaged(&object.name, "its name is not a time"))
    });
    times.collect()
}

impl Marker {
    /// Writes the marker. The logs up to it must already be in the store.
    ///
    /// # Errors
    /// The store cannot be used, or there is a marker of this time.
    pub fn create(&self, store: &Store) -> Result<(), BackupError> {
        store.create(&marker_name(self.backup_id, self.at), text(self))?;
        Ok(store.put(&name(self.backup_id, LATEST), text(self))?)
    }

    /// The marker of this time.
    ///
    /// # Errors
    /// The marker does not exist, does not match the backup, or the store cannot be used.
    pub fn read(store: &Store, base: &Manifest, at: i64) -> Result<Marker, BackupError> {
        let name = marker_name(base.backup_id, at);
        let damaged = |reason: String| BackupError::damaged(&name, reason);
        let marker: Option<Marker> = found(store, &name)?;
        let marker = marker.ok_or_else(|| damaged("it is missing".to_string()))?;
        if marker.format != FORMAT {
            return Err(damaged(format!(
                "version {} of its format is not known; use the version of skep that wrote it",
                marker.format
            )));
        }
        if (marker.backup_id, marker.at) != (base.backup_id, at) {
            return Err(damaged(format!(
                "it claims to be the marker {} of the backup {}",
                marker.at, marker.backup_id
            )));
        }
        for of in &base.partitions {
            let Some(cut) = marker.cuts.get(&of.partition) else {
                return Err(damaged(format!("partition {} is missing", of.partition)));
            };
            if cut.index < of.cut.index {
                return Err(damaged(format!(
                    "partition {} is cut at entry {}, before entry {} of the backup",
                    of.partition, cut.index, of.cut.index
                )));
            }
        }
        Ok(marker)
    }
}
