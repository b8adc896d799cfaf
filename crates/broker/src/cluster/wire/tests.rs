//! Golden frames: messages sent by real nodes of each version of the protocol are read, and written again without change.
//!
//! `tests/golden/frames-1.txt` was recorded between nodes of commit bc7885cd, `frames-2.txt` between nodes of the version that made it.
//! Neither file is edited again; a new message adds a frame to the file of its version. Before version 2 landed, the waiting time of
//! commands was added to its ten answers by hand. Version 3 has all frames of version 2 and some of its own: those in `frames-3.txt` were
//! made from sample values by the encoder of the version that introduced them. So were those of later versions.

use std::collections::BTreeSet;

use bytes::Bytes;
use skep_protocol::Response;
use skep_protocol::command::{BatchCommand, Command, Request};
use skep_protocol::origin::Claims;
use skep_testkit::golden_file::unhex;
use skep_transport::{OLDEST_VERSION, PROTOCOL_VERSION};

use super::{NodeMessage, PollMessage, in_version};

/// The frames that each version added, by version.
const ADDED: [(u32, &str); 8] = [
    (1, include_str!("../../../tests/golden/frames-1.txt")),
    (2, include_str!("../../../tests/golden/frames-2.txt")),
    (3, include_str!("../../../tests/golden/frames-3.txt")),
    (4, include_str!("../../../tests/golden/frames-4.txt")),
    (5, include_str!("../../../tests/golden/frames-5.txt")),
    (6, include_str!("../../../tests/golden/frames-6.txt")),
    // It only has a new record.
    (7, ""),
    (8, include_str!("../../../tests/golden/frames-8.txt")),
];

fn frames(version: u32) -> Vec<Vec<u8>> {
    let is_known = ADDED.iter().any(|(added_by, _)| *added_by == version);
    assert!(
        is_known,
        "version {version} has no golden frames: record some"
    );
    // The frames of version 1 are its own: version 2 encodes all messages differently.
    let known = version.min(2)..=version;
    let texts = ADDED
        .iter()
        .filter(|(added_by, _)| known.contains(added_by));
    let lines = texts.flat_map(|(_, text)| text.lines());
    lines.map(unhex).collect()
}

/// The messages of this number that the version added.
fn added(version: u32, count: usize) -> Vec<NodeMessage> {
    let texts = ADDED.iter().filter(|(added_by, _)| *added_by == version);
    let lines = texts.flat_map(|(_, text)| text.lines());
    let messages = lines.map(|line| NodeMessage::decode(version, &unhex(line)));
    let messages: Vec<NodeMessage> = messages.map(Option::unwrap).collect();
    assert_eq!(messages.len(), count, "version {version}");
    messages
}

/// Checks what nodes of all versions before this one get in place of a message that it added.
fn expect_before(version: u32, message: &NodeMessage, expected: Option<&NodeMessage>) {
    for earlier in OLDEST_VERSION..version {
        let sent = message.encode_for(earlier);
        let instead = expected.map(|expected| expected.encode_for(earlier).unwrap());
        assert_eq!(sent, instead, "version {earlier}: {message:?}");
        assert_eq!(in_version(earlier, message.encode()), instead);
    }
}

fn read(version: u32) -> Vec<NodeMessage> {
    let read = |bytes: Vec<u8>| {
        let message = NodeMessage::decode(version, &bytes);
        message.unwrap_or_else(|| panic!("a frame of version {version} cannot be read: {bytes:?}"))
    };
    frames(version).into_iter().map(read).collect()
}

fn jobs(version: u32) -> Vec<skep_protocol::ActivatedJob> {
    let of = |message| {
        if let NodeMessage::Push { job, .. } = message {
            return vec![*job];
        }
        let NodeMessage::Answer { result, .. } = message else {
            return Vec::new();
        };
        let Ok(Response::JobsActivated { jobs, .. }) = result else {
            return Vec::new();
        };
        jobs
    };
    read(version).into_iter().flat_map(of).collect()
}

#[test]
fn frames_of_each_version_are_read_and_written_without_change() {
    for version in OLDEST_VERSION..=PROTOCOL_VERSION {
        let mut kinds = BTreeSet::new();
        for (bytes, message) in frames(version).into_iter().zip(read(version)) {
            let written = message.encode_for(version).unwrap();
            assert_eq!(written, bytes, "version {version}: {message:?}");
            kinds.insert(bytes[0]);
        }
        assert!(kinds.len() >= 13, "version {version} has {kinds:?}");
    }
}

