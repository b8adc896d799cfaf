//! A leader with a full disk: it hears that another one leads, and helps to get one elected.

use std::sync::Arc;

use bytes::Bytes;
use skep_replication::{
    EntryId, Event, Group, GroupConfig, LogEvidence, Output, RecoveredLog, Role,
};
use skep_storage::disk::RealDisk;
use skep_storage::log::{Log, LogConfig};

const VOTERS: [u64; 3] = [1, 2, 3];

/// Three members whose messages arrive at once. Their appends are in memory only.
struct Members {
    groups: Vec<Group>,
    roles: Vec<Role>,
    /// The member with a full disk.
    full: Option<u64>,
    /// The isolated member.
    silent: Option<u64>,
    _directories: Vec<tempfile::TempDir>,
}

impl Members {
    fn new() -> Members {
        let directories = VOTERS.map(|_| tempfile::tempdir().unwrap());
        let groups = VOTERS.iter().zip(&directories).map(|(node, directory)| {
            let config = LogConfig::default();
            let (log, recovered) = Log::open(Arc::new(RealDisk), directory.path(), config).unwrap();
            let recovered = RecoveredLog {
                log: recovered,
                checkpoint: EntryId::default(),
                source: Box::new(log.reader()),
                evidence: LogEvidence::default(),
            };
            Group::open(GroupConfig::new(1, *node, VOTERS.to_vec()), recovered).unwrap()
        });
        Members {
            groups: groups.collect(),
            roles: vec![Role::Follower { leader: None }; 3],
            full: None,
            silent: None,
            _directories: directories.into(),
        }
    }

    fn of(&mut self, node: u64) -> &mut Group {
        &mut self.groups[node as usize - 1]
    }

    fn role(&self, node: u64) -> Role {
        self.roles[node as usize - 1]
    }

    fn leads(&self, node: u64) -> bool {
        matches!(self.role(node), Role::Leader { .. })
    }

    /// Runs until there are no more messages.
    fn settle(&mut self) {
        let mut busy = true;
        while busy {
            busy = false;
            for node in VOTERS {
                let mut out = Output::default();
                self.of(node).poll(&mut out).unwrap();
                for event in &out.events {
                    if let Event::Role(role) = event {
                        self.roles[node as usize - 1] = *role;
                    }
                }
                for append in out.appends {
                    if self.full != Some(node) {
                        busy = true;
                        self.of(node).persisted(append.number);
                    }
                }
                let silent = self.silent;
                let arrives = |to| ![Some(node), Some(to)].contains(&silent);
                for message in out.messages.into_iter().filter(|it| arrives(it.to())) {
                    busy = true;
                    self.of(message.to()).receive(node, message);
                }
            }
        }
    }

    fn until_one_leads(&mut self, of: &[u64]) -> u64 {
        for _ in 0..1000 {
            for node in of {
                self.of(*node).tick();
            }
            self.settle();
            if let Some(leader) = of.iter().find(|node| self.leads(**node)) {
                return *leader;
            }
        }
        panic!("nobody leads");
    }
}

#[test]
fn a_leader_with_a_full_disk_learns_of_its_successor() {
    let mut members = Members::new();
    let first = members.until_one_leads(&VOTERS);
    members.full = Some(first);
    let limit = members.of(first).config().max_unpersisted_appends;
    for _ in 0..2 * limit {
        let proposed = members.of(first).propose(Bytes::from_static(b"work"));
        assert!(proposed.is_ok(), "{proposed:?}");
        members.settle();
    }
    // None of its messages gets out any more: the others elect a leader.
    let others: Vec<u64> = VOTERS.into_iter().filter(|node| *node != first).collect();
    let second = members.until_one_leads(&others);
    members
        .of(second)
        .propose(Bytes::from_static(b"more"))
        .unwrap();
    members.settle();
    assert_eq!(
        members.role(first),
        Role::Follower {
            leader: Some(second)
        }
    );
}

#[test]
fn a_leader_whose_flush_hangs_is_replaced_although_it_is_reachable() {
    let mut members = Members::new();
    let first = members.until_one_leads(&VOTERS);
    members.full = Some(first);
    members
        .of(first)
        .propose(Bytes::from_static(b"work"))
        .unwrap();
    members.settle();
    let election = members.of(first).config().election_ticks;
    let others: Vec<u64> = VOTERS.into_iter().filter(|node| *node != first).collect();
    let mut ticks = 0;
    while !others.iter().any(|node| members.leads(*node)) {
        assert!(ticks < 2 * election, "nobody takes over");
        for node in VOTERS {
            members.of(node).tick();
        }
        members.settle();
        ticks += 1;
    }
    assert!(ticks >= election, "a disk may be slow: {ticks} ticks");
    // It does not stand for election while it cannot store its own vote.
    for _ in 0..10 * election {
        for node in VOTERS {
            members.of(node).tick();
        }
        members.settle();
        assert!(others.iter().any(|node| members.leads(*node)));
    }
}

#[test]
fn a_leader_whose_flush_hangs_keeps_leading_if_the_others_have_no_majority() {
    let mut members = Members::new();
    let first = members.until_one_leads(&VOTERS);
    let other = VOTERS.into_iter().find(|node| *node != first).unwrap();
    let election = members.of(first).config().election_ticks;
    members.silent = VOTERS.into_iter().find(|it| ![first, other].contains(it));
    let pass = |members: &mut Members, ticks| {
        for _ in 0..ticks {
            for node in [first, other] {
                members.of(node).tick();
            }
            members.settle();
        }
    };
    pass(&mut members, 2 * election);
    members.full = Some(first);
    let entry = members.of(first).propose(Bytes::from_static(b"work"));
    members.settle();
    pass(&mut members, 5 * election);
    assert!(members.leads(first), "{:?}", members.role(first));
    members.of(first).persisted(u64::MAX);
    members.full = None;
    members.settle();
    assert_eq!(members.of(first).commit_index(), entry.unwrap().index);
}
