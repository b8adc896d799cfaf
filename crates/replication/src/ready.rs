//! The work of a group: taken from the library, given to the owner; and the delivery of committed entries.

use raft::StateRole;
use raft::eraftpb;
use skep_storage::log::{Entry, EntryId, Frame};

use crate::convert::to_wire;
use crate::entries::stored;
use crate::error::GroupError;
use crate::group::{Group, Leadership, Waiting};
use crate::message::Message;
use crate::output::{Append, Event, Output, Role};
use crate::state::HardState;

impl Group {
    /// Collects pending work. Handle the output, in any order of its three parts, before the next call of any method.
    ///
    /// # Errors
    /// The group cannot continue; stop the partition.
    pub fn poll(&mut self, out: &mut Output) -> Result<(), GroupError> {
        loop {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            self.deliver(out)?;
            self.advertise_commit();
            out.appends.append(&mut self.appends);
            if self.installing.is_some() || !self.raft.has_ready() {
                break;
            }
            if self.waiting.iter().filter(|waiting| waiting.write).count()
                >= self.config.max_unpersisted_appends
            {
                self.note_lost_leadership();
                break;
            }
            self.take_ready();
        }
        self.feed_snapshots();
        if let Some(source) = self.raft.store().take_read_error() {
            return Err(GroupError::Log {
                group: self.config.group,
                source,
            });
        }
        out.messages.append(&mut self.messages);
        out.events.append(&mut self.events);
        Ok(())
    }

    /// Takes one batch of work from the library.
    pub(crate) fn take_ready(&mut self) {
        let mut ready = self.raft.ready();
        let number = ready.number();
        self.note_role(&ready);

        let snapshot = ready.snapshot().get_metadata().clone();
        let snapshot = (snapshot.index > 0).then_some(EntryId {
            index: snapshot.index,
            term: snapshot.term,
        });
        let mut frames = Vec::new();
        if let Some(id) = snapshot {
            self.raft.mut_store().reset(id);
            if let Some(members) = self.snapshot_members.take() {
                self.members_are(members);
            }
            frames.push(Frame::Base {
                index: id.index,
                term: id.term,
                reset: true,
            });
        }
        let state = self.raft.raft.hard_state();
        let state = HardState {
            term: state.term,
            vote: state.vote,
            // Others may have committed entries that are not durable here yet; a crash would make that look like a loss.
            commit: state.commit.min(self.raft.raft.raft_log.persisted),
            members: self.stored_members(),
        };
        let entries = ready.take_entries();
        let write = ready.must_sync();
        if write && (state != self.written_state || snapshot.is_some()) {
            // Before the entries, so that a torn write never leaves entries of a term that the state does not know.
            frames.push(Frame::State(state.encode()));
            self.written_state = state;
            if let Some((_, members)) = &self.written_state.members {
                self.members_on_disk.written(number, members.index);
            }
        }
        self.take_entries(entries, &mut frames);
        self.note_committed(&ready);
        let messages = ready.take_messages();
        let persisted_messages = ready.take_persisted_messages();
        self.raft.advance_append_async(ready);
        self.release_messages(messages);

        let write = write && !frames.is_empty();
        if write {
            let append = Append { number, frames };
            if let Some(id) = snapshot {
                self.installing = Some(append);
                self.restoring = Some(number);
                self.events.push(Event::InstallSnapshot { id });
            } else {
                self.append_next(append);
            }
        }
        if write || !self.waiting.is_empty() {
            self.wait_for_disk(Waiting {
                number,
                write,
                since: self.check_quorum.ticks(),
                messages: persisted_messages,
            });
        } else {
            self.raft.on_persist_ready(number);
            self.release_messages(persisted_messages);
        }
    }

    fn note_committed(&mut self, ready: &raft::Ready) {
        if let Some(last) = ready.committed_entries().last() {
            self.committed = self.committed.max(last.index);
        }
        debug_assert!(
            self.committed <= self.last_index(),
            "what is committed is in the log"
        );
    }

    fn append_next(&mut self, append: Append) {
        debug_assert!(
            (self.appends.last()).is_none_or(|before| before.number < append.number),
            "appends are handed out in the order of their numbers"
        );
        self.appends.push(append);
    }

    fn wait_for_disk(&mut self, waiting: Waiting) {
        debug_assert!(
            (self.waiting.back()).is_none_or(|before| before.number < waiting.number),
            "work is numbered in ascending order"
        );
        self.waiting.push_back(waiting);
    }

    /// Takes entries for the log and for later reads.
    fn take_entries(&mut self, entries: Vec<eraftpb::Entry>, frames: &mut Vec<Frame>) {
        for entry in entries {
            let (tag, payload) = stored(&entry);
            frames.push(Frame::Entry {
                index: entry.index,
                term: entry.term,
                tag,
                payload: payload.clone(),
            });
            let id = EntryId {
                index: entry.index,
                term: entry.term,
            };
            self.raft.mut_store().append(id, tag, payload);
        }
    }

