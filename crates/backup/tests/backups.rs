//! Listing, completing, deleting and verifying backups in a directory.

mod support;

use std::path::Path;
use std::time::{Duration, SystemTime};

use skep_backup::{
    BackupError, BackupKind, BackupState, Begun, Cut, Location, Manifest, Mount, Progress, Reader,
    SILENT, Store, Upload, delete, find, list, newest, newest_moment, own, verify,
};

use support::{Fixture, TERM, begun, by, entries, upload_state};

fn manifest(store: &Store, id: u64, logs: &[Vec<u8>]) -> Manifest {
    let state = upload_state(store, id);
    let mut log = Upload::new(store, (id, 1), "log", u64::MAX);
    for content in logs {
        log.add(content).unwrap();
    }
    let cut = Cut {
        index: 9,
        term: TERM,
        position: 0,
        last_key: 4,
    };
    let partition = support::partition(cut, state, log.finish());
    Manifest {
        cut_at: 2,
        completed_at: 3,
        ..support::manifest(id, 1, vec![partition])
    }
}

fn complete(store: &Store, id: u64) {
    begun(id, 1).create(store).unwrap();
    let manifest = manifest(store, id, &[entries(6, 7), entries(8, 9)]);
    begun(id, 1).complete(store, &manifest).unwrap();
}

fn states(store: &Store) -> Vec<(u64, BackupState)> {
    let backups = list(store, "").unwrap().into_iter();
    backups.map(|backup| (backup.id, backup.state)).collect()
}

#[test]
fn a_backup_is_complete_with_its_manifest_and_not_before() {
    let Fixture { store, .. } = Fixture::new();
    assert_eq!(newest(&store).unwrap(), None);
    begun(9, 1).create(&store).unwrap();
    assert!(begun(9, 1).create(&store).is_err(), "an id is taken once");
    assert_eq!(states(&store), [(9, BackupState::InProgress)]);
    assert!(matches!(
        Reader::open(&store, 9),
        Err(BackupError::Unusable { .. })
    ));
    let progress = Progress {
        at: 2,
        text: "half of it".to_string(),
    };
    begun(9, 1).progress(&store, &progress).unwrap();
    assert_eq!(find(&store, 9).unwrap().note.as_deref(), Some("half of it"));
    complete(&store, 10);
    begun(9, 1).fail(&store, "no leader", 5).unwrap();
    assert_eq!(
        states(&store),
        [(10, BackupState::Completed), (9, BackupState::Failed)]
    );
    assert_eq!(find(&store, 9).unwrap().note.as_deref(), Some("no leader"));
    assert_eq!(newest(&store).unwrap(), Some(10));
    let verified = verify(&store, 10).unwrap();
    assert_eq!(
        (verified.objects, verified.rows, verified.entries),
        (3, 1, 4)
    );
    assert!(matches!(find(&store, 11), Err(BackupError::Unknown(11))));
}

#[test]
fn a_manifest_says_why_the_backup_was_taken_and_those_of_earlier_versions_do_not() {
    let Fixture { directory, store } = Fixture::new();
    let scheduled = Manifest {
        kind: BackupKind::Scheduled,
        ..manifest(&store, 4, &[entries(6, 9)])
    };
    begun(4, 1).create(&store).unwrap();
    begun(4, 1).complete(&store, &scheduled).unwrap();
    let kind = || Reader::open(&store, 4).unwrap().manifest.kind;
    assert_eq!(kind(), BackupKind::Scheduled);
    assert_eq!(kind().checkpoint_type(), "SCHEDULED_BACKUP");
    let file = directory.path().join("backups/4/manifest.json");
    let whole = std::fs::read_to_string(&file).unwrap();
    let earlier = whole.replace("  \"kind\": \"SCHEDULED_BACKUP\",\n", "");
    assert_ne!(whole, earlier);
    std::fs::write(&file, earlier).unwrap();
    assert_eq!(kind(), BackupKind::Manual);
}

fn age(directory: &Path, by: Duration) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path, by)
        } else {
            let file = std::fs::File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - by).unwrap();
        }
    }
}

