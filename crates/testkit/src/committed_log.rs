//! An in-memory log for exporters to read.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use skep_exporting::{CommittedLog, LogError, LogProgress};

/// The committed entries of a partition. Clones share the same log.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Bytes>>>);

impl Log {
    pub fn new(entries: Vec<Bytes>) -> Log {
        Log(Arc::new(Mutex::new(entries)))
    }

    /// Adds entries, and notifies readers.
    pub fn commit(&self, more: impl IntoIterator<Item = Bytes>, progress: &LogProgress) {
        let mut entries = self.0.lock().unwrap();
        entries.extend(more);
        progress.commit(entries.len() as u64);
    }

    pub fn entries(&self) -> Vec<Bytes> {
        self.0.lock().unwrap().clone()
    }
}

impl CommittedLog for Log {
    fn read(&self, from: u64, to: u64, _max: usize) -> Result<Vec<(u64, Bytes)>, LogError> {
        let entries = self.0.lock().unwrap();
        let at = |index: u64| (index, entries[index as usize - 1].clone());
        Ok((from..to).map(at).collect())
    }
}
