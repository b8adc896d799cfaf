//! One member of one Raft group.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use raft::eraftpb;
use raft::{RaftState, RawNode, StateRole};
use skep_storage::log::{EntryId, Frame, MAX_PAYLOAD, Recovered};

use crate::changing::{NEARLY, OnDisk};
use crate::check_quorum::CheckQuorum;
use crate::config::{GroupConfig, RecoveredLog};
use crate::convert::proposal;
use crate::entries::{Entries, TAG_NORMAL};
use crate::error::{GroupError, ProposeError, Remedy};
use crate::hibernation::Hibernation;
use crate::members::{Members, Planned};
use crate::message::{Kind, Message};
use crate::output::{Append, Event, Role};
use crate::snapshot::Outgoing;
use crate::snapshot_receiver::SnapshotReceiver;
use crate::state::HardState;

/// A term of leadership of this node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leadership {
    pub(crate) term: u64,
    /// The index of the entry that opens the term. Every entry from here on was proposed by this node.
    pub(crate) first: u64,
    /// True once all earlier entries were handed out and the owner knows that it leads.
    pub(crate) announced: bool,
}

/// Work that was handed out and waits for the disk.
pub(crate) struct Waiting {
    pub(crate) number: u64,
    /// True if frames were handed out under this number.
    pub(crate) write: bool,
    /// The tick of this member at which it was handed out.
    pub(crate) since: u64,
    /// Messages that may be sent only when everything up to here is durable.
    pub(crate) messages: Vec<eraftpb::Message>,
}

/// One member of a Raft group. See the crate's documentation for how it is driven.
pub struct Group {
    pub(crate) config: GroupConfig,
    pub(crate) raft: RawNode<Entries>,
    pub(crate) random: u64,
    /// The current election timeout in ticks, and the term and role for which it was drawn.
    pub(crate) timeout: usize,
    pub(crate) drawn_for: (u64, StateRole),
    pub(crate) role: Role,
    pub(crate) leadership: Option<Leadership>,
    /// Entries up to here were handed out (or are in the checkpoint).
    pub(crate) delivered: u64,
    /// Entries up to here are committed and durable here.
    pub(crate) committed: u64,
    /// As leader: the commit index that was last advertised by a message of its own.
    pub(crate) advertised_commit: u64,
    /// Highest index in the owner's state: ahead of the log while that follows a snapshot.
    pub(crate) snapshot_floor: u64,
    pub(crate) written_state: HardState,
    pub(crate) waiting: VecDeque<Waiting>,
    /// Own proposals that are not committed yet: index and size.
    pub(crate) uncommitted: VecDeque<(u64, usize)>,
    pub(crate) uncommitted_bytes: usize,
    pub(crate) outgoing: BTreeMap<u64, Outgoing>,
    /// Followers for which the owner was asked for a snapshot.
    pub(crate) asked: BTreeSet<u64>,
    /// Snapshot transfers begun so far.
    pub(crate) transfers: u64,
    pub(crate) snapshot_receiver: SnapshotReceiver,
    /// The members that came with a snapshot which the library is taking.
    pub(crate) snapshot_members: Option<Members>,
    /// An own change of the members that is not committed yet, with its entry.
    pub(crate) changing: Option<(u64, Planned)>,
    /// As leader: when each member last answered.
    pub(crate) check_quorum: CheckQuorum,
    pub(crate) members_on_disk: OnDisk,
    /// An append that waits until the snapshot before it is installed.
    pub(crate) installing: Option<Append>,
    /// The number of the append that makes an installed snapshot the beginning of the log. Until it is persisted the
    /// library must not stand for election: it would look for entries that are gone.
    pub(crate) restoring: Option<u64>,
    pub(crate) hibernation: Hibernation,
    /// Events and messages for the next poll.
    pub(crate) events: Vec<Event>,
    pub(crate) messages: Vec<Message>,
    pub(crate) appends: Vec<Append>,
    pub(crate) failed: Option<GroupError>,
}

