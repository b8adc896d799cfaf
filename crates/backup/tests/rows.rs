//! Rows in a database beside the backups of a store: the moments that they can be brought to, and the log that this takes.

mod support;

use std::collections::BTreeMap;

use skep_backup::{
    BackupError, Chain, Continued, Cut, FORMAT, Fitting, LogPart, Marker, Misfit, Moment,
    PartitionManifest, Reader, RowPositions, Upload, begin, expect_fit, moments_for,
};

use support::{Fixture, TERM, begun, entries, manifest, state};

fn cut(index: u64) -> Cut {
    Cut {
        index,
        term: TERM,
        position: index,
        last_key: index,
    }
}

fn rows(entry: u64) -> RowPositions {
    BTreeMap::from([(1, entry)])
}

impl Fixture {
    /// A backup with the log after entry `base`, up to entry `to`. It carries on the one before it, if that is given.
    fn backup(&self, id: u64, (base, to): (u64, u64), after: Option<u64>) {
        let begun = begun(id, at(id));
        begun.create(&self.store).unwrap();
        let mut log = Upload::new(&self.store, (id, 1), "log", u64::MAX);
        if base < to {
            log.add(&entries(base + 1, to)).unwrap();
        }
        let partition = PartitionManifest {
            partition: 1,
            broker_id: 0,
            cut: cut(to),
            checkpoint_index: base,
            state: Vec::new(),
            query: None,
            log: LogPart {
                base_index: base,
                base_term: TERM,
                objects: log.finish(),
            },
        };
        let manifest = manifest(id, at(id), vec![partition]);
        begun.complete(&self.store, &manifest).unwrap();
        let continued = Continued { after, at: at(id) };
        begin(&self.store, id, &continued).unwrap();
    }

    /// The log after the backup, from one entry to another, and a marker at each of these.
    fn ship(&self, id: u64, (from, to): (u64, u64), marked: &[u64]) {
        let chain = Chain::new(&self.store, id, 1, cut(from - 1));
        assert!(chain.create(from, &entries(from, to)).unwrap());
        for index in marked {
            let marker = Marker {
                format: FORMAT,
                backup_id: id,
                at: at(id) + *index as i64,
                cuts: BTreeMap::from([(1, cut(*index))]),
                cluster: state(),
            };
            marker.create(&self.store).unwrap();
        }
    }

    fn fitting(&self, entry: u64) -> Result<Fitting, BackupError> {
        moments_for(&self.store, None, &rows(entry))
    }

    /// The entries that a restore of the moment has in its log, for rows up to this entry.
    fn log(&self, moment: Moment, entry: u64) -> Result<Vec<u64>, BackupError> {
        let mut reader = Reader::open_at(&self.store, moment)?;
        reader.reach_back(&rows(entry))?;
        let of = reader.manifest.partition(1).unwrap();
        let mut indices = Vec::new();
        for entries in reader.log(of) {
            indices.extend(entries?.iter().map(|entry| entry.index));
        }
        let first = indices.first().copied();
        assert!(first.is_none_or(|first| first == of.log.base_index + 1));
        Ok(indices)
    }

    fn misfit(&self, moment: Moment, entry: u64) -> Option<Misfit> {
        let mut reader = Reader::open_at(&self.store, moment).unwrap();
        reader.reach_back(&rows(entry)).unwrap();
        expect_fit(&reader.manifest, &rows(entry)).err()
    }
}

/// The time of a backup.
fn at(id: u64) -> i64 {
    id as i64 * 1000
}

fn marked(backup: u64, index: u64) -> Moment {
    let at = at(backup) + index as i64;
    Moment {
        backup,
        marker: Some(at),
        at,
    }
}

fn itself(backup: u64) -> Moment {
    Moment {
        backup,
        marker: None,
        at: at(backup),
    }
}

/// Three backups in one range: the second one begins before the first one ends, the third one after the end of the second.
fn range() -> Fixture {
    let fixture = Fixture::new();
    fixture.backup(1, (4, 10), None);
    fixture.ship(1, (11, 21), &[13, 16]);
    fixture.backup(2, (8, 20), Some(1));
    fixture.ship(2, (21, 33), &[24, 28]);
    fixture.backup(3, (25, 30), Some(2));
    fixture.ship(3, (31, 40), &[35, 40]);
    fixture
}

#[test]
fn rows_are_brought_to_any_moment_after_them_to_which_the_log_reaches() {
    let fixture = range();
    let first = [
        (4, itself(1)),
        (10, itself(1)),
        (11, marked(1, 13)),
        (14, marked(1, 16)),
        (17, itself(2)),
        (29, itself(3)),
        (36, marked(3, 40)),
        (40, marked(3, 40)),
    ];
    for (entry, first) in first {
        let newest = marked(3, 40);
        let found = fixture.fitting(entry).unwrap();
        assert_eq!(found, Fitting { first, newest }, "rows up to {entry}");
        for moment in [first, newest] {
            assert_eq!(fixture.misfit(moment, entry), None, "rows up to {entry}");
        }
    }
}

#[test]
fn rows_of_work_after_the_newest_moment_and_rows_before_the_log_fit_none() {
    let fixture = range();
    let ahead = fixture.fitting(41).unwrap_err().to_string();
    assert!(
        ahead.contains("up to entry 41 of its log, which ends with entry 40"),
        "{ahead}"
    );
    let behind = fixture.fitting(3).unwrap_err().to_string();
    assert!(
        behind.contains("up to entry 3 of its log, and the store has that log from entry 5 on"),
        "{behind}"
    );
    let empty = moments_for(&fixture.store, None, &RowPositions::new());
    assert!(matches!(empty, Err(BackupError::NoMoment(_))), "{empty:?}");
    let early = fixture.misfit(marked(1, 13), 14);
    let expected = Misfit::Ahead {
        partition: 1,
        rows: 14,
        cut: 13,
    };
    assert_eq!(early, Some(expected));
    // A partition that was added later has rows.
    let more = BTreeMap::from([(1, 12), (2, 1)]);
    let more = moments_for(&fixture.store, None, &more).unwrap_err();
    assert!(more.to_string().contains("partition 2"), "{more}");
}

#[test]
fn a_log_that_begins_with_the_cluster_fits_an_empty_database() {
    let fixture = Fixture::new();
    fixture.backup(7, (0, 10), None);
    let found = moments_for(&fixture.store, None, &RowPositions::new()).unwrap();
    assert_eq!((found.first, found.newest), (itself(7), itself(7)));
}

#[test]
fn the_log_reaches_back_over_earlier_backups_without_gap_or_repetition() {
    let fixture = range();
    for (entry, from) in [(30, 26), (25, 26), (24, 9), (8, 9), (7, 5), (4, 5)] {
        let log = fixture.log(marked(3, 35), entry).unwrap();
        let expected: Vec<u64> = (from..=35).collect();
        assert_eq!(log, expected, "rows up to {entry}");
    }
    let log = fixture.log(itself(2), 5).unwrap();
    assert_eq!(log, (5..=20).collect::<Vec<u64>>());
}

#[test]
fn a_hole_in_the_log_of_an_earlier_backup_is_named() {
    let fixture = Fixture::new();
    fixture.backup(1, (4, 10), None);
    fixture.ship(1, (11, 12), &[]);
    fixture.backup(2, (15, 20), Some(1));
    let hole = fixture.log(itself(2), 9).unwrap_err();
    assert!(
        matches!(&hole, BackupError::Damaged { name, .. } if name.starts_with("backups/1/")),
        "{hole}"
    );
    assert_eq!(fixture.log(itself(2), 15).unwrap().len(), 5, "not needed");
}
