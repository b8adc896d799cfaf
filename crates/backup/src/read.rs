//! Reads the objects of a backup, and believes none that is not as the manifest says.

use bytes::Bytes;
use skep_storage::StorageError;
use skep_storage::kv::StreamReader;
use skep_storage::log::Entry;

use crate::backups::{find, manifest};
use crate::entries::decode;
use crate::manifest::{Manifest, PartitionManifest, StoredObject};
use crate::object::unpack;
use crate::upload::sha256;
use crate::{BackupError, Place};

/// A complete backup.
#[derive(Debug)]
pub struct Reader {
    place: Place,
    pub manifest: Manifest,
}

impl Reader {
    /// # Errors
    /// There is no such backup, it is not complete, or the store cannot be used.
    pub fn open(place: &Place, id: u64) -> Result<Reader, BackupError> {
        if let Some(manifest) = manifest(place, id)? {
            return Ok(Reader {
                place: place.clone(),
                manifest,
            });
        }
        let backup = find(place, id)?;
        let note = backup.note.map(|note| format!(" ({note})"));
        Err(BackupError::Unusable {
            id,
            reason: format!(
                "it is {} and has no manifest{}",
                backup.state.name(),
                note.unwrap_or_default()
            ),
        })
    }

    /// The content of an object.
    ///
    /// # Errors
    /// It is missing or damaged, or the store cannot be used.
    pub fn content(&self, object: &StoredObject) -> Result<Bytes, BackupError> {
        let stored = self.place.get(&object.name)?;
        if stored.len() as u64 != object.bytes || sha256(&stored) != object.sha256 {
            return Err(BackupError::damaged(
                &object.name,
                "it is not the object of which the manifest has the checksum",
            ));
        }
        unpack(&stored).map_err(|reason| BackupError::damaged(&object.name, reason))
    }

    /// The rows of the checkpoint.
    ///
    /// # Errors
    /// An object is missing or damaged.
    pub fn state<'r>(
        &'r self,
        of: &'r PartitionManifest,
    ) -> Result<StreamReader<impl Iterator<Item = Result<Bytes, StorageError>> + 'r>, StorageError>
    {
        let snapshot = |error: BackupError| StorageError::Snapshot(error.to_string());
        let chunks = of.state.iter();
        StreamReader::new(chunks.map(move |object| self.content(object).map_err(snapshot)))
    }

    /// The entries of the log, an object at a time. All that are there follow each other, up to the cut.
    pub fn log<'r>(
        &'r self,
        of: &'r PartitionManifest,
    ) -> impl Iterator<Item = Result<Vec<Entry>, BackupError>> + 'r {
        let mut next = of.log.base_index + 1;
        let objects = of.log.objects.iter();
        objects.enumerate().map(move |(number, object)| {
            let damaged = |reason: String| BackupError::damaged(&object.name, reason);
            let entries = decode(self.content(object)?).map_err(damaged)?;
            for entry in &entries {
                if entry.index != next {
                    return Err(damaged(format!("entry {next} is missing")));
                }
                next += 1;
            }
            if number + 1 == of.log.objects.len() && next != of.cut.index + 1 {
                return Err(damaged(format!(
                    "it ends with entry {}, and the backup with entry {}",
                    next - 1,
                    of.cut.index
                )));
            }
            Ok(entries)
        })
    }
}
