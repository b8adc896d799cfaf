//! A member of the metadata group, without threads and files, so that a simulation can drive this very code.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use skep_cluster::{Entry, State, node_of};
use skep_replication::{
    Change, EntryId, EntrySource, Event, Group, GroupConfig, LogEvidence, Members,
    Message as ReplicaMessage, Output, RecoveredLog, Role, SnapshotPoll, SnapshotSource,
};
use skep_storage::log::{Frame, Recovered};

use super::steps::{Next, next};

/// The group's number; partitions have the others.
pub const GROUP: u32 = 0;

/// The member could not be started, or cannot continue.
#[derive(Debug, thiserror::Error)]
#[error("the cluster's own state: {0}")]
pub struct MetadataError(String);

/// Converts an error of the member.
pub fn failed(error: impl std::fmt::Display) -> MetadataError {
    MetadataError(error.to_string())
}

/// The message to a node that joins the cluster.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The node's member number.
    pub member: u64,
    /// The group's members, as [`Members::encode_into`] writes them.
    pub members: Vec<u8>,
    pub state: State,
}

/// The member's interface to its node.
pub trait Surroundings {
    /// Sends a message to another member. It may be lost.
    fn send(&mut self, message: ReplicaMessage);
    /// Writes frames to the log, durably. Waits for space if there is none.
    ///
    /// # Errors
    /// The member cannot continue.
    fn append(&mut self, frames: &[Frame]) -> Result<(), MetadataError>;
    /// Replaces the stored state, durably. Waits for space if there is none.
    ///
    /// # Errors
    /// The member cannot continue.
    fn keep(&mut self, stored: &[u8]) -> Result<(), MetadataError>;
    /// Allows the log to discard entries up to this one, now or later.
    ///
    /// # Errors
    /// The member cannot continue.
    fn compact(&mut self, upto: EntryId) -> Result<(), MetadataError>;
    /// The state is stored: everybody on this node may rely on it.
    fn state_is(&mut self, state: &State);
    /// Tells a node that it is now part of the cluster. It may be lost.
    fn admit(&mut self, node: u32, admission: Admission);
    /// Milliseconds since 1970: for operators to read; nothing depends on it.
    fn now(&self) -> i64;
}

/// The state, with the index of the last entry in it.
#[derive(Default, Serialize, Deserialize)]
struct Stored {
    index: u64,
    term: u64,
    state: State,
    /// The group's members after that entry, encoded: the log may have stored older ones.
    #[serde(default)]
    members: Vec<u8>,
    /// The state came as a snapshot, which the log may not have caught up with.
    #[serde(default)]
    installing: bool,
}

/// The last stored state, if it can be read; other code reports the error if not.
pub fn stored_state(bytes: &[u8]) -> Option<State> {
    let stored: Stored = serde_json::from_slice(bytes).ok()?;
    Some(stored.state).filter(State::is_bootstrapped)
}

/// See the top of this file.
pub struct MetadataMember {
    group: Group,
    state: State,
    applied: EntryId,
    /// Own entries that are not committed yet.
    proposed: VecDeque<(u64, Entry)>,
    /// The cluster's initial state, if it has none yet.
    first: Option<State>,
    incoming_snapshot: Vec<u8>,
}

/// A member's data on disk.
pub struct OnDisk {
    pub log: Recovered,
    pub source: Box<dyn EntrySource>,
    /// The last value stored by [`Surroundings::keep`].
    pub stored: Option<Vec<u8>>,
}

impl MetadataMember {
    /// Settings of a member.
    pub fn config(own: u64, members: Members) -> GroupConfig {
        GroupConfig::joining(GROUP, own, members)
    }

