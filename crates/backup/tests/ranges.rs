//! Ranges of continuous backups: the moments in a store, and detection of missing or damaged parts.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skep_backup::{
    BackupError, Broken, Chain, Continued, Cut, FORMAT, Marker, Moment, Reader, Store, Upload,
    begin, break_off, broken, delete, forget, forgotten, is_needed, latest, moment, newest_moment,
    ranges, verify,
};

use support::{Fixture, TERM, begun, by, entries, manifest, state, upload_state};

/// Position and record at which the backups here are cut.
const CUT: Cut = Cut {
    index: 9,
    term: TERM,
    position: 20,
    last_key: 4,
};

impl Fixture {
    /// A complete backup at this time.
    fn backup(&self, id: u64, at: i64) {
        let state = upload_state(&self.store, id);
        let mut log = Upload::new(&self.store, (id, 1), "log", u64::MAX);
        log.add(&entries(6, CUT.index)).unwrap();
        begun(id, at).create(&self.store).unwrap();
        let partition = support::partition(CUT, state, log.finish());
        let manifest = manifest(id, at, vec![partition]);
        begun(id, at).complete(&self.store, &manifest).unwrap();
    }

    /// A backup that is continued.
    fn base(&self, id: u64, at: i64, after: Option<u64>) {
        self.backup(id, at);
        begin(&self.store, id, &Continued { after, at }).unwrap();
    }

    fn chain(&self, id: u64) -> Chain {
        Chain::new(&self.store, id, 1, CUT)
    }

    fn ship(&self, id: u64, from: u64, to: u64) {
        assert!(self.chain(id).create(from, &entries(from, to)).unwrap());
    }

    fn mark(&self, id: u64, at: i64, index: u64) {
        let cut = Cut { index, ..CUT };
        let marker = Marker {
            format: FORMAT,
            backup_id: id,
            at,
            cuts: BTreeMap::from([(1, cut)]),
            cluster: state(),
        };
        marker.create(&self.store).unwrap();
    }

    fn break_off(&self, id: u64) {
        let reason = "the disk was full".to_string();
        break_off(&self.store, id, &Broken { reason, at: 0 }).unwrap();
    }

    fn object(&self, name: &str) -> PathBuf {
        self.directory.path().join("backups").join(name)
    }

    fn spans(&self) -> Vec<(i64, i64)> {
        let spans = ranges(&self.store).unwrap();
        let spans = spans
            .iter()
            .map(|range| (range.start().unwrap().at, range.end().unwrap().at));
        spans.collect()
    }

    fn to(&self, time: i64) -> Option<(u64, Option<i64>)> {
        match moment(&self.store, time, None) {
            Ok(moment) => Some((moment.backup, moment.marker)),
            Err(BackupError::NoMoment(_)) => None,
            Err(error) => panic!("{error}"),
        }
    }
}

/// As of a version that let two clusters write to one store.
#[test]
fn a_moment_of_one_of_several_clusters_needs_its_id() {
    let fixture = Fixture::new();
    fixture.base(1, 100, None);
    fixture.base(2, 200, None);
    let manifest = fixture.object("2/manifest.json");
    let whole = std::fs::read_to_string(&manifest).unwrap();
    let other = whole.replace("\"cluster_id\": \"it\"", "\"cluster_id\": \"other\"");
    assert_ne!(whole, other);
    std::fs::write(&manifest, other).unwrap();
    for error in [
        newest_moment(&fixture.store, None).unwrap_err(),
        moment(&fixture.store, 100, None).unwrap_err(),
    ] {
        assert!(error.to_string().contains("it, other"), "{error}");
    }
    for (cluster, backup, at) in [("it", 1, 100), ("other", 2, 200)] {
        let newest = newest_moment(&fixture.store, Some(cluster)).unwrap();
        assert_eq!(newest.backup, backup);
        let found = moment(&fixture.store, at, Some(cluster)).unwrap();
        assert_eq!(found.backup, backup);
    }
    assert!(newest_moment(&fixture.store, Some("third")).is_err());
}