#[test]
fn an_abandoned_backup_counts_as_failed() {
    let Fixture { directory, store } = Fixture::new();
    begun(1, 1).create(&store).unwrap();
    age(directory.path(), SILENT - Duration::from_secs(30));
    assert_eq!(states(&store), [(1, BackupState::InProgress)]);
    age(directory.path(), SILENT + Duration::from_secs(30));
    let found = find(&store, 1).unwrap();
    assert_eq!(found.state, BackupState::Failed);
    assert!(found.note.unwrap().contains("has stopped"));
    complete(&store, 2);
    age(directory.path(), SILENT * 2);
    assert_eq!(find(&store, 2).unwrap().state, BackupState::Completed);
}

#[test]
fn a_wait_for_the_rate_ends_when_the_backup_is_given_up() {
    let Fixture { store, .. } = Fixture::new();
    let mut upload = Upload::new(&store, (1, 1), "log", 1);
    let mut asked = 0;
    let mut goes_on = || {
        asked += 1;
        if asked < 3 { Ok(()) } else { Err("given up") }
    };
    assert_eq!(upload.wait(&mut goes_on), Ok(()), "the first one is due");
    upload.add(&[0; 3600]).unwrap();
    let began = std::time::Instant::now();
    assert_eq!(upload.wait(&mut goes_on), Err("given up"));
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_deleted_backup_leaves_nothing() {
    let Fixture { directory, store } = Fixture::new();
    complete(&store, 1);
    complete(&store, 2);
    delete(&store, 1).unwrap();
    assert!(matches!(delete(&store, 1), Err(BackupError::Unknown(1))));
    assert!(!directory.path().join("backups/1").exists());
    assert_eq!(states(&store), [(2, BackupState::Completed)]);
    verify(&store, 2).unwrap();
}

#[test]
fn every_object_is_needed_and_every_byte_is_checked() {
    let Fixture { directory, store } = Fixture::new();
    complete(&store, 1);
    let reader = Reader::open(&store, 1).unwrap();
    let objects: Vec<_> = reader.manifest.objects().cloned().collect();
    assert_eq!(objects.len(), 3);
    for object in objects {
        let path = directory.path().join(&object.name);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            let error = verify(&store, 1).unwrap_err().to_string();
            assert!(error.contains(&object.name), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(verify(&store, 1).is_err(), "{} is missing", object.name);
        std::fs::write(&path, whole).unwrap();
    }
    verify(&store, 1).unwrap();
}

#[test]
fn a_log_with_a_gap_or_without_its_end_is_refused() {
    for logs in [
        vec![entries(6, 7), entries(9, 9)],
        vec![entries(6, 7)],
        vec![entries(7, 9)],
        vec![entries(6, 9), entries(9, 9)],
        vec![entries(6, 10)],
    ] {
        let Fixture { store, .. } = Fixture::new();
        begun(1, 1).create(&store).unwrap();
        let manifest = manifest(&store, 1, &logs);
        begun(1, 1).complete(&store, &manifest).unwrap();
        assert!(verify(&store, 1).is_err(), "{logs:?}");
    }
}

#[test]
fn a_manifest_of_another_format_is_reported_and_not_read() {
    let Fixture { directory, store } = Fixture::new();
    complete(&store, 1);
    let path = directory.path().join("backups/1/manifest.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"format\": 1", "\"format\": 3")).unwrap();
    let found = find(&store, 1).unwrap();
    assert_eq!(found.state, BackupState::Incompatible);
    assert!(found.note.unwrap().contains("version 3"));
    assert!(verify(&store, 1).is_err());
}

/// Two nodes with the same settings, one of which has not mounted the directory.
#[test]
fn a_node_with_another_store_is_noticed_before_it_writes_and_before_the_backup_is_complete() {
    let (here, there) = (Fixture::new(), Fixture::new());
    begun(1, 1).create(&here.store).unwrap();
    Begun::expect(&here.store, 1, "it").unwrap();
    let missing = Begun::expect(&there.store, 1, "it").unwrap_err();
    assert!(
        missing.to_string().contains("sees another store"),
        "{missing}"
    );
    assert!(missing.to_string().contains("1/begun.json"), "{missing}");
    // An old backup of the same number is there.
    complete(&there.store, 1);
    assert!(Begun::expect(&there.store, 1, "it").is_err());
    begun(2, 1).create(&there.store).unwrap();
    assert!(Begun::expect(&there.store, 2, "other").is_err());
    let written = manifest(&there.store, 2, &[entries(6, 9)]);
    begun(2, 1).expect_objects(&there.store, &written).unwrap();
    begun(2, 1).create(&here.store).unwrap();
    let lacks = begun(2, 1)
        .expect_objects(&here.store, &written)
        .unwrap_err();
    assert!(lacks.to_string().contains("node 0 has written"), "{lacks}");
    let object = there
        .directory
        .path()
        .join(&written.partitions[0].state[0].name);
    std::fs::write(object, "less").unwrap();
    let shorter = begun(2, 1)
        .expect_objects(&there.store, &written)
        .unwrap_err();
    assert!(
        shorter.to_string().contains("there is 4 bytes"),
        "{shorter}"
    );
}

/// Each object that a backup may have beside its data, and its state when that object is damaged.
#[test]
fn a_small_damaged_object_neither_hides_other_backups_nor_keeps_its_own_from_being_deleted() {
    use BackupState::{Completed, Failed, InProgress, Incompatible};
    for (object, is_complete, state) in [
        ("begun.json", true, Completed),
        ("begun.json", false, Incompatible),
        ("failed.json", false, Incompatible),
        ("progress.json", false, InProgress),
        ("manifest.json", true, Incompatible),
    ] {
        for content in ["", "{", "{\"backupId\": \"7\"}"] {
            let Fixture { directory, store } = Fixture::new();
            complete(&store, 1);
            if is_complete {
                complete(&store, 2);
            } else {
                begun(2, 1).create(&store).unwrap();
                let progress = Progress::default();
                begun(2, 1).progress(&store, &progress).unwrap();
            }
            complete(&store, 3);
            let path = directory.path().join(format!("backups/2/{object}"));
            std::fs::write(path, content).unwrap();
            assert_eq!(states(&store), [(3, Completed), (2, state), (1, Completed)]);
            let note = find(&store, 2).unwrap().note.unwrap();
            assert!(note.contains(&format!("backups/2/{object}")), "{note}");
            assert_eq!(newest_moment(&store, None).unwrap().at, 2);
            Reader::open(&store, 1).unwrap();
            verify(&store, 1).unwrap();
            let error = verify(&store, 2).unwrap_err().to_string();
            assert!(error.contains("2"), "{error}");
            assert_eq!(
                Reader::open(&store, 2).is_ok(),
                object == "begun.json" && is_complete
            );
            age(directory.path(), SILENT * 2);
            if state == InProgress {
                assert_eq!(find(&store, 2).unwrap().state, Failed);
            }
            delete(&store, 2).unwrap();
            assert_eq!(states(&store), [(3, Completed), (1, Completed)]);
        }
    }
}

/// The path of the store is a link: to the mounted directory, and to what is there without the mount.
struct Linked {
    links: tempfile::TempDir,
    here: tempfile::TempDir,
    memory: tempfile::TempDir,
}

impl Linked {
    fn new() -> Linked {
        let linked = Linked {
            links: tempfile::tempdir().unwrap(),
            here: tempfile::tempdir().unwrap(),
            memory: tempfile::tempdir_in("/dev/shm").unwrap(),
        };
        let device = |path: &Path| std::os::unix::fs::MetadataExt::dev(&path.metadata().unwrap());
        assert_ne!(device(linked.here.path()), device(linked.memory.path()));
        linked
    }

    fn to(&self, target: &Path) -> Store {
        let path = self.links.path().join("store");
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(target, &path).unwrap();
        Store::open(&Location::Directory(path)).unwrap()
    }

    fn mounted(&self) -> Store {
        self.to(self.here.path())
    }

    fn unmounted(&self) -> Store {
        self.to(self.memory.path())
    }
}

fn is_missing(expected: Result<(), BackupError>) -> bool {
    matches!(expected, Err(BackupError::NotMounted { .. }))
}

#[test]
fn a_directory_on_another_file_system_is_the_store_only_with_its_content() {
    let linked = Linked::new();
    let mount = Mount::default();
    mount.expect(&linked.unmounted()).unwrap();
    mount.expect(&linked.mounted()).unwrap();
    own(&linked.mounted(), by("it"), 1).unwrap();
    mount.expect(&linked.mounted()).unwrap();
    assert!(is_missing(mount.expect(&linked.unmounted())));
    let owner = "cluster.json";
    let memory = linked.memory.path();
    std::fs::copy(linked.here.path().join(owner), memory.join(owner)).unwrap();
    mount.expect(&linked.unmounted()).unwrap();
    std::fs::remove_file(memory.join(owner)).unwrap();
    mount.expect(&linked.unmounted()).unwrap();
    mount.expect(&linked.mounted()).expect("it has its content");
}

#[test]
fn a_node_that_starts_without_the_mount_remembers_it() {
    let (linked, data) = (Linked::new(), tempfile::tempdir().unwrap());
    let started = || Mount::recorded_in(data.path());
    started().expect(&linked.unmounted()).unwrap();
    own(&linked.mounted(), by("it"), 1).unwrap();
    started().expect(&linked.mounted()).unwrap();
    assert!(is_missing(started().expect(&linked.unmounted())));
    let elsewhere = Location::Directory(linked.memory.path().join("other"));
    started()
        .expect(&Store::open(&elsewhere).unwrap())
        .expect("the settings name another store");
    started().expect(&linked.mounted()).unwrap();
    std::fs::remove_file(linked.here.path().join("cluster.json")).unwrap();
    started()
        .expect(&linked.mounted())
        .expect("it was emptied on its file system");

    let record = data.path().join("backup-store");
    let whole = std::fs::read(&record).unwrap();
    std::fs::write(&record, "").unwrap();
    let damaged = started().expect(&linked.unmounted()).unwrap_err();
    let damaged = damaged.to_string();
    for part in ["backup-store' is damaged", "Mount it", "delete the file"] {
        assert!(damaged.contains(part), "{damaged}");
    }
    std::fs::write(&record, whole).unwrap();
    assert!(is_missing(started().expect(&linked.unmounted())));
    std::fs::remove_file(record).unwrap();
    started()
        .expect(&linked.unmounted())
        .expect("an operator says that it is new");
}

/// Without the record a node does not notice after its next start that the mount is missing.
#[test]
fn a_record_that_cannot_be_written_is_told_once_and_written_when_it_can_be() {
    let (linked, data) = (Linked::new(), tempfile::tempdir().unwrap());
    own(&linked.mounted(), by("it"), 1).unwrap();
    // Permissions would not stop root.
    let directory = data.path().join("missing");
    let mount = Mount::recorded_in(&directory);
    mount
        .expect(&linked.mounted())
        .expect("a backup matters more");
    let reason = mount.take_unrecorded().unwrap();
    assert!(reason.contains("missing/backup-store: "), "{reason}");
    mount.expect(&linked.mounted()).unwrap();
    assert_eq!(mount.take_unrecorded(), None, "it was told");
    std::fs::create_dir(&directory).unwrap();
    mount.expect(&linked.mounted()).unwrap();
    assert_eq!(mount.take_unrecorded(), None);
    assert!(is_missing(
        Mount::recorded_in(&directory).expect(&linked.unmounted())
    ));
}

#[test]
fn a_store_belongs_to_the_cluster_of_its_first_backup() {
    let Fixture { directory, store } = Fixture::new();
    own(&store, by("it"), 1).unwrap();
    own(&store, by("it"), 2).unwrap();
    let refused = own(&store, by("other"), 3).unwrap_err().to_string();
    let shown = directory.path().display().to_string();
    for part in ["the cluster it", "the cluster other", "base-path", &shown] {
        assert!(refused.contains(part), "{refused}");
    }
    // Earlier versions left no object: the backups tell.
    std::fs::remove_file(directory.path().join("cluster.json")).unwrap();
    complete(&store, 1);
    assert!(own(&store, by("other"), 4).is_err());
    own(&store, by("it"), 5).unwrap();
    std::fs::remove_file(directory.path().join("cluster.json")).unwrap();
    let others = Begun {
        cluster_id: "other".to_string(),
        ..begun(2, 1)
    };
    others.create(&store).unwrap();
    own(&store, by("other"), 6).unwrap();
    assert!(
        own(&store, by("it"), 7).is_err(),
        "the first one of both has it"
    );
}
