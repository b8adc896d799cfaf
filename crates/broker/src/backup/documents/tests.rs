//! Documents in backups: what is read, what is left out, and what comes back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use skep_backup::{
    BackupKind, Begun, DocumentsManifest, Location, Manifest, Reader, Store, Unreadable, Upload,
    encode_piece,
};
use skep_cluster::State;

use super::{
    DEPTH, Found, Limits, LocalDocuments, MAX_FILES, MAX_SMALL, MAX_UNREADABLE, NotWritten, ONE_IN,
    PIECE, READ, Restoring, read_file, upload, walk,
};

/// Limits of a backup that nothing slows down.
pub(super) const UNLIMITED: Limits = Limits {
    rate: u64::MAX,
    read: READ,
    piece: PIECE,
    listed: MAX_FILES,
    small: MAX_SMALL,
    read_again: ONE_IN,
};

pub(super) fn local(directory: &Path) -> LocalDocuments {
    LocalDocuments {
        store: "local".to_string(),
        directory: directory.to_path_buf(),
        whole: true,
    }
}

pub(super) fn store(directory: &Path) -> Store {
    Store::open(&Location::Directory(directory.to_path_buf())).unwrap()
}

pub(super) fn put(directory: &Path, path: &str, content: &[u8]) {
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
        read_file(directory.path(), path, READ, &mut |place, bytes| {
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
    let written = upload(&local, (&store, &begun(1)), UNLIMITED, &mut || {
        asked += 1;
        Ok(())
    });
    assert_eq!(written.unwrap().objects.unwrap().len(), 1);
    assert!(asked > 3, "{asked}");
    let stopped = upload(&local, (&store, &begun(2)), UNLIMITED, &mut || {
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
    let mut written = upload(&local, (&store, &begun(1)), UNLIMITED, &mut || Ok(())).unwrap();
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
    let failed = upload(&local, (&store, &begun(2)), UNLIMITED, &mut || Ok(())).unwrap_err();
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
        listed: None,
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
    complete_as(store, 1, documents);
}

pub(super) fn begun(backup_id: u64) -> Begun {
    Begun {
        backup_id,
        cluster_id: String::new(),
        version: String::new(),
        began_at: 0,
        broker_id: 0,
        partitions: 0,
    }
}

pub(super) fn complete_as(store: &Store, backup_id: u64, documents: DocumentsManifest) {
    complete_for(store, &begun(backup_id), documents);
}

/// Completes a backup of the cluster that has begun it.
pub(super) fn complete_for(store: &Store, begun: &Begun, documents: DocumentsManifest) {
    let documents = vec![documents];
    let cluster = State {
        cluster_id: begun.cluster_id.clone(),
        ..State::default()
    };
    let manifest = Manifest {
        format: Manifest::format_of(begun.backup_id, &documents),
        backup_id: begun.backup_id,
        version: String::new(),
        kind: BackupKind::Manual,
        began_at: 0,
        cut_at: 0,
        completed_at: 0,
        cluster,
        partitions: Vec::new(),
        documents,
    };
    begun.complete(store, &manifest).unwrap();
}

#[test]
fn a_directory_without_documents_has_none() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("documents");
    let mut none =
        |path: &str, _: std::io::Result<Found>| Err(NotWritten::GivenUp(path.to_string()));
    walk(&missing, "", DEPTH, &mut none).unwrap();
}
