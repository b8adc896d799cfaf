//! A group of one member on a real log with its writer thread.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use crossbeam_channel::{Receiver, unbounded};
use skep_replication::{
    Change, ChangeError, EntryId, Event, Group, GroupConfig, GroupError, LogEvidence, Output,
    ProposeError, RecoveredLog, Role,
};
use skep_storage::disk::RealDisk;
use skep_storage::log::{Log, LogConfig, LogReader, LogWriter, Report, WriterConfig};

struct Member {
    group: Group,
    writer: LogWriter,
    reader: LogReader,
    reports: Receiver<Report>,
    events: Vec<Event>,
}

impl Member {
    fn open(directory: &Path, checkpoint: EntryId) -> Self {
        Self::try_open(directory, checkpoint).unwrap()
    }

    fn try_open(directory: &Path, checkpoint: EntryId) -> Result<Self, GroupError> {
        Self::open_with(directory, checkpoint, LogEvidence::default())
    }

    fn open_with(
        directory: &Path,
        checkpoint: EntryId,
        evidence: LogEvidence,
    ) -> Result<Self, GroupError> {
        let (log, recovered) =
            Log::open(Arc::new(RealDisk), directory, LogConfig::default()).unwrap();
        let reader = log.reader();
        let (sender, reports) = unbounded();
        let report = move |report| sender.send(report).unwrap();
        let writer = LogWriter::spawn(log, WriterConfig::default(), report).unwrap();
        let recovered = RecoveredLog {
            log: recovered,
            checkpoint,
            source: Box::new(reader.clone()),
            evidence,
        };
        let group = Group::open(GroupConfig::new(1, 1, vec![1]), recovered)?;
        Ok(Self {
            group,
            writer,
            reader,
            reports,
            events: Vec::new(),
        })
    }

    fn poll(&mut self) {
        let mut out = Output::default();
        self.group.poll(&mut out).unwrap();
        for append in out.appends {
            self.writer.append(append.number, append.frames).unwrap();
        }
        assert!(out.messages.is_empty(), "there is nobody to talk to");
        self.events.extend(out.events);
    }

    fn until(&mut self, done: impl Fn(&Self) -> bool) {
        self.poll();
        while !done(self) {
            match self.reports.recv_timeout(Duration::from_secs(180)).unwrap() {
                Report::Written { number, .. } => self.group.persisted(number),
                other => panic!("unexpected report {other:?}"),
            }
            self.poll();
        }
    }

    fn lead(&mut self) {
        self.until(|member| matches!(member.group.role(), Role::Leader { .. }));
    }

    fn applied(&self) -> Vec<Bytes> {
        let payloads = self.events.iter().filter_map(|event| match event {
            Event::Apply(entry) if !entry.payload.is_empty() => Some(entry.payload.clone()),
            _ => None,
        });
        payloads.collect()
    }
}

fn payload(number: u32) -> Bytes {
    Bytes::copy_from_slice(&number.to_le_bytes())
}

#[test]
fn leads_at_once_and_commits_its_proposals() {
    let directory = tempfile::tempdir().unwrap();
    let mut member = Member::open(directory.path(), EntryId::default());
    assert!(
        member.group.propose(payload(0)).is_err(),
        "not before it leads"
    );
    member.lead();
    let ids: Vec<EntryId> = (0..10)
        .map(|number| member.group.propose(payload(number)).unwrap())
        .collect();
    assert!(
        ids.windows(2)
            .all(|pair| pair[0].index + 1 == pair[1].index)
    );
    let last = ids[9].index;
    assert!(member.group.commit_index() < last, "nothing is durable yet");
    let in_log = member.group.last_in_log();
    assert_eq!((in_log.index + 1, in_log.term), (ids[0].index, ids[0].term));
    member.until(|member| member.group.commit_index() == last);
    assert!(member.events.contains(&Event::Committed { index: last }));
    assert!(
        member.applied().is_empty(),
        "own proposals are not handed out again"
    );
    assert_eq!(member.reader.last().index, last);
    assert_eq!(member.group.last_in_log(), ids[9]);
}

#[test]
fn after_a_restart_committed_entries_are_handed_out_again_in_order_from_the_checkpoint_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut member = Member::open(directory.path(), EntryId::default());
    member.lead();
    let ids: Vec<EntryId> = (0..100)
        .map(|number| member.group.propose(payload(number)).unwrap())
        .collect();
    member.until(|member| member.group.commit_index() == ids[99].index);
    drop(member);

    let mut member = Member::open(directory.path(), EntryId::default());
    member.lead();
    assert_eq!(member.applied(), (0..100).map(payload).collect::<Vec<_>>());
    assert_eq!(member.group.term(), 2);
    drop(member);

    let mut member = Member::open(directory.path(), ids[59]);
    member.lead();
    assert_eq!(member.applied(), (60..100).map(payload).collect::<Vec<_>>());
    let compact = member.group.compact(ids[59].index).unwrap();
    assert_eq!(compact, ids[59]);
    member.writer.compact(compact.index, compact.term).unwrap();
    drop(member);

    let mut member = Member::open(directory.path(), ids[59]);
    assert_eq!(member.group.base(), ids[59]);
    member.lead();
    assert_eq!(member.applied(), (60..100).map(payload).collect::<Vec<_>>());
}

#[test]
fn a_group_can_move_between_threads() {
    fn movable<T: Send>() {}
    movable::<Group>();
}

