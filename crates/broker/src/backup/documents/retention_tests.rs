//! Backups that share documents: whatever is stored, deleted, backed up and deleted by age, each backup that is left has its documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use skep_backup::{
    Begun, Reader, Store, delete, delete_unused_documents, list, verify, written_documents,
};
use skep_random::Random;

use super::tests::{UNLIMITED, begun, complete_as, complete_for, local, put, store};
use super::{Limits, Restoring, upload};

/// Deliberate mistakes. The checks must catch each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutation {
    None,
    /// A deleted backup takes along what it wrote.
    DeletesWhatItWrote,
    /// Documents that were deleted before a backup come back with it.
    RestoresAll,
}

/// So little that files are in several objects, and objects have parts of several files.
const LITTLE: Limits = Limits {
    read: 100,
    piece: 300,
    small: 2,
    read_again: 5,
    ..UNLIMITED
};

/// Content by path.
type Documents = BTreeMap<String, Vec<u8>>;

struct World {
    mutation: Mutation,
    directory: tempfile::TempDir,
    backups: tempfile::TempDir,
    store: Store,
    documents: Documents,
    /// The documents of each backup that is there.
    kept: BTreeMap<u64, Documents>,
    /// The newest id.
    newest: u64,
    stored: usize,
}

impl World {
    fn new(mutation: Mutation) -> World {
        let backups = tempfile::tempdir().unwrap();
        World {
            mutation,
            directory: tempfile::tempdir().unwrap(),
            store: store(backups.path()),
            backups,
            documents: Documents::new(),
            kept: BTreeMap::new(),
            newest: 0,
            stored: 0,
        }
    }

    /// A document that was deleted may be stored again under its id.
    fn stores(&mut self, random: &mut Random) {
        let path = format!("ab/ab{}", random.below(12));
        if !self.documents.contains_key(&path) {
            self.stored += 1;
            // The sizes differ, as two files within a few milliseconds may have the same time.
            let bytes = 50 + 13 * self.stored;
            let content: Vec<u8> = (self.stored..).take(bytes).map(|it| it as u8).collect();
            put(self.directory.path(), &path, &content);
            self.documents.insert(path, content);
        }
    }

    fn deletes(&mut self, random: &mut Random) {
        let number = random.index(self.documents.len());
        if let Some(path) = self.documents.keys().nth(number).cloned() {
            fs::remove_file(self.directory.path().join(&path)).unwrap();
            self.documents.remove(&path);
        }
    }

    fn backs_up(&mut self, fails: bool) {
        self.newest += 1;
        let id = self.newest;
        begun(id).create(&self.store).unwrap();
        let local = local(self.directory.path());
        let written = upload(&local, (&self.store, &begun(id)), LITTLE, &mut || Ok(()));
        if fails {
            begun(id).fail(&self.store, "the disk is full", 1).unwrap();
            return;
        }
        complete_as(&self.store, id, written.unwrap());
        self.kept.insert(id, self.documents.clone());
    }

    fn deletes_a_backup(&mut self, random: &mut Random) {
        let number = random.index(self.kept.len());
        let Some(id) = self.kept.keys().nth(number).copied() else {
            return;
        };
        delete(&self.store, id).unwrap();
        self.kept.remove(&id);
        delete_unused_documents(&self.store).unwrap();
        if self.mutation == Mutation::DeletesWhatItWrote {
            let written = format!("backup-documents/local/{id}");
            let _ = fs::remove_dir_all(self.backups.path().join(written));
        }
    }

    fn step(&mut self, random: &mut Random) {
        match random.below(10) {
            0..=3 => self.stores(random),
            4 | 5 => self.deletes(random),
            6 | 7 => self.backs_up(false),
            8 => self.backs_up(true),
            _ => self.deletes_a_backup(random),
        }
        for id in self.kept.keys() {
            let manifest = Reader::open(&self.store, *id).unwrap().manifest;
            let there = begun(*id).expect_objects(&self.store, &manifest);
            assert!(there.is_ok(), "a kept backup refers to it: {there:?}");
        }
    }

