//! The log on a failing disk: torn writes, damage, no space, failed flushes.

mod support;

use proptest::prelude::*;
use skep_random::Random;
use skep_storage::StorageError;
use skep_storage::disk::MemoryDisk;
use skep_storage::log::{EntryId, Frame, LogConfig};
use support::*;

/// A log with three acknowledged appends, and the bytes of a fourth that was not acknowledged. Returns the disk as it was
/// before the fourth, the contents of the segment before and after it, and where the fourth begins.
fn unacknowledged(frames: &[Frame]) -> (MemoryDisk, Vec<u8>, Vec<u8>, usize) {
    let disk = MemoryDisk::new();
    let config = LogConfig {
        segment_bytes: 1 << 20,
        ..small()
    };
    let (mut log, _) = try_open(&disk, config).unwrap();
    let mut start = 64;
    for frames in [
        &[state("old"), entry(1, 1, 30)][..],
        &[entry(2, 1, 100)],
        &[entry(3, 1, 7)],
    ] {
        start += log.append(frames).unwrap().bytes;
    }
    let before = disk.content(&segment(1)).unwrap();
    log.append(frames).unwrap();
    let after = disk.content(&segment(1)).unwrap();
    disk.set_content(&segment(1), before.clone());
    (disk, before, after, start)
}

#[test]
fn a_write_torn_at_any_byte_leaves_acknowledged_entries_and_whole_frames() {
    let frames = [
        state("new"),
        entry(4, 2, 61),
        entry(5, 2, 0),
        entry(6, 2, 300),
    ];
    let (disk, before, after, start) = unacknowledged(&frames);
    let end = start
        + (0..after.len() - start)
            .rev()
            .find(|at| after[start + at] != 0)
            .unwrap()
        + 1;
    let mut lengths = std::collections::BTreeSet::new();
    for cut in start..=end {
        let mut torn = before.clone();
        torn.resize(after.len().max(before.len()), 0);
        torn[..cut].copy_from_slice(&after[..cut]);
        disk.set_content(&segment(1), torn);
        let (mut log, recovered) = open(&disk);
        let entries = read_all(&log);
        assert!((3..=6).contains(&entries.len()), "cut at {cut}");
        for entry in &entries {
            let size = [0, 30, 100, 7, 61, 0, 300][entry.index as usize];
            assert_eq!(
                entry.payload,
                payload(entry.index, entry.term, size),
                "cut at {cut}"
            );
        }
        assert!(recovered.state.is_some());
        lengths.insert(entries.len());
        // The log continues behind the cut, and the torn part never comes back.
        log.append(&[entry(recovered.last.index + 1, 9, 61)])
            .unwrap();
        drop(log);
        let (log, again) = open(&disk);
        assert_eq!(
            again.last,
            EntryId {
                index: recovered.last.index + 1,
                term: 9
            },
            "cut at {cut}"
        );
        assert_eq!(read_all(&log).len(), entries.len() + 1);
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
}

#[test]
fn frames_behind_a_torn_one_do_not_come_back_when_a_frame_of_its_size_is_written() {
    let (disk, before, after, start) = unacknowledged(&[entry(4, 2, 40), entry(5, 2, 40)]);
    let mut torn = after.clone();
    torn[start..start + 8].copy_from_slice(&before[start..start + 8]);
    disk.set_content(&segment(1), torn);
    let (mut log, recovered) = open(&disk);
    assert_eq!(recovered.last.index, 3);
    log.append(&[entry(4, 3, 40)]).unwrap();
    drop(log);
    let (_, recovered) = open(&disk);
    assert_eq!(
        recovered.last,
        EntryId { index: 4, term: 3 },
        "entry 5 of term 2 was never acknowledged"
    );
}

/// Opens a log with one byte flipped. `Ok` gives its entries.
fn flipped(
    disk: &MemoryDisk,
    number: u64,
    at: usize,
) -> Result<Vec<skep_storage::log::Entry>, StorageError> {
    let path = segment(number);
    let sound = disk.content(&path).unwrap();
    let mut damaged = sound.clone();
    damaged[at] ^= 0x41;
    disk.set_content(&path, damaged);
    let outcome = try_open(disk, small()).map(|(log, _)| read_all(&log));
    disk.set_content(&path, sound);
    outcome
}

#[test]
fn damage_to_any_byte_before_the_last_append_stops_the_log_and_names_file_and_offset() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    let mut end = 64;
    for index in 1..=12 {
        end += log
            .append(&[state("x"), entry(index, 1, 45)])
            .unwrap()
            .bytes;
    }
    let last = log.append(&[entry(13, 1, 45)]).unwrap().bytes;
    let sound = read_all(&log);
    drop(log);
    let mut refused = 0;
    for at in 0..end {
        match flipped(&disk, 1, at) {
            Err(StorageError::Corrupt { file, offset, .. }) => {
                assert_eq!(file, segment(1));
                assert!(offset <= at as u64, "byte {at}, named {offset}");
                assert!(at as u64 - offset < 128, "byte {at}, named {offset}");
                refused += 1;
            }
            // Damage goes unnoticed only in the padding behind a payload, which has no meaning.
            Ok(entries) => assert_eq!(entries, sound, "byte {at}"),
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
    assert!(
        refused > end - 12 * 16,
        "only padding goes unnoticed: {refused} of {end}"
    );
    // Damage to the last append cannot be distinguished from a torn write: it is cut.
    let entries = flipped(&disk, 1, end + last / 2).unwrap();
    assert_eq!(entries.len(), 12);
}

#[test]
fn after_a_clean_stop_damage_to_the_last_append_is_noticed_too() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    let first = log.append(&[entry(1, 1, 45)]).unwrap().bytes;
    log.close().unwrap();
    let error = flipped(&disk, 1, 64 + first / 2).unwrap_err();
    assert!(
        matches!(error, StorageError::Corrupt { offset: 64, .. }),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("00000000000000000001.log") && text.contains("offset 64"),
        "{text}"
    );
}

#[test]
fn damage_in_a_completed_segment_is_never_taken_for_a_torn_tail() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    let mut ends = vec![64];
    for index in 1..=60 {
        let bytes = log.append(&[entry(index, 1, 200)]).unwrap().bytes;
        if disk.content(&segment(2)).is_none() {
            ends.push(ends.last().unwrap() + bytes);
        }
    }
    drop(log);
    // Even the last frame of the segment, and bytes that look like the clean end of a file.
    let last_frame = ends[ends.len() - 2];
    for at in [64, 70, 300, last_frame, last_frame + 60] {
        let error = flipped(&disk, 1, at).unwrap_err();
        assert!(
            matches!(&error, StorageError::Corrupt { file, .. } if *file == segment(1)),
            "{error}"
        );
    }
    let mut content = disk.content(&segment(1)).unwrap();
    content.truncate(last_frame);
    disk.set_content(&segment(1), content);
    assert!(matches!(
        try_open(&disk, small()),
        Err(StorageError::Corrupt { .. })
    ));
}

