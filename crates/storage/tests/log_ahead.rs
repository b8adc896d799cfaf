//! Segments prepared ahead: the log uses their preallocated blocks, and works without them when the disk is full.

mod support;

use std::sync::atomic::AtomicBool;

use skep_storage::StorageError;
use skep_storage::disk::MemoryDisk;
use skep_storage::log::{Log, LogConfig};
use support::*;

/// Configuration of segments that grow in 16 steps.
fn growing() -> LogConfig {
    LogConfig {
        segment_bytes: 64 << 10,
        ..small()
    }
}

fn prepare(log: &mut Log) -> Result<bool, StorageError> {
    let preparation = log.preparation().expect("it is time");
    let made = preparation.run(&AtomicBool::new(false));
    log.prepared(matches!(made, Ok(true)));
    made
}

/// Appends entries of 300 bytes until the condition holds.
fn append_until(log: &mut Log, mut enough: impl FnMut(&Log) -> bool) {
    while !enough(log) {
        log.append(&[entry(log.last().index + 1, 1, 300)]).unwrap();
    }
}

fn spares(disk: &MemoryDisk) -> usize {
    let is_spare = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "spare");
    disk.paths().iter().filter(is_spare).count()
}

#[test]
fn segments_prepared_ahead_are_overwritten_and_no_file_grows() {
    let disk = MemoryDisk::new();
    let (mut log, _) = try_open(&disk, growing()).unwrap();
    assert!(log.preparation().is_none(), "a log that is hardly used");
    append_until(&mut log, |log| log.preparation().is_some());
    assert!(prepare(&mut log).unwrap());
    assert!(log.preparation().is_none(), "one is enough");
    append_until(&mut log, |_| disk.content(&segment(2)).is_some());
    let first = disk.content(&segment(1)).unwrap().len();
    assert!(first < 64 << 10, "it did not grow further: {first}");

    // From here on every segment is prepared before it is needed, by creating one or by recycling a compacted one.
    for round in 0..6 {
        append_until(&mut log, |log| log.preparation().is_some());
        assert!(prepare(&mut log).unwrap());
        let before = disk.extensions();
        append_until(&mut log, |_| {
            disk.content(&segment(3 + 2 * round)).is_some()
        });
        let last = log.last();
        log.compact(last.index, last.term).unwrap();
        assert!(spares(&disk) > 0, "what was compacted is kept");
        append_until(&mut log, |_| {
            disk.content(&segment(4 + 2 * round)).is_some()
        });
        assert_eq!(disk.extensions(), before);
    }
    let last = log.last();
    drop(log);
    assert_eq!(try_open(&disk, growing()).unwrap().1.last, last);
}

#[test]
fn a_tail_of_zeroes_is_the_end_of_the_log_and_a_hole_before_the_end_is_damage() {
    let disk = MemoryDisk::new();
    let (mut log, _) = try_open(&disk, growing()).unwrap();
    append_until(&mut log, |log| log.preparation().is_some());
    prepare(&mut log).unwrap();
    append_until(&mut log, |_| disk.content(&segment(2)).is_some());
    for _ in 0..5 {
        log.append(&[entry(log.last().index + 1, 1, 300)]).unwrap();
    }
    let last = log.last();
    drop(log);
    assert_eq!(try_open(&disk, growing()).unwrap().1.last, last);

    // The same zeros before a frame that claims to be durable.
    let mut holed = disk.content(&segment(2)).unwrap();
    holed[400..800].fill(0);
    disk.set_content(&segment(2), holed);
    let error = try_open(&disk, growing()).map(|_| ()).unwrap_err();
    assert!(matches!(error, StorageError::Corrupt { .. }), "{error}");
}

#[test]
fn without_space_there_is_no_spare_segment_and_the_log_uses_the_rest() {
    let disk = MemoryDisk::new();
    let (mut log, _) = try_open(&disk, growing()).unwrap();
    append_until(&mut log, |log| log.preparation().is_some());
    disk.set_capacity(Some(disk.used() + (20 << 10)));
    assert!(prepare(&mut log).unwrap_err().is_disk_full());
    assert_eq!(spares(&disk), 0, "the room was given back");
    let before = log.last().index;
    while log.append(&[entry(log.last().index + 1, 1, 300)]).is_ok() {}
    assert!(log.last().index > before + 40, "{}", log.last().index);
}

#[test]
fn an_aborted_preparation_leaves_nothing_behind() {
    let disk = MemoryDisk::new();
    let (mut log, _) = try_open(&disk, growing()).unwrap();
    append_until(&mut log, |log| log.preparation().is_some());
    let preparation = log.preparation().unwrap();
    assert!(!preparation.run(&AtomicBool::new(true)).unwrap());
    log.prepared(false);
    assert_eq!(spares(&disk), 0);
    assert!(log.preparation().is_some(), "it can be tried again");
}

#[test]
fn a_half_made_spare_of_a_process_that_died_is_used_as_it_is() {
    let disk = MemoryDisk::new();
    let (mut log, _) = try_open(&disk, growing()).unwrap();
    append_until(&mut log, |log| log.preparation().is_some());
    drop(log);
    let half = std::path::Path::new(DIRECTORY).join("ahead.spare");
    disk.set_content(&half, vec![0; 8192]);
    let (mut log, _) = try_open(&disk, growing()).unwrap();
    append_until(&mut log, |_| disk.content(&segment(2)).is_some());
    assert!(disk.content(&half).is_none(), "it became the segment");
    append_until(&mut log, |_| disk.content(&segment(3)).is_some());
    let last = log.last();
    drop(log);
    assert_eq!(try_open(&disk, growing()).unwrap().1.last, last);
}
