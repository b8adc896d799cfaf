//! Documents of local stores as a part of a backup.
//!
//! They are read after the cut: a document is stored before anything refers to it and never changes, so all documents to which the backup
//! refers are there, unless they were deleted or have expired.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use skep_backup::{
    BackupError, DocumentsManifest, FilePiece, PIECE, Reader, Store, StoredObject, Unreadable,
    Upload, decode_pieces, encode_piece, is_path,
};
use skep_storage::disk::create_dir_durably;

use super::restore::RestoreError;

/// Bytes per read.
const READ: u64 = 1 << 20;
/// Directories within the store's: `ab`, or `expiring` and an hour.
const DEPTH: usize = 3;
/// Directories of the store that are not documents: files that are being written, and marks of damaged ones.
const LEFT_OUT: [&str; 2] = ["new", "damaged"];
/// Where files are written before they get their names. The store removes what it finds here after an hour.
const UNFINISHED: &str = "new";

/// Files and directories that are left out because they cannot be read. With more of them, the whole store seems to have failed.
const MAX_UNREADABLE: usize = 1000;

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
}

impl NotWritten {
    fn unreadable(path: &Path) -> impl Fn(io::Error) -> NotWritten + Copy + '_ {
        move |source| NotWritten::Unreadable {
            path: path.to_path_buf(),
            source,
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
    (store, backup): (&Store, u64),
    rate: u64,
    keeps_on: &mut dyn FnMut() -> Result<(), NotWritten>,
) -> Result<DocumentsManifest, NotWritten> {
    let mut written = DocumentsManifest {
        store: local.store.clone(),
        objects: None,
        unreadable: Vec::new(),
    };
    if local.whole {
        let mut packing = Packing {
            upload: Upload::of_documents(store, backup, &local.store, rate),
            content: Vec::new(),
            unreadable: Vec::new(),
            keeps_on,
        };
        walk(&local.directory, "", DEPTH, &mut |path, found| {
            packing.add(&local.directory, path, found)
        })?;
        packing.write(1)?;
        written.objects = Some(packing.upload.finish());
        written.unreadable = packing.unreadable;
        debug_assert!(
            written.unreadable.len() <= MAX_UNREADABLE,
            "with more of them, the backup fails"
        );
    }
    Ok(written)
}

/// Packs files into objects.
struct Packing<'a> {
    upload: Upload,
    content: Vec<u8>,
    unreadable: Vec<Unreadable>,
    keeps_on: &'a mut dyn FnMut() -> Result<(), NotWritten>,
}

impl Packing<'_> {
    fn add(
        &mut self,
        directory: &Path,
        path: &str,
        found: io::Result<()>,
    ) -> Result<(), NotWritten> {
        // Thousands of small files fit into an object, and reading them from a network takes minutes.
        (self.keeps_on)()?;
        let read = match found {
            Ok(()) => self.read(directory, path),
            Err(source) => Err(NotWritten::unreadable(&directory.join(path))(source)),
        };
        match read {
            // The state and the other documents are worth a backup.
            Err(NotWritten::Unreadable { source, .. }) => self.leave_out(path, &source),
            read => read,
        }
    }

    fn read(&mut self, directory: &Path, path: &str) -> Result<(), NotWritten> {
        read_file(directory, path, &mut |place, bytes| {
            encode_piece(path, place, bytes, &mut self.content);
            self.write(PIECE)
        })
    }

    fn leave_out(&mut self, path: &str, why: &io::Error) -> Result<(), NotWritten> {
        if self.unreadable.len() == MAX_UNREADABLE {
            return Err(NotWritten::GivenUp(format!(
                "more than {MAX_UNREADABLE} documents cannot be read, as {path}: {why}. The directory of the document store, its mount or \
                 its disk has failed"
            )));
        }
        self.unreadable.push(Unreadable {
            path: path.to_string(),
            reason: why.to_string(),
        });
        Ok(())
    }

    /// Writes an object, if at least so many bytes are packed.
    fn write(&mut self, least: usize) -> Result<(), NotWritten> {
        if self.content.len() < least {
            return Ok(());
        }
        self.upload.wait::<NotWritten>(self.keeps_on)?;
        self.upload.add(&self.content)?;
        self.content.clear();
        Ok(())
    }
}