    /// All backups have their documents, and no others.
    fn ends(&mut self) {
        for (id, documents) in &self.kept {
            let verified = verify(&self.store, *id).unwrap();
            assert_eq!(verified.files, documents.len() as u64, "backup {id}");
            assert_eq!(&self.restored(*id), documents, "backup {id}");
        }
        for id in self.kept.keys() {
            delete(&self.store, *id).unwrap();
        }
        for failed in list(&self.store, "").unwrap() {
            delete(&self.store, failed.id).unwrap();
        }
        delete_unused_documents(&self.store).unwrap();
        let left = written_documents(&self.store, "local").unwrap();
        assert!(left.is_empty(), "nobody needs them: {left:?}");
    }

    fn restored(&self, id: u64) -> Documents {
        let directory = tempfile::tempdir().unwrap();
        let reader = Reader::open(&self.store, id).unwrap();
        for of in &reader.manifest.documents {
            let mut of = of.clone();
            if self.mutation == Mutation::RestoresAll {
                of.listed = None;
            }
            let damaged = Restoring::run(&reader, &of, directory.path()).unwrap();
            assert!(damaged.is_empty(), "{damaged:?}");
        }
        read_all(directory.path())
    }
}

fn read_all(directory: &Path) -> Documents {
    let mut documents = Documents::new();
    if let Ok(files) = directory.join("ab").read_dir() {
        for file in files {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            documents.insert(format!("ab/{name}"), fs::read(&path).unwrap());
        }
    }
    documents
}

fn run(seed: u64, mutation: Mutation) {
    let (mut world, mut random) = (World::new(mutation), Random(seed));
    for _ in 0..60 {
        world.step(&mut random);
    }
    world.ends();
}

#[test]
fn no_document_that_a_kept_backup_has_is_deleted_and_none_that_was_deleted_comes_back() {
    skep_sim::each(10, |seed| run(seed, Mutation::None));
}

#[test]
fn the_checks_catch_documents_that_are_missing_and_documents_that_come_back() {
    let seeds: Vec<u64> = (1..=20).collect();
    for mutation in [Mutation::DeletesWhatItWrote, Mutation::RestoresAll] {
        let caught = skep_sim::search(&seeds, |seed| run(seed, mutation));
        assert!(caught.is_some(), "{mutation:?} was not caught");
    }
}

