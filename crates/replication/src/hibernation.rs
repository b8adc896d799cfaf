//! Hibernation: a group in which every replica has the whole log stops its clocks, so a group without work costs nothing.
//!
//! After a while without work the leader tells the other members to hibernate. From then on no member ticks or sends
//! anything. The members' nodes watch each other, once for all groups of a pair of nodes, and the owner of a member reports
//! nodes that fall silent ([`Group::note_silent`]). Work, and any message except late answers to heartbeats, end the
//! hibernation.
//!
//! Hibernation does not affect safety: a member that hibernates by mistake votes, and accepts entries of another leader,
//! like one whose clock has stopped. Nor can all members hibernate without a leader: a member hibernates only for the
//! leader of its own term. Every other member keeps ticking, stands for election, and thereby wakes the members that it
//! asks for a vote.

use raft::StateRole;
use skep_storage::log::EntryId;

use crate::group::Group;
use crate::message::{Kind, Message};

/// Whether a member hibernates, or is about to.
#[derive(Debug, Default)]
pub(crate) struct Hibernation {
    hibernates: bool,
    /// Ticks without work.
    idle_ticks: usize,
    /// The leader has allowed this member to hibernate once it has everything up to this entry: leader, term, entry.
    allowed: Option<(u64, u64, EntryId)>,
}

impl Group {
    /// True while ticks have no effect: until there is work, a message, or a call of [`Group::note_silent`].
    pub fn hibernates(&self) -> bool {
        self.hibernation.hibernates
    }

    /// The nodes of these members have been silent for this many ticks, or have never been heard. Call it when a node falls
    /// silent, and for the silent nodes when the member begins to hibernate.
    pub fn note_silent(&mut self, silent: impl Fn(u64) -> bool, ticks: usize) {
        if !self.hibernation.hibernates {
            return;
        }
        let own = self.config.node;
        let library = &mut self.raft.raft;
        if library.state == StateRole::Leader {
            let mut concerned = false;
            for (id, progress) in library.mut_prs().iter_mut() {
                if *id != own && silent(*id) {
                    progress.recent_active = false;
                    concerned = true;
                }
            }
            if concerned {
                self.wake();
                // Members that are alive answer before the next check for a majority.
                self.raft.ping();
            }
        } else if silent(library.leader_id) {
            self.wake();
            // As if it had let time pass since then.
            self.raft.raft.election_elapsed = ticks.min(self.config.election_ticks - 1);
        }
    }

    /// There is work: the member wakes, or does not begin to hibernate.
    pub(crate) fn wake(&mut self) {
        self.hibernation.idle_ticks = 0;
        self.hibernation.allowed = None;
        if std::mem::take(&mut self.hibernation.hibernates) {
            // Everybody was heard when the hibernation began. For a leader, the time until the next check for a majority starts over.
            self.raft.raft.election_elapsed = 0;
        }
    }

    /// Called before a message is handled. True if it wakes a leader: the sender must learn that there is one.
    pub(crate) fn is_woken_by(&mut self, message: &Message) -> bool {
        let current = message.term == self.raft.raft.term;
        match message.kind {
            Kind::Hibernate => return false,
            // Heartbeats of the current term are not work. They only revoke the permission to hibernate.
            Kind::Heartbeat | Kind::HeartbeatResponse
                if current && !self.hibernation.hibernates =>
            {
                self.hibernation.allowed = None;
                return false;
            }
            Kind::HeartbeatResponse if current => return false,
            _ => {}
        }
        let hibernated = self.hibernation.hibernates;
        self.wake();
        hibernated && self.raft.raft.state == StateRole::Leader
    }

    /// Handles the leader's message that there is nothing to do.
    pub(crate) fn receive_hibernate(&mut self, message: &Message) {
        let upto = EntryId {
            index: message.index,
            term: message.log_term,
        };
        self.hibernation.allowed = Some((message.from, message.term, upto));
    }

    /// A tick has passed: begins to hibernate if it is time to.
    pub(crate) fn hibernate_if_idle(&mut self) {
        let Some(after) = self.config.hibernate_after_ticks else {
            return;
        };
        self.hibernation.idle_ticks += 1;
        let last = self.last_index();
        let Some(term) = self.term_at(last).filter(|_| self.has_nothing_to_do()) else {
            return;
        };
        let upto = EntryId { index: last, term };
        let library = &self.raft.raft;
        if library.state == StateRole::Leader {
            if self.hibernation.idle_ticks < after || !self.others_have_everything() {
                return;
            }
            let ids = library.prs().iter().map(|(id, _)| *id);
            let others: Vec<u64> = ids.filter(|id| *id != self.config.node).collect();
            for to in others {
                let mut message = self.message(Kind::Hibernate, to);
                (message.index, message.log_term) = (upto.index, upto.term);
                self.messages.push(message);
            }
        } else if library.state != StateRole::Follower
            || self.hibernation.allowed != Some((library.leader_id, library.term, upto))
        {
            return;
        }
        self.hibernation.hibernates = true;
        self.hibernation.allowed = None;
        self.raft.raft.election_elapsed = 0;
    }

    /// As leader: whether there are other members, and all of them are heard and have the whole log.
    fn others_have_everything(&self) -> bool {
        let (own, last) = (self.config.node, self.last_index());
        let announced = self.leadership.is_some_and(|it| it.announced);
        let others = || self.raft.raft.prs().iter().filter(|(id, _)| **id != own);
        announced
            && others().next().is_some()
            && others().all(|(_, progress)| progress.recent_active && progress.matched == last)
    }

    /// Whether the whole log is durable, committed and handed out, and nothing is in progress.
    fn has_nothing_to_do(&self) -> bool {
        let (library, last) = (&self.raft.raft, self.last_index());
        let log = &library.raft_log;
        let everything = log.committed == last && log.persisted == last && self.delivered == last;
        everything
            && library.lead_transferee.is_none()
            && !self.raft.has_ready()
            && self.waiting.is_empty()
            && self.uncommitted.is_empty()
            && self.changing.is_none()
            && self.outgoing.is_empty()
            && self.asked.is_empty()
            && !self.snapshot_receiver.is_under_way()
            && self.installing.is_none()
            && self.restoring.is_none()
            && self.events.is_empty()
            && self.messages.is_empty()
            && self.appends.is_empty()
    }
}
