//! The bytes of the log. Every later version reads the data of earlier ones: these files are never regenerated, and a new format adds a new
//! file.

mod support;

use bytes::Bytes;
use skep_storage::disk::MemoryDisk;
use skep_storage::log::{EntryId, Frame};
use support::*;

const GOLDEN: &[u8] = include_bytes!("golden/log-v1.bin");

fn write() -> MemoryDisk {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    let text = Frame::Entry {
        index: 2,
        term: 1,
        tag: 9,
        payload: Bytes::from("compress me ".repeat(500)),
    };
    log.append(&[state("first"), entry(1, 1, 13), text])
        .unwrap();
    log.append(&[entry(3, 1, 0), entry(4, 1, 8)]).unwrap();
    log.append(&[entry(4, 2, 9)]).unwrap();
    log.append(&[
        state("second"),
        Frame::Base {
            index: 1,
            term: 1,
            reset: false,
        },
    ])
    .unwrap();
    log.close().unwrap();
    disk
}

/// The content up to the last written byte.
fn trimmed(content: &[u8]) -> &[u8] {
    let end = content
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |at| at + 1);
    &content[..end.next_multiple_of(8)]
}

#[test]
fn the_log_is_written_as_it_always_was() {
    let disk = write();
    let content = disk.content(&segment(1)).unwrap();
    if std::env::var("SKEP_GOLDEN").as_deref() == Ok("write") {
        std::fs::write("tests/golden/log-v1.bin", trimmed(&content)).unwrap();
    }
    assert!(
        trimmed(&content) == GOLDEN,
        "the bytes of the log have changed"
    );
}

#[test]
fn a_log_of_version_1_is_read() {
    let disk = MemoryDisk::new();
    disk.set_content(&segment(1), GOLDEN.to_vec());
    let (log, recovered) = open(&disk);
    let id = |index, term| EntryId { index, term };
    assert_eq!((recovered.base, recovered.last), (id(1, 1), id(4, 2)));
    assert_eq!(recovered.state, Some(Bytes::from_static(b"second")));
    assert_eq!(recovered.terms, [id(2, 1), id(4, 2)]);
    let entries = read_all(&log);
    assert_eq!(entries[0].payload, Bytes::from("compress me ".repeat(500)));
    assert_eq!((entries[0].tag, entries[1].payload.len()), (9, 0));
    assert_eq!(entries[2].payload, payload(4, 2, 9));
}

#[test]
fn a_log_of_a_later_version_is_refused_by_name_and_left_as_it_is() {
    let mut later = GOLDEN.to_vec();
    later[8..12].copy_from_slice(&2_u32.to_le_bytes());
    let disk = MemoryDisk::new();
    disk.set_content(&segment(1), later.clone());
    let error = try_open(&disk, small()).err().unwrap().to_string();
    assert!(
        error.contains(
            "format version 2 is not known to this version of skep; use the version that wrote it"
        ),
        "{error}"
    );
    assert!(error.contains(&segment(1).display().to_string()), "{error}");
    assert!(disk.content(&segment(1)).unwrap() == later);
}
