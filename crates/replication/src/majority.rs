//! A leader that no majority answers gives up, and says so; so does one that is no member any more.
//!
//! The library looks only once in an election time whether a majority was heard since the last look, so a silence can last nearly two of
//! them before it is noticed: it is measured here. And a leader that hears nobody may be heard itself. The others would wait for its
//! silence, and then for an election time of their own, so it tells them; those with most of its log stand for election first, so that
//! they do not stand in each other's way.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use raft::{INVALID_ID, StateRole};

use crate::group::Group;
use crate::message::{Kind, Message};

/// When the other members answered, in ticks of this member.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    ticks: u64,
    /// Of which leadership, and when that began.
    term: u64,
    since: u64,
    answered: BTreeMap<u64, u64>,
}

impl Group {
    /// A member answers this one's messages as leader.
    pub(crate) fn note_answer(&mut self, message: &Message) {
        let answers = matches!(
            message.kind,
            Kind::AppendResponse | Kind::HeartbeatResponse | Kind::SnapshotAck
        );
        if answers && message.term == self.raft.raft.term {
            self.heard.answered.insert(message.from, self.heard.ticks);
        }
    }

    /// Lets the library's time pass, and looks whether a majority still answers.
    pub(crate) fn tick_library(&mut self) {
        self.heard.ticks += 1;
        let led = self.raft.raft.state == StateRole::Leader;
        let term = self.raft.raft.term;
        let others = if led { self.by_log() } else { Vec::new() };
        self.raft.tick();
        if led && self.is_unheard() {
            self.raft.raft.become_follower(term, INVALID_ID);
        }
        let library = &self.raft.raft;
        if led && library.state != StateRole::Leader && library.term == term {
            self.tell_resignation(others);
        }
        self.draw_timeout();
    }

    /// A member can come to lead while its own removal is on its way. It would stay the leader, and could propose nothing.
    pub(crate) fn resign_if_removed(&mut self) {
        let leads = self.raft.raft.state == StateRole::Leader;
        if leads && !self.members().voters.contains(&self.config.node) {
            let (term, others) = (self.raft.raft.term, self.by_log());
            self.raft.raft.become_follower(term, INVALID_ID);
            self.tell_resignation(others);
            self.draw_timeout();
        }
    }

    fn tell_resignation(&mut self, others: Vec<u64>) {
        for (rank, other) in (0..).zip(others) {
            let mut message = self.message(Kind::Resignation, other);
            message.hint = rank;
            self.messages.push(message);
        }
    }

    /// The other voters, as far as this leader knows: who has most of the log comes first.
    fn by_log(&self) -> Vec<u64> {
        let progress = self.raft.raft.prs();
        let voters = self.members().voters.iter().copied();
        let mut others: Vec<u64> = voters.filter(|id| *id != self.config.node).collect();
        others.sort_by_key(|id| Reverse(progress.get(*id).map(|progress| progress.matched)));
        others
    }

    /// This leader was not answered by a majority for one and a half election times.
    fn is_unheard(&mut self) -> bool {
        let library = &self.raft.raft;
        if library.state != StateRole::Leader {
            return false;
        }
        let heard = &mut self.heard;
        if heard.term != library.term {
            (heard.term, heard.since) = (library.term, heard.ticks);
            heard.answered.clear();
        }
        let patience = self.config.election_ticks as u64 * 3 / 2;
        let (heard, voters) = (&self.heard, &self.members().voters);
        let answers = |voter: &&u64| {
            let last = heard.answered.get(voter).copied().unwrap_or(heard.since);
            **voter == self.config.node || heard.ticks - last < patience
        };
        2 * voters.iter().filter(answers).count() <= voters.len()
    }

    /// The leader gives up: an election time need not pass until somebody stands for election.
    pub(crate) fn leader_resigns(&mut self, message: &Message) {
        let library = &mut self.raft.raft;
        let leads = library.leader_id == message.from && library.term == message.term;
        if library.state != StateRole::Follower || !leads {
            return;
        }
        library.become_follower(message.term, INVALID_ID);
        self.draw_timeout();
        // Some time apart: who is refused, as it lacks something, must not split the votes.
        let rank = usize::try_from(message.hint).unwrap_or(usize::MAX);
        let wait = rank.saturating_mul(self.config.heartbeat_ticks);
        let wait = wait.clamp(1, self.config.election_ticks);
        self.raft.raft.election_elapsed = self.timeout.saturating_sub(wait);
    }
}