/// The point from which the log is read. After a snapshot the log may end before the state, or a crash may have happened before its first
/// entry: the log then continues where it ends, and entries that the state already has are not handed out again.
fn log_goes_on_at(log: &Recovered, checkpoint: EntryId, single: bool) -> EntryId {
    let is_on_its_way = !single && (1..checkpoint.index).contains(&log.last.index);
    if !is_on_its_way {
        return checkpoint;
    }
    EntryId {
        index: log.base.index,
        term: log.base.term,
    }
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
            evidence,
        } = recovered;
        let stored = match &log.state {
            Some(bytes) => {
                HardState::decode(bytes).map_err(|reason| GroupError::State { group, reason })?
            }
            None => HardState::default(),
        };
        let members = config.members_of(&stored)?;
        let remedy = Remedy::of_member(config.node, &members.voters);
        evidence.check(group, &log, checkpoint, remedy)?;
        if stored.commit > log.last.index.max(checkpoint.index) {
            return Err(GroupError::LostEntries {
                group,
                expected: stored.commit,
                last: log.last.index,
                remedy,
            });
        }
        let single = members.voters == [config.node];
        let changes = log.tagged.clone();
        let snapshot_floor = checkpoint.index;
        let checkpoint = log_goes_on_at(&log, checkpoint, single);
        let most = log.last.index.max(checkpoint.index);
        let commit = stored.commit.max(checkpoint.index).min(most);
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
        let initial = RaftState::new(hard_state, members.conf_state());
        let mut entries = Entries::new(
            source,
            initial,
            members.clone(),
            log.base,
            log.last.index,
            &log.terms,
            config.max_cached_bytes,
        );
        let mut first_append = None;
        if entries.term_of(checkpoint.index) != Some(checkpoint.term) {
            // A snapshot was installed, and the crash came before the log caught up. A single member never gets one.
            if single || evidence.installing != Some(checkpoint) {
                return Err(GroupError::LogContradictsCheckpoint {
                    group,
                    checkpoint: checkpoint.index,
                    remedy,
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
        let library = config.library(checkpoint.index);
        let refused = |error: raft::Error| GroupError::Library {
            group,
            reason: error.to_string(),
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let raft = RawNode::new(&library, entries, &logger).map_err(refused)?;
        let mut this = Self {
            raft,
            random: config.seed,
            timeout: 0,
            drawn_for: (0, StateRole::Leader),
            role: Role::Follower { leader: None },
            leadership: None,
            delivered: checkpoint.index,
            committed: checkpoint.index,
            advertised_commit: 0,
            snapshot_floor,
            written_state: stored,
            waiting: VecDeque::new(),
            uncommitted: VecDeque::new(),
            uncommitted_bytes: 0,
            outgoing: BTreeMap::new(),
            asked: BTreeSet::new(),
            transfers: 0,
            snapshot_receiver: SnapshotReceiver::default(),
            snapshot_members: None,
            changing: None,
            check_quorum: CheckQuorum::default(),
            members_on_disk: OnDisk::new(members.index),
            installing: None,
            restoring: None,
            hibernation: Hibernation::default(),
            events: Vec::new(),
            messages: Vec::new(),
            appends: Vec::new(),
            failed: None,
            config,
        };
        let joins = first_append.is_none() && log.state.is_none();
        let first_append = first_append.or_else(|| this.joins().filter(|_| joins));
        if let Some(frames) = first_append {
            // Number 0 comes before all of the library's numbers.
            this.appends.push(Append { number: 0, frames });
            this.waiting.push_back(Waiting {
                number: 0,
                write: true,
                since: 0,
                messages: Vec::new(),
            });
        }
        this.learn_members(&changes)?;
        debug_assert!(
            this.delivered <= this.last_index(),
            "the log goes as far as what was handed out"
        );
        if this.members().voters == [this.config.node] {
            this.raft.campaign().map_err(refused)?;
        }
        this.draw_timeout();
        Ok(this)
    }

    /// The last reported role.
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

    /// Entries up to here are committed, as far as this member knows. The last ones may not be durable here yet.
    pub fn known_commit(&self) -> u64 {
        self.raft.raft.raft_log.committed
    }

    /// The last entry, committed or not.
    pub fn last_index(&self) -> u64 {
        self.raft.raft.raft_log.last_index()
    }

    /// The last entry that was handed out for the log. Later ones are in memory only.
    pub fn last_in_log(&self) -> EntryId {
        self.raft.store().last()
    }

    /// The term of an entry that is in the log, or of its base.
    pub fn term_at(&self, index: u64) -> Option<u64> {
        self.raft.store().term_of(index)
    }

    /// Entries up to here were compacted.
    pub fn base(&self) -> EntryId {
        self.raft.store().base()
    }

    /// The settings.
    pub fn config(&self) -> &GroupConfig {
        &self.config
    }

    /// Payload bytes that were proposed and are not committed yet.
    pub fn uncommitted_bytes(&self) -> usize {
        self.uncommitted_bytes
    }

    /// Appends an entry, as leader. It is durable and effective when [`Event::Committed`] reaches its index; if the role changes first, it
    /// may or may not be. An entry without content changes nothing: once it is committed, it proves that this member was the leader when it
    /// was proposed.
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
        self.wake();
        self.raft
            .step(proposal(self.config.node, TAG_NORMAL, payload))
            .map_err(|_| not_leader(self))?;
        let index = self.last_index();
        debug_assert!(index > self.delivered, "a proposal is not committed");
        debug_assert!(
            self.uncommitted
                .back()
                .is_none_or(|(last, _)| *last < index),
            "proposals are numbered in ascending order"
        );
        self.uncommitted.push_back((index, size));
        self.uncommitted_bytes += size;
        Ok(EntryId { index, term })
    }

    /// Advances time by one tick. Has no effect while the member [hibernates](Group::hibernates).
    pub fn tick(&mut self) {
        if self.hibernates() {
            return;
        }
        // A member that has not applied everything committed may not know the members: it must not stand for election.
        let behind = self.raft.raft.raft_log.committed > self.delivered;
        let follows = self.raft.raft.state != StateRole::Leader;
        if self.restoring.is_none() && !(behind && follows) {
            self.tick_library();
        }
        self.tick_snapshots();
        self.hibernate_if_idle();
    }

    /// Everything handed out in [`crate::Output::appends`] up to this number is durable.
    pub fn persisted(&mut self, number: u64) {
        let mut done = None;
        // Work without frames waits only for the appends before it, so the front of the queue is always an append.
        while let Some(front) = self
            .waiting
            .pop_front_if(|front| front.number <= number || !front.write)
        {
            debug_assert!(
                done.is_none_or(|done| done < front.number),
                "what waits for the disk waits in the order of its numbers"
            );
            done = Some(front.number);
            self.release_messages(front.messages);
        }
        let Some(done) = done else {
            return;
        };
        self.raft.on_persist_ready(done);
        self.members_on_disk.persisted(done);
        if self.restoring.is_some_and(|restoring| restoring <= done) {
            self.restoring = None;
            self.raft.advance_apply_to(self.delivered);
        }
        self.draw_timeout();
    }

    /// Hands leadership over to another voter, once it has all entries. Proposals are refused meanwhile; if the other voter does not take
    /// over within an election timeout, this node continues to lead. Only a leader can do this; returns false if this node does not lead,
    /// or the other has no vote.
    pub fn transfer_leadership(&mut self, to: u64) -> bool {
        let possible = self.raft.raft.state == StateRole::Leader
            && self.members().voters.contains(&to)
            && to != self.config.node;
        if possible {
            self.wake();
            self.raft.transfer_leader(to);
        }
        possible
    }

    /// The other voter with most of the log, among those that are heard from. Only a leader knows.
    pub fn successor(&self) -> Option<u64> {
        let library = &self.raft.raft;
        let others = library.prs().iter().filter(|(id, progress)| {
            **id != self.config.node && progress.recent_active && self.members().voters.contains(id)
        });
        (library.state == StateRole::Leader)
            .then(|| others.max_by_key(|(_, progress)| progress.matched))
            .flatten()
            .map(|(id, _)| *id)
    }

    /// How many entries the others lack. Only a leader knows.
    pub fn lacking(&self) -> impl Iterator<Item = (u64, u64)> {
        let library = &self.raft.raft;
        let leads = library.state == StateRole::Leader;
        let last = self.last_index();
        let others = library.prs().iter();
        let others = others.filter(move |(id, _)| leads && **id != self.config.node);
        others.map(move |(id, progress)| (*id, last.saturating_sub(progress.matched)))
    }

    /// Whether another voter is heard from and has nearly all of the log. Only a leader knows.
    pub fn is_abreast(&self, other: u64) -> bool {
        let library = &self.raft.raft;
        let progress = library.prs().get(other);
        library.state == StateRole::Leader
            && progress.is_some_and(|progress| {
                progress.recent_active && progress.matched + NEARLY >= self.last_index()
            })
    }

    /// Entries up to and including `index` are in a checkpoint and may be discarded. Returns the entry for the log writer to compact up to,
    /// or `None` if there is nothing to do. Only entries that were handed out can be compacted.
    pub fn compact(&mut self, index: u64) -> Option<EntryId> {
        let store = self.raft.store();
        let mut index = index.min(self.delivered);
        if store.members.index > self.members_on_disk.durable {
            // After a crash, the members are the stored ones plus the changes in the entries after them: there may be several.
            index = index.min(self.members_on_disk.durable);
        }
        if index <= store.base().index {
            return None;
        }
        let id = EntryId {
            index,
            term: store.term_of(index)?,
        };
        debug_assert!(
            id.index <= self.committed,
            "only what is committed is forgotten"
        );
        self.raft.mut_store().compact(id);
        Some(id)
    }

    /// The snapshot of [`Event::InstallSnapshot`] has durably replaced the state, which now goes up to the entry `snapshot_floor`.
    /// Entries of the log up to it are not handed out.
    pub fn snapshot_installed(&mut self, snapshot_floor: u64) {
        let Some(append) = self.installing.take() else {
            return;
        };
        let base = self.raft.store().base().index;
        self.snapshot_floor = snapshot_floor.max(base);
        self.delivered = self.delivered.max(base);
        self.committed = self.committed.max(base);
        debug_assert!(self.delivered <= self.committed);
        debug_assert!(
            self.uncommitted.is_empty(),
            "a member that takes a snapshot does not lead"
        );
        self.appends.push(append);
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

    /// The library draws election timeouts from a generator that cannot be seeded. So after each call that may draw one,
    /// its choice is replaced by ours, which changes with the term, the role and each election.
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
