//! A surviving member continues with its own data, as a new member.

mod groups;

use std::sync::Arc;

use bytes::Bytes;
use groups::drive;
use skep_replication::{
    EntryId, Event, Group, GroupConfig, LogEvidence, Members, RecoveredLog, Role,
    force_single_voter,
};
use skep_storage::disk::MemoryDisk;
use skep_storage::log::{Frame, Log, LogConfig, Recovered};

const OWN: u64 = (9 << 32) + 2;

/// Term, vote and commit index as stored by members that know of no changes.
fn state(term: u64, commit: u64) -> Frame {
    let mut bytes = vec![1];
    for number in [term, 1, commit] {
        bytes.extend_from_slice(&u64::to_le_bytes(number));
    }
    Frame::State(bytes.into())
}

fn entry(index: u64, tag: u8, payload: &'static [u8]) -> Frame {
    Frame::Entry {
        index,
        term: 4,
        tag,
        payload: Bytes::from_static(payload),
    }
}

fn open(disk: &MemoryDisk) -> (Log, Recovered) {
    Log::open(Arc::new(disk.clone()), "/log", LogConfig::default()).unwrap()
}

/// Member 2 of three, with one entry known to be committed. The last entry would remove it.
fn left_alone() -> MemoryDisk {
    let disk = MemoryDisk::new();
    let (mut log, _) = open(&disk);
    let removes_member_2 = [1, 3, 2, 5];
    let frames = [
        state(4, 1),
        entry(1, 0, b"one"),
        entry(2, 0, b"two"),
        Frame::Entry {
            index: 3,
            term: 4,
            tag: 2,
            payload: Bytes::copy_from_slice(&removes_member_2),
        },
    ];
    log.append(&frames).unwrap();
    disk
}

fn formed(disk: &MemoryDisk, checkpoint: EntryId) -> Members {
    let (mut log, found) = open(disk);
    force_single_voter(1, (&mut log, &found), checkpoint, OWN, 70_000).unwrap()
}

fn group(disk: &MemoryDisk, checkpoint: EntryId, members: Members) -> Group {
    let (log, found) = open(disk);
    let recovered = RecoveredLog {
        log: found,
        checkpoint,
        source: Box::new(log.reader()),
        evidence: LogEvidence::default(),
    };
    Group::open(GroupConfig::joining(1, OWN, members), recovered).unwrap()
}

#[test]
fn all_entries_count_and_changes_of_earlier_members_do_not() {
    let disk = left_alone();
    let members = formed(&disk, EntryId::default());
    // Repeated, as after a crash before it was recorded.
    assert_eq!(formed(&disk, EntryId::default()), members);
    assert_eq!(members.voters, [OWN]);
    let mut group = group(&disk, EntryId::default(), members);
    let mut applied = Vec::new();
    while !matches!(group.role(), Role::Leader { .. }) {
        let (messages, events, _) = drive(&mut group);
        assert!(messages.is_empty(), "there is nobody to talk to");
        applied.extend(events.into_iter().filter_map(|event| match event {
            Event::Apply(entry) if !entry.payload.is_empty() => Some(entry.payload),
            _ => None,
        }));
        group.tick();
    }
    assert_eq!(applied, ["one", "two"]);
    assert!(group.term() > 4);
    assert_eq!(group.members().voters, [OWN]);
    assert!(group.propose("three".into()).is_ok());
}

#[test]
fn a_snapshot_unknown_to_the_log_is_its_new_beginning() {
    let disk = left_alone();
    let checkpoint = EntryId { index: 50, term: 6 };
    let members = formed(&disk, checkpoint);
    assert_eq!(members.index, 50);
    let mut group = group(&disk, checkpoint, members);
    while !matches!(group.role(), Role::Leader { .. }) {
        drive(&mut group);
        group.tick();
    }
    assert_eq!(group.base(), checkpoint);
    assert!(group.term() > 6);
}
