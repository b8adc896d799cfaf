//! The epochs of restores: one for all nodes of a restore, and another one for each restore.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Barrier;

use skep_backup::{
    BackupError, FORMAT, JOINED_FOR, Joined, Location, Manifest, Marker, Participant, Restored,
    Store, Writer, foresee, join, own,
};
use skep_cluster::{EPOCHS_OF_A_RESTORE as STEP, State};

use support::{Fixture, begun, manifest, state};

fn open(directory: &Path) -> Store {
    Store::open(&Location::Directory(directory.to_path_buf())).unwrap()
}

fn moment(backup_id: u64) -> Restored {
    Restored {
        cluster_id: "it".to_string(),
        backup_id,
        marker: None,
        nodes: vec![0, 1, 2],
        copies: 3,
        drill: false,
    }
}

fn node(node: u32, attempt: &str) -> Participant<'_> {
    Participant {
        node,
        attempt,
        from: 0,
        wanted: None,
        now: 0,
    }
}

fn complete(store: &Store, id: u64, epoch: u64) {
    let begun = begun(id, 0);
    begun.create(store).unwrap();
    let manifest = Manifest {
        cluster: State { epoch, ..state() },
        ..manifest(id, 0, Vec::new())
    };
    begun.complete(store, &manifest).unwrap();
}

impl Fixture {
    fn join(&self, of: &Restored, by: &Participant<'_>) -> Joined {
        join(&self.store, of, by).unwrap()
    }

    fn epoch(&self, of: &Restored, by: &Participant<'_>) -> u64 {
        let foreseen = foresee(&self.store, of, by).unwrap();
        let joined = self.join(of, by);
        assert_eq!(foreseen.epoch, joined.epoch, "it is what was announced");
        joined.epoch
    }
}

#[test]
fn all_nodes_of_a_restore_have_one_epoch_and_the_next_restore_has_another() {
    let fixture = Fixture::new();
    for (restore, attempts) in [["a", "b", "c"], ["d", "e", "f"]].into_iter().enumerate() {
        for (number, attempt) in (0..).zip(attempts) {
            let epoch = fixture.epoch(&moment(7), &node(number, attempt));
            assert_eq!(epoch, (restore as u64 + 1) * STEP);
        }
    }
    // Another moment, the same backup with other nodes, and another number of replicas.
    let others = [
        moment(8),
        Restored {
            marker: Some(5),
            ..moment(7)
        },
        Restored {
            nodes: vec![0, 1],
            ..moment(7)
        },
        Restored {
            copies: 1,
            ..moment(7)
        },
    ];
    for (number, other) in (3..).zip(others) {
        assert_eq!(fixture.epoch(&other, &node(2, "x")), number * STEP);
    }
}

#[test]
fn an_interrupted_restore_that_is_run_again_keeps_its_epoch() {
    let fixture = Fixture::new();
    assert_eq!(fixture.epoch(&moment(7), &node(0, "a")), STEP);
    assert_eq!(fixture.epoch(&moment(7), &node(0, "a")), STEP);
    // A node that lost its directory may begin another restore; the output names the first one.
    let again = fixture.join(&moment(7), &node(0, "b"));
    assert_eq!(again.epoch, 2 * STEP);
    let other = again.other.unwrap();
    assert_eq!((other.epoch, other.nodes), (STEP, vec![0]));
    assert_eq!(fixture.epoch(&moment(7), &node(0, "a")), STEP);
    assert_eq!(fixture.epoch(&moment(7), &node(1, "c")), 2 * STEP);
    let named = Participant {
        wanted: Some(STEP),
        ..node(2, "d")
    };
    assert_eq!(fixture.epoch(&moment(7), &named), STEP);
}

#[test]
fn a_restore_whose_cluster_works_or_that_is_old_is_not_joined() {
    let fixture = Fixture::new();
    assert_eq!(fixture.epoch(&moment(7), &node(0, "a")), STEP);
    let later = Participant {
        now: JOINED_FOR.as_millis() as i64 + 1,
        ..node(1, "b")
    };
    assert_eq!(fixture.epoch(&moment(7), &later), 2 * STEP);
    // It was recovered without a majority before its first backup.
    complete(&fixture.store, 8, 2 * STEP + 1);
    assert_eq!(fixture.epoch(&moment(7), &node(2, "c")), 3 * STEP);
    let named = Participant {
        wanted: Some(2 * STEP),
        ..node(2, "d")
    };
    let refused = join(&fixture.store, &moment(7), &named).unwrap_err();
    assert!(refused.to_string().contains("the backup 8"), "{refused}");
}

