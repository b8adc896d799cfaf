//! Documents of local stores as a part of a backup.
//!
//! They are read after the cut: a document is stored before anything refers to it and never changes, so all documents to which the backup
//! refers are there, unless they were deleted or have expired. What an earlier backup has of them is not written again.

mod earlier;
mod packing;

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use skep_backup::{
    BackupError, Begun, DocumentsManifest, FilePiece, Listing, MAX_FILES, PIECE, Reader, Store,
    StoredObject, decode_pieces, is_path,
};
use skep_storage::disk::create_dir_durably;

use self::earlier::Earlier;
use self::packing::Packing;
use super::restore::RestoreError;

/// Bytes per read.
const READ: u64 = 1 << 20;
/// Directories within the store's: `ab`, or `expiring` and an hour.
const DEPTH: usize = 3;
/// Directories of the store that are not documents: files that are being written, and marks of damaged ones.
const LEFT_OUT: [&str; 2] = ["new", "damaged"];
/// Where files are written before they get their names. The store removes what it finds here after an hour.
const UNFINISHED: &str = "new";

/// If there are more small objects than this, their documents are written again, together.
const MAX_SMALL: usize = 64;
/// See [`Limits::read_again`].
const ONE_IN: u64 = 61;
/// Files and directories that are left out because they cannot be read. With more of them, the whole store seems to have failed.
const MAX_UNREADABLE: usize = 1000;

/// How much is read, written and listed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes per second.
    rate: u64,
    /// Bytes per read.
    read: u64,
    /// An object is written as soon as it has so many bytes.
    piece: usize,
    /// Files that are listed.
    listed: usize,
    /// Small objects of earlier backups to which a backup refers.
    small: usize,
    /// One in so many objects of earlier backups is read, to find damage. A prime number, as times of backups are multiples of others.
    read_again: u64,
}

impl Limits {
    /// `rate`: bytes per second.
    pub(super) fn at(rate: u64) -> Limits {
        Limits {
            rate,
            read: READ,
            piece: PIECE,
            listed: MAX_FILES,
            small: MAX_SMALL,
            read_again: ONE_IN,
        }
    }

    /// Whether an object with so many bytes of content is small: each backup with one new document writes one.
    fn is_small(&self, content_bytes: u64) -> bool {
        content_bytes < self.piece as u64 / 8
    }
}

/// A document store in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalDocuments {
    /// Its id in the settings.
    pub store: String,
    pub directory: PathBuf,
    /// Whether this node has the documents of all nodes: there are no others, or they share the directory.
    pub whole: bool,
}

/// Why documents cannot be written to the backup.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotWritten {
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error("{0}")]
    GivenUp(String),
    #[error("there are more documents than can be listed")]
    TooManyToList,
}

impl NotWritten {
    fn unreadable(path: &Path) -> impl Fn(io::Error) -> NotWritten + Copy + '_ {
        move |source| NotWritten::Unreadable {
            path: path.to_path_buf(),
            source,
        }
    }
}

/// A file as it is in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    bytes: u64,
    /// Another file with this name, perhaps a document that was stored again under its id, has another one.
    stamp: u64,
}

impl Found {
    fn of(metadata: &Metadata) -> Found {
        let nanos =
            i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        Found {
            bytes: metadata.len(),
            stamp: (nanos as u64) ^ metadata.ino().rotate_left(40),
        }
    }
}

/// Writes the documents of a store to the backup, without those that cannot be read. `keeps_on`: called for each file, and every second while
/// nothing is written.
///
/// # Errors
/// The store's directory or the store of backups cannot be used, or too many documents cannot be read.
pub(super) fn upload(
    local: &LocalDocuments,
    (store, begun): (&Store, &Begun),
    limits: Limits,
    keeps_on: &mut dyn FnMut() -> Result<(), NotWritten>,
) -> Result<DocumentsManifest, NotWritten> {
    if !local.whole {
        return Ok(DocumentsManifest {
            store: local.store.clone(),
            objects: None,
            listed: None,
            unreadable: Vec::new(),
        });
    }
    let earlier = Earlier::of_newest((store, begun), &local.store, limits)?;
    let to = (store, begun.backup_id);
    match Packing::new(local, to, limits, Some(earlier), keeps_on).run() {
        Err(NotWritten::TooManyToList) => {
            warn_of_too_many(&local.store);
            Packing::new(local, to, limits, None, keeps_on).run()
        }
        written => written,
    }
}

