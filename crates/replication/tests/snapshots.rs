//! A member that lags behind the beginning of the log gets a snapshot; without room for it the member abandons it and is offered it again.

mod groups;

use std::collections::VecDeque;

use bytes::Bytes;
use groups::elected;
use skep_replication::{
    EntryId, Event, Group, Message, Output, Part, Role, SnapshotPoll, SnapshotSource,
};

const PARTS: u64 = 9;

struct Parts(VecDeque<Bytes>);

impl SnapshotSource for Parts {
    fn poll_chunk(&mut self) -> SnapshotPoll {
        self.0
            .pop_front()
            .map_or(SnapshotPoll::End, SnapshotPoll::Chunk)
    }
}

/// Three members, one of which was away and lacks entries that were compacted.
struct Members {
    groups: Vec<Group>,
    leader: u64,
    behind: u64,
    /// The isolated member.
    away: Option<u64>,
    /// The last entry in the leader's state.
    state: EntryId,
    /// The parts of a snapshot that the member has stored.
    kept: Vec<Bytes>,
    /// Number of parts of a snapshot that it has room for.
    room: u64,
    /// If set, arriving parts, which the test lets the member take.
    later: Option<Vec<Part>>,
    offered: usize,
    abandoned: usize,
    installed: usize,
}

impl Members {
    fn new(room: u64) -> Members {
        let (groups, _) = elected();
        let leads = |group: &&Group| matches!(group.role(), Role::Leader { .. });
        let leader = groups.iter().find(leads).unwrap().config().node;
        let mut members = Members {
            groups,
            leader,
            behind: leader % 3 + 1,
            away: None,
            state: EntryId::default(),
            kept: Vec::new(),
            room,
            later: None,
            offered: 0,
            abandoned: 0,
            installed: 0,
        };
        members.away = Some(members.behind);
        for _ in 0..5 {
            members.propose();
        }
        members.ticks(3);
        let leader = members.of(leader);
        let index = leader.commit_index();
        let term = leader.term();
        leader.compact(index).unwrap();
        members.state = EntryId { index, term };
        members.away = None;
        members
    }

    fn of(&mut self, node: u64) -> &mut Group {
        &mut self.groups[node as usize - 1]
    }

    fn propose(&mut self) {
        let leader = self.leader;
        self.of(leader)
            .propose(Bytes::from_static(b"work"))
            .unwrap();
        self.settle();
    }

    fn settle(&mut self) {
        for _ in 0..1000 {
            let mut said = Vec::new();
            for node in 1..=3 {
                said.extend(self.drive(node));
            }
            if said.is_empty() {
                return;
            }
            for (from, message) in said {
                let to = message.to();
                if self.away != Some(from) && self.away != Some(to) {
                    self.of(to).receive(from, message);
                }
            }
        }
        panic!("they do not stop talking");
    }

    fn drive(&mut self, node: u64) -> Vec<(u64, Message)> {
        let mut said = Vec::new();
        loop {
            let mut out = Output::default();
            self.of(node).poll(&mut out).unwrap();
            if out.is_empty() {
                return said;
            }
            for append in out.appends {
                self.of(node).persisted(append.number);
            }
            said.extend(out.messages.drain(..).map(|message| (node, message)));
            for event in out.events {
                self.handle(node, event);
            }
        }
    }

    fn handle(&mut self, node: u64, event: Event) {
        match event {
            Event::ProduceSnapshot { to } => {
                self.offered += 1;
                let parts = (0..PARTS).map(|part| Bytes::from(vec![part as u8]));
                let parts = Box::new(Parts(parts.collect()));
                let state = self.state;
                self.of(node).offer_snapshot(to, state, parts);
            }
            Event::SnapshotChunk { part, .. } if part.number >= self.room => {
                self.abandoned += usize::from(!self.kept.is_empty());
                self.kept.clear();
                self.of(node).abandon_snapshot(part);
            }
            Event::SnapshotChunk { part, bytes, .. } => {
                if part.number == 0 {
                    self.kept.clear();
                }
                self.kept.push(bytes);
                match &mut self.later {
                    Some(later) => later.push(part),
                    None => self.of(node).snapshot_taken(part),
                }
            }
            Event::InstallSnapshot { id } => {
                self.installed += 1;
                assert_eq!(self.kept.len() as u64, PARTS);
                self.of(node).snapshot_installed(id.index);
            }
            _ => {}
        }
    }

    fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            for node in 1..=3 {
                self.of(node).tick();
            }
            self.settle();
        }
    }

    fn lacks(&mut self) -> u64 {
        let (leader, behind) = (self.leader, self.behind);
        let last = self.of(leader).last_index();
        last - self.of(behind).commit_index()
    }

    fn expect_all_is_well(&mut self) {
        self.propose();
        self.ticks(3);
        assert_eq!(self.lacks(), 0);
        let leader = self.leader;
        assert!(matches!(self.of(leader).role(), Role::Leader { .. }));
    }
}

#[test]
fn a_snapshot_without_room_is_given_up_and_taken_once_there_is_room() {
    let mut members = Members::new(4);
    // It has room for a part of the snapshot.
    for _ in 0..100 {
        if members.abandoned == 0 {
            members.ticks(1);
        }
    }
    assert_eq!(members.abandoned, 1);
    // From now on it has room for nothing.
    members.room = 0;
    members.ticks(300);
    let (behind, leader) = (members.behind, members.leader);
    let follows = Role::Follower {
        leader: Some(leader),
    };
    assert_eq!(members.of(behind).role(), follows);
    assert_eq!((members.abandoned, members.installed), (1, 0));
    assert!(members.kept.is_empty());
    assert!(members.offered < 12, "offered {} times", members.offered);
    // The others continue.
    members.propose();
    members.room = u64::MAX;
    members.ticks(60);
    assert_eq!(members.installed, 1);
    members.expect_all_is_well();
}

#[test]
fn a_snapshot_that_is_taken_slowly_comes_slowly_and_is_not_offered_again() {
    let mut members = Members::new(u64::MAX);
    members.later = Some(Vec::new());
    let (behind, window) = (members.behind, 4);
    let mut taken = 0;
    while members.installed == 0 {
        // Longer than the time-out for a silent member.
        members.ticks(300);
        assert!(members.kept.len() as u64 <= taken + window);
        let part = members.later.as_mut().unwrap().remove(0);
        assert_eq!(part.number, taken);
        members.of(behind).snapshot_taken(part);
        members.settle();
        taken += 1;
    }
    assert_eq!((taken, members.offered), (PARTS, 1));
    members.expect_all_is_well();
}

#[test]
fn late_parts_of_a_replaced_snapshot_are_ignored() {
    let mut members = Members::new(u64::MAX);
    members.later = Some(Vec::new());
    members.ticks(5);
    let old = members.later.take().unwrap();
    assert!(!old.is_empty());
    let behind = members.behind;
    // It is abandoned, and sent again from the first part.
    let first = members.leader;
    members.of(behind).abandon_snapshot(old[0]);
    members.later = Some(Vec::new());
    members.ticks(300);
    let new = members.later.take().unwrap();
    assert_eq!(new[0].number, 0);
    assert!(new[0].arrival > old[0].arrival);
    for part in old {
        members.of(behind).snapshot_taken(part);
        members.of(behind).abandon_snapshot(part);
    }
    members.settle();
    assert_eq!(members.installed, 0);
    for part in new {
        members.of(behind).snapshot_taken(part);
    }
    members.ticks(60);
    assert_eq!((members.installed, members.leader), (1, first));
    members.expect_all_is_well();
}