#[test]
fn a_log_and_a_checkpoint_that_do_not_belong_together_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut member = Member::open(directory.path(), EntryId::default());
    member.lead();
    let ids: Vec<EntryId> = (0..10)
        .map(|number| member.group.propose(payload(number)).unwrap())
        .collect();
    member.until(|member| member.group.commit_index() == ids[9].index);
    let compact = member.group.compact(ids[5].index).unwrap();
    member.writer.compact(compact.index, compact.term).unwrap();
    drop(member);

    let older = Member::try_open(directory.path(), ids[3]).err().unwrap();
    assert!(
        matches!(older, GroupError::CheckpointBehindLog { .. }),
        "{older}"
    );
    let newer = EntryId {
        index: ids[9].index + 100,
        term: 1,
    };
    let newer = Member::try_open(directory.path(), newer).err().unwrap();
    assert!(
        matches!(newer, GroupError::LogBehindCheckpoint { .. }),
        "{newer}"
    );
    assert!(Member::try_open(directory.path(), ids[7]).is_ok());
}

#[test]
fn proposals_are_bounded_in_number_and_size() {
    let directory = tempfile::tempdir().unwrap();
    let mut member = Member::open(directory.path(), EntryId::default());
    member.lead();
    let big = Bytes::from(vec![1; 24 << 20]);
    let mut taken = 0;
    let refused = loop {
        match member.group.propose(big.clone()) {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(taken, 2, "64 MiB is the limit");
    assert!(
        matches!(refused, ProposeError::TooMuchUncommitted { .. }),
        "{refused}"
    );
    let last = member.group.last_index();
    member.until(|member| member.group.commit_index() == last);
    assert_eq!(member.group.uncommitted_bytes(), 0);
    assert!(member.group.propose(big).is_ok(), "there is room again");
}

#[test]
fn wrong_settings_are_refused() {
    let log = || RecoveredLog {
        log: Default::default(),
        checkpoint: EntryId::default(),
        source: Box::new(NoLog),
        evidence: LogEvidence::default(),
    };
    for config in [
        GroupConfig::new(1, 0, vec![0]),
        GroupConfig::new(1, 1, vec![2, 3]),
        GroupConfig {
            election_ticks: 2,
            ..GroupConfig::new(1, 1, vec![1])
        },
        GroupConfig {
            max_unpersisted_appends: 0,
            ..GroupConfig::new(1, 1, vec![1])
        },
    ] {
        let error = Group::open(config, log()).err().unwrap();
        assert!(matches!(error, GroupError::Config { .. }), "{error}");
    }
}

struct NoLog;

impl skep_replication::EntrySource for NoLog {
    fn read(
        &self,
        from: u64,
        _to: u64,
        _max: usize,
    ) -> Result<Vec<skep_storage::log::Entry>, skep_storage::StorageError> {
        Err(skep_storage::StorageError::Compacted {
            index: from,
            first: from + 1,
        })
    }
}

/// A leader may know an old plan only.
#[test]
fn a_change_for_an_older_plan_than_the_last_is_refused_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |member: &mut Member| {
        let change = member.group.change_members(Change::Confirm(1), 6);
        matches!(change, Err(ChangeError::Impossible(_)))
    };
    let mut member = Member::open(directory.path(), EntryId::default());
    member.lead();
    member.group.change_members(Change::Confirm(1), 7).unwrap();
    member.until(|member| member.group.members().plan == 7);
    assert_eq!(member.group.members().voters, [1], "nobody came or went");
    assert!(refused(&mut member));
    let before = member.group.members().index;
    member.group.change_members(Change::Confirm(1), 7).unwrap();
    member.until(|member| member.group.members().index > before);
    drop(member);
    let mut member = Member::open(directory.path(), EntryId::default());
    member.lead();
    assert!(refused(&mut member));
    member.group.change_members(Change::Confirm(1), 8).unwrap();
}

/// A checkpoint may contain a change whose members no append has stored yet.
#[test]
fn a_change_that_the_checkpoint_holds_and_the_stored_state_does_not_is_known_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut member = Member::open(directory.path(), EntryId::default());
    member.lead();
    member.group.change_members(Change::Confirm(1), 7).unwrap();
    member.until(|member| member.group.members().plan == 7);
    let members = member.group.members().clone();
    let checkpoint = EntryId {
        index: member.group.commit_index(),
        term: member.group.term(),
    };
    assert_eq!(members.index, checkpoint.index);
    drop(member);
    let mut member = Member::open(directory.path(), checkpoint);
    assert_eq!(*member.group.members(), members);
    member.lead();
    assert!(member.events.contains(&Event::Members(members.clone())));
    assert_eq!(*member.group.members(), members);
}

/// A log that ends before its last exported entries: a torn write and a lost end look alike.
#[test]
fn a_log_that_ends_before_its_exported_entries_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut member = Member::open(directory.path(), EntryId::default());
    member.lead();
    let ids: Vec<EntryId> = (0..10)
        .map(|number| member.group.propose(payload(number)).unwrap())
        .collect();
    let last = ids[9].index;
    member.until(|member| member.group.commit_index() == last);
    drop(member);

    let with = |exported| {
        let evidence = LogEvidence {
            exported,
            installing: None,
        };
        Member::open_with(directory.path(), EntryId::default(), evidence)
    };
    assert!(with(last).is_ok());
    let refused = with(last + 1).err().unwrap();
    assert!(
        matches!(refused, GroupError::LogBehindExport { last: end, exported, .. } if end == last && exported == last + 1),
        "{refused}"
    );
    assert!(refused.to_string().contains("backup"), "{refused}");
}