fn warn_of_too_many(store: &str) {
    tracing::warn!(
        store,
        "there are so many documents that each backup writes all of them again"
    );
}

/// Takes the path of a file within the store, or why something there cannot be read.
type Visit<'a> = dyn FnMut(&str, io::Result<Found>) -> Result<(), NotWritten> + 'a;

/// Visits the files below a directory, which need not exist. `below`: its path within the store.
fn walk(
    directory: &Path,
    below: &str,
    depth: usize,
    visit: &mut Visit<'_>,
) -> Result<(), NotWritten> {
    debug_assert!(depth > 0, "the store has no files below that depth");
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return not_listed(directory, below, error, visit),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return not_listed(directory, below, error, visit),
        };
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if below.is_empty() && LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let path = if below.is_empty() {
            name
        } else {
            format!("{below}/{name}")
        };
        // Whatever else people have put there is not the store's.
        if !is_path(&path) {
            continue;
        }
        // Of what a link leads to, as the store reads it.
        let metadata = match fs::metadata(entry.path()) {
            Ok(metadata) => metadata,
            Err(error) => {
                if !is_gone(&entry.path()) {
                    visit(&path, Err(error))?;
                }
                continue;
            }
        };
        if metadata.is_dir() {
            if depth > 1 {
                walk(&entry.path(), &path, depth - 1, visit)?;
            }
        } else if !below.is_empty() {
            let plain = metadata.is_file().then(|| Found::of(&metadata));
            visit(
                &path,
                plain.ok_or_else(|| io::Error::other("it is not a plain file")),
            )?;
        }
    }
    Ok(())
}

/// Without the store's own directory, all documents would be missing.
fn not_listed(
    directory: &Path,
    below: &str,
    error: io::Error,
    visit: &mut Visit<'_>,
) -> Result<(), NotWritten> {
    if below.is_empty() {
        return Err(NotWritten::unreadable(directory)(error));
    }
    visit(below, Err(error))
}

/// Whether the file was deleted since the directory was read: a link that leads nowhere is still there.
fn is_gone(path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Takes a piece of a file, and its place in the file.
type AddPiece<'a> = dyn FnMut(u64, &[u8]) -> Result<(), NotWritten> + 'a;

/// Reads a file in pieces of at most so many bytes, at least one. A file that was deleted since the directory was read is left out.
fn read_file(
    directory: &Path,
    path: &str,
    most: u64,
    add: &mut AddPiece<'_>,
) -> Result<(), NotWritten> {
    let path = directory.join(path);
    let failed = NotWritten::unreadable(&path);
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let mut place = 0;
    loop {
        let mut piece = Vec::new();
        let read = (&mut file).take(most).read_to_end(&mut piece);
        let read = read.map_err(failed)? as u64;
        if read > 0 || place == 0 {
            add(place, &piece)?;
        }
        if read < most {
            return Ok(());
        }
        place += read;
    }
}

/// A file that is being restored.
struct Unfinished {
    path: String,
    written: PathBuf,
    file: File,
    size: u64,
}

/// Writes documents of a backup into a store's directory. A document that is there already stays.
pub(super) struct Restoring<'a> {
    of: &'a DocumentsManifest,
    /// Objects may have more files than these.
    listing: Option<Listing>,
    directory: &'a Path,
    unfinished: Option<Unfinished>,
    /// Damaged objects. Documents with a part in one of them are not restored.
    damaged: Vec<String>,
}