    /// Starts a member. `first` is the cluster's initial state, if it has none yet.
    ///
    /// # Errors
    /// The data on disk cannot be decoded.
    pub fn open(
        mut config: GroupConfig,
        found: OnDisk,
        first: Option<State>,
    ) -> Result<MetadataMember, MetadataError> {
        let stored = match found.stored {
            Some(bytes) => serde_json::from_slice(&bytes).map_err(failed)?,
            None => Stored::default(),
        };
        let applied = EntryId {
            index: stored.index,
            term: stored.term,
        };
        if let Ok(members) = Members::decode(stored.members.into())
            && members.contains(config.node)
        {
            config.members = members;
        }
        let recovered = RecoveredLog {
            log: found.log,
            checkpoint: applied,
            source: found.source,
            evidence: LogEvidence {
                exported: 0,
                installing: stored.installing.then_some(applied),
            },
        };
        let is_first = config.members.voters.first() == Some(&config.node);
        let begins = first.is_some() && is_first && recovered.log.last.index == 0;
        // Nobody leads a new group: its first member need not wait for an election timeout.
        let patience = if begins { 2 * config.election_ticks } else { 0 };
        let mut group = Group::open(config, recovered).map_err(failed)?;
        (0..patience).for_each(|_| group.tick());
        Ok(MetadataMember {
            group,
            state: stored.state,
            applied,
            proposed: VecDeque::new(),
            first,
            incoming_snapshot: Vec::new(),
        })
    }

    /// The group's replica.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The agreed state, as far as this member knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether there is nothing to do until a message arrives.
    pub fn hibernates(&self) -> bool {
        let is_alone = self.group.is_alone()
            && matches!(self.group.role(), Role::Leader { .. })
            && self.state.is_bootstrapped();
        (is_alone || self.group.hibernates()) && self.state.next_operation().is_none()
    }

    /// See [`Group::note_silent`].
    pub fn note_silent(&mut self, silent: impl Fn(u64) -> bool, ticks: usize) {
        self.group.note_silent(silent, ticks);
    }

    /// See [`Group::gone`].
    pub fn gone(&mut self, gone: impl Fn(u64) -> bool) {
        self.group.gone(gone);
    }

    /// Handles a message from another member.
    pub fn receive(&mut self, message: ReplicaMessage) {
        self.group.receive(message.from(), message);
    }

    /// Advances time by one tick. A leader repeats pending work until it has taken effect.
    pub fn tick(&mut self, around: &mut impl Surroundings) {
        self.group.tick();
        let leads = matches!(self.group.role(), Role::Leader { .. });
        if !leads || !self.proposed.is_empty() {
            return;
        }
        if self.state.is_bootstrapped() {
            self.carry_out(around);
        } else if let Some(first) = self.first.clone() {
            self.propose(Entry::Bootstrap(Box::new(first)));
        }
    }

    /// Proposes the entry if this member leads. Otherwise the entry is lost, and its sender waits in vain.
    pub fn propose(&mut self, entry: Entry) {
        if let Ok(id) = self.group.propose(entry.encode().into()) {
            self.proposed.push_back((id.index, entry));
        }
    }

    fn carry_out(&mut self, around: &mut impl Surroundings) {
        let Some((change, operation)) = self.state.next_operation() else {
            return;
        };
        if !operation.is_of_members() {
            return;
        }
        let operation = operation.clone();
        let own = self.group.config().node;
        let plan = self.state.revision;
        match next(&self.state, &operation, self.group.members(), own) {
            Next::Done => {
                let now = around.now();
                self.propose(Entry::Done {
                    change,
                    operation,
                    now,
                });
            }
            Next::Change(Change::Promote(member)) if !self.group.has_caught_up(member) => {
                self.admit(member, around);
            }
            // Refused while an earlier change is in progress: it is retried.
            Next::Change(change) => drop(self.group.change_members(change, plan)),
            Next::HandOver => {
                if let Some(to) = self.group.successor() {
                    self.group.transfer_leadership(to);
                }
            }
        }
    }

    fn admit(&self, member: u64, around: &mut impl Surroundings) {
        let Some(node) = node_of(member) else {
            return;
        };
        let mut members = Vec::new();
        self.group.members().encode_into(&mut members);
        let admission = Admission {
            member,
            members,
            state: self.state.clone(),
        };
        around.admit(node, admission);
    }

