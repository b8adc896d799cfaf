//! The log without faults: order, replacement, recovery, compaction, reading.

mod support;

use bytes::Bytes;
use skep_storage::StorageError;
use skep_storage::disk::MemoryDisk;
use skep_storage::log::{EntryId, Frame, LogConfig};
use support::*;

fn id(index: u64, term: u64) -> EntryId {
    EntryId { index, term }
}

fn indices_and_terms(log: &skep_storage::log::Log) -> Vec<(u64, u64)> {
    read_all(log)
        .iter()
        .map(|entry| (entry.index, entry.term))
        .collect()
}

#[test]
fn an_empty_directory_is_an_empty_log() {
    let disk = MemoryDisk::new();
    let (log, recovered) = open(&disk);
    assert_eq!(recovered, Default::default());
    assert_eq!(read_all(&log), []);
    drop(log);
    let (_, again) = open(&disk);
    assert_eq!(again, Default::default(), "opening twice changes nothing");
}

#[test]
fn entries_and_the_latest_state_come_back_after_a_restart() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    log.append(&[state("a"), entry(1, 1, 10), entry(2, 1, 5000)])
        .unwrap();
    log.append(&[entry(3, 2, 0), state("b")]).unwrap();
    let written = read_all(&log);
    assert_eq!(written[1].payload, payload(2, 1, 5000));
    assert_eq!(written[1].tag, 2);
    drop(log);
    let (log, recovered) = open(&disk);
    assert_eq!(recovered.state, Some(Bytes::from_static(b"b")));
    assert_eq!((recovered.base, recovered.last), (id(0, 0), id(3, 2)));
    assert_eq!(recovered.terms, [id(1, 1), id(3, 2)]);
    assert_eq!(read_all(&log), written);
}

#[test]
fn an_entry_with_an_earlier_index_replaces_the_rest_of_the_log() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    for index in 1..=40 {
        log.append(&[entry(index, 1, 300)]).unwrap();
    }
    log.append(&[entry(20, 2, 300), entry(21, 2, 300)]).unwrap();
    log.append(&[entry(21, 3, 300)]).unwrap();
    let expected: Vec<(u64, u64)> = (1..20)
        .map(|index| (index, 1))
        .chain([(20, 2), (21, 3)])
        .collect();
    assert_eq!(indices_and_terms(&log), expected);
    drop(log);
    let (log, recovered) = open(&disk);
    assert_eq!(indices_and_terms(&log), expected);
    assert_eq!(recovered.last, id(21, 3));
    assert_eq!(recovered.terms, [id(1, 1), id(20, 2), id(21, 3)]);
}

#[test]
fn appends_that_break_a_rule_are_refused_and_change_nothing() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    let refused = |log: &mut skep_storage::log::Log, frames: &[Frame]| {
        let error = log.append(frames).unwrap_err();
        assert!(matches!(error, StorageError::Invalid(_)), "{error}");
    };
    refused(&mut log, &[entry(2, 1, 1)]);
    refused(&mut log, &[entry(0, 1, 1)]);
    log.append(&[entry(1, 1, 1), entry(2, 1, 1)]).unwrap();
    refused(&mut log, &[entry(3, 1, 1), entry(5, 1, 1)]);
    log.compact(2, 1).unwrap();
    refused(&mut log, &[entry(2, 2, 1)]);
    refused(&mut log, &[entry(4, 2, 1)]);
    assert!(
        log.compact(9, 1).is_err(),
        "cannot compact what is not there"
    );
    log.append(&[entry(3, 2, 1)]).unwrap();
    assert_eq!(indices_and_terms(&log), [(3, 2)]);
}

#[test]
fn compaction_frees_whole_segments_and_keeps_the_state() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    log.append(&[state("kept")]).unwrap();
    for index in 1..=100 {
        log.append(&[entry(index, 1, 200)]).unwrap();
    }
    let before = log.disk_bytes();
    log.compact(90, 1).unwrap();
    assert!(
        log.disk_bytes() < before / 3,
        "{} of {before}",
        log.disk_bytes()
    );
    let expected: Vec<(u64, u64)> = (91..=100).map(|index| (index, 1)).collect();
    assert_eq!(indices_and_terms(&log), expected);
    drop(log);
    let (mut log, recovered) = open(&disk);
    assert_eq!(recovered.state, Some(Bytes::from_static(b"kept")));
    assert_eq!((recovered.base, recovered.last), (id(90, 1), id(100, 1)));
    assert_eq!(recovered.terms, [id(91, 1)]);
    log.compact(100, 1).unwrap();
    assert_eq!(indices_and_terms(&log), []);
    drop(log);
    let (mut log, recovered) = open(&disk);
    assert_eq!((recovered.base, recovered.last), (id(100, 1), id(100, 1)));
    assert_eq!(recovered.terms, []);
    log.append(&[entry(101, 2, 1)]).unwrap();
    assert_eq!(indices_and_terms(&log), [(101, 2)]);
}

#[test]
fn a_reset_base_discards_everything_and_the_log_continues_after_it() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    log.append(&[entry(1, 1, 10), entry(2, 1, 10), entry(3, 1, 10)])
        .unwrap();
    let reset = Frame::Base {
        index: 2,
        term: 5,
        reset: true,
    };
    log.append(&[reset, state("s"), entry(3, 6, 1)]).unwrap();
    assert_eq!(indices_and_terms(&log), [(3, 6)]);
    drop(log);
    let (log, recovered) = open(&disk);
    assert_eq!((recovered.base, recovered.last), (id(2, 5), id(3, 6)));
    assert_eq!(indices_and_terms(&log), [(3, 6)]);
}