impl<'a> Restoring<'a> {
    /// Restores the documents of a store. Objects that are missing or damaged cost their documents, not the rest of the backup: returns what
    /// is wrong with them.
    ///
    /// # Errors
    /// The store of backups or the directory cannot be used.
    pub(super) fn run(
        reader: &Reader,
        of: &'a DocumentsManifest,
        directory: &'a Path,
    ) -> Result<Vec<String>, RestoreError> {
        let (listing, mut damaged) = (reader.listing(of), Vec::new());
        let listing = match listing {
            Err(error) if error.is_loss() => {
                if of.shares(reader.manifest.backup_id) {
                    return Ok(vec![format!(
                        "{error}: it says which documents of the store '{}' were deleted before the backup, so none of them is restored",
                        of.store
                    )]);
                }
                damaged.push(error.to_string());
                None
            }
            listing => listing?,
        };
        create_dir_durably(directory)?;
        create_dir_durably(&directory.join(UNFINISHED))?;
        let mut restoring = Restoring {
            of,
            listing,
            directory,
            unfinished: None,
            damaged,
        };
        let objects = of.objects.as_deref().unwrap_or_default();
        let read = objects.iter().zip(reader.contents(objects));
        for (number, (object, content)) in read.enumerate() {
            match restoring.restore(number, object, content) {
                Err(RestoreError::Backup(error)) if error.is_loss() => {
                    restoring.give_up()?;
                    restoring.damaged.push(error.to_string());
                }
                restored => restored?,
            }
        }
        restoring.finish()?;
        File::open(directory)?.sync_all()?;
        Ok(restoring.damaged)
    }

    fn restore(
        &mut self,
        number: usize,
        object: &StoredObject,
        content: Result<Bytes, BackupError>,
    ) -> Result<(), RestoreError> {
        let damaged = |reason: String| BackupError::Damaged {
            name: object.name.clone(),
            reason,
        };
        let pieces = decode_pieces(content?);
        for piece in pieces.map_err(|error| damaged(error.to_string()))? {
            // It could not be read to its end, or was deleted before the backup.
            let listing = self.listing.as_ref();
            let is_listed = listing.is_none_or(|it| it.has(&piece.path, number));
            if self.of.lacks(&piece.path) || !is_listed {
                continue;
            }
            if piece.place == 0 {
                self.finish()?;
                self.begin(&piece.path)?;
            } else if self.unfinished.is_none() && !self.damaged.is_empty() {
                // The beginning of the file was in there.
                continue;
            }
            if !self.add(&piece)? {
                let reason = format!(
                    "a part of the file '{}' before byte {} is missing",
                    piece.path, piece.place
                );
                return Err(damaged(reason).into());
            }
        }
        Ok(())
    }

    /// Removes the file of which a part is missing.
    fn give_up(&mut self) -> io::Result<()> {
        match self.unfinished.take() {
            Some(unfinished) => fs::remove_file(unfinished.written),
            None => Ok(()),
        }
    }

    fn begin(&mut self, path: &str) -> io::Result<()> {
        let name = uuid::Uuid::new_v4().to_string();
        let written = self.directory.join(UNFINISHED).join(name);
        self.unfinished = Some(Unfinished {
            path: path.to_string(),
            file: File::create_new(&written)?,
            written,
            size: 0,
        });
        Ok(())
    }

    /// Returns false if the piece does not follow what was written.
    fn add(&mut self, piece: &FilePiece) -> io::Result<bool> {
        let Some(unfinished) = &mut self.unfinished else {
            return Ok(false);
        };
        if unfinished.path != piece.path || unfinished.size != piece.place {
            return Ok(false);
        }
        unfinished.file.write_all(&piece.bytes)?;
        unfinished.size += piece.bytes.len() as u64;
        Ok(true)
    }

    /// Gives the last file its name.
    fn finish(&mut self) -> io::Result<()> {
        let Some(unfinished) = self.unfinished.take() else {
            return Ok(());
        };
        unfinished.file.sync_all()?;
        let path = self.directory.join(&unfinished.path);
        let mut directory = self.directory.to_path_buf();
        let parents = unfinished.path.split('/').count() - 1;
        for name in unfinished.path.split('/').take(parents) {
            directory.push(name);
            create_dir_durably(&directory)?;
        }
        if let Err(error) = fs::hard_link(&unfinished.written, &path)
            && error.kind() != ErrorKind::AlreadyExists
        {
            return Err(error);
        }
        fs::remove_file(&unfinished.written)?;
        File::open(&directory)?.sync_all()
    }
}

#[cfg(test)]
mod retention_tests;
#[cfg(test)]
mod tests;
