//! The encoding of messages between nodes and of the stored state, and the handling of invalid bytes.

mod groups;

use bytes::Bytes;
use groups::{NoLog, drive, elected, group, settle};
use proptest::prelude::*;
use skep_replication::{
    EntryId, Event, Group, GroupConfig, GroupError, LogEvidence, Message, MessageError, Output,
    RecoveredLog, Role,
};
use skep_storage::log::{Frame, Recovered};

#[test]
fn messages_are_encoded_as_they_always_were() {
    let (mut groups, mut sent) = elected();
    let leader = groups
        .iter_mut()
        .find(|group| matches!(group.role(), Role::Leader { .. }))
        .unwrap();
    for text in ["one", "two", "three"] {
        leader.propose(Bytes::from_static(text.as_bytes())).unwrap();
    }
    settle(&mut groups, &mut sent);
    // An election, entries, heartbeats and their answers: all kinds but those of snapshots, and a leader's resignation.
    let mut all = Vec::new();
    for message in &sent {
        let bytes = message.encode();
        all.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        all.extend_from_slice(&bytes);
    }
    if std::env::var("SKEP_GOLDEN").as_deref() == Ok("write") {
        std::fs::write("tests/golden/messages-v1.bin", &all).unwrap();
    }
    assert!(all == GOLDEN_MESSAGES, "the bytes of messages have changed");
}

const GOLDEN_MESSAGES: &[u8] = include_bytes!("golden/messages-v1.bin");

fn golden_messages() -> Vec<Bytes> {
    let mut rest = Bytes::from_static(GOLDEN_MESSAGES);
    let mut messages = Vec::new();
    while !rest.is_empty() {
        let length = rest.split_to(4);
        let length = u32::from_le_bytes(length[..].try_into().unwrap());
        messages.push(rest.split_to(length as usize));
    }
    messages
}

#[test]
fn messages_of_version_1_are_read_and_written_again_without_change() {
    let messages = golden_messages();
    assert!(messages.len() > 10);
    for bytes in messages {
        let message = Message::decode(bytes.clone()).unwrap();
        assert_eq!(message.group(), 7);
        assert_eq!(message.encode(), bytes);
    }
}

#[test]
fn rare_messages_are_encoded_as_they_always_were() {
    // A last chunk and its answer: from, to, term, term of the snapshot, its index, transfer, 0, number of the chunk. And a resignation.
    for (kind, flags, payload) in [(10, 2, 5), (11, 1, 0), (13, 0, 0)] {
        let bytes = forged(
            kind,
            flags,
            &[1, 2, 300, 299, 70_000, 4, 0, 129, 0],
            &[],
            payload,
        );
        let message = Message::decode(bytes.clone()).unwrap();
        assert_eq!((message.from(), message.to()), (1, 2));
        assert_eq!(message.is_snapshot(), kind == 10);
        assert_eq!(message.payload_bytes(), usize::from(payload));
        assert_eq!(message.encode(), bytes);
    }
}

#[test]
fn the_stored_state_is_encoded_as_it_always_was() {
    let mut group = group(2);
    let mut states = Vec::new();
    for _ in 0..100 {
        group.tick();
        states.extend(
            drive(&mut group)
                .2
                .into_iter()
                .filter_map(|frame| match frame {
                    Frame::State(state) => Some(state),
                    _ => None,
                }),
        );
    }
    assert_eq!(
        states,
        [] as [Bytes; 0],
        "a pre-vote alone changes nothing that must be kept"
    );
    let recovered = |state: &'static [u8]| RecoveredLog {
        log: Recovered {
            state: Some(Bytes::from_static(state)),
            ..Recovered::default()
        },
        checkpoint: EntryId::default(),
        source: Box::new(NoLog),
        evidence: LogEvidence::default(),
    };
    // Version, term 5, vote for 3, nothing committed.
    let state = b"\x01\x05\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let config = GroupConfig::new(7, 2, vec![2]);
    let mut single = Group::open(config.clone(), recovered(state)).unwrap();
    assert_eq!(
        single.term(),
        6,
        "it has stood for election in the next term"
    );
    let frames = drive(&mut single).2;
    let written = b"\x01\x06\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    assert!(
        frames.contains(&Frame::State(Bytes::from_static(written))),
        "{frames:?}"
    );
    for bad in [&b""[..], b"\x02", &state[..24]] {
        assert!(Group::open(config.clone(), recovered(bad)).is_err());
    }
}

/// The crash came between the installation of a snapshot and the append that records it in the log.
#[test]
fn a_checkpoint_ahead_of_the_log_of_one_of_several_members_takes_its_place() {
    let id = |index, term| EntryId { index, term };
    let state = b"\x01\x05\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0";
    // No log at all; a log longer than the checkpoint, but with another history.
    for (last, terms) in [(id(0, 0), vec![]), (id(30, 3), vec![id(1, 2), id(12, 3)])] {
        let recovered = |installing| RecoveredLog {
            log: Recovered {
                base: EntryId::default(),
                last,
                state: Some(Bytes::from_static(state)),
                terms: terms.clone(),
                ..Recovered::default()
            },
            checkpoint: id(20, 4),
            source: Box::new(NoLog),
            evidence: LogEvidence {
                exported: 0,
                installing,
            },
        };
        let config = GroupConfig::new(7, 2, vec![1, 2, 3]);
        let lost = Group::open(config.clone(), recovered(None)).err().unwrap();
        assert!(lost.to_string().contains("Remove this member"), "{lost}");
        let mut group = Group::open(config, recovered(Some(id(20, 4)))).unwrap();
        assert_eq!(
            (group.base(), group.last_index(), group.commit_index()),
            (id(20, 4), 20, 20)
        );
        let (_, events, frames) = drive(&mut group);
        assert_eq!(events, []);
        let reset = Frame::Base {
            index: 20,
            term: 4,
            reset: true,
        };
        assert_eq!(frames, [reset, Frame::State(Bytes::from_static(state))]);
    }
}