#[test]
fn missing_files_and_unknown_versions_are_refused() {
    use skep_storage::disk::Disk;
    let make = || {
        let disk = MemoryDisk::new();
        let (mut log, _) = open(&disk);
        for index in 1..=60 {
            log.append(&[entry(index, 1, 200)]).unwrap();
        }
        disk
    };
    let disk = make();
    disk.remove(&segment(2)).unwrap();
    let error = try_open(&disk, small()).err().unwrap();
    assert!(error.to_string().contains("missing"), "{error}");

    let disk = make();
    disk.remove(&segment(1)).unwrap();
    let error = try_open(&disk, small()).err().unwrap();
    assert!(error.to_string().contains("missing"), "{error}");

    let disk = make();
    let mut content = disk.content(&segment(1)).unwrap();
    content[8] = 9;
    disk.set_content(&segment(1), content);
    let error = try_open(&disk, small()).err().unwrap();
    assert!(error.to_string().contains("version 9"), "{error}");
}

#[test]
fn an_interrupted_creation_of_a_segment_is_not_damage_but_a_damaged_header_is() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    log.append(&[entry(1, 1, 10)]).unwrap();
    drop(log);
    // Remains of an unfinished creation: a new file without a header, or with the header of its former use.
    let left_over = segment(2).with_extension("spare");
    let old = disk.content(&segment(1)).unwrap();
    for content in [vec![], vec![0; 4096], old] {
        disk.set_content(&left_over, content);
        let (mut log, recovered) = open(&disk);
        let last = recovered.last.index;
        for index in 1..=30 {
            log.append(&[entry(last + index, 1, 200)]).unwrap();
        }
        drop(log);
        assert!(disk.content(&left_over).is_none(), "it was used");
        assert_eq!(open(&disk).1.last.index, last + 30);
    }
    let sound = disk.content(&segment(1)).unwrap();
    for damage in [0, 1, 63] {
        let mut content = sound.clone();
        content[..64].fill(damage);
        disk.set_content(&segment(1), content);
        let error = try_open(&disk, small()).err().unwrap();
        assert!(
            matches!(error, StorageError::Corrupt { offset: 0, .. }),
            "{error}"
        );
    }
}

