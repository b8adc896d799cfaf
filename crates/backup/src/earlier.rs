//! The log before a backup, from the backups that it carries on. Rows that are not in the backup may lack what was done before it.

use std::collections::BTreeMap;

use skep_storage::log::{Entry, EntryId};

use crate::BackupError;
use crate::backups::name;
use crate::manifest::PartitionManifest;
use crate::read::Reader;

/// A backup before another one, of which only the log is read.
#[derive(Debug)]
pub struct Earlier {
    reader: Reader,
    /// By partition: the last entry to read. The later backup has those after it.
    ends: BTreeMap<u32, EntryId>,
}

impl Earlier {
    /// # Errors
    /// The store cannot be used.
    pub fn new(mut reader: Reader, ends: BTreeMap<u32, EntryId>) -> Result<Earlier, BackupError> {
        let indices = ends.iter().map(|(partition, end)| (*partition, end.index));
        reader.continue_to(&indices.collect())?;
        Ok(Earlier { reader, ends })
    }

    fn part(&self, partition: u32) -> Option<(&PartitionManifest, EntryId)> {
        let end = self.ends.get(&partition).copied()?;
        Some((self.reader.manifest.partition(partition)?, end))
    }

    /// Number of bytes of the partition's log, as they are stored.
    pub fn bytes(&self, partition: u32) -> u64 {
        self.part(partition)
            .map_or(0, |(of, _)| self.reader.log_bytes(of))
    }

    /// The entries of the partition's log up to the end, one object at a time. They are consecutive.
    pub fn log(&self, partition: u32) -> impl Iterator<Item = Result<Vec<Entry>, BackupError>> {
        let part = self.part(partition).into_iter();
        part.flat_map(move |(of, end)| self.entries(of, end))
    }

    fn entries<'r>(
        &'r self,
        of: &'r PartitionManifest,
        end: EntryId,
    ) -> impl Iterator<Item = Result<Vec<Entry>, BackupError>> + 'r {
        let mut is_over = false;
        let own = self.reader.own_log(of, of.log.base_index);
        own.map_while(move |entries| {
            if is_over {
                return None;
            }
            Some(entries.and_then(|mut entries| {
                entries.retain(|entry| entry.index <= end.index);
                let last = entries.last().map(|last| (last.index, last.term));
                is_over = last.is_some_and(|(index, _)| index >= end.index);
                if is_over && last != Some((end.index, end.term)) {
                    return Err(self.differs(end));
                }
                Ok(entries)
            }))
        })
    }

    fn differs(&self, end: EntryId) -> BackupError {
        let backup = self.reader.manifest.backup_id;
        let reason = format!(
            "entry {} of its log is not the one of term {} that the next backup continues",
            end.index, end.term
        );
        BackupError::damaged(&name(backup, "continued"), reason)
    }
}