    /// Follows the library's role.
    pub(crate) fn note_role(&mut self, ready: &raft::Ready) {
        let Some(soft) = ready.ss() else {
            return;
        };
        let leader = Some(soft.leader_id).filter(|leader| *leader != 0);
        if soft.raft_state == StateRole::Leader {
            let term = self.raft.raft.term;
            if self
                .leadership
                .is_none_or(|leadership| leadership.term != term)
            {
                let opening = ready.entries().iter().find(|entry| entry.term == term);
                let first = opening.map_or_else(|| self.last_index(), |entry| entry.index);
                if first <= self.snapshot_floor {
                    // Everything in the state is committed: others have it, or a majority has lost it.
                    self.failed = Some(GroupError::LostEntries {
                        group: self.config.group,
                        expected: self.snapshot_floor,
                        last: first - 1,
                        remedy: self.remedy(),
                    });
                }
                self.leadership = Some(Leadership {
                    term,
                    first,
                    announced: false,
                });
            }
            return;
        }
        let role = match soft.raft_state {
            StateRole::Candidate => Role::Candidate,
            _ => Role::Follower {
                leader: leader.filter(|leader| *leader != self.config.node),
            },
        };
        self.leads_no_more(role);
    }

    fn leads_no_more(&mut self, role: Role) {
        self.leadership = None;
        self.changing = None;
        self.uncommitted.clear();
        self.uncommitted_bytes = 0;
        self.drop_outgoing();
        self.set_role(role);
    }

    /// While the disk accepts nothing, nothing more is taken from the library. A lost leadership is still reported:
    /// otherwise clients would wait here until there is disk space.
    fn note_lost_leadership(&mut self) {
        if self.leadership.is_some() && self.raft.raft.state != StateRole::Leader {
            let leader = self.leader().filter(|leader| *leader != self.config.node);
            self.leads_no_more(Role::Follower { leader });
        }
    }

    pub(crate) fn set_role(&mut self, role: Role) {
        if self.role != role {
            self.role = role;
            self.events.push(Event::Role(role));
        }
    }

    /// Hands out committed entries, up to a limit.
    pub(crate) fn deliver(&mut self, out: &mut Output) -> Result<(), GroupError> {
        if self.installing.is_some() {
            return Ok(());
        }
        debug_assert!(
            self.delivered <= self.committed,
            "nothing is handed out before it is committed"
        );
        let mut room = self.config.max_apply_bytes;
        let mut moved = false;
        while self.delivered < self.committed {
            let next = self.delivered + 1;
            let own = self
                .leadership
                .filter(|leadership| leadership.first <= next);
            if let Some(leadership) = own.filter(|leadership| leadership.announced) {
                debug_assert!(leadership.first < next);
                self.delivered = self.committed;
                self.forget_uncommitted();
                self.apply_own_change();
                self.events.push(Event::Committed {
                    index: self.delivered,
                });
                moved = true;
                break;
            }
            if room == 0 {
                out.more = true;
                break;
            }
            // Up to our own opening entry, if we have one that is not announced yet.
            let end = match self.leadership {
                Some(leadership) if leadership.first > self.delivered => {
                    leadership.first.min(self.committed)
                }
                _ => self.committed,
            };
            let read = self.raft.store().read(next, end + 1, room);
            let entries = read.map_err(|source| GroupError::Log {
                group: self.config.group,
                source,
            })?;
            if entries.is_empty() {
                break;
            }
            for entry in entries {
                room = room.saturating_sub(entry.payload.len().max(1));
                self.deliver_next(entry);
            }
            moved = true;
            if let Some(leadership) = &mut self.leadership
                && leadership.first == self.delivered
            {
                leadership.announced = true;
                let term = leadership.term;
                self.set_role(Role::Leader { term });
            }
        }
        if moved && self.restoring.is_none() {
            let persisted = self.raft.raft.raft_log.persisted;
            self.raft.advance_apply_to(self.delivered);
            self.raft.mut_store().release(persisted.min(self.delivered));
        }
        if moved {
            self.forget_overtaken_snapshot();
            self.resign_if_removed();
        }
        Ok(())
    }

    fn deliver_next(&mut self, entry: Entry) {
        debug_assert_eq!(
            entry.index,
            self.delivered + 1,
            "no entry is left out or handed out twice"
        );
        self.delivered = entry.index;
        self.hand_out(entry);
    }

    pub(crate) fn forget_uncommitted(&mut self) {
        while let Some((index, size)) = self.uncommitted.front().copied() {
            if index > self.delivered {
                break;
            }
            self.uncommitted.pop_front();
            self.uncommitted_bytes = self.uncommitted_bytes.saturating_sub(size);
        }
    }

    /// Turns the library's messages into ours.
    pub(crate) fn release_messages(&mut self, messages: Vec<eraftpb::Message>) {
        for message in messages {
            if message.get_msg_type() == eraftpb::MessageType::MsgSnapshot {
                self.start_sending(message.to);
            } else if let Some(wire) = to_wire(self.config.group, message) {
                self.push_message(wire);
            }
        }
    }

    /// Queues a message, merged into the one before it to the same node if it continues that: a burst of proposals
    /// becomes one message.
    pub(crate) fn push_message(&mut self, message: Message) {
        let limit = usize::try_from(self.config.max_message_bytes).unwrap_or(usize::MAX);
        let before = self
            .messages
            .iter_mut()
            .rfind(|before| before.to == message.to);
        match before {
            Some(before) if before.payload_bytes() < limit && before.is_continued_by(&message) => {
                before.commit = before.commit.max(message.commit);
                before.entries.extend(message.entries);
            }
            _ => self.messages.push(message),
        }
    }
}