/// Each backup uploaded all documents again.
#[test]
fn the_next_backup_writes_only_what_the_earlier_one_does_not_have() {
    let (directory, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (local, store) = (local(directory.path()), store(backups.path()));
    let written_by = |id: u64| {
        let written = upload(&local, (&store, &begun(id)), UNLIMITED, &mut || Ok(())).unwrap();
        complete_as(&store, id, written.clone());
        let objects = written.objects.unwrap();
        let own = format!("backup-documents/local/{id}/");
        let new = objects.iter().filter(|it| it.name.starts_with(&own));
        (new.count(), objects.len())
    };
    for path in ["ab/ab12", "ab/ab13", "cd/cd34"] {
        put(directory.path(), path, &[7; 1000]);
    }
    let deletes = |path: &str| fs::remove_file(directory.path().join(path)).unwrap();
    assert_eq!(written_by(1), (1, 1));
    assert_eq!(written_by(2), (0, 1), "nothing is new");
    put(directory.path(), "ef/ef56", b"new");
    assert_eq!(written_by(3), (1, 2));
    deletes("ab/ab12");
    deletes("ab/ab13");
    assert_eq!(written_by(4), (0, 2), "all of the first was needed before");
    // Documents of an object of which less than half is needed are written again.
    assert_eq!(written_by(5), (1, 2));
    deletes("cd/cd34");
    assert_eq!(written_by(6), (0, 1));
}

/// Up to the limit everything was uploaded, and then once more, by each backup.
#[test]
fn documents_that_are_too_many_to_be_listed_are_written_once_by_each_backup() {
    let (directory, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (local, store) = (local(directory.path()), store(backups.path()));
    let limits = Limits {
        piece: 1,
        listed: 3,
        ..UNLIMITED
    };
    let written_by = |id: u64| {
        let mut files = 0;
        let written = upload(&local, (&store, &begun(id)), limits, &mut || {
            files += 1;
            Ok(())
        });
        let written = written.unwrap();
        complete_as(&store, id, written.clone());
        let objects = written_documents(&store, "local").unwrap();
        let own = format!("backup-documents/local/{id}/");
        let own = objects.keys().filter(|name| name.starts_with(&own));
        assert_eq!(
            verify(&store, id).unwrap().files,
            own.clone().count() as u64
        );
        (own.count(), written.listed.is_some(), files)
    };
    for number in 0..3 {
        put(directory.path(), &format!("ab/ab{number}"), b"small");
    }
    let (new, is_listed, _) = written_by(1);
    assert_eq!((new, is_listed), (3, true));
    put(directory.path(), "ab/ab3", b"small");
    let (new, is_listed, _) = written_by(2);
    assert_eq!((new, is_listed), (4, false), "it refers to nothing");
    // The directory is read once: each file is asked about, and again when its object is written.
    for id in [3, 4] {
        let (new, is_listed, asked) = written_by(id);
        assert_eq!((new, is_listed), (4, false));
        assert!(asked <= 8, "{asked}");
    }
}

/// Earlier versions let several clusters have one store. Their backups alternate, and each uploaded everything again.
#[test]
fn a_backup_refers_to_documents_of_its_own_cluster() {
    let (directory, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (local, store) = (local(directory.path()), store(backups.path()));
    put(directory.path(), "ab/ab12", b"content");
    let written_by = |id: u64, cluster: &str| {
        let begun = Begun {
            cluster_id: cluster.to_string(),
            ..begun(id)
        };
        let written = upload(&local, (&store, &begun), UNLIMITED, &mut || Ok(())).unwrap();
        complete_for(&store, &begun, written.clone());
        written.objects.unwrap().remove(0).name
    };
    let first = "backup-documents/local/1/000001";
    assert_eq!(written_by(1, "one"), first);
    let other = written_by(2, "other");
    assert_ne!(other, first, "it is another cluster's");
    assert_eq!(written_by(3, "one"), first);
    assert_eq!(written_by(4, "other"), other);
}

/// Each backup with one new document added an object to all later ones, for ever.
#[test]
fn many_small_objects_of_earlier_backups_are_written_again_as_one() {
    let (directory, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (local, store) = (local(directory.path()), store(backups.path()));
    let limits = Limits {
        piece: 8000,
        small: 3,
        ..UNLIMITED
    };
    put(directory.path(), "ab/large", &[7; 5000]);
    let mut objects = Vec::new();
    for id in 1..=9 {
        put(directory.path(), &format!("cd/cd{id}"), &[7; 10]);
        let written = upload(&local, (&store, &begun(id)), limits, &mut || Ok(())).unwrap();
        complete_as(&store, id, written.clone());
        assert_eq!(verify(&store, id).unwrap().files, 1 + id);
        objects.push(written.objects.unwrap().len());
    }
    // The first object is large. The sixth backup finds four small ones.
    assert_eq!(objects, [1, 2, 3, 4, 5, 2, 3, 4, 5]);
}

/// Only names and sizes were compared: all later backups referred to the damaged object.
#[test]
fn an_object_that_was_damaged_is_found_in_time_and_its_documents_are_written_again() {
    let (directory, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (local, store) = (local(directory.path()), store(backups.path()));
    let limits = Limits {
        read_again: 3,
        ..UNLIMITED
    };
    put(directory.path(), "ab/ab12", &[7; 1000]);
    let backs_up = |id: u64| {
        let written = upload(&local, (&store, &begun(id)), limits, &mut || Ok(())).unwrap();
        complete_as(&store, id, written.clone());
        written.objects.unwrap().remove(0).name
    };
    let first = backs_up(1);
    let object = backups.path().join(&first);
    let mut content = fs::read(&object).unwrap();
    let last = content.len() - 1;
    content[last] ^= 1;
    fs::write(&object, content).unwrap();
    assert_eq!(backs_up(2), first, "it is not its turn");
    assert!(verify(&store, 2).is_err());
    assert_ne!(backs_up(3), first);
    assert_eq!(verify(&store, 3).unwrap().files, 1);
    assert_ne!(backs_up(4), first);
}
