//! Notices that a directory is no longer the store that it was, because its mount is missing. A bucket cannot be mistaken for another.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::backups::text;
use crate::owner::OWNER;
use crate::{BackupError, Store};

/// The file in the data directory that remembers the store while the node does not run: mounts get lost when a machine starts again.
const RECORD: &str = "backup-store";

/// The file system on which a node has seen its store.
#[derive(Debug, Default)]
pub struct Mount {
    record: Option<PathBuf>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    known: Option<Known>,
    is_recorded: bool,
    /// Why it cannot be recorded, until somebody has taken the reason.
    unrecorded: Option<String>,
    /// Whether the reason was taken.
    is_told: bool,
}

impl Seen {
    /// It was recorded, or not, for this reason.
    fn note(&mut self, failed: Option<String>) {
        self.is_recorded = failed.is_none();
        self.is_told &= failed.is_some();
        self.unrecorded = failed.filter(|_| !self.is_told);
    }
}

/// A store that has been seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    /// Its directory.
    store: String,
    device: u64,
}

impl Mount {
    /// Remembers the store in a data directory.
    pub fn recorded_in(directory: &Path) -> Mount {
        Mount {
            record: Some(directory.join(RECORD)),
            seen: Mutex::default(),
        }
    }

    /// Checks that the directory is the store, before anything is written to it. A store that is emptied stays on its file system, and one
    /// that is mounted again has its content.
    ///
    /// # Errors
    /// [`BackupError::NotMounted`], or the store or the record of it cannot be used.
    pub fn expect(&self, store: &Store) -> Result<(), BackupError> {
        let Some(device) = store.device() else {
            return Ok(());
        };
        let here = Known {
            store: store.shown().to_string(),
            device,
        };
        let is_store = store.find(OWNER)?.is_some();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if is_store {
            if !seen.is_recorded || seen.known.as_ref() != Some(&here) {
                // On a full disk it is recorded next time: a backup matters more.
                let failed = self.write(&here).err();
                seen.note(failed.map(|error| self.shown(&error)));
                seen.known = Some(here);
            }
            return Ok(());
        }
        if seen.known.is_none() {
            seen.known = self.read(&here.store)?;
        }
        // The settings may name another directory by now.
        let moved = |known: &Known| known.store == here.store && known.device != here.device;
        if seen.known.as_ref().is_some_and(moved) {
            return Err(BackupError::NotMounted { store: here.store });
        }
        Ok(())
    }

    /// Why the store that was seen cannot be recorded. Returned once, until it was recorded again.
    pub fn take_unrecorded(&self) -> Option<String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = seen.unrecorded.take()?;
        seen.is_told = true;
        Some(reason)
    }

    fn shown(&self, error: &io::Error) -> String {
        let record = self.record.iter().map(|record| record.display());
        record.map(|record| format!("{record}: {error}")).collect()
    }

    fn read(&self, store: &str) -> Result<Option<Known>, BackupError> {
        let Some(record) = &self.record else {
            return Ok(None);
        };
        match fs::read(record) {
            Ok(content) => {
                let known = serde_json::from_slice(&content);
                known.map(Some).map_err(|error| BackupError::DamagedRecord {
                    record: record.display().to_string(),
                    store: store.to_string(),
                    reason: error.to_string(),
                })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io::Error::new(error.kind(), self.shown(&error)).into()),
        }
    }

    fn write(&self, known: &Known) -> io::Result<()> {
        let Some(record) = &self.record else {
            return Ok(());
        };
        let new = record.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&text(known))?;
        file.sync_all()?;
        fs::rename(&new, record)?;
        match record.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    }
}
