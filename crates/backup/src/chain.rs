//! The log that is shipped after a backup: objects of one partition, each of which starts where the previous one ends.
//!
//! An object is named after its first entry and created only once, so there is a single chain. A leader that finds the name
//! taken continues after the existing objects. Entries are shipped after they are committed, so every leader would write the
//! same.

use bytes::Bytes;
use skep_objects::ObjectError;
use skep_storage::log::Entry;

use crate::ahead::ahead;
use crate::backups::{BEGUN, name};
use crate::entries::decode;
use crate::manifest::Cut;
use crate::object::{pack, unpack};
use crate::{BackupError, Store};

/// The chain of a partition after a backup.
#[derive(Clone, Debug)]
pub struct Chain {
    store: Store,
    backup: u64,
    directory: String,
    /// The last entry in the backup itself.
    base: Cut,
}

/// An object of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its first entry.
    pub first: u64,
    /// As it is stored.
    pub bytes: u64,
}

impl Chain {
    /// `base`: where the backup is cut.
    pub fn new(store: &Store, backup: u64, partition: u32, base: Cut) -> Chain {
        Chain {
            store: store.clone(),
            backup,
            directory: name(backup, &format!("continued/partition-{partition}")),
            base,
        }
    }

    pub(crate) fn name(&self, first: u64) -> String {
        format!("{}/{first:020}", self.directory)
    }

    /// Checks that the backup is in this store: the directory may be another one, because its mount is missing.
    ///
    /// # Errors
    /// [`BackupError::OtherStore`], or the store cannot be used.
    pub fn expect_backup(&self) -> Result<(), BackupError> {
        let begun = name(self.backup, BEGUN);
        if self.store.find(&begun)?.is_some() {
            return Ok(());
        }
        Err(BackupError::OtherStore {
            store: self.store.shown().to_string(),
            id: self.backup,
            reason: format!("the object '{begun}' is missing here"),
        })
    }

    /// Writes entries after all existing ones. Returns `false` if somebody has already written entries starting with this one.
    ///
    /// # Errors
    /// The store cannot be used.
    pub fn create(&self, first: u64, entries: &[u8]) -> Result<bool, BackupError> {
        match self.store.create(&self.name(first), pack(entries)) {
            Ok(()) => Ok(true),
            Err(ObjectError::Exists { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The objects that start after this entry, in order.
    ///
    /// # Errors
    /// The store cannot be used.
    pub fn links(&self, behind: u64) -> Result<Vec<Link>, BackupError> {
        let listed = self.store.list_after(&self.directory, &self.name(behind))?;
        let links = listed.into_iter().map(|object| {
            let first = object.name.rsplit('/').next().map(str::parse);
            match first {
                Some(Ok(first)) => Ok(Link {
                    first,
                    bytes: object.bytes,
                }),
                _ => Err(BackupError::damaged(
                    &object.name,
                    "its name is not that of an entry",
                )),
            }
        });
        links.collect()
    }

    /// The entries of the object that starts with this one. They are consecutive.
    ///
    /// # Errors
    /// It is missing or damaged, or the store cannot be used.
    pub fn read(&self, first: u64) -> Result<Vec<Entry>, BackupError> {
        let name = self.name(first);
        let content: Bytes = self.store.get(&name)?;
        let damaged = |reason: String| BackupError::damaged(&name, reason);
        let entries = unpack(&content).and_then(decode).map_err(damaged)?;
        for (next, entry) in (first..).zip(&entries) {
            if entry.index != next {
                return Err(damaged(format!("entry {next} is missing")));
            }
        }
        if entries.is_empty() {
            return Err(damaged("it has no entries".to_string()));
        }
        Ok(entries)
    }

    /// [`read`](Self::read) for each of these, in their order. Some are read ahead, in threads of their own.
    pub(crate) fn read_ahead(
        &self,
        links: &[Link],
    ) -> impl Iterator<Item = Result<Vec<Entry>, BackupError>> + use<> {
        let chain = self.clone();
        ahead(links.to_vec(), move |link| chain.read(link.first))
    }

    /// The last entry of the chain. `known`: an object of the chain, to avoid listing all objects. `None`: nothing was shipped yet.
    ///
    /// # Errors
    /// The last object is damaged, or the store cannot be used.
    pub fn last(&self, known: Option<u64>) -> Result<Option<Entry>, BackupError> {
        let behind = known.map_or(self.base.index, |known| known.saturating_sub(1));
        let last = self.links(behind)?.last().copied();
        let Some(last) = last else {
            return Ok(None);
        };
        Ok(self.read(last.first)?.pop())
    }

    /// The entry with which the chain continues, given its last one.
    pub fn next(&self, last: Option<&Entry>) -> u64 {
        last.map_or(self.base.index, |last| last.index) + 1
    }

    /// The first entry after the backup.
    pub fn first(&self) -> u64 {
        self.base.index + 1
    }

    /// Where the backup is cut.
    pub fn base(&self) -> Cut {
        self.base
    }
}
