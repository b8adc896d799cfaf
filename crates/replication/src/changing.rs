//! Changing the members of a group.

use raft::StateRole;
use skep_storage::log::{Entry, Frame};

use crate::convert::proposal;
use crate::entries::TAG_MEMBERS;
use crate::error::{ChangeError, GroupError, Remedy};
use crate::group::Group;
use crate::members::{Change, Members, Planned};
use crate::output::{Committed, Event};

/// Number of entries that a member may lack and still count as nearly caught up.
pub(crate) const NEARLY: u64 = 100;

/// The members that would be on disk after a crash.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnDisk {
    /// The append that writes members, and their index.
    written: (u64, u64),
    /// The index of the durable members.
    pub(crate) durable: u64,
}

impl OnDisk {
    pub(crate) fn new(index: u64) -> Self {
        Self {
            written: (0, index),
            durable: index,
        }
    }

    pub(crate) fn written(&mut self, append: u64, index: u64) {
        self.written = (append, index);
    }

    /// Everything up to this append is durable.
    pub(crate) fn persisted(&mut self, append: u64) {
        if self.written.0 <= append {
            self.durable = self.durable.max(self.written.1);
        }
    }
}

impl Group {
    /// The members of the group, as far as this member has applied its log.
    pub fn members(&self) -> &Members {
        &self.raft.store().members
    }

    /// True if this is the only member.
    pub fn is_alone(&self) -> bool {
        let members = self.members();
        members.voters.len() + members.learners.len() == 1
    }

    /// Proposes a change, as leader, for the plan of this number. It takes effect with [`Event::Members`].
    ///
    /// # Errors
    /// The change is impossible now, or at all.
    pub fn change_members(&mut self, change: Change, plan: u64) -> Result<(), ChangeError> {
        let library = &self.raft.raft;
        let not_leader = ChangeError::NotLeader {
            leader: self.leader().filter(|leader| *leader != self.config.node),
        };
        let announced = self
            .leadership
            .is_some_and(|leadership| leadership.announced && leadership.term == library.term);
        if library.state != StateRole::Leader || !announced {
            return Err(not_leader);
        }
        self.wake();
        let library = &self.raft.raft;
        let is_busy = library.has_pending_conf() || library.lead_transferee.is_some();
        if is_busy || self.changing.is_some() {
            return Err(ChangeError::Busy);
        }
        let planned = Planned { change, plan };
        self.check(planned).map_err(ChangeError::Impossible)?;
        let message = proposal(self.config.node, TAG_MEMBERS, planned.encode());
        self.raft.step(message).map_err(|_| not_leader)?;
        self.changing = Some((self.last_index(), planned));
        Ok(())
    }

    fn check(&self, Planned { change, plan }: Planned) -> Result<(), &'static str> {
        let members = self.members();
        match change {
            _ if plan < members.plan => Err("the group was changed for a newer plan"),
            Change::Confirm(member) if member != self.config.node => {
                Err("only the leader itself can confirm the members")
            }
            Change::AddLearner(member) if member == 0 || members.contains(member) => {
                Err("it is a member already")
            }
            Change::Promote(member) if !members.learners.contains(&member) => {
                Err("it is not a learner")
            }
            Change::Remove(member) if !members.contains(member) => Err("it is not a member"),
            Change::Remove(member) if member == self.config.node => {
                Err("a leader does not remove itself: another member must lead first")
            }
            _ => Ok(()),
        }
    }

    /// Whether a learner has got nearly all of the log and is heard from. Only a leader knows.
    pub fn has_caught_up(&self, member: u64) -> bool {
        let progress = self.raft.raft.prs().get(member);
        self.is_abreast(member) && progress.is_some_and(|progress| progress.matched > 0)
    }

    /// Advice in case this member turns out to have lost data.
    pub(crate) fn remedy(&self) -> Remedy {
        Remedy::of_member(self.config.node, &self.members().voters)
    }

    /// The first write of a joining member: it must not forget the members with which it began.
    pub(crate) fn joins(&mut self) -> Option<Vec<Frame>> {
        if self.members().index == 0 {
            return None;
        }
        self.written_state.members = self.stored_members();
        Some(vec![Frame::State(self.written_state.encode())])
    }

    /// Applies an own change that is now committed.
    pub(crate) fn apply_own_change(&mut self) {
        let delivered = self.delivered;
        if let Some((index, change)) = self.changing.take_if(|(index, _)| *index <= delivered) {
            self.apply_change(index, change);
        }
    }

    /// Hands an entry to the owner, unless the owner's state has it already.
    pub(crate) fn hand_out(&mut self, entry: Entry) {
        if entry.tag == TAG_MEMBERS
            && let Some(change) = Planned::decode(entry.payload.clone())
        {
            self.apply_change(entry.index, change);
        }
        if entry.index > self.snapshot_floor {
            self.events.push(Event::Apply(Committed {
                index: entry.index,
                term: entry.term,
                payload: entry.content(),
            }));
        }
    }

    /// At startup: applies membership changes that are in the state but that a crash kept from being stored with the members.
    pub(crate) fn learn_members(&mut self, tagged: &[u64]) -> Result<(), GroupError> {
        let group = self.config.group;
        for index in tagged {
            let stored = self.members().index.max(self.base().index);
            if *index <= stored || *index > self.delivered {
                continue;
            }
            let entry = self.raft.store().read(*index, index + 1, 1);
            let entry = entry.map_err(|source| GroupError::Log { group, source })?;
            for entry in entry.into_iter().filter(|e| e.tag == TAG_MEMBERS) {
                if let Some(change) = Planned::decode(entry.payload) {
                    self.apply_change(entry.index, change);
                }
            }
        }
        Ok(())
    }

    /// Sets the members from now on.
    pub(crate) fn members_are(&mut self, members: Members) {
        self.raft.mut_store().members = members.clone();
        self.events.push(Event::Members(members));
    }

    /// A change is committed. If the members include it already, it came with a snapshot or was stored before a crash.
    pub(crate) fn apply_change(&mut self, index: u64, change: Planned) {
        if index <= self.members().index {
            return;
        }
        // The library refuses a change that would leave no voter; nobody has proposed one.
        if let Ok(state) = self.raft.apply_conf_change(&change.to_library()) {
            self.members_are(self.members().after(index, change, state));
        }
    }

    /// The members to put into the stored state; `None` while they are those of the settings.
    pub(crate) fn stored_members(&self) -> Option<(u64, Members)> {
        let members = self.members();
        (*members != self.config.members || members.index > 0)
            .then(|| (self.config.node, members.clone()))
    }
}
