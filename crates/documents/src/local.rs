//! Documents in a directory: one file each, which exists either completely or not at all.
//!
//! The directory may be shared by several nodes: nothing of it is cached in memory, and a new file gets its name by a hard link, which
//! fails if the name exists.
//!
//! ```text
//! ab/ab12…        the document whose id has this SHA-256: head, then content
//! expiring/2026-11-22T18/ab12…   it expires in this hour
//! damaged/ab12…   it expired and cannot be read: its file stays until an operator removes it
//! new/…           files that are being written
//! ```

mod file;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use self::file::{Head, write_new};
use crate::config::Local;
use crate::metadata::hex;
use crate::store::{Document, Store, StoredDocument};
use crate::{BoxFuture, Content, DocumentError, Metadata};

/// Maximum numbers of documents, hours and unfinished files that a sweep visits.
const SWEEP: usize = 1000;
/// A file that is still unfinished after this time never will be finished.
const ABANDONED: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug)]
pub struct LocalStore {
    config: Local,
}

/// The directory of documents that expire in the hour of this time.
fn hour(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H").to_string()
}

fn broken(path: &Path, error: &io::Error) -> DocumentError {
    let text = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DocumentError::Exhausted(
            format!("The document store is full: {text}. Make room, or delete documents."),
        ),
        _ => DocumentError::Broken(format!(
            "The document store cannot be read or written: {text}. An operator must check its directory."
        )),
    }
}

fn on(path: &Path) -> impl Fn(io::Error) -> DocumentError + '_ {
    move |error| broken(path, &error)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

/// Creates a directory and those above it. Their names survive a power cut.
fn create_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|above| !above.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    create_directory(parent)?;
    match fs::create_dir(path) {
        // Another request or node has created it just now.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        created => created?,
    }
    sync_directory(parent)
}

/// Returns true if the file existed.
fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

impl LocalStore {
    pub fn new(config: Local) -> LocalStore {
        LocalStore { config }
    }

    fn path(&self, name: &str) -> PathBuf {
        let prefix = name.get(..2).unwrap_or_default();
        self.config.directory.join(prefix).join(name)
    }

    fn name(id: &str) -> String {
        hex(&Sha256::digest(id))
    }

    fn keep(&self, document: &Document, now: Timestamp) -> Result<(), DocumentError> {
        self.check_room(document.content.len() as u64)?;
        let name = LocalStore::name(&document.id);
        let path = self.path(&name);
        let (Some(parent), new) = (path.parent(), self.config.directory.join("new")) else {
            return Err(DocumentError::Broken("no directory".to_string()));
        };
        for directory in [parent, &new] {
            create_directory(directory).map_err(on(directory))?;
        }
        if let Some(at) = document.metadata.expires_at {
            // First, so that no document is forgotten; a mark without a document does no harm.
            let marks = self.config.directory.join("expiring").join(hour(at));
            fs::create_dir_all(&marks).map_err(on(&marks))?;
            fs::write(marks.join(&name), "").map_err(on(&marks))?;
        }
        let written = new.join(uuid::Uuid::new_v4().to_string());
        let linked =
            write_new(&written, document).and_then(|()| self.link_new(&written, &path, now));
        // In any case: it has its final name by now, or is not needed.
        let _ = fs::remove_file(&written);
        match linked {
            Ok(true) => sync_directory(parent).map_err(on(parent)),
            Ok(false) => Err(DocumentError::exists(&document.id)),
            Err(error) => Err(broken(&path, &error)),
        }
    }