#[test]
fn recycled_segments_never_show_their_former_content() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    // Frames of equal size, so that old frames lie exactly where new ones are expected.
    for index in 1..=400 {
        log.append(&[entry(index, 1, 200)]).unwrap();
        if index % 20 == 0 {
            log.compact(index - 5, 1).unwrap();
            drop(log);
            let (again, recovered) = open(&disk);
            assert_eq!(recovered.last, id(index, 1));
            assert_eq!(recovered.base, id(index - 5, 1));
            log = again;
            assert_eq!(read_all(&log).len(), 5);
        }
    }
    let spares = disk
        .paths()
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "spare"))
        .count();
    assert!(spares <= 2, "as many spares as configured: {spares}");
    assert!(
        disk.paths().len() < 10,
        "the disk does not fill up: {:?}",
        disk.paths()
    );
}

#[test]
fn reading_stops_at_the_limit_but_never_before_the_first_entry() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    for index in 1..=50 {
        log.append(&[entry(index, 1, 1000)]).unwrap();
    }
    let reader = log.reader();
    let read = |from, to, max| -> Vec<u64> {
        let entries = reader.read(from, to, max).unwrap();
        entries.iter().map(|entry| entry.index).collect()
    };
    assert_eq!(read(7, 8, 1 << 20), [7]);
    assert_eq!(read(7, 100, 0), [7]);
    assert_eq!(read(7, 100, 2000), [7, 8]);
    assert_eq!(read(48, 100, 1 << 20), [48, 49, 50]);
    assert_eq!(read(51, 100, 1 << 20), [0; 0]);
    log.compact(30, 1).unwrap();
    let error = reader.read(30, 40, 1).unwrap_err();
    assert!(
        matches!(
            error,
            StorageError::Compacted {
                index: 30,
                first: 31
            }
        ),
        "{error}"
    );
}

#[test]
fn one_append_larger_than_a_segment_still_goes_into_one() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    log.append(&[entry(1, 1, 10)]).unwrap();
    let big = vec![1_u8; 3 << 20].into_iter().enumerate();
    let big: Bytes = big
        .map(|(at, _)| (at.wrapping_mul(2_654_435_761) >> 7) as u8)
        .collect();
    let frame = Frame::Entry {
        index: 2,
        term: 1,
        tag: 0,
        payload: big.clone(),
    };
    log.append(&[frame, entry(3, 1, 10)]).unwrap();
    log.append(&[entry(4, 1, 10)]).unwrap();
    drop(log);
    let (log, _) = open(&disk);
    let entries = read_all(&log);
    assert_eq!(entries.len(), 4);
    assert!(entries[1].payload == big);
}

#[test]
fn only_large_writes_are_compressed() {
    let disk = MemoryDisk::new();
    let config = LogConfig {
        compress_from: 30_000,
        ..small()
    };
    let text = Bytes::from("all work and no play ".repeat(1000));
    let frame = |index| Frame::Entry {
        index,
        term: 1,
        tag: 0,
        payload: text.clone(),
    };
    let (mut log, _) = try_open(&disk, config).unwrap();
    assert!(log.append(&[frame(1)]).unwrap().bytes > 20_000);
    assert!(log.append(&[frame(2), frame(3)]).unwrap().bytes < 2000);
    let entries = read_all(&log);
    assert!(entries.len() == 3 && entries.iter().all(|entry| entry.payload == text));
}

#[test]
fn compressed_and_plain_payloads_can_be_mixed() {
    let disk = MemoryDisk::new();
    let plain = LogConfig {
        compress_from: u64::MAX,
        ..small()
    };
    let text = Bytes::from("all work and no play ".repeat(1000));
    let frame = |index| Frame::Entry {
        index,
        term: 1,
        tag: 0,
        payload: text.clone(),
    };
    let (mut log, _) = try_open(&disk, plain).unwrap();
    let first = log.append(&[frame(1)]).unwrap().bytes;
    drop(log);
    let (mut log, _) = open(&disk);
    let second = log.append(&[frame(2)]).unwrap().bytes;
    assert!(second < first / 10, "{second} of {first} bytes");
    let entries = read_all(&log);
    assert!(entries.iter().all(|entry| entry.payload == text));
}

#[test]
fn readers_in_other_threads_see_whole_entries_or_learn_that_they_were_compacted() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    log.append(&[entry(1, 1, 100)]).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let reader = log.reader();
                let done = &done;
                scope.spawn(move || {
                    let mut seen = 0_u64;
                    loop {
                        let finished = done.load(std::sync::atomic::Ordering::Acquire);
                        match reader.read(reader.base().index + 1, u64::MAX, 4000) {
                            Ok(entries) => {
                                for entry in entries {
                                    assert_eq!(
                                        entry.payload,
                                        payload(entry.index, entry.term, 100)
                                    );
                                    seen += 1;
                                }
                            }
                            Err(StorageError::Compacted { .. }) => {}
                            Err(other) => panic!("{other}"),
                        }
                        if finished {
                            return seen;
                        }
                    }
                })
            })
            .collect();
        for index in 2..3000 {
            log.append(&[entry(index, 1, 100)]).unwrap();
            if index % 50 == 0 {
                log.compact(index - 30, 1).unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::Release);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}
