//! A leader steps down, and notifies the others, if no majority answers, if it is no longer a member, or if its disk hangs.
//!
//! The library checks only once per election timeout whether a majority was heard since the last check, so a silence can last nearly two
//! timeouts before it is noticed. Therefore silence is measured here. A leader that hears nobody may still be heard itself. Without a
//! message, the others would wait for its silence and then for an election timeout of their own, so the leader notifies them. The members
//! with most of its log stand for election first, so that they do not compete.
//!
//! A disk that does not answer stops only its own member: the member is still heard, but nothing is committed that it has not stored. So
//! its oldest write may take one election timeout, as long as the others are a majority without it. A member in that state does not stand
//! for election either, because it would have to store its own vote.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use raft::{INVALID_ID, StateRole};

use crate::group::{Group, Waiting};
use crate::message::{Kind, Message};

/// A lone candidate that has the whole log is elected within this time: it stores its own vote, and another member stores one.
const TICKS_OF_AN_ELECTION: usize = 3;

/// When the other members last answered, in ticks of this member.
#[derive(Debug, Default)]
pub(crate) struct CheckQuorum {
    ticks: u64,
    /// The term of leadership that this belongs to, and when it began.
    term: u64,
    since: u64,
    answered: BTreeMap<u64, u64>,
}

impl CheckQuorum {
    /// Time that has passed for this member, in ticks.
    pub(crate) fn ticks(&self) -> u64 {
        self.ticks
    }
}

impl Group {
    /// A member answers this one's messages as leader.
    pub(crate) fn record_answer(&mut self, message: &Message) {
        let answers = matches!(
            message.kind,
            Kind::AppendResponse | Kind::HeartbeatResponse | Kind::SnapshotAck
        );
        if answers && message.term == self.raft.raft.term {
            self.check_quorum
                .answered
                .insert(message.from, self.check_quorum.ticks);
        }
    }

    /// Ticks the library, and checks that a majority still answers.
    pub(crate) fn tick_library(&mut self) {
        self.check_quorum.ticks += 1;
        let hangs = self.disk_hangs();
        if hangs && self.raft.raft.state == StateRole::Follower {
            return;
        }
        let led = self.raft.raft.state == StateRole::Leader;
        let term = self.raft.raft.term;
        let others = if led { self.by_log() } else { Vec::new() };
        self.raft.tick();
        if led && (self.has_lost_quorum() || hangs && self.is_dispensable()) {
            self.raft.raft.become_follower(term, INVALID_ID);
        }
        let library = &self.raft.raft;
        if led && library.state != StateRole::Leader && library.term == term {
            self.send_resignation(others);
        }
        self.draw_timeout();
    }

    /// A member can become leader while its own removal is in progress. It would stay leader without being able to propose
    /// anything.
    pub(crate) fn resign_if_removed(&mut self) {
        let leads = self.raft.raft.state == StateRole::Leader;
        if leads && !self.members().voters.contains(&self.config.node) {
            let (term, others) = (self.raft.raft.term, self.by_log());
            self.raft.raft.become_follower(term, INVALID_ID);
            self.send_resignation(others);
            self.draw_timeout();
        }
    }

    fn send_resignation(&mut self, others: Vec<u64>) {
        for (rank, other) in (0..).zip(others) {
            let mut message = self.message(Kind::Resignation, other);
            message.hint = rank;
            self.messages.push(message);
        }
    }

    /// The other voters as this leader knows them, those with most of the log first.
    fn by_log(&self) -> Vec<u64> {
        let progress = self.raft.raft.prs();
        let voters = self.members().voters.iter().copied();
        let mut others: Vec<u64> = voters.filter(|id| *id != self.config.node).collect();
        others.sort_by_key(|id| Reverse(progress.get(*id).map(|progress| progress.matched)));
        others
    }

    /// Whether the oldest write is not durable after its time.
    pub fn disk_hangs(&self) -> bool {
        let config = &self.config;
        let most = config.write_ticks.unwrap_or(config.election_ticks) as u64;
        let waits = |front: &Waiting| {
            front.write && self.check_quorum.ticks.saturating_sub(front.since) >= most
        };
        self.waiting.front().is_some_and(waits)
    }

    /// Whether no majority has answered this leader for one and a half election timeouts.
    fn has_lost_quorum(&mut self) -> bool {
        if self.raft.raft.state != StateRole::Leader {
            return false;
        }
        2 * self.answering(true) <= self.members().voters.len()
    }

    /// Whether the others are a majority without this leader, and answer.
    fn is_dispensable(&mut self) -> bool {
        self.raft.raft.state == StateRole::Leader
            && 2 * self.answering(false) > self.members().voters.len()
    }

    /// The number of voters that have answered recently; includes this leader if `own`.
    fn answering(&mut self, own: bool) -> usize {
        let library = &self.raft.raft;
        let check_quorum = &mut self.check_quorum;
        if check_quorum.term != library.term {
            (check_quorum.term, check_quorum.since) = (library.term, check_quorum.ticks);
            check_quorum.answered.clear();
        }
        let patience = self.config.election_ticks as u64 * 3 / 2;
        let (check_quorum, voters) = (&self.check_quorum, &self.members().voters);
        let answers = |voter: &&u64| {
            let last = check_quorum
                .answered
                .get(voter)
                .copied()
                .unwrap_or(check_quorum.since);
            if **voter == self.config.node {
                return own;
            }
            check_quorum.ticks - last < patience
        };
        voters.iter().filter(answers).count()
    }

    /// The leader steps down and notifies the others, so that no election timeout has to pass before one of them stands for election.
    pub(crate) fn leader_resigns(&mut self, message: &Message) {
        let library = &mut self.raft.raft;
        let leads = library.leader_id == message.from && library.term == message.term;
        if library.state != StateRole::Follower || !leads {
            return;
        }
        let rank = usize::try_from(message.hint).unwrap_or(usize::MAX);
        self.stands_soon(rank);
    }

    /// Nobody listens any more at the addresses of these members. Their followers do not wait for an election timeout. If the leader is
    /// alive after all, the other voters hear it and refuse their votes.
    pub fn gone(&mut self, gone: impl Fn(u64) -> bool) {
        let library = &self.raft.raft;
        if library.state != StateRole::Follower || !gone(library.leader_id) {
            return;
        }
        let own = self.config.node;
        let voters = self.members().voters.iter();
        let rank = voters.filter(|id| **id < own && !gone(**id)).count();
        self.wake();
        self.stands_soon(rank);
    }

    /// A follower that has lost its leader stands for election, after those of lower rank.
    fn stands_soon(&mut self, rank: usize) {
        let library = &mut self.raft.raft;
        library.become_follower(library.term, INVALID_ID);
        self.draw_timeout();
        // Some time apart: a candidate that is refused because it lacks entries must not split the votes.
        let apart = self.config.heartbeat_ticks.max(TICKS_OF_AN_ELECTION);
        let wait = rank.saturating_mul(apart).saturating_add(1);
        let wait = wait.min(self.config.election_ticks);
        self.raft.raft.election_elapsed = self.timeout.saturating_sub(wait);
    }
}