#[test]
fn jobs_of_all_versions_decode_to_the_same_values() {
    for version in OLDEST_VERSION..=PROTOCOL_VERSION {
        let jobs = jobs(version);
        assert!(jobs.len() >= 2, "version {version}");
        for job in &jobs {
            assert!(job.element_instance_key.0 > job.process_instance_key.0);
            assert!(job.tenant.is_default());
            assert!(job.retries == 3 && job.variables.starts_with('{'));
        }
        let with = jobs.iter().filter(|job| job.business_id.is_some()).count();
        assert_eq!(with > 0, version > 1, "version {version}");
    }
}

#[test]
fn a_node_of_version_1_gets_a_job_without_newer_fields() {
    let mut job = jobs(2)
        .into_iter()
        .find(|job| job.business_id.is_some())
        .unwrap();
    let message = NodeMessage::Push {
        stream: 7,
        job: Box::new(job.clone()),
    };
    let sent = in_version(1, message.encode()).unwrap();
    let Some(NodeMessage::Push {
        stream: 7,
        job: got,
    }) = NodeMessage::decode(1, &sent)
    else {
        panic!("{sent:?}");
    };
    job.business_id = None;
    assert_eq!(*got, job);
    let as_newest = NodeMessage::decode(2, &sent);
    assert!(
        as_newest.is_none_or(|it| it.encode() != sent),
        "the versions differ"
    );
}

#[test]
fn a_node_of_version_1_gets_an_internal_command_as_an_anonymous_one() {
    let message = NodeMessage::Request {
        id: 1,
        partition: 2,
        request: Request::internal(Command::ResetClock),
    };
    let sent = message.encode_for(1).unwrap();
    let Some(NodeMessage::Request { request, .. }) = NodeMessage::decode(1, &sent) else {
        panic!("{sent:?}");
    };
    assert_eq!(request.claims, Claims::Anonymous);
}

#[test]
fn sessions_are_not_sent_to_nodes_of_version_2() {
    for message in added(3, 5) {
        expect_before(3, &message, None);
    }
}

#[test]
fn messages_about_kept_objects_are_not_sent_to_nodes_of_version_3() {
    for message in added(4, 6) {
        expect_before(4, &message, None);
    }
}

#[test]
fn messages_that_confirm_a_leader_are_not_sent_to_nodes_of_version_4() {
    for message in added(5, 4) {
        expect_before(5, &message, None);
    }
}

#[test]
fn nodes_of_version_5_get_messages_of_long_polling_without_tenants() {
    for message in added(6, 5) {
        let job_type = "work".into();
        let expected = match &message {
            NodeMessage::Polls(PollMessage::Wanted { .. }) => NodeMessage::Wanted { job_type },
            NodeMessage::Polls(PollMessage::Available { .. }) => {
                NodeMessage::Available { job_type }
            }
            other => panic!("{other:?}"),
        };
        expect_before(6, &message, Some(&expected));
    }
}

#[test]
fn nodes_of_version_7_get_a_status_without_its_logs_and_loads_and_nothing_about_keys_that_move() {
    for message in added(8, 8) {
        let expected = match &message {
            NodeMessage::StatusOf(report) => Some(NodeMessage::Status(report.status.clone())),
            NodeMessage::Remote { .. } | NodeMessage::SentOn(_) => None,
            NodeMessage::Request {
                id,
                partition,
                request,
            } => {
                let Command::Batch(BatchCommand::DeleteHistoryOf(of)) = &request.command else {
                    panic!("{message:?}");
                };
                let mut request = request.clone();
                let deletion = BatchCommand::DeleteHistory(of.deletion.clone());
                request.command = Command::Batch(deletion);
                Some(NodeMessage::Request {
                    id: *id,
                    partition: *partition,
                    request,
                })
            }
            other => panic!("{other:?}"),
        };
        expect_before(8, &message, expected.as_ref());
    }
}

#[test]
fn messages_unknown_to_version_1_are_not_sent() {
    let messages = [
        NodeMessage::Position {
            id: 1,
            partition: 1,
        },
        NodeMessage::DirectoryWanted { known: None },
    ];
    for message in messages {
        assert_eq!(message.encode_for(1), None::<Bytes>);
        assert!(message.encode_for(2).is_some());
    }
}