fn restored(store: &Store, backup: u64, marker: i64) -> Result<Vec<u64>, BackupError> {
    let moment = Moment {
        backup,
        marker: Some(marker),
        at: marker,
    };
    let reader = Reader::open_at(store, moment)?;
    let of = reader.manifest.partition(1).unwrap();
    let mut indices = Vec::new();
    for entries in reader.log(of) {
        indices.extend(entries?.iter().map(|entry| entry.index));
    }
    Ok(indices)
}

#[test]
fn each_time_within_a_range_has_the_newest_moment_before_it() {
    let fixture = Fixture::new();
    assert!(fixture.to(150).is_none());
    assert!(newest_moment(&fixture.store, None).is_err());
    // Nothing continues this backup: it is a moment, but no range.
    fixture.backup(1, 50);
    assert!(fixture.spans().is_empty());
    assert_eq!(newest_moment(&fixture.store, None).unwrap().backup, 1);
    fixture.base(2, 100, None);
    assert_eq!(fixture.spans(), [(100, 100)]);
    fixture.ship(2, 10, 14);
    fixture.mark(2, 110, 12);
    fixture.mark(2, 120, 14);
    fixture.base(3, 130, Some(2));
    fixture.mark(3, 140, CUT.index);
    assert_eq!(fixture.spans(), [(100, 140)], "both are one range");
    for (time, found) in [
        (50, None),
        (99, None),
        (100, Some((2, None))),
        (110, Some((2, Some(110)))),
        (119, Some((2, Some(110)))),
        (129, Some((2, Some(120)))),
        (130, Some((3, None))),
        (140, Some((3, Some(140)))),
        (141, None),
    ] {
        assert_eq!(fixture.to(time), found, "{time}");
    }
    let newest = newest_moment(&fixture.store, None).unwrap();
    assert_eq!((newest.backup, newest.marker), (3, Some(140)));
    assert_eq!(latest(&fixture.store, 2).unwrap().unwrap().at, 120);
}

#[test]
fn a_range_that_broke_ends_and_another_one_begins() {
    let fixture = Fixture::new();
    fixture.base(2, 100, None);
    fixture.ship(2, 10, 14);
    fixture.mark(2, 110, 12);
    fixture.break_off(2);
    fixture.base(3, 200, None);
    assert_eq!(fixture.spans(), [(100, 110), (200, 200)]);
    assert_eq!(fixture.to(105), Some((2, None)));
    assert_eq!(fixture.to(150), None);
    let error = moment(&fixture.store, 150, None).unwrap_err().to_string();
    assert!(
        error.contains("1970-01-01T00:00:00.1Z to 1970-01-01T00:00:00.11Z"),
        "{error}"
    );
    assert!(
        error.contains("1970-01-01T00:00:00.15Z is in none"),
        "{error}"
    );
}

#[test]
fn the_log_ends_where_the_marker_cuts_it() {
    let fixture = Fixture::new();
    fixture.base(2, 100, None);
    fixture.ship(2, 10, 14);
    fixture.ship(2, 15, 15);
    fixture.mark(2, 110, CUT.index);
    fixture.mark(2, 120, 12);
    fixture.mark(2, 130, 14);
    fixture.mark(2, 140, 15);
    let all: Vec<u64> = (6..=15).collect();
    for (at, last) in [(110, 9), (120, 12), (130, 14), (140, 15)] {
        let indices = restored(&fixture.store, 2, at).unwrap();
        assert_eq!(indices, all[..=(last - 6)], "{at}");
    }
    let verified = verify(&fixture.store, 2).unwrap();
    assert_eq!((verified.entries, verified.markers), (10, 4));
    assert_eq!(verified.objects, 4);
    assert!(restored(&fixture.store, 2, 150).is_err(), "no such marker");
}

