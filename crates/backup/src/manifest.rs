//! The manifest of a backup: everything a restore needs to know.

use serde::{Deserialize, Serialize};
use skep_cluster::State;

use crate::documents::DocumentsManifest;

/// The format version of backups that earlier versions of Skep can read.
pub const FORMAT: u32 = 1;
/// The format version of backups whose objects have more than the backup: the beginning of files that could not be read to their end, or files
/// of earlier backups that were deleted since. Versions of Skep that know the first format only would restore them too.
pub const FORMAT_OF_PARTS: u32 = 2;

/// Whether this version of Skep reads manifests of this format version.
pub(crate) fn is_read(format: u32) -> bool {
    (FORMAT..=FORMAT_OF_PARTS).contains(&format)
}

/// Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub format: u32,
    pub backup_id: u64,
    /// The version of Skep that took the backup.
    pub version: String,
    /// Earlier versions did not record it.
    #[serde(default)]
    pub kind: BackupKind,
    pub began_at: i64,
    /// All partitions were paused at this time: the backup is the state of the cluster at that moment.
    pub cut_at: i64,
    pub completed_at: i64,
    pub cluster: State,
    pub partitions: Vec<PartitionManifest>,
    /// The document stores in directories. Earlier versions did not record them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<DocumentsManifest>,
}

/// Why a backup was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackupKind {
    /// Somebody requested it.
    #[default]
    #[serde(rename = "MANUAL_BACKUP")]
    Manual,
    /// The cluster took it by itself: by the schedule, or to continue from it.
    #[serde(rename = "SCHEDULED_BACKUP")]
    Scheduled,
}

impl BackupKind {
    /// The type of the backup's checkpoint in the API.
    pub fn checkpoint_type(self) -> &'static str {
        match self {
            BackupKind::Manual => "MANUAL_BACKUP",
            BackupKind::Scheduled => "SCHEDULED_BACKUP",
        }
    }
}

impl Manifest {
    /// The earliest format version in which this backup, which has these documents, can be restored.
    pub fn format_of(backup: u64, documents: &[DocumentsManifest]) -> u32 {
        let is_part = |of: &DocumentsManifest| !of.unreadable.is_empty() || of.shares(backup);
        if documents.iter().any(is_part) {
            FORMAT_OF_PARTS
        } else {
            FORMAT
        }
    }

    pub fn partition(&self, partition: u32) -> Option<&PartitionManifest> {
        let mut partitions = self.partitions.iter();
        partitions.find(|it| it.partition == partition)
    }

    /// All objects except the manifest itself.
    pub fn objects(&self) -> impl Iterator<Item = &StoredObject> {
        let partitions = self.partitions.iter();
        partitions
            .flat_map(PartitionManifest::objects)
            .chain(self.document_objects())
            .chain(self.listing_objects())
    }

    /// The objects with listings of documents.
    pub(crate) fn listing_objects(&self) -> impl Iterator<Item = &StoredObject> {
        let listed = self.documents.iter().flat_map(|it| &it.listed);
        listed.flat_map(|it| &it.objects)
    }

    /// The objects with documents.
    pub fn document_objects(&self) -> impl Iterator<Item = &StoredObject> {
        let stores = self.documents.iter();
        stores.flat_map(|it| it.objects.iter().flatten())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionManifest {
    pub partition: u32,
    /// The node that led the partition.
    pub broker_id: u32,
    pub cut: Cut,
    /// The last entry contained in the rows of the checkpoint.
    pub checkpoint_index: u64,
    pub state: Vec<StoredObject>,
    /// `None` if there was no secondary storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<Vec<StoredObject>>,
    pub log: LogPart,
}

impl PartitionManifest {
    pub fn objects(&self) -> impl Iterator<Item = &StoredObject> {
        let query = self.query.iter().flatten();
        self.state.iter().chain(query).chain(&self.log.objects)
    }
}

/// The end of a partition's data in the backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cut {
    /// The last entry.
    pub index: u64,
    pub term: u64,
    /// The last record.
    pub position: u64,
    /// The counter part of the newest key.
    pub last_key: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogPart {
    /// The entry before the first one in the backup.
    pub base_index: u64,
    pub base_term: u64,
    pub objects: Vec<StoredObject>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredObject {
    pub name: String,
    pub bytes: u64,
    /// Hash of the stored object, in hexadecimal digits.
    pub sha256: String,
}
