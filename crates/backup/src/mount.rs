//! Notices that a directory is no longer the store that it was, because its mount is missing. A bucket cannot be mistaken for another.

use std::sync::{Mutex, PoisonError};

use crate::owner::OWNER;
use crate::{BackupError, Store};

/// The file system on which a node has seen its store.
#[derive(Debug, Default)]
pub struct Mount {
    device: Mutex<Option<u64>>,
}

impl Mount {
    /// Checks that the directory is the store, before anything is written to it. A store that is emptied stays on its file system, and one
    /// that is mounted again has its content.
    ///
    /// # Errors
    /// [`BackupError::NotMounted`], or the store cannot be used.
    pub fn expect(&self, store: &Store) -> Result<(), BackupError> {
        let Some(device) = store.device() else {
            return Ok(());
        };
        let is_store = store.find(OWNER)?.is_some();
        let mut known = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        if is_store {
            *known = Some(device);
        }
        if known.is_some_and(|known| known != device) {
            return Err(BackupError::NotMounted {
                store: store.shown().to_string(),
            });
        }
        Ok(())
    }
}
