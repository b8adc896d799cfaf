//! Membership changes across leader changes: completed changes persist, and outdated ones are refused.

mod groups;

use groups::{drive, elected};
use skep_replication::{
    Change, ChangeError, EntryId, EntrySource, Group, GroupConfig, LogEvidence, Members,
    RecoveredLog, Role,
};
use skep_storage::StorageError;
use skep_storage::log::{Entry, Frame, Recovered};

struct Three {
    groups: Vec<Group>,
    /// Isolated members.
    away: Vec<u64>,
}

impl Three {
    fn new() -> Three {
        let groups = elected().0;
        Three {
            groups,
            away: Vec::new(),
        }
    }

    fn of(&mut self, node: u64) -> &mut Group {
        &mut self.groups[node as usize - 1]
    }

    /// Polls all members and delivers their messages. Returns false if there were none.
    fn round(&mut self) -> bool {
        let said: Vec<_> = self.groups.iter_mut().flat_map(|g| drive(g).0).collect();
        let any = !said.is_empty();
        for message in said {
            let (from, to) = (message.from(), message.to());
            if !self.away.contains(&from) && !self.away.contains(&to) {
                self.of(to).receive(from, message);
            }
        }
        any
    }

    /// Delivers messages of one member to this other one only.
    fn deliver(&mut self, from: u64, to: u64) {
        for message in drive(self.of(from)).0 {
            if message.to() == to {
                self.of(to).receive(from, message);
            }
        }
    }

    fn settle(&mut self) {
        for _ in 0..1000 {
            if !self.round() {
                return;
            }
        }
        panic!("they do not stop talking");
    }

    fn leader(&self) -> Option<u64> {
        let leads = |group: &&Group| matches!(group.role(), Role::Leader { .. });
        let mut here = self.groups.iter().filter(|group| {
            let node = group.config().node;
            !self.away.contains(&node)
        });
        here.find(leads).map(|group| group.config().node)
    }

    fn until_one_leads(&mut self) -> u64 {
        for _ in 0..300 {
            for group in &mut self.groups {
                group.tick();
            }
            self.settle();
            if let Some(leader) = self.leader() {
                return leader;
            }
        }
        panic!("nobody leads");
    }

    fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            for group in &mut self.groups {
                group.tick();
            }
            self.settle();
        }
    }

    fn members(&mut self, node: u64) -> Members {
        self.of(node).members().clone()
    }
}

#[test]
fn a_late_change_for_an_older_plan_is_refused_by_the_current_leader() {
    let mut three = Three::new();
    let first = three.until_one_leads();
    three
        .of(first)
        .change_members(Change::Confirm(first), 5)
        .unwrap();
    three.settle();
    let second = first % 3 + 1;
    three.ticks(5);
    assert!(three.of(first).transfer_leadership(second));
    three.settle();
    assert_eq!(three.until_one_leads(), second);
    // Requested for plan 4, before that was replaced by plan 5, and delayed since.
    let third = second % 3 + 1;
    for late in [
        Change::Remove(third),
        Change::AddLearner(4),
        Change::Confirm(second),
    ] {
        let answer = three.of(second).change_members(late, 4);
        assert!(
            matches!(answer, Err(ChangeError::Impossible(_))),
            "{late:?}"
        );
    }
    three.settle();
    for node in 1..=3 {
        let members = three.members(node);
        assert_eq!((members.plan, members.voters), (5, vec![1, 2, 3]));
    }
    // A change for the same plan is accepted.
    let answer = three.of(second).change_members(Change::AddLearner(4), 5);
    assert_eq!(answer, Ok(()));
}

#[test]
fn an_unconfirmed_removal_may_still_need_the_removed_member_after_the_leader_is_gone() {
    let mut three = Three::new();
    let first = three.until_one_leads();
    let (second, removed) = (first % 3 + 1, (first + 1) % 3 + 1);
    let old = three.members(first);
    three
        .of(first)
        .change_members(Change::Remove(removed), 1)
        .unwrap();
    // The removed member does not get the entry, and the second does not learn that it is committed.
    three.deliver(first, second);
    three.deliver(second, first);
    drop(drive(three.of(first)));
    let new = three.members(first);
    assert!(!new.contains(removed));
    assert!(
        (new.plan, new.confirmed) == (1, 0),
        "it has come about and is not confirmed"
    );
    assert_eq!(
        three.members(second),
        old,
        "the second does not know it yet"
    );
    // The first is isolated. For the second there are three members: alone it cannot lead.
    three.away = vec![first, removed];
    three.ticks(100);
    assert_eq!(three.leader(), None);
    assert_eq!(three.members(second), old);
    // Together with the removed one it can, and then the change takes effect for it, too.
    three.away = vec![first];
    assert_eq!(three.until_one_leads(), second);
    assert_eq!(three.members(second), new);
    // The confirmation requires the majority of the remaining members.
    three
        .of(second)
        .change_members(Change::Confirm(second), 1)
        .unwrap();
    three.settle();
    assert_eq!(three.members(second).confirmed, 0);
    three.away = vec![removed];
    three.ticks(10);
    for node in [first, second] {
        let members = three.members(node);
        assert_eq!((members.plan, members.confirmed), (1, 1));
        assert!(!members.contains(removed));
    }
    // From now on the removed member is not needed.
    let leader = three.until_one_leads();
    assert!(leader != removed);
}