#[test]
fn an_epoch_is_above_all_that_the_store_has_seen() {
    let fixture = Fixture::new();
    complete(&fixture.store, 7, 5 * STEP);
    complete(&fixture.store, 8, 3);
    let damaged = fixture.directory.path().join("restores/6144");
    std::fs::create_dir_all(&damaged).unwrap();
    std::fs::write(damaged.join("begun.json"), "").unwrap();
    assert_eq!(fixture.epoch(&moment(8), &node(0, "a")), 7 * STEP);
    for (wanted, why) in [
        (0, "multiples of 1024"),
        (STEP + 1, "multiples of 1024"),
        (u64::MAX, "multiples of 1024"),
        (6 * STEP, "is damaged"),
        (7 * STEP, "belongs to a restore of the backup 8"),
    ] {
        let by = Participant {
            wanted: Some(wanted),
            ..node(0, "b")
        };
        let error = join(&fixture.store, &moment(9), &by).unwrap_err();
        assert!(matches!(error, BackupError::NoEpoch { .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn nodes_that_restore_at_once_agree() {
    for _ in 0..20 {
        let fixture = Fixture::new();
        let barrier = Barrier::new(3);
        let mut epochs = BTreeMap::new();
        std::thread::scope(|scope| {
            let nodes = ["a", "b", "c"].map(|attempt| {
                let (barrier, directory) = (&barrier, fixture.directory.path());
                scope.spawn(move || {
                    let store = open(directory);
                    let number = u32::from(attempt.as_bytes()[0] - b'a');
                    barrier.wait();
                    let joined = join(&store, &moment(7), &node(number, attempt));
                    (number, joined.unwrap().epoch)
                })
            });
            epochs.extend(nodes.into_iter().map(|node| node.join().unwrap()));
        });
        assert!(epochs.values().all(|epoch| *epoch == STEP), "{epochs:?}");
    }
}

/// A file in the place of the directory: nothing can be written there, as in a read-only store.
#[test]
fn a_store_that_cannot_be_written_needs_an_epoch() {
    let fixture = Fixture::new();
    complete(&fixture.store, 7, 0);
    std::fs::write(fixture.directory.path().join("restores"), "").unwrap();
    let error = join(&fixture.store, &moment(7), &node(0, "a")).unwrap_err();
    assert!(error.to_string().contains("give --epoch 1024"), "{error}");
    let by = Participant {
        wanted: Some(STEP),
        ..node(0, "a")
    };
    let joined = fixture.join(&moment(7), &by);
    assert_eq!(joined.epoch, STEP);
    assert!(joined.unclaimed.is_some());
}

fn writer(epoch: u64) -> Writer<'static> {
    Writer {
        cluster_id: "it",
        epoch,
    }
}

fn refusal(store: &Store, epoch: u64, now: i64) -> String {
    match own(store, writer(epoch), now) {
        Err(error @ BackupError::OtherRestore { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_restored_cluster_has_the_store_unless_the_one_before_it_still_writes() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    own(store, writer(0), 0).unwrap();
    complete(store, 1, 0);
    let begins = Participant {
        now: 10,
        ..node(0, "a")
    };
    assert_eq!(fixture.epoch(&moment(1), &begins), STEP);
    let marker = Marker {
        format: FORMAT,
        backup_id: 1,
        at: 20,
        cuts: BTreeMap::new(),
        cluster: State::default(),
    };
    marker.create(store).unwrap();
    let refused = refusal(store, STEP, 30);
    assert!(refused.contains("for the backup 1"), "{refused}");
    own(store, writer(0), 31).unwrap();
    std::fs::remove_dir_all(fixture.directory.path().join("backups/1/continued")).unwrap();
    // It was recovered without a majority meanwhile.
    own(store, writer(STEP + 1), 40).unwrap();
    own(store, writer(STEP), 41).unwrap();
    let refused = refusal(store, 0, 42);
    assert!(refused.contains("has taken it over"), "{refused}");
    std::fs::remove_file(fixture.directory.path().join("cluster.json")).unwrap();
    own(store, writer(0), 43).unwrap();
}

#[test]
fn the_cluster_of_a_drill_never_has_the_store() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    own(store, writer(0), 0).unwrap();
    complete(store, 1, 0);
    let drill = Restored {
        drill: true,
        ..moment(1)
    };
    let epoch = fixture.epoch(&drill, &node(0, "a"));
    let other = fixture.epoch(&moment(1), &node(0, "b"));
    assert_ne!(epoch, other, "it is no part of a drill");
    for _ in 0..2 {
        let refused = refusal(store, epoch, 50);
        assert!(refused.contains("--drill"), "{refused}");
        // Without an owner too.
        let _ = std::fs::remove_file(fixture.directory.path().join("cluster.json"));
    }
    own(store, writer(other), 51).unwrap();
}