#[test]
fn a_full_disk_fails_the_append_and_the_log_continues_once_there_is_space() {
    for room in [0, 100, 4000, 5000, 9000] {
        let disk = MemoryDisk::new();
        let (mut log, _) = open(&disk);
        log.append(&[entry(1, 1, 1000)]).unwrap();
        disk.set_capacity(Some(disk.used() + room));
        let mut last = 1;
        let error = loop {
            match log.append(&[entry(last + 1, 1, 1000), entry(last + 2, 1, 100)]) {
                Ok(_) => last += 2,
                Err(error) => break error,
            }
        };
        assert!(error.is_disk_full(), "{error}");
        let known: Vec<u64> = read_all(&log).iter().map(|entry| entry.index).collect();
        assert_eq!(
            known,
            (1..=last).collect::<Vec<_>>(),
            "nothing of the failed append is there"
        );
        let again = log
            .append(&[entry(last + 1, 1, 1000), entry(last + 2, 1, 100)])
            .unwrap_err();
        assert!(again.is_disk_full(), "still full");

        disk.set_capacity(None);
        log.append(&[entry(last + 1, 2, 50)]).unwrap();
        drop(log);
        let (_, recovered) = open(&disk);
        assert_eq!(
            recovered.last,
            EntryId {
                index: last + 1,
                term: 2
            }
        );
    }
}

#[test]
fn a_failed_flush_is_never_acknowledged_nor_tried_again() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    log.append(&[entry(1, 1, 10)]).unwrap();
    disk.fail_syncs(1);
    assert!(log.append(&[entry(2, 1, 10)]).is_err());
    let (_, syncs) = disk.operations();
    let error = log.append(&[entry(2, 1, 10)]).unwrap_err();
    assert!(matches!(error, StorageError::Poisoned { .. }), "{error}");
    assert!(matches!(
        log.compact(1, 1),
        Err(StorageError::Poisoned { .. })
    ));
    assert_eq!(disk.operations().1, syncs, "no flush was tried");
    assert_eq!(log.last().index, 1, "readers do not see it either");
    disk.crash(&mut |_| 0);
    let (_, recovered) = open(&disk);
    assert_eq!(recovered.last.index, 1);
}

#[test]
fn pages_left_by_a_failed_flush_are_made_durable_before_the_log_continues() {
    // After a failed flush the kernel considers the pages clean: the next process reads the frames, and flushing them again has no effect.
    // Entries appended behind them would be lost in a power failure.
    for (size, clean) in [(10, false), (3000, false), (10, true)] {
        let disk = MemoryDisk::new();
        let (mut log, _) = open(&disk);
        log.append(&[entry(1, 1, 10)]).unwrap();
        disk.fail_syncs(1);
        assert!(log.append(&[entry(2, 1, size), entry(3, 1, 20)]).is_err());
        drop(log);
        disk.kill();
        let (mut log, recovered) = open(&disk);
        assert_eq!(recovered.last.index, 3, "it is seen");
        log.append(&[entry(4, 1, 10)]).unwrap();
        if clean {
            log.close().unwrap();
        }
        disk.crash(&mut |_| 0);
        let (_, recovered) = open(&disk);
        assert_eq!(recovered.last.index, 4, "acknowledged after the restart");
    }
}

