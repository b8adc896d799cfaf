//! One member of one Raft group.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use raft::eraftpb;
use raft::{RaftState, RawNode, StateRole};
use skep_storage::log::{EntryId, Frame, MAX_PAYLOAD};

use crate::config::{GroupConfig, RecoveredLog};
use crate::convert::{proposal, to_wire};
use crate::entries::{Entries, tag};
use crate::error::{GroupError, ProposeError};
use crate::message::{Kind, Message};
use crate::output::{Append, Committed, Event, Output, Role};
use crate::snapshot::{Incoming, Outgoing};
use crate::state::HardState;

/// A term of leadership of this node.
#[derive(Debug, Clone, Copy)]
struct Leadership {
    term: u64,
    /// The index of the entry that opens the term. Everything from here on was proposed by us.
    first: u64,
    /// True once all earlier entries were handed out and the owner knows that it leads.
    announced: bool,
}

/// Work that was handed out and waits for the disk.
struct Waiting {
    number: u64,
    /// True if frames were handed out under this number.
    write: bool,
    /// Messages that may leave only when everything up to here is durable.
    messages: Vec<eraftpb::Message>,
}

/// One member of a Raft group. See the crate's documentation for how it is driven.
pub struct Group {
    pub(crate) config: GroupConfig,
    pub(crate) raft: RawNode<Entries>,
    random: u64,
    /// The present election time-out in ticks, and for which term and role it was drawn.
    timeout: usize,
    drawn_for: (u64, StateRole),
    role: Role,
    leadership: Option<Leadership>,
    /// Entries up to here were handed out (or are in the checkpoint).
    delivered: u64,
    /// Entries up to here are committed and durable here.
    committed: u64,
    written_state: HardState,
    waiting: VecDeque<Waiting>,
    /// Own proposals that are not committed: index and size.
    uncommitted: VecDeque<(u64, usize)>,
    uncommitted_bytes: usize,
    pub(crate) outgoing: BTreeMap<u64, Outgoing>,
    /// Followers for which the owner was asked for a snapshot.
    pub(crate) asked: BTreeSet<u64>,
    /// Snapshot transfers begun so far.
    pub(crate) transfers: u64,
    pub(crate) incoming: Option<Incoming>,
    /// An append that waits until the snapshot before it is installed.
    installing: Option<Append>,
    /// The number of the append that makes an installed snapshot the beginning of the log. Until it is persisted the
    /// library must not stand for election: it would look for entries that are gone.
    restoring: Option<u64>,
    /// Events and messages for the next poll.
    pub(crate) events: Vec<Event>,
    pub(crate) messages: Vec<Message>,
    appends: Vec<Append>,
    pub(crate) failed: Option<GroupError>,
}