/// The snapshot included a part of the log, and the crash came before all of that had arrived.
#[test]
fn after_a_snapshot_a_log_behind_the_checkpoint_continues_where_it_ends() {
    let id = |index, term| EntryId { index, term };
    let state = b"\x01\x05\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0";
    let recovered = |installing| RecoveredLog {
        log: Recovered {
            base: id(5, 2),
            last: id(9, 2),
            state: Some(Bytes::from_static(state)),
            terms: vec![id(6, 2)],
            ..Recovered::default()
        },
        checkpoint: id(20, 4),
        source: Box::new(NoLog),
        evidence: LogEvidence {
            exported: 0,
            installing,
        },
    };
    let config = GroupConfig::new(7, 2, vec![1, 2, 3]);
    // Without the mark of a snapshot the end of the log is missing.
    let lost = Group::open(config.clone(), recovered(Some(id(19, 4))));
    assert!(matches!(
        lost.err(),
        Some(GroupError::LogBehindCheckpoint { last: 9, .. })
    ));
    let mut group = Group::open(config, recovered(Some(id(20, 4)))).unwrap();
    assert_eq!(
        (group.base(), group.last_index(), group.commit_index()),
        (id(5, 2), 9, 5)
    );
    let (_, events, frames) = drive(&mut group);
    assert_eq!((events, frames), (vec![], vec![]));
}

#[test]
fn damaged_messages_are_refused() {
    for bytes in golden_messages() {
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 0x10;
            assert_eq!(Message::decode(damaged.into()), Err(MessageError::Checksum));
            assert!(Message::decode(bytes.slice(..at)).is_err());
        }
    }
}

/// A message with a valid checksum and arbitrary content.
fn forged(kind: u8, flags: u8, numbers: &[u64], entries: &[(u64, u8, u8)], payload: u8) -> Bytes {
    let mut body = vec![1, kind, flags];
    let number = |body: &mut Vec<u8>, mut value: u64| {
        while value >= 0x80 {
            body.push(value as u8 | 0x80);
            value >>= 7;
        }
        body.push(value as u8);
    };
    number(&mut body, 7);
    for value in numbers {
        number(&mut body, *value);
    }
    body.push(0);
    number(&mut body, entries.len() as u64);
    for (term, tag, size) in entries {
        number(&mut body, *term);
        body.push(*tag);
        number(&mut body, u64::from(*size));
        body.extend(std::iter::repeat_n(b'x', usize::from(*size)));
    }
    number(&mut body, u64::from(payload));
    body.extend(std::iter::repeat_n(b'y', usize::from(payload)));
    let mut bytes = crc32fast::hash(&body).to_le_bytes().to_vec();
    bytes.extend(body);
    bytes.into()
}

/// Number of cases to try: more with `SKEP_CASES=…`.
fn cases() -> u32 {
    let wanted = std::env::var("SKEP_CASES").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(300)
}

fn value() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..12, 1 => Just(u64::MAX), 1 => Just(1 << 60), 1 => any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Other members may send anything: a group never panics. It may detect that it has lost data, and stop with an error.
    #[test]
    fn no_message_makes_a_group_panic(
        leads in any::<bool>(),
        messages in prop::collection::vec((
            1_u8..12, 0_u8..4, 1_u64..4, prop::collection::vec(value(), 7),
            prop::collection::vec((0_u64..5, 0_u8..3, 0_u8..3), 0..4), 0_u8..5,
        ), 1..60),
    ) {
        let (mut groups, _) = elected();
        let target = groups.iter().position(|group| matches!(group.role(), Role::Leader { .. }) == leads).unwrap();
        let group = &mut groups[target];
        if leads {
            group.propose(Bytes::from_static(b"an entry")).unwrap();
        }
        let node = group.config().node;
        for (kind, flags, from, rest, entries, payload) in messages {
            let mut numbers = vec![from, node];
            numbers.extend(rest);
            // The last one is the priority.
            numbers.push(0);
            let message = Message::decode(forged(kind, flags, &numbers, &entries, payload)).unwrap();
            group.receive(from, message);
            group.tick();
            let mut out = Output::default();
            if group.poll(&mut out).is_err() {
                break;
            }
            for append in out.appends {
                group.persisted(append.number);
            }
            for event in out.events {
                match event {
                    Event::ProduceSnapshot { to } => group.refuse_snapshot(to),
                    Event::SnapshotChunk { part, .. } if part.number % 3 == 2 => {
                        group.abandon_snapshot(part);
                    }
                    Event::SnapshotChunk { part, .. } => group.snapshot_taken(part),
                    Event::InstallSnapshot { id } => group.snapshot_installed(id.index),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut sealed = crc32fast::hash(&bytes).to_le_bytes().to_vec();
        sealed.extend(&bytes);
        if let Ok(message) = Message::decode(sealed.into()) {
            prop_assert!(message.payload_bytes() <= bytes.len());
        }
    }
}