    /// Processes pending output. `out` is scratch.
    ///
    /// # Errors
    /// The member cannot continue.
    pub fn poll(
        &mut self,
        out: &mut Output,
        around: &mut impl Surroundings,
    ) -> Result<(), MetadataError> {
        let before = self.applied;
        loop {
            out.clear();
            self.group.poll(out).map_err(failed)?;
            let idle = out.is_empty();
            for message in out.messages.drain(..) {
                around.send(message);
            }
            for append in out.appends.drain(..) {
                around.append(&append.frames)?;
                self.group.persisted(append.number);
            }
            for event in std::mem::take(&mut out.events) {
                self.handle(event, around)?;
            }
            if idle {
                break;
            }
        }
        if self.applied != before {
            self.keep(around, false)?;
        }
        Ok(())
    }

    fn handle(
        &mut self,
        event: Event,
        around: &mut impl Surroundings,
    ) -> Result<(), MetadataError> {
        match event {
            Event::Committed { index } => {
                while let Some((_, entry)) = self.proposed.pop_front_if(|(at, _)| *at <= index) {
                    self.state.apply(entry);
                }
                self.applied_is(index);
            }
            Event::Apply(committed) => {
                if !committed.payload.is_empty() {
                    self.state
                        .apply(Entry::decode(&committed.payload).map_err(failed)?);
                }
                self.applied_is(committed.index);
            }
            Event::Role(Role::Leader { .. }) => {}
            // Proposed entries that are committed come back as log entries.
            Event::Role(_) => self.proposed.clear(),
            Event::Members(members) => tracing::debug!(?members, "members of the cluster's state"),
            Event::ProduceSnapshot { to } => {
                let whole = self.encoded(false)?.into();
                self.group
                    .offer_snapshot(to, self.applied, Box::new(Whole(Some(whole))));
            }
            Event::SnapshotChunk { part, bytes, .. } => {
                if part.number == 0 {
                    self.incoming_snapshot.clear();
                }
                self.incoming_snapshot.extend_from_slice(&bytes);
                self.group.snapshot_taken(part);
            }
            Event::DiscardSnapshot => self.incoming_snapshot.clear(),
            Event::InstallSnapshot { id } => {
                let whole = std::mem::take(&mut self.incoming_snapshot);
                let stored: Stored = serde_json::from_slice(&whole).map_err(failed)?;
                self.state = stored.state;
                self.applied = id;
                self.keep(around, true)?;
                self.group.snapshot_installed(id.index);
            }
        }
        Ok(())
    }

    fn applied_is(&mut self, index: u64) {
        let term = self.group.term_at(index).unwrap_or(self.applied.term);
        self.applied = EntryId { index, term };
    }

    fn encoded(&self, installing: bool) -> Result<Vec<u8>, MetadataError> {
        let stored = Stored {
            index: self.applied.index,
            term: self.applied.term,
            state: self.state.clone(),
            members: {
                let mut members = Vec::new();
                self.group.members().encode_into(&mut members);
                members
            },
            installing,
        };
        serde_json::to_vec_pretty(&stored).map_err(failed)
    }

    /// Stores the state. Only the last entry ever has to be recovered.
    fn keep(
        &mut self,
        around: &mut impl Surroundings,
        installing: bool,
    ) -> Result<(), MetadataError> {
        around.keep(&self.encoded(installing)?)?;
        if let Some(id) = self.group.compact(self.applied.index) {
            around.compact(id)?;
        }
        around.state_is(&self.state);
        Ok(())
    }
}

/// A snapshot consisting of one chunk.
struct Whole(Option<Bytes>);

impl SnapshotSource for Whole {
    fn poll_chunk(&mut self) -> SnapshotPoll {
        self.0.take().map_or(SnapshotPoll::End, SnapshotPoll::Chunk)
    }
}