    /// Gives a file its final name. Returns false if the name exists.
    fn link_new(&self, written: &Path, path: &Path, now: Timestamp) -> io::Result<bool> {
        // A second time, if the existing document had expired.
        for _ in 0..2 {
            match fs::hard_link(written, path) {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            if !self.remove_expired(path, now)? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Returns true if no valid document has this name now. Another node doing the same may have stored a new document here meanwhile,
    /// which stays.
    fn remove_expired(&self, path: &Path, now: Timestamp) -> io::Result<bool> {
        match Head::open(path)? {
            None => return Ok(true),
            Some((head, _)) if !head.metadata.is_expired(now) => return Ok(false),
            Some(_) => {}
        }
        let aside = self
            .config
            .directory
            .join("new")
            .join(uuid::Uuid::new_v4().to_string());
        match fs::rename(path, &aside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            renamed => renamed?,
        }
        let was_expired = Head::open(&aside)?.is_none_or(|(head, _)| head.metadata.is_expired(now));
        if !was_expired {
            fs::hard_link(&aside, path)?;
        }
        remove(&aside)?;
        Ok(was_expired)
    }

    /// Checks the free space: the partitions need their share of the disk.
    fn check_room(&self, bytes: u64) -> Result<(), DocumentError> {
        let directory = &self.config.directory;
        create_directory(directory).map_err(on(directory))?;
        let space =
            rustix::fs::statvfs(directory).map_err(|error| broken(directory, &error.into()))?;
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        if free < self.config.reserve.saturating_add(bytes) {
            return Err(DocumentError::Exhausted(format!(
                "The disk of the document store has {free} bytes left, of which {} stay free for process instances \
                 (camunda.data.primary-storage.disk.free-space.processing). Make room, or delete documents.",
                self.config.reserve
            )));
        }
        Ok(())
    }

    fn find(&self, id: &str, now: Timestamp) -> Result<(Metadata, fs::File), DocumentError> {
        let path = self.path(&LocalStore::name(id));
        let found = Head::open(&path).map_err(on(&path))?;
        match found {
            Some((head, file)) if !head.metadata.is_expired(now) => Ok((head.metadata, file)),
            _ => Err(DocumentError::no_document(id)),
        }
    }

    fn discard(&self, id: &str, now: Timestamp) -> Result<(), DocumentError> {
        self.find(id, now)?;
        let path = self.path(&LocalStore::name(id));
        let was_there = remove(&path).map_err(on(&path))?;
        if let Some(parent) = path.parent() {
            sync_directory(parent).map_err(on(parent))?;
        }
        was_there
            .then_some(())
            .ok_or_else(|| DocumentError::no_document(id))
    }

    /// Removes documents that expired in past hours, and files that were never finished. A document that cannot be removed does not stop
    /// the sweep: the first such failure is returned at the end.
    fn sweep_now(&self, now: Timestamp) -> io::Result<()> {
        let marks = self.config.directory.join("expiring");
        let mut sweep = Sweep::default();
        for over in past_hours(&marks, &hour(now))? {
            let directory = marks.join(over);
            let swept = self.sweep_hour(&directory, now, &mut sweep);
            sweep.note(swept);
            // It may have marks left, or another node may have removed it.
            let _ = fs::remove_dir(&directory);
        }
        sweep.note(self.sweep_unfinished());
        if let Some(first) = &sweep.damage {
            tracing::warn!(
                code = "DOCUMENT_STORE",
                count = sweep.damaged,
                "expired documents are damaged and stay on the disk, the first because: {first}. Remove their files; the directory \
                 'damaged' of the store lists them"
            );
        }
        sweep.failure.map_or(Ok(()), Err)
    }

    fn sweep_hour(&self, directory: &Path, now: Timestamp, sweep: &mut Sweep) -> io::Result<()> {
        let most = SWEEP.saturating_sub(sweep.visited);
        // All of them first, because the directory changes below.
        let marks: Vec<String> = names(directory)?.take(most).collect::<io::Result<_>>()?;
        for name in marks {
            sweep.visited += 1;
            let (path, mark) = (self.path(&name), directory.join(&name));
            match self.remove_expired(&path, now) {
                Ok(_) => sweep.note(remove(&mark).map(drop)),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    sweep.damaged += 1;
                    sweep.damage.get_or_insert(error);
                    sweep.note(self.set_aside(&mark, &name));
                }
                Err(error) => {
                    let text = format!("{}: {error}", path.display());
                    sweep.note(Err(io::Error::new(error.kind(), text)));
                }
            }
        }
        Ok(())
    }

    /// Moves the mark of a damaged document, so that later sweeps neither visit nor report it again.
    fn set_aside(&self, mark: &Path, name: &str) -> io::Result<()> {
        let damaged = self.config.directory.join("damaged");
        fs::create_dir_all(&damaged)?;
        match fs::rename(mark, damaged.join(name)) {
            // Another node has moved it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        }
    }

    fn sweep_unfinished(&self) -> io::Result<()> {
        let new = self.config.directory.join("new");
        for name in names(&new)?.take(SWEEP) {
            let path = new.join(name?);
            let age = fs::metadata(&path).and_then(|known| known.modified());
            let age = age.map(|at| at.elapsed().unwrap_or_default());
            if age.is_ok_and(|age| age > ABANDONED) {
                remove(&path)?;
            }
        }
        Ok(())
    }

    /// Runs a function on a thread where waiting for the disk blocks nobody.
    fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&LocalStore) -> Result<T, DocumentError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, DocumentError>> {
        let store = self.clone();
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || work(&store)).await;
            done.unwrap_or_else(|error| {
                Err(DocumentError::Broken(format!(
                    "The document store has failed: {error}."
                )))
            })
        })
    }
}

/// Progress of a sweep.
#[derive(Default)]
struct Sweep {
    /// Number of documents.
    visited: usize,
    damaged: usize,
    /// Why the first damaged document cannot be read.
    damage: Option<io::Error>,
    /// The first failure that another attempt may not meet.
    failure: Option<io::Error>,
}

impl Sweep {
    fn note(&mut self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            self.failure.get_or_insert(error);
        }
    }
}

/// The oldest hours before the current one, in order. There may be any number of later ones.
fn past_hours(marks: &Path, current: &str) -> io::Result<BTreeSet<String>> {
    let mut oldest = BTreeSet::new();
    for name in names(marks)? {
        let name = name?;
        if name.as_str() < current {
            oldest.insert(name);
        }
        if oldest.len() > SWEEP {
            oldest.pop_last();
        }
    }
    Ok(oldest)
}

/// The names in a directory, in any order; none if it does not exist.
fn names(directory: &Path) -> io::Result<impl Iterator<Item = io::Result<String>> + use<>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => Some(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let name = |entry: io::Result<fs::DirEntry>| {
        let name = entry.map(|entry| entry.file_name().into_string().ok());
        name.transpose()
    };
    Ok(entries.into_iter().flatten().filter_map(name))
}

impl Store for LocalStore {
    fn create(
        &self,
        document: Document,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), DocumentError>> {
        self.apart(move |store| store.keep(&document, now))
    }

    fn get<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<StoredDocument, DocumentError>> {
        let id = id.to_string();
        self.apart(move |store| {
            let (metadata, file) = store.find(&id, now)?;
            let content = Content::file(file, metadata.size);
            Ok(StoredDocument { metadata, content })
        })
    }

    fn delete<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), DocumentError>> {
        let id = id.to_string();
        self.apart(move |store| store.discard(&id, now))
    }

    fn sweep(&self, now: Timestamp) -> BoxFuture<'_, Result<(), DocumentError>> {
        let directory = self.config.directory.clone();
        self.apart(move |store| store.sweep_now(now).map_err(on(&directory)))
    }

    fn is_of_this_node(&self) -> bool {
        !self.config.shared
    }
}

#[cfg(test)]
mod tests;