/// The second of two leaders finds the name taken, and continues behind the first one's data.
#[test]
fn a_chain_knows_whether_its_backup_is_in_the_store() {
    let fixture = Fixture::new();
    fixture.base(1, 100, None);
    fixture.chain(1).expect_backup().unwrap();
    let elsewhere = Fixture::new();
    let error = elsewhere.chain(1).expect_backup().unwrap_err();
    assert!(
        matches!(error, BackupError::OtherStore { id: 1, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("is mounted on all nodes"));
}

#[test]
fn two_leaders_leave_one_log() {
    let fixture = Fixture::new();
    fixture.base(2, 100, None);
    let (one, other) = (fixture.chain(2), fixture.chain(2));
    assert_eq!((one.next(None), other.last(None).unwrap()), (10, None));
    assert!(one.create(10, &entries(10, 12)).unwrap());
    assert!(!other.create(10, &entries(10, 14)).unwrap());
    let last = other.last(Some(10)).unwrap();
    assert_eq!(other.next(last.as_ref()), 13);
    assert!(other.create(13, &entries(13, 14)).unwrap());
    assert!(!one.create(13, &entries(13, 13)).unwrap());
    let last = one.last(None).unwrap();
    assert_eq!(one.next(last.as_ref()), 15);
    fixture.mark(2, 110, 14);
    let all: Vec<u64> = (6..=14).collect();
    assert_eq!(restored(&fixture.store, 2, 110).unwrap(), all);
    verify(&fixture.store, 2).unwrap();
}

#[test]
fn a_gap_and_a_log_that_ends_before_the_marker_are_refused_by_name() {
    for (ships, lacks) in [
        (&[][..], "00000000000000000010"),
        (&[(11, 14)], "00000000000000000011"),
        (&[(10, 11), (13, 14)], "00000000000000000013"),
        (&[(10, 11), (11, 14)], "00000000000000000011"),
        (&[(10, 11), (12, 13)], "00000000000000000012"),
    ] {
        let fixture = Fixture::new();
        fixture.base(2, 100, None);
        for (from, to) in ships {
            fixture.ship(2, *from, *to);
        }
        fixture.mark(2, 110, 14);
        let error = restored(&fixture.store, 2, 110).unwrap_err().to_string();
        assert!(error.contains(lacks), "{ships:?}: {error}");
        assert!(verify(&fixture.store, 2).is_err(), "{ships:?}");
    }
}

#[test]
fn a_marker_that_the_log_contradicts_is_found() {
    for cut in [
        Cut {
            term: 3,
            index: 12,
            ..CUT
        },
        Cut {
            position: 21,
            index: 12,
            ..CUT
        },
        Cut { index: 15, ..CUT },
        Cut { index: 8, ..CUT },
    ] {
        let fixture = Fixture::new();
        fixture.base(2, 100, None);
        fixture.ship(2, 10, 14);
        let marker = Marker {
            format: FORMAT,
            backup_id: 2,
            at: 110,
            cuts: BTreeMap::from([(1, cut)]),
            cluster: state(),
        };
        marker.create(&fixture.store).unwrap();
        assert!(verify(&fixture.store, 2).is_err(), "{cut:?}");
    }
}

fn expect_each_byte_checked(fixture: &Fixture, path: &Path) {
    let whole = std::fs::read(path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(path, damaged).unwrap();
        // Some encodings have unused bits; entries still never decode to other entries.
        if let Ok(indices) = restored(&fixture.store, 2, 110) {
            assert_eq!(indices, (6..=12).collect::<Vec<u64>>());
        }
    }
    std::fs::write(path, &whole[..whole.len() - 1]).unwrap();
    let error = verify(&fixture.store, 2).unwrap_err().to_string();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(error.contains(name), "{error}");
    assert!(restored(&fixture.store, 2, 110).is_err());
    std::fs::write(path, whole).unwrap();
}

#[test]
fn a_damaged_object_or_marker_is_named_and_not_restored() {
    let fixture = Fixture::new();
    fixture.base(2, 100, None);
    fixture.ship(2, 10, 12);
    fixture.mark(2, 110, 12);
    let object = "2/continued/partition-1/00000000000000000010";
    expect_each_byte_checked(&fixture, &fixture.object(object));
    let marker = fixture.object("2/continued/markers/000000000000110.json");
    let whole = std::fs::read_to_string(&marker).unwrap();
    for (part, other) in [
        ("\"backupId\": 2", "\"backupId\": 3"),
        ("\"format\": 1", "\"format\": 2"),
        ("\"at\": 110", "\"at\": 111"),
        ("\"1\":", "\"2\":"),
    ] {
        assert!(whole.contains(part), "{whole}");
        std::fs::write(&marker, whole.replacen(part, other, 1)).unwrap();
        let error = verify(&fixture.store, 2).unwrap_err().to_string();
        assert!(error.contains("000000000000110.json"), "{error}");
    }
    std::fs::write(&marker, whole).unwrap();
    verify(&fixture.store, 2).unwrap();
}

#[test]
fn a_base_that_its_range_needs_stays_and_deleting_one_deletes_all_of_it() {
    let fixture = Fixture::new();
    for (id, after) in [(1, None), (2, Some(1)), (3, Some(2))] {
        fixture.base(id, id as i64 * 100, after);
        fixture.ship(id, 10, 14);
        fixture.mark(id, id as i64 * 100 + 10, 14);
    }
    fixture.backup(4, 400);
    let needs = |id, continues| is_needed(&fixture.store, id, continues).unwrap();
    assert_eq!(needs(1, true), None);
    assert!(
        needs(2, true).unwrap().contains("the backup 1"),
        "it would leave a gap"
    );
    assert!(needs(3, true).unwrap().contains("continued at the moment"));
    assert_eq!(needs(3, false), None);
    assert_eq!(needs(4, true), None, "it is no part of a range");
    delete(&fixture.store, 1).unwrap();
    assert!(!fixture.object("1").exists(), "log and markers go with it");
    assert_eq!(needs(2, true), None);
    assert_eq!(fixture.spans(), [(200, 310)]);
    fixture.break_off(3);
    assert_eq!(needs(3, true), None, "nothing continues it any more");
}

#[test]
fn a_damaged_backup_can_be_deleted_and_does_not_hide_others() {
    let fixture = Fixture::new();
    fixture.base(1, 100, None);
    fixture.base(2, 200, Some(1));
    fixture.mark(2, 210, CUT.index);
    let marker = fixture.object("2/continued/markers/000000000000210.json");
    std::fs::write(marker, "{").unwrap();
    assert_eq!(fixture.to(150), Some((1, None)));
    std::fs::write(fixture.object("2/continued/begun.json"), "{").unwrap();
    assert!(is_needed(&fixture.store, 1, true).is_err());
    assert_eq!(fixture.to(150), None, "the range ends before the damage");
    assert_eq!(fixture.to(100), Some((1, None)));
    assert_eq!(is_needed(&fixture.store, 2, true).unwrap(), None);
    delete(&fixture.store, 2).unwrap();
    assert_eq!(fixture.to(100), Some((1, None)));
}

#[test]
fn what_was_forgotten_is_continued_by_nothing_and_can_still_be_restored() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    forget(store, by("it"), 50).unwrap();
    let objects = std::fs::read_dir(fixture.directory.path()).unwrap();
    assert_eq!(objects.count(), 0, "there is nothing to forget");
    fixture.base(1, 100, None);
    fixture.ship(1, 10, 14);
    fixture.mark(1, 110, 14);
    let other = forget(store, by("other"), 120).unwrap_err();
    assert!(matches!(other, BackupError::OtherCluster { .. }), "{other}");
    assert_eq!(forgotten(store).unwrap(), None);
    assert_eq!(broken(store, 1).unwrap(), None);
    forget(store, by("it"), 120).unwrap();
    assert_eq!(forgotten(store).unwrap(), Some(1));
    let why = broken(store, 1).unwrap().unwrap();
    assert_eq!(why.reason, "its checkpoint state was deleted");
    assert_eq!(fixture.to(110), Some((1, Some(110))));
    assert_eq!(is_needed(store, 1, true).unwrap(), None);
    // Nobody has continued the next one yet: it is not continued afterwards either.
    fixture.backup(2, 200);
    forget(store, by("it"), 210).unwrap();
    assert_eq!(forgotten(store).unwrap(), Some(2));
    assert!(broken(store, 2).unwrap().is_some());
}