#[test]
fn the_log_grows_in_small_steps_when_the_disk_has_no_room_for_a_large_one() {
    let disk = MemoryDisk::new();
    let config = || LogConfig {
        segment_bytes: 1 << 20,
        grow_bytes: 256 << 10,
        ..small()
    };
    let (mut log, _) = try_open(&disk, config()).unwrap();
    log.append(&[entry(1, 1, 1000)]).unwrap();
    disk.set_capacity(Some(disk.used() + (100 << 10)));
    let mut last = 1;
    while log.append(&[entry(last + 1, 1, 1000)]).is_ok() {
        last += 1;
    }
    assert!(last > 300, "only {last} entries found room");
    drop(log);
    let (_, recovered) = try_open(&disk, config()).unwrap();
    assert_eq!(recovered.last.index, last);
}

#[test]
fn a_flush_that_finds_no_room_ends_the_log_like_any_failed_flush() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    log.append(&[entry(1, 1, 10)]).unwrap();
    disk.fail_syncs_with(1, std::io::ErrorKind::StorageFull);
    let error = log.append(&[entry(2, 1, 10)]).unwrap_err();
    assert!(!error.is_disk_full(), "waiting is no remedy: {error}");
    assert!(matches!(
        log.append(&[entry(2, 1, 10)]),
        Err(StorageError::Poisoned { .. })
    ));
}

/// The new segment may be there after a crash, and says where the one before it ended.
#[test]
fn a_directory_that_cannot_be_flushed_ends_the_log_even_if_the_disk_is_full() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    log.append(&[entry(1, 1, 10)]).unwrap();
    disk.fail_dir_syncs_with(1, std::io::ErrorKind::StorageFull);
    let error = log.append(&[entry(2, 1, 4_000)]).unwrap_err();
    assert!(!error.is_disk_full(), "waiting is no remedy: {error}");
    // It would find room in the first segment.
    assert!(matches!(
        log.append(&[entry(2, 1, 10)]),
        Err(StorageError::Poisoned { .. })
    ));
    drop(log);
    disk.kill();
    let (mut log, recovered) = open(&disk);
    assert_eq!(recovered.last.index, 1);
    log.append(&[entry(2, 1, 10)]).unwrap();
    drop(log);
    disk.crash(&mut |_| 0);
    let (_, recovered) = open(&disk);
    assert_eq!(recovered.last.index, 2);
}

#[test]
fn a_failed_write_stops_the_log() {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    log.append(&[entry(1, 1, 10)]).unwrap();
    disk.fail_writes(1);
    assert!(matches!(
        log.append(&[entry(2, 1, 10)]),
        Err(StorageError::Io { .. })
    ));
    assert!(matches!(
        log.append(&[entry(2, 1, 10)]),
        Err(StorageError::Poisoned { .. })
    ));
    drop(log);
    let (_, recovered) = open(&disk);
    assert_eq!(recovered.last.index, 1);
}

/// Prepares the next segment if due, as the writer's thread does, or only a part of it.
fn look_ahead(log: &mut skep_storage::log::Log, to_the_end: bool) {
    if let Some(preparation) = log.preparation() {
        let stop = std::sync::atomic::AtomicBool::new(!to_the_end);
        let made = preparation.run(&stop).unwrap();
        log.prepared(made);
    }
}

/// Required content of the log: the acknowledged history, according to the rules of the interface.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    base: (u64, u64),
    entries: Vec<(u64, u64, usize)>,
    state: Option<String>,
}

impl Model {
    fn last(&self) -> u64 {
        self.entries.last().map_or(self.base.0, |entry| entry.0)
    }

    fn apply(&mut self, frame: &Frame, size: usize) {
        match frame {
            Frame::Entry { index, term, .. } => {
                self.entries.retain(|entry| entry.0 < *index);
                self.entries.push((*index, *term, size));
            }
            Frame::State(text) => self.state = Some(String::from_utf8(text.to_vec()).unwrap()),
            Frame::Base { index, term, reset } => {
                self.base = (*index, *term);
                self.entries.retain(|entry| !reset && entry.0 > *index);
            }
            Frame::Mark => {}
        }
    }

