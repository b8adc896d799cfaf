//! Rest: a group in which everybody has everything stops its clocks, so that one without work costs nothing.
//!
//! After a while without work the leader tells the others to rest. From then on nobody in the group lets time pass or sends anything.
//! That the leader is there, and for the leader that the others are, is seen by their nodes: whoever drives the members watches the
//! nodes, once for all groups of a pair of them, and tells who is not heard any more ([`Group::not_heard`]). Work, and any message
//! but those that end the heartbeats before, end the rest.
//!
//! It touches no safety: who rests wrongly votes, and takes what another leader sends, like one whose clock stands still. Nor can all
//! of them rest without a leader: a member rests only for the leader of its own term, and every other member lets time pass, stands
//! for election and so ends the rest of those whom it asks.

use raft::StateRole;
use skep_storage::log::EntryId;

use crate::group::Group;
use crate::message::{Kind, Message};

/// Whether a member rests, or is about to.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    rests: bool,
    /// Ticks without work.
    calm: usize,
    /// The leader of this term has told this member to rest when it has everything up to this entry: who, term, entry.
    told: Option<(u64, u64, EntryId)>,
}

impl Group {
    /// Nothing happens by itself: ticks do nothing until there is work or a message, or [`Group::not_heard`] says that somebody is gone.
    pub fn rests(&self) -> bool {
        self.rest.rests
    }

    /// The nodes of these members have not been heard for so many ticks, or never. To be told when that happens to a node, and about
    /// those of which it is so when the member begins to rest.
    pub fn not_heard(&mut self, silent: impl Fn(u64) -> bool, ticks: usize) {
        if !self.rest.rests {
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
                self.stir();
                // Those that are there answer before the next look for a majority.
                self.raft.ping();
            }
        } else if silent(library.leader_id) {
            self.stir();
            // As if it had let time pass since.
            self.raft.raft.election_elapsed = ticks.min(self.config.election_ticks - 1);
        }
    }

    /// There is work: the member does not rest, or not yet.
    pub(crate) fn stir(&mut self) {
        self.rest.calm = 0;
        self.rest.told = None;
        if std::mem::take(&mut self.rest.rests) {
            // Everybody was heard when the rest began. For a leader the time to look for a majority begins anew.
            self.raft.raft.election_elapsed = 0;
        }
    }

    /// Before a message is taken. True if it ends the rest of a leader: whoever sent it is to hear that there is one.
    pub(crate) fn is_roused_by(&mut self, message: &Message) -> bool {
        let current = message.term == self.raft.raft.term;
        match message.kind {
            Kind::Rest => return false,
            // What ends the heartbeats before.
            Kind::Heartbeat | Kind::HeartbeatResponse if current && !self.rest.rests => {
                self.rest.told = None;
                return false;
            }
            Kind::HeartbeatResponse if current => return false,
            _ => {}
        }
        let rested = self.rest.rests;
        self.stir();
        rested && self.raft.raft.state == StateRole::Leader
    }

    /// The leader says that there is nothing to do.
    pub(crate) fn receive_rest(&mut self, message: &Message) {
        let upto = EntryId {
            index: message.index,
            term: message.log_term,
        };
        self.rest.told = Some((message.from, message.term, upto));
    }

    /// A tick has passed: begins to rest if it is time to.
    pub(crate) fn rest_if_calm(&mut self) {
        let Some(after) = self.config.rest_after_ticks else {
            return;
        };
        self.rest.calm += 1;
        let last = self.last_index();
        let Some(term) = self.term_at(last).filter(|_| self.has_nothing_to_do()) else {
            return;
        };
        let upto = EntryId { index: last, term };
        let library = &self.raft.raft;
        if library.state == StateRole::Leader {
            if self.rest.calm < after || !self.others_have_everything() {
                return;
            }
            let ids = library.prs().iter().map(|(id, _)| *id);
            let others: Vec<u64> = ids.filter(|id| *id != self.config.node).collect();
            for to in others {
                let mut message = self.message(Kind::Rest, to);
                (message.index, message.log_term) = (upto.index, upto.term);
                self.messages.push(message);
            }
        } else if library.state != StateRole::Follower
            || self.rest.told != Some((library.leader_id, library.term, upto))
        {
            return;
        }
        self.rest.rests = true;
        self.rest.told = None;
        self.raft.raft.election_elapsed = 0;
    }

    /// As leader: there are others, and all of them are heard and have the whole log.
    fn others_have_everything(&self) -> bool {
        let (own, last) = (self.config.node, self.last_index());
        let announced = self.leadership.is_some_and(|it| it.announced);
        let others = || self.raft.raft.prs().iter().filter(|(id, _)| **id != own);
        announced
            && others().next().is_some()
            && others().all(|(_, progress)| progress.recent_active && progress.matched == last)
    }

    /// All of the log is durable, committed and handed out, and nothing is under way.
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