/// Takes the path of a file within the store, or why something there cannot be read.
type Visit<'a> = dyn FnMut(&str, io::Result<()>) -> Result<(), NotWritten> + 'a;

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
        let kind = match fs::metadata(entry.path()) {
            Ok(metadata) => metadata.file_type(),
            Err(error) => {
                if !is_gone(&entry.path()) {
                    visit(&path, Err(error))?;
                }
                continue;
            }
        };
        if kind.is_dir() {
            if depth > 1 {
                walk(&entry.path(), &path, depth - 1, visit)?;
            }
        } else if !below.is_empty() {
            let is_plain = kind.is_file().then_some(());
            visit(
                &path,
                is_plain.ok_or_else(|| io::Error::other("it is not a plain file")),
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

/// Reads a file in pieces, at least one. A file that was deleted since the directory was read is left out.
fn read_file(directory: &Path, path: &str, add: &mut AddPiece<'_>) -> Result<(), NotWritten> {
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
        let read = (&mut file).take(READ).read_to_end(&mut piece);
        let read = read.map_err(failed)? as u64;
        if read > 0 || place == 0 {
            add(place, &piece)?;
        }
        if read < READ {
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
        create_dir_durably(directory)?;
        create_dir_durably(&directory.join(UNFINISHED))?;
        let mut restoring = Restoring {
            of,
            directory,
            unfinished: None,
            damaged: Vec::new(),
        };
        for object in of.objects.iter().flatten() {
            match restoring.restore(reader, object) {
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

    fn restore(&mut self, reader: &Reader, object: &StoredObject) -> Result<(), RestoreError> {
        let damaged = |reason: String| BackupError::Damaged {
            name: object.name.clone(),
            reason,
        };
        let pieces = decode_pieces(reader.content(object)?);
        for piece in pieces.map_err(|error| damaged(error.to_string()))? {
            // It could not be read to its end.
            if self.of.lacks(&piece.path) {
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
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use skep_backup::{
        BackupKind, Begun, DocumentsManifest, FORMAT, Location, Manifest, Reader, Store,
        Unreadable, Upload, encode_piece,
    };
    use skep_cluster::State;

    use super::{
        DEPTH, LocalDocuments, MAX_UNREADABLE, NotWritten, READ, Restoring, read_file, upload, walk,
    };

    fn local(directory: &Path) -> LocalDocuments {
        LocalDocuments {
            store: "local".to_string(),
            directory: directory.to_path_buf(),
            whole: true,
        }
    }

    fn store(directory: &Path) -> Store {
        Store::open(&Location::Directory(directory.to_path_buf())).unwrap()
    }

    fn put(directory: &Path, path: &str, content: &[u8]) {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn only_finished_documents_and_their_marks_are_read_in_pieces() {
        let directory = tempfile::tempdir().unwrap();
        let large = vec![7; READ as usize * 2];
        put(directory.path(), "ab/ab12", b"small");
        put(directory.path(), "cd/cd34", &large);
        put(directory.path(), "expiring/2026-11-22T18/ab12", b"");
        for other in [
            "new/1",
            "damaged/ab12",
            "notes-txt",
            "ab/.hidden",
            "a/b/c/d",
        ] {
            put(directory.path(), other, b"not a document");
        }
        let mut read = BTreeMap::new();
        walk(directory.path(), "", DEPTH, &mut |path, found| {
            found.unwrap();
            read_file(directory.path(), path, &mut |place, bytes| {
                let file: &mut Vec<u8> = read.entry(path.to_string()).or_default();
                assert_eq!(place, file.len() as u64);
                assert!(bytes.len() as u64 <= READ);
                file.extend_from_slice(bytes);
                Ok(())
            })
        })
        .unwrap();
        let expected = [
            ("ab/ab12", b"small".to_vec()),
            ("cd/cd34", large),
            ("expiring/2026-11-22T18/ab12", Vec::new()),
        ];
        let expected = expected.map(|(path, content)| (path.to_string(), content));
        assert_eq!(read, BTreeMap::from(expected));
    }

    /// The log of the backup is released after a minute in which nobody asks about it.
    #[test]
    fn a_backup_is_kept_alive_with_each_document_and_not_only_with_each_object() {
        let (directory, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["ab12", "ab13", "ab14"] {
            put(directory.path(), &format!("ab/{name}"), b"small");
        }
        let (local, store) = (local(directory.path()), store(backups.path()));
        let mut asked = 0;
        let written = upload(&local, (&store, 1), u64::MAX, &mut || {
            asked += 1;
            Ok(())
        });
        assert_eq!(written.unwrap().objects.unwrap().len(), 1);
        assert!(asked > 3, "{asked}");
        let stopped = upload(&local, (&store, 2), u64::MAX, &mut || {
            Err(NotWritten::GivenUp("it is stopping".to_string()))
        });
        assert!(matches!(stopped, Err(NotWritten::GivenUp(_))));
    }

    #[test]
    fn what_cannot_be_read_is_named_and_the_rest_is_in_the_backup() {
        let (directory, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(directory.path(), "ab/ab12", b"readable");
        let link = |target: &str, path: &str| {
            std::os::unix::fs::symlink(target, directory.path().join(path)).unwrap();
        };
        link("/nowhere", "cd");
        link("/nowhere", "ab/ab13");
        link("/dev/null", "ab/ab14");
        // Reading its first byte is an input/output error.
        link("/proc/self/mem", "ab/ab15");
        let (local, store) = (local(directory.path()), store(backups.path()));
        let mut written = upload(&local, (&store, 1), u64::MAX, &mut || Ok(())).unwrap();
        assert_eq!(written.objects.as_ref().unwrap().len(), 1);
        written.unreadable.sort_by(|a, b| a.path.cmp(&b.path));
        let paths = written.unreadable.iter().map(|it| it.path.as_str());
        let paths: Vec<&str> = paths.collect();
        assert_eq!(paths, ["ab/ab13", "ab/ab14", "ab/ab15", "cd"]);
        assert!(written.unreadable[1].reason.contains("not a plain file"));
        let missing = written.missing().unwrap();
        assert!(
            missing.starts_with("4 files") && missing.contains("ab/ab13"),
            "{missing}"
        );
        for number in 0..MAX_UNREADABLE {
            link("/nowhere", &format!("ab/cd{number}"));
        }
        let failed = upload(&local, (&store, 2), u64::MAX, &mut || Ok(())).unwrap_err();
        assert!(failed.to_string().contains("has failed"), "{failed}");
    }

    #[test]
    fn the_beginning_of_a_file_that_could_not_be_read_to_its_end_is_not_restored() {
        let (directory, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = store(backups.path());
        let mut content = Vec::new();
        for path in ["ab/ab12", "cd/cd34", "ef/ef56"] {
            encode_piece(path, 0, b"content", &mut content);
        }
        let mut upload = Upload::of_documents(&store, 1, "local", u64::MAX);
        upload.add(&content).unwrap();
        let documents = DocumentsManifest {
            store: "local".to_string(),
            objects: Some(upload.finish()),
            unreadable: vec![Unreadable {
                path: "cd/cd34".to_string(),
                reason: "Input/output error".to_string(),
            }],
        };
        complete(&store, documents.clone());
        let reader = Reader::open(&store, 1).unwrap();
        let damaged = Restoring::run(&reader, &documents, directory.path()).unwrap();
        assert!(damaged.is_empty(), "{damaged:?}");
        let is_there = |path: &str| directory.path().join(path).exists();
        assert!(is_there("ab/ab12") && is_there("ef/ef56") && !is_there("cd/cd34"));
        assert_eq!(directory.path().join("new").read_dir().unwrap().count(), 0);
    }

    /// Completes the backup 1, which has nothing else.
    fn complete(store: &Store, documents: DocumentsManifest) {
        let manifest = Manifest {
            format: FORMAT,
            backup_id: 1,
            version: String::new(),
            kind: BackupKind::Manual,
            began_at: 0,
            cut_at: 0,
            completed_at: 0,
            cluster: State::default(),
            partitions: Vec::new(),
            documents: vec![documents],
        };
        let begun = Begun {
            backup_id: 1,
            cluster_id: String::new(),
            version: String::new(),
            began_at: 0,
            broker_id: 0,
            partitions: 0,
        };
        begun.complete(store, &manifest).unwrap();
    }

    #[test]
    fn a_directory_without_documents_has_none() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("documents");
        let mut none =
            |path: &str, _: std::io::Result<()>| Err(NotWritten::GivenUp(path.to_string()));
        walk(&missing, "", DEPTH, &mut none).unwrap();
    }
}