    fn found(log: &skep_storage::log::Log, recovered: &skep_storage::log::Recovered) -> Self {
        let entries = read_all(log);
        for entry in &entries {
            assert_eq!(
                entry.payload,
                payload(entry.index, entry.term, entry.payload.len())
            );
        }
        Self {
            base: (recovered.base.index, recovered.base.term),
            entries: entries
                .iter()
                .map(|entry| (entry.index, entry.term, entry.payload.len()))
                .collect(),
            state: recovered
                .state
                .as_ref()
                .map(|text| String::from_utf8(text.to_vec()).unwrap()),
        }
    }
}

/// Random frames that satisfy the rules.
fn random_frames(random: &mut Random, model: &Model, term: u64) -> Vec<(Frame, usize)> {
    let mut last = model.last();
    let mut frames = Vec::new();
    if random.below(3) == 0 {
        frames.push((state(&format!("state {term}")), 0));
    }
    if random.below(40) == 0 {
        last += random.below(5);
        let frame = Frame::Base {
            index: last,
            term,
            reset: true,
        };
        return vec![(frame, 0), (state("after a snapshot"), 0)];
    }
    if random.below(6) == 0 {
        last -= random.below(last - model.base.0 + 1).min(6);
    }
    for _ in 0..=random.below(4) {
        last += 1;
        let size = match random.below(10) {
            0 => 6000,
            1..4 => 0,
            _ => random.below(900) as usize,
        };
        frames.push((entry(last, term, size), size));
    }
    frames
}

proptest! {
    #![proptest_config(ProptestConfig { cases: support::cases(150), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens to the machine, the log reopens with everything acknowledged, plus at most some leading frames of the single append
    /// that was in progress.
    #[test]
    fn acknowledged_frames_survive_any_history_of_crashes(seed in any::<u64>()) {
        let mut random = Random(seed);
        let disk = MemoryDisk::new();
        // Segments that grow, or have their full size from the beginning.
        let config = LogConfig { segment_bytes: 4096 << random.below(3), ..small() };
        let open = |disk: &MemoryDisk| try_open(disk, config.clone()).unwrap();
        let (mut log, _) = open(&disk);
        let mut model = Model::default();
        for step in 1..60_u64 {
            if random.below(4) == 0 {
                look_ahead(&mut log, random.below(3) > 0);
            }
            match random.below(12) {
                0 if model.last() > model.base.0 => {
                    let index = model.base.0 + 1 + random.below(model.last() - model.base.0);
                    let term = model.entries.iter().find(|entry| entry.0 == index).unwrap().1;
                    log.compact(index, term).unwrap();
                    model.apply(&Frame::Base { index, term, reset: false }, 0);
                }
                1 => {
                    drop(log);
                    disk.kill();
                    let (again, recovered) = open(&disk);
                    prop_assert_eq!(&Model::found(&again, &recovered), &model);
                    log = again;
                }
                2 | 3 => {
                    // The power fails, half of the time with an append between write and flush.
                    let mut allowed = vec![model.clone()];
                    if random.below(2) == 0 {
                        let frames = random_frames(&mut random, &model, step);
                        let only: Vec<Frame> = frames.iter().map(|(frame, _)| frame.clone()).collect();
                        disk.fail_syncs(0);
                        let acked = under_way(&disk, &mut log, &only);
                        for (frame, size) in &frames {
                            let mut next = allowed.last().unwrap().clone();
                            next.apply(frame, *size);
                            allowed.push(next);
                        }
                        prop_assert!(!acked);
                    }
                    drop(log);
                    disk.crash(&mut |bound| random.below(bound));
                    let (again, recovered) = open(&disk);
                    let found = Model::found(&again, &recovered);
                    prop_assert!(allowed.contains(&found), "found {:?}, allowed {:?}", found, allowed);
                    model = found;
                    log = again;
                }
                _ => {
                    let frames = random_frames(&mut random, &model, step);
                    let only: Vec<Frame> = frames.iter().map(|(frame, _)| frame.clone()).collect();
                    log.append(&only).unwrap();
                    for (frame, size) in &frames {
                        model.apply(frame, *size);
                    }
                }
            }
        }
        let entries = read_all(&log);
        prop_assert_eq!(entries.len(), model.entries.len());
    }
}

/// Writes an append whose flush never completes.
fn under_way(disk: &MemoryDisk, log: &mut skep_storage::log::Log, frames: &[Frame]) -> bool {
    disk.hang_syncs();
    log.append(frames).is_ok()
}
