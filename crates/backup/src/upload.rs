//! Writes the objects of one partition, or of a document store.

use std::time::{Duration, Instant};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::backups::name;
use crate::manifest::StoredObject;
use crate::object::pack;
use crate::{BackupError, Store};

/// Whoever waits for the rate asks at this interval whether to go on.
const ASKS: Duration = Duration::from_secs(1);
/// The directory of documents, which several backups share. A bucket may have documents of its own: the name is no store's.
pub(crate) const DOCUMENTS: &str = "backup-documents";

/// The directory of the documents that the backup writes.
pub(crate) fn written_by(id: u64, documents: &str) -> String {
    format!("{DOCUMENTS}/{documents}/{id}")
}

/// A series of objects, numbered in order of creation.
pub struct Upload {
    store: Store,
    directory: String,
    objects: Vec<StoredObject>,
    /// Bytes of content per second.
    rate: u64,
    due: Instant,
}

impl Upload {
    /// `part`: `state`, `query` or `log`. `rate`: bytes per second, limited because regular work has priority on disk and
    /// network.
    pub fn new(store: &Store, (id, partition): (u64, u32), part: &str, rate: u64) -> Upload {
        Upload::in_directory(
            store,
            name(id, &format!("partition-{partition}/{part}")),
            rate,
        )
    }

    /// The files of a document store.
    pub fn of_documents(store: &Store, id: u64, documents: &str, rate: u64) -> Upload {
        Upload::in_directory(store, written_by(id, documents), rate)
    }

    /// The listing of a document store.
    pub fn of_listing(store: &Store, id: u64, documents: &str, rate: u64) -> Upload {
        Upload::in_directory(store, name(id, &format!("listed-{documents}")), rate)
    }

    fn in_directory(store: &Store, directory: String, rate: u64) -> Upload {
        Upload {
            store: store.clone(),
            directory,
            objects: Vec::new(),
            rate: rate.max(1),
            due: Instant::now(),
        }
    }

    /// Waits until the rate allows the next object: for hours, if it is low. `goes_on`: called at once, and every second.
    ///
    /// # Errors
    /// The error of `goes_on`.
    pub fn wait<E>(&self, goes_on: &mut dyn FnMut() -> Result<(), E>) -> Result<(), E> {
        loop {
            goes_on()?;
            let left = self.due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(ASKS));
        }
    }

    /// Writes the next object. Blocks, also to keep the rate.
    ///
    /// # Errors
    /// The store cannot be used.
    pub fn add(&mut self, content: &[u8]) -> Result<(), BackupError> {
        std::thread::sleep(self.due.saturating_duration_since(Instant::now()));
        self.takes(content.len() as u64);
        let object = pack(content);
        let stored = StoredObject {
            name: format!("{}/{:06}", self.directory, self.objects.len() + 1),
            bytes: object.len() as u64,
            sha256: sha256(&object),
        };
        // An earlier attempt may have left an object with this name.
        self.store.put(&stored.name, object)?;
        self.objects.push(stored);
        Ok(())
    }

    /// Counts bytes that are written, or that somebody reads instead.
    pub fn takes(&mut self, bytes: u64) {
        let nanos = bytes.saturating_mul(1_000_000_000) / self.rate;
        self.due = self.due.max(Instant::now()) + Duration::from_nanos(nanos);
    }

    /// The number of objects so far.
    pub fn written(&self) -> usize {
        self.objects.len()
    }

    pub fn finish(self) -> Vec<StoredObject> {
        self.objects
    }
}

/// The hash in hexadecimal digits.
pub(crate) fn sha256(object: &Bytes) -> String {
    let digest = Sha256::digest(object);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
