//! What a store is opened with in tests: a log in memory, and a partition of a cluster that is called "test".
#![allow(dead_code)] // Every test program uses its part.

use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use skep_export::{CommittedLog, LogError, LogProgress, Partition};

/// The committed entries of a partition. Clones are the same log.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Bytes>>>);

impl Log {
    pub fn new(entries: Vec<Bytes>) -> Log {
        Log(Arc::new(Mutex::new(entries)))
    }

    /// Adds entries, and tells of them.
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

pub fn partition(id: u32, directory: &Path) -> Partition<'_> {
    Partition {
        id,
        directory,
        cluster: "test",
        definitions: vec![],
        metrics: Default::default(),
        elsewhere: false,
    }
}