/// The frames appended by a member, as found after a crash.
struct OnDisk(Vec<Frame>);

impl EntrySource for OnDisk {
    fn read(&self, from: u64, to: u64, _max: usize) -> Result<Vec<Entry>, StorageError> {
        let entries = self.entries().into_iter();
        Ok(entries.filter(|e| (from..to).contains(&e.index)).collect())
    }
}

impl OnDisk {
    fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for frame in &self.0 {
            if let Frame::Entry {
                index,
                term,
                tag,
                payload,
            } = frame
            {
                entries.retain(|entry| entry.index < *index);
                entries.push(Entry {
                    index: *index,
                    term: *term,
                    tag: *tag,
                    payload: payload.clone(),
                });
            }
        }
        entries
    }

    fn open(self, node: u64) -> Group {
        let entries = self.entries();
        let mut terms: Vec<EntryId> = Vec::new();
        for Entry { index, term, .. } in &entries {
            if terms.last().is_none_or(|run| run.term != *term) {
                terms.push(EntryId {
                    index: *index,
                    term: *term,
                });
            }
        }
        let state = self.0.iter().rev().find_map(|frame| match frame {
            Frame::State(state) => Some(state.clone()),
            _ => None,
        });
        let last = entries.last().map_or(EntryId::default(), |e| EntryId {
            index: e.index,
            term: e.term,
        });
        let tagged = entries.iter().filter(|entry| entry.tag != 0);
        let log = Recovered {
            base: EntryId::default(),
            last,
            state,
            terms,
            tagged: tagged.map(|entry| entry.index).collect(),
        };
        let recovered = RecoveredLog {
            log,
            checkpoint: EntryId::default(),
            source: Box::new(self),
            evidence: LogEvidence::default(),
        };
        Group::open(GroupConfig::new(7, node, vec![1, 2]), recovered).unwrap()
    }
}

/// The first of two members with its disk, and the second.
struct Two {
    first: Group,
    disk: Vec<Frame>,
    second: Group,
}

impl Two {
    fn settle(&mut self, with_second: bool) {
        for _ in 0..1000 {
            let (said, _, frames) = drive(&mut self.first);
            self.disk.extend(frames);
            let (answers, _, _) = drive(&mut self.second);
            if said.is_empty() && answers.is_empty() {
                return;
            }
            if with_second {
                said.into_iter().for_each(|it| self.second.receive(1, it));
                answers.into_iter().for_each(|it| self.first.receive(2, it));
            }
        }
        panic!("they do not stop talking");
    }

    /// Whether the first is elected within 100 ticks.
    fn first_leads(&mut self, with_second: bool) -> bool {
        for _ in 0..100 {
            self.first.tick();
            self.settle(with_second);
        }
        matches!(self.first.role(), Role::Leader { .. })
    }

    /// The first loses its memory. The second hears nothing for so long that it grants its vote again.
    fn crash(&mut self) {
        self.first = OnDisk(self.disk.clone()).open(1);
        for _ in 0..self.second.config().election_ticks {
            self.second.tick();
        }
    }
}

#[test]
fn a_removal_that_a_crash_makes_forgotten_needs_the_removed_one_until_it_is_confirmed() {
    let mut two = Two {
        first: OnDisk(Vec::new()).open(1),
        disk: Vec::new(),
        second: OnDisk(Vec::new()).open(2),
    };
    assert!(two.first_leads(true));
    two.first.change_members(Change::Remove(2), 1).unwrap();
    two.settle(true);
    assert_eq!(two.first.members().voters, [1]);
    // Nothing has been appended since.
    two.crash();
    assert_eq!(two.first.members().voters, [1, 2]);
    assert!(!two.first_leads(false), "it does not know that it is alone");
    assert!(
        two.first_leads(true),
        "the removed one is still there to vote"
    );
    assert_eq!(two.first.members().voters, [1]);
    two.first.change_members(Change::Confirm(1), 1).unwrap();
    two.settle(false);
    assert_eq!(two.first.members().confirmed, 1);
    // From now on the removed member may stop.
    two.crash();
    assert!(two.first_leads(false));
    assert_eq!(two.first.members().voters, [1]);
}