impl Group {
    /// Starts a member from what is on disk. A group of one member leads as soon as its first append is persisted.
    pub fn open(config: GroupConfig, recovered: RecoveredLog) -> Result<Self, GroupError> {
        config.check()?;
        let group = config.group;
        let RecoveredLog {
            log,
            checkpoint,
            source,
        } = recovered;
        let stored = match &log.state {
            Some(bytes) => {
                HardState::decode(bytes).map_err(|reason| GroupError::State { group, reason })?
            }
            None => HardState::default(),
        };
        if checkpoint.index < log.base.index {
            return Err(GroupError::CheckpointBehindLog {
                group,
                base: log.base.index,
                checkpoint: checkpoint.index,
            });
        }
        if stored.commit > log.last.index.max(checkpoint.index) {
            return Err(GroupError::LostEntries {
                group,
                expected: stored.commit,
                last: log.last.index,
            });
        }
        let mut members = eraftpb::ConfState::default();
        members.set_voters(config.voters.clone());
        let commit = stored.commit.max(checkpoint.index);
        let hard_state = eraftpb::HardState {
            term: stored.term.max(log.last.term).max(checkpoint.term),
            vote: if stored.term >= log.last.term.max(checkpoint.term) {
                stored.vote
            } else {
                0
            },
            commit,
            ..Default::default()
        };
        let initial = RaftState::new(hard_state, members);
        let mut entries = Entries::new(
            source,
            initial,
            log.base,
            log.last.index,
            &log.terms,
            config.max_cached_bytes,
        );
        let mut first_append = None;
        if entries.term_of(checkpoint.index) != Some(checkpoint.term) {
            // The checkpoint is newer than the log: a snapshot was installed, and the crash came before the log was told.
            // A log of one member is never behind its checkpoint.
            if config.is_single() {
                return Err(GroupError::LogBehindCheckpoint {
                    group,
                    last: log.last.index,
                    checkpoint: checkpoint.index,
                });
            }
            entries.reset(checkpoint);
            first_append = Some(vec![
                Frame::Base {
                    index: checkpoint.index,
                    term: checkpoint.term,
                    reset: true,
                },
                Frame::State(stored.encode()),
            ]);
        }
        let library = raft::Config {
            id: config.node,
            election_tick: config.election_ticks,
            heartbeat_tick: config.heartbeat_ticks,
            applied: checkpoint.index,
            max_size_per_msg: config.max_message_bytes,
            max_inflight_msgs: config.max_inflight_messages,
            check_quorum: true,
            pre_vote: true,
            // The library's own merging of appends can join entries to a message that ends before them; see `merge`.
            batch_append: false,
            priority: config.priority,
            max_uncommitted_size: raft::NO_LIMIT,
            max_committed_size_per_ready: 1 << 20,
            ..Default::default()
        };
        let refused = |error: raft::Error| GroupError::Library {
            group,
            reason: error.to_string(),
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let raft = RawNode::new(&library, entries, &logger).map_err(refused)?;
        let random = config.seed;
        let mut this = Self {
            raft,
            random,
            timeout: 0,
            drawn_for: (0, StateRole::Leader),
            role: Role::Follower { leader: None },
            leadership: None,
            delivered: checkpoint.index,
            committed: checkpoint.index,
            written_state: stored,
            waiting: VecDeque::new(),
            uncommitted: VecDeque::new(),
            uncommitted_bytes: 0,
            outgoing: BTreeMap::new(),
            asked: BTreeSet::new(),
            transfers: 0,
            incoming: None,
            installing: None,
            restoring: None,
            events: Vec::new(),
            messages: Vec::new(),
            appends: Vec::new(),
            failed: None,
            config,
        };
        if let Some(frames) = first_append {
            // Number 0 comes before all of the library's numbers.
            this.appends.push(Append { number: 0, frames });
            this.waiting.push_back(Waiting {
                number: 0,
                write: true,
                messages: Vec::new(),
            });
        }
        if this.config.is_single() {
            this.raft.campaign().map_err(refused)?;
        }
        this.draw_timeout();
        Ok(this)
    }

    /// What this node is, as last reported.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The current term.
    pub fn term(&self) -> u64 {
        self.raft.raft.term
    }

    /// The node that leads, if known.
    pub fn leader(&self) -> Option<u64> {
        Some(self.raft.raft.leader_id).filter(|leader| *leader != 0)
    }

    /// Entries up to here are committed and were handed out.
    pub fn commit_index(&self) -> u64 {
        self.delivered
    }

    /// The last entry, committed or not.
    pub fn last_index(&self) -> u64 {
        self.raft.raft.raft_log.last_index()
    }

    /// Entries up to here were compacted.
    pub fn base(&self) -> EntryId {
        self.raft.store().base()
    }

    /// The settings.
    pub fn config(&self) -> &GroupConfig {
        &self.config
    }

    /// Payload bytes that were proposed and are not committed.
    pub fn uncommitted_bytes(&self) -> usize {
        self.uncommitted_bytes
    }

    /// Appends an entry, as leader. It is durable and effective when [`Event::Committed`] reaches its index; if the role
    /// changes first, it may or may not be.
    pub fn propose(&mut self, payload: Bytes) -> Result<EntryId, ProposeError> {
        let not_leader = |this: &Self| ProposeError::NotLeader {
            leader: this.leader().filter(|leader| *leader != this.config.node),
        };
        let term = self.raft.raft.term;
        let leads = self.raft.raft.state == StateRole::Leader
            && self
                .leadership
                .is_some_and(|leadership| leadership.announced && leadership.term == term);
        if !leads {
            return Err(not_leader(self));
        }
        if payload.is_empty() {
            return Err(ProposeError::Empty);
        }
        let size = payload.len();
        if size > MAX_PAYLOAD {
            return Err(ProposeError::TooLarge {
                size,
                limit: MAX_PAYLOAD,
            });
        }
        // One entry always fits, whatever its size.
        if self.uncommitted_bytes > 0
            && self.uncommitted_bytes + size > self.config.max_uncommitted_bytes
        {
            return Err(ProposeError::TooMuchUncommitted {
                uncommitted: self.uncommitted_bytes,
            });
        }
        if let Some(to) = self.raft.raft.lead_transferee {
            return Err(ProposeError::Transferring { to });
        }
        self.raft
            .step(proposal(self.config.node, payload))
            .map_err(|_| not_leader(self))?;
        let index = self.last_index();
        self.uncommitted.push_back((index, size));
        self.uncommitted_bytes += size;
        Ok(EntryId { index, term })
    }

    /// Lets time pass: one tick.
    pub fn tick(&mut self) {
        if self.restoring.is_none() {
            self.raft.tick();
            self.draw_timeout();
        }
        self.tick_snapshots();
    }

    /// Everything handed out in [`Output::appends`] up to this number is durable.
    pub fn persisted(&mut self, number: u64) {
        let mut done = None;
        // Work without frames waits only for the appends before it, so the front of the queue is always an append.
        while let Some(front) = self
            .waiting
            .pop_front_if(|front| front.number <= number || !front.write)
        {
            done = Some(front.number);
            self.release_messages(front.messages);
        }
        let Some(done) = done else {
            return;
        };
        self.raft.on_persist_ready(done);
        if self.restoring.is_some_and(|restoring| restoring <= done) {
            self.restoring = None;
            self.raft.advance_apply_to(self.delivered);
        }
        self.draw_timeout();
    }

    /// Hands leadership over to another voter, once that has all entries. Proposals are refused meanwhile; if the other
    /// does not take over within an election time, this node goes on leading. Only a leader can do this; false if this
    /// node is none, or the other no voter.
    pub fn transfer_leadership(&mut self, to: u64) -> bool {
        let possible = self.raft.raft.state == StateRole::Leader
            && self.config.voters.contains(&to)
            && to != self.config.node;
        if possible {
            self.raft.transfer_leader(to);
        }
        possible
    }

    /// Entries up to and including `index` are in a checkpoint and may be forgotten. Returns what to give to the log's
    /// writer to compact, or `None` if there is nothing to do. Only entries that were handed out can be compacted.
    pub fn compact(&mut self, index: u64) -> Option<EntryId> {
        let store = self.raft.store();
        let index = index.min(self.delivered);
        if index <= store.base().index {
            return None;
        }
        let id = EntryId {
            index,
            term: store.term_of(index)?,
        };
        self.raft.mut_store().compact(id);
        Some(id)
    }

    /// Finds what there is to do. Handle the output, in any order of its three parts, before the next call of any method.
    ///
    /// # Errors
    /// The group cannot go on; stop the partition.
    pub fn poll(&mut self, out: &mut Output) -> Result<(), GroupError> {
        loop {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            self.deliver(out)?;
            out.appends.append(&mut self.appends);
            if self.installing.is_some() || !self.raft.has_ready() {
                break;
            }
            if self.waiting.iter().filter(|waiting| waiting.write).count()
                >= self.config.max_unpersisted_appends
            {
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
    fn take_ready(&mut self) {
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
            // Others may have committed what is not durable here yet; a crash would make that look like a loss.
            commit: state.commit.min(self.raft.raft.raft_log.persisted),
        };
        let entries = ready.take_entries();
        let write = ready.must_sync();
        if write && (state != self.written_state || snapshot.is_some()) {
            // Before the entries, so that a torn write never leaves entries of a term that the state does not know.
            frames.push(Frame::State(state.encode()));
            self.written_state = state;
        }
        for entry in entries {
            frames.push(Frame::Entry {
                index: entry.index,
                term: entry.term,
                tag: tag(&entry.data),
                payload: entry.data.clone(),
            });
            let id = EntryId {
                index: entry.index,
                term: entry.term,
            };
            self.raft.mut_store().append(id, entry.data);
        }
        if let Some(last) = ready.committed_entries().last() {
            self.committed = self.committed.max(last.index);
        }
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
                self.appends.push(append);
            }
        }
        if write || !self.waiting.is_empty() {
            self.waiting.push_back(Waiting {
                number,
                write,
                messages: persisted_messages,
            });
        } else {
            self.raft.on_persist_ready(number);
            self.release_messages(persisted_messages);
        }
    }

    /// The snapshot of [`Event::InstallSnapshot`] has durably replaced the state.
    pub fn snapshot_installed(&mut self) {
        let Some(append) = self.installing.take() else {
            return;
        };
        let base = self.raft.store().base().index;
        self.delivered = self.delivered.max(base);
        self.committed = self.committed.max(base);
        self.appends.push(append);
    }

    /// Follows the library's role.
    fn note_role(&mut self, ready: &raft::Ready) {
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
                self.leadership = Some(Leadership {
                    term,
                    first,
                    announced: false,
                });
            }
            return;
        }
        self.leadership = None;
        self.uncommitted.clear();
        self.uncommitted_bytes = 0;
        self.drop_outgoing();
        let role = match soft.raft_state {
            StateRole::Candidate => Role::Candidate,
            _ => Role::Follower {
                leader: leader.filter(|leader| *leader != self.config.node),
            },
        };
        self.set_role(role);
    }

    fn set_role(&mut self, role: Role) {
        if self.role != role {
            self.role = role;
            self.events.push(Event::Role(role));
        }
    }

    /// Hands out committed entries, up to a limit.
    fn deliver(&mut self, out: &mut Output) -> Result<(), GroupError> {
        if self.installing.is_some() {
            return Ok(());
        }
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
                self.delivered = entry.index;
                self.events.push(Event::Apply(Committed {
                    index: entry.index,
                    term: entry.term,
                    payload: entry.payload,
                }));
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
        Ok(())
    }

    fn forget_uncommitted(&mut self) {
        while let Some((index, size)) = self.uncommitted.front().copied() {
            if index > self.delivered {
                break;
            }
            self.uncommitted.pop_front();
            self.uncommitted_bytes = self.uncommitted_bytes.saturating_sub(size);
        }
    }

    /// Turns the library's messages into ours.
    fn release_messages(&mut self, messages: Vec<eraftpb::Message>) {
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
    fn push_message(&mut self, message: Message) {
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

    /// True while a snapshot is being installed.
    pub(crate) fn is_restoring(&self) -> bool {
        self.restoring.is_some()
    }

    pub(crate) fn message(&self, kind: Kind, to: u64) -> Message {
        Message::new(
            kind,
            self.config.group,
            self.config.node,
            to,
            self.raft.raft.term,
        )
    }

    /// The library draws election time-outs from a generator that cannot be seeded. So after everything that may have
    /// made it draw, its choice is replaced by ours, which changes with the term, the role and each election.
    pub(crate) fn draw_timeout(&mut self) {
        let library = &mut self.raft.raft;
        let drawn_for = (library.term, library.state);
        if drawn_for != self.drawn_for
            || library.election_elapsed == 0 && library.state != StateRole::Leader
        {
            self.drawn_for = drawn_for;
            self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.random;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            let spread = mixed % self.config.election_ticks as u64;
            self.timeout = self.config.election_ticks + usize::try_from(spread).unwrap_or_default();
        }
        library.set_randomized_election_timeout(self.timeout);
    }
}
