//! Engine and replica combined, without threads and IO.
//!
//! Commands are evaluated at once against the speculative state; their records are proposed as one log entry; their effects
//! ([`Effects`]) are held back until that entry is committed. A simulation drives this very code.

use std::collections::VecDeque;

use bytes::Bytes;
use skep_engine::{Ban, Due, Effects, Engine, JobStreams, Pushed, RequestId, Sent};
use skep_protocol::Key;
use skep_protocol::command::Request;
use skep_protocol::record::DecodeError;
use skep_protocol::value::ExporterValue;
use skep_replication::{Committed, EntryId, Event, Group, GroupError, Output, ProposeError, Role};

use super::busiest::{Busiest, Busy};

/// Maximum number of proposed but uncommitted entries. Commands that arrive meanwhile wait and share the next entry.
pub const MAX_INFLIGHT_ENTRIES: usize = 16;

/// Maximum bytes proposed but uncommitted before commands wait: half of the replica's own limit, so that the batch being evaluated always
/// fits.
pub const MAX_INFLIGHT_BYTES: usize = 32 << 20;

/// A batch is proposed once it reaches this size, even if more commands wait.
pub const BATCH_BYTES: usize = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum CoreError {
    #[error(transparent)]
    Group(#[from] GroupError),
    #[error("entry {index} of the log cannot be applied: {reason}")]
    Apply { index: u64, reason: DecodeError },
    #[error("{0}")]
    Store(#[from] skep_engine::state::StoreError),
    #[error("a batch could not be proposed: {0}")]
    Propose(#[from] ProposeError),
    /// The engine has bugs that recur although instances were banned.
    #[error(
        "the engine panicked more than {times} times in {minutes} minutes, the last time with: {panic}. This is a bug; the node's log \
         shows its location"
    )]
    Panicked {
        times: usize,
        minutes: u64,
        panic: String,
    },
    /// Written entries cannot be read back.
    #[error("the log cannot be read: {0}. Check the disk and start the node again")]
    ReadLog(String),
    /// The leader's snapshot cannot be installed.
    #[error("the snapshot from the leader cannot be installed: {0}")]
    Snapshot(String),
    /// The log writer has failed. Nothing that was not acknowledged before is acknowledged.
    #[error(
        "the log cannot be written: {0}. No command was acknowledged since; repair the disk and start the node again"
    )]
    Log(String),
}

/// Released when an entry is committed.
#[derive(Debug)]
pub struct Released {
    pub index: u64,
    /// Size of the entry's payload in bytes; `None` when nothing was recorded.
    pub bytes: Option<usize>,
    pub effects: Effects,
}

struct Proposed {
    index: u64,
    term: u64,
    bytes: Option<usize>,
    effects: Effects,
    next_position: u64,
}

/// The result of one [`PartitionCore::poll`].
#[derive(Debug, Default)]
pub struct Polled {
    /// For the log writer and the other members.
    pub output: Output,
    /// Effects of committed entries, in order.
    pub released: Vec<Released>,
    /// The node became leader: it may accept commands.
    pub became_leader: bool,
    /// The node lost leadership: notify all waiting clients. Uncommitted changes were undone, unless the state
    /// [`is void`](PartitionCore::is_void): then call [`PartitionCore::rebuild`] with an engine that holds everything up to
    /// [`PartitionCore::applied`], which may have grown meanwhile.
    pub lost_leadership: bool,
    /// The last entry whose changes were kept when leadership was lost. A checkpoint captured after it is void.
    pub kept: u64,
}

pub struct PartitionCore {
    engine: Engine,
    group: Group,
    proposed: VecDeque<Proposed>,
    /// A batch that the group refuses at the moment; it is offered again.
    refused: Option<(Bytes, Effects, u64)>,
    leader: bool,
    /// The engine is void until it is rebuilt.
    stale: bool,
    /// Index and term of the last entry whose records are in the state for sure: committed and evaluated or applied.
    applied: u64,
    /// The last entry in the (speculative) state, and its term.
    evaluated: u64,
    evaluated_term: u64,
    /// Whatever was evaluated after it may have to be undone.
    settled: Settled,
    replayed: u64,
    busiest: Busiest,
}

impl PartitionCore {
    /// `checkpoint`: index and term of the last entry that the engine's state holds.
    pub fn new(engine: Engine, group: Group, checkpoint: (u64, u64)) -> PartitionCore {
        let settled = Settled {
            id: EntryId {
                index: checkpoint.0,
                term: checkpoint.1,
            },
            next_position: engine.next_position(),
        };
        PartitionCore {
            engine,
            group,
            proposed: VecDeque::new(),
            refused: None,
            leader: false,
            stale: false,
            applied: checkpoint.0,
            evaluated: checkpoint.0,
            evaluated_term: checkpoint.1,
            settled,
            replayed: 0,
            busiest: Busiest::default(),
        }
    }

    pub fn is_leader(&self) -> bool {
        self.leader
    }

    /// Whether there is room for another entry: if not, commands wait.
    pub fn has_room(&self) -> bool {
        self.leader
            && !self.is_stale()
            && self.proposed.len() < MAX_INFLIGHT_ENTRIES
            && self.group.uncommitted_bytes() < MAX_INFLIGHT_BYTES
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    pub fn group(&self) -> &Group {
        &self.group
    }

    pub fn group_mut(&mut self) -> &mut Group {
        &mut self.group
    }

    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// Index and term of the entry that the state in memory goes up to.
    pub fn evaluated(&self) -> (u64, u64) {
        (self.evaluated, self.evaluated_term)
    }

    /// Number of proposed but uncommitted entries.
    pub fn inflight(&self) -> usize {
        self.proposed.len()
    }

    /// Records that were applied without being evaluated here.
    pub fn replayed(&self) -> u64 {
        self.replayed
    }

    /// Position of the newest committed record.
    pub fn committed_position(&self) -> u64 {
        self.settled.next_position.saturating_sub(1)
    }

    pub fn process(
        &mut self,
        now: i64,
        id: Option<RequestId>,
        request: &Request,
        streams: &mut dyn JobStreams,
    ) {
        self.counted(|engine| engine.process(now, id, request, streams));
    }

    pub fn process_remote(&mut self, now: i64, command: &Sent, streams: &mut dyn JobStreams) {
        self.counted(|engine| engine.process_remote(now, command, streams));
    }

    pub fn yield_job(&mut self, now: i64, key: Key, deadline: i64, streams: &mut dyn JobStreams) {
        self.engine.yield_job(now, key, deadline, streams);
    }

    pub fn push_waiting_jobs(
        &mut self,
        now: i64,
        job_type: &str,
        limit: usize,
        streams: &mut dyn JobStreams,
    ) -> Pushed {
        self.engine.push_waiting_jobs(now, job_type, limit, streams)
    }

    pub fn run_due(&mut self, now: i64, pressure: bool, streams: &mut dyn JobStreams) -> Due {
        self.counted(|engine| engine.run_due(now, pressure, streams))
    }

    /// Records the positions of exporters.
    pub fn report_exported(&mut self, now: i64, reports: &[ExporterValue]) {
        self.engine.report_exported(now, reports);
    }

    pub fn run_work(&mut self, now: i64, streams: &mut dyn JobStreams) {
        self.counted(|engine| engine.run_work(now, streams));
    }

    /// Runs the engine, and counts its records for the instance that it worked on last.
    fn counted<T>(&mut self, work: impl FnOnce(&mut Engine) -> T) -> T {
        let before = self.engine.next_position();
        let result = work(&mut self.engine);
        let records = self.engine.next_position().saturating_sub(before);
        self.busiest.count(self.engine.working_for(), records);
        result
    }

    /// Whether [`PartitionCore::busiest`] has reported everything that was counted.
    pub fn has_named_busiest(&self) -> bool {
        self.busiest.is_empty()
    }

    /// The instances that have written the most records lately, once per window.
    pub fn busiest(&mut self, now: i64) -> Option<Vec<Busy>> {
        let busiest = self.busiest.window_ends(now)?.into_iter();
        let elements = &mut self.engine.state.elements;
        let busiest = busiest.map(|(key, records_per_second)| Busy {
            process_instance_key: key,
            records_per_second,
            element_instances: elements.count_of(key),
        });
        Some(busiest.collect())
    }

    /// Bans an instance on which the engine has failed; see [`Engine::ban`].
    pub fn ban(&mut self, now: i64, ban: &Ban) -> bool {
        self.engine.ban(now, ban)
    }

    /// Proposes what was evaluated since the last call. Returns the index of the entry, if there is one.
    ///
    /// # Errors
    /// The store failed while commands were evaluated, or the entry cannot be proposed. The partition must stop or rebuild:
    /// its state is ahead of its log.
    pub fn propose(&mut self) -> Result<Option<u64>, CoreError> {
        if self.stale {
            return Ok(None);
        }
        if let Some(fault) = self.engine.fault() {
            return Err(fault.into());
        }
        if let Some((batch, effects, next_position)) = self.refused.take() {
            return self.offer(batch, effects, next_position);
        }
        let (batch, effects) = self.engine.take_batch();
        // A single member can only stay leader; and whatever others have evaluated is committed.
        let can_lose = self.leader && !self.group.is_alone();
        self.engine.keep_undo(can_lose);
        let next_position = self.engine.next_position();
        match batch {
            Some(batch) => self.offer(Bytes::from(batch), effects, next_position),
            None if effects.is_empty() => Ok(None),
            // A leader that was paused may have been replaced without knowing it, and its state is then outdated. An empty entry stored by
            // a majority confirms that it still leads, so the answer waits for one.
            None if can_lose && effects.reveal_state() => {
                self.offer(Bytes::new(), effects, next_position)
            }
            None => {
                // Nothing was recorded, but the effects saw the state: they are released after the entries that the state depends on.
                let index = self.evaluated.max(self.applied);
                debug_assert!(
                    (self.proposed.back()).is_none_or(|before| before.index <= index),
                    "an answer waits for all that it may have seen"
                );
                self.proposed.push_back(Proposed {
                    index,
                    term: self.evaluated_term,
                    bytes: None,
                    effects,
                    next_position,
                });
                Ok(Some(index))
            }
        }
    }

    fn offer(
        &mut self,
        batch: Bytes,
        effects: Effects,
        next_position: u64,
    ) -> Result<Option<u64>, CoreError> {
        let bytes = batch.len();
        match self.group.propose(batch.clone()) {
            Ok(id) => {
                debug_assert!(id.index > self.applied, "a proposal is not committed");
                debug_assert!(
                    (self.proposed.back()).is_none_or(|before| before.index < id.index),
                    "entries are proposed in the order of the log"
                );
                debug_assert!(id.term >= self.evaluated_term, "terms do not fall");
                (self.evaluated, self.evaluated_term) = (id.index, id.term);
                self.proposed.push_back(Proposed {
                    index: id.index,
                    term: id.term,
                    bytes: Some(bytes),
                    effects,
                    next_position,
                });
                Ok(Some(id.index))
            }
            // If the member no longer leads, the next poll reports that and undoes this batch.
            Err(
                ProposeError::NotLeader { .. }
                | ProposeError::Transferring { .. }
                | ProposeError::TooMuchUncommitted { .. },
            ) => {
                self.refused = Some((batch, effects, next_position));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Runs the replica and collects what may now be sent.
    pub fn poll(&mut self, polled: &mut Polled) -> Result<(), CoreError> {
        polled.output.clear();
        polled.released.clear();
        polled.became_leader = false;
        polled.lost_leadership = false;
        self.group.poll(&mut polled.output)?;
        let mut events = polled.output.events.as_slice();
        while let Some((event, rest)) = events.split_first() {
            events = rest;
            match event {
                Event::Committed { index } => {
                    debug_assert!(self.leader, "a follower is handed what is committed");
                    self.applied = self.applied.max(*index);
                }
                Event::Apply(first) => {
                    let more = rest.iter().take_while(|e| matches!(e, Event::Apply(_)));
                    let (more, others) = rest.split_at(more.count());
                    events = others;
                    self.apply(std::iter::once(first).chain(more.iter().filter_map(entry)))?;
                }
                Event::Role(Role::Leader { .. }) => {
                    debug_assert!(
                        self.proposed.is_empty(),
                        "nothing is left of an earlier term"
                    );
                    // A void state is promoted when it is rebuilt.
                    if !self.stale {
                        self.engine.promote()?;
                    }
                    self.engine.keep_undo(!self.group.is_alone());
                    self.leader = true;
                    polled.became_leader = true;
                }
                Event::Role(_) => {
                    if std::mem::replace(&mut self.leader, false) {
                        polled.lost_leadership = true;
                        // Whatever comes after this event may replace what was proposed.
                        self.release(&mut polled.released);
                        polled.kept = self.take_back();
                    }
                }
                Event::InstallSnapshot { .. } => {
                    debug_assert!(!self.leader, "a leader has all that is committed");
                    self.stale = true;
                }
                // Handled by the owner, which has the store.
                Event::ProduceSnapshot { .. }
                | Event::SnapshotChunk { .. }
                | Event::DiscardSnapshot
                | Event::Members(_) => {}
            }
        }
        self.release(&mut polled.released);
        debug_assert!(
            self.settled.id.index <= self.applied,
            "what cannot be taken back is committed"
        );
        debug_assert!(
            polled.released.is_sorted_by_key(|released| released.index),
            "effects leave in the order of the log"
        );
        if !self.stale
            && let Some(fault) = self.engine.fault()
        {
            return Err(fault.into());
        }
        Ok(())
    }

    /// The engine failed within a command: its state is void, and everything evaluated since the last proposal is dropped. Earlier
    /// proposals proceed. Once nothing [`is in flight`](PartitionCore::is_in_flight) any more, call [`PartitionCore::rebuild`].
    pub fn discard(&mut self) {
        self.stale = true;
    }

    /// Requests whose answers wait for their entry to be committed.
    pub fn in_flight(&self) -> impl Iterator<Item = RequestId> {
        let effects = self.proposed.iter().map(|proposed| &proposed.effects);
        effects.flat_map(|effects| {
            let responses = effects.responses.iter().map(|(id, _)| *id);
            responses.chain(effects.aborted.iter().copied())
        })
    }

    /// Whether there are proposed entries that are uncommitted, or whose effects were not released.
    pub fn is_in_flight(&self) -> bool {
        !self.proposed.is_empty()
    }

    /// Whether the engine's state is void until [`PartitionCore::rebuild`].
    pub fn is_void(&self) -> bool {
        self.stale
    }

    /// Replaces the engine after its state became void. `term`: the term of the entry [`PartitionCore::applied`].
    pub fn rebuild(&mut self, engine: Engine, term: u64) {
        debug_assert!(
            self.proposed.is_empty(),
            "what is in flight was evaluated by the old state"
        );
        self.engine = engine;
        self.stale = false;
        self.settle(EntryId {
            index: self.applied,
            term,
        });
        (self.evaluated, self.evaluated_term) = (self.applied, term);
    }

    /// Everything up to this entry, which is all that the state contains, is committed.
    fn settle(&mut self, id: EntryId) {
        self.settled = Settled {
            id,
            next_position: self.engine.next_position(),
        };
    }

    /// Leadership is lost: undoes uncommitted changes. Returns the last entry whose changes are kept.
    fn take_back(&mut self) -> u64 {
        debug_assert!(!self.leader, "a leader keeps what it has proposed");
        self.proposed.clear();
        self.refused = None;
        let Settled { id, next_position } = self.settled;
        if !self.stale && self.engine.undo(next_position) {
            self.engine.keep_undo(false);
            (self.evaluated, self.evaluated_term) = (id.index, id.term);
        } else {
            self.stale = true;
        }
        id.index
    }

    fn release(&mut self, released: &mut Vec<Released>) {
        let mut settled = None;
        while let Some(first) = self.proposed.pop_front_if(|p| p.index <= self.applied) {
            if first.bytes.is_some() {
                let (index, term) = (first.index, first.term);
                settled = Some(Settled {
                    id: EntryId { index, term },
                    next_position: first.next_position,
                });
            }
            released.push(Released {
                index: first.index,
                bytes: first.bytes,
                effects: first.effects,
            });
        }
        if let Some(settled) = settled {
            debug_assert!(
                settled.next_position >= self.settled.next_position,
                "committed positions ascend"
            );
            self.settled = settled;
            self.engine.settle(settled.next_position);
        }
    }

    /// Applies entries that this node did not evaluate. A void state gets them when it is rebuilt.
    fn apply<'e>(&mut self, entries: impl Iterator<Item = &'e Committed>) -> Result<(), CoreError> {
        // Otherwise their changes would count as part of the batch in which this node may lead next, and would be undone with it.
        debug_assert!(
            self.stale || !self.engine.keeps_undo(),
            "a follower notes changes"
        );
        let mut batches = Vec::new();
        let before = self.engine.next_position();
        for entry in entries {
            debug_assert!(
                entry.index > self.applied,
                "no entry is applied twice, or after a later one"
            );
            self.applied = entry.index;
            (self.evaluated, self.evaluated_term) = (entry.index, entry.term);
            if !self.stale && !entry.payload.is_empty() {
                batches.push((entry.index, &*entry.payload));
            }
        }
        apply(&mut self.engine, &batches)?;
        self.replayed += self.engine.next_position() - before;
        if !self.stale {
            self.settle(EntryId {
                index: self.evaluated,
                term: self.evaluated_term,
            });
        }
        Ok(())
    }

    /// The store durably holds the snapshot that [`Event::InstallSnapshot`] announced, up to this entry; `engine` was opened over it.
    pub fn installed(&mut self, engine: Engine, snapshot: EntryId) {
        debug_assert!(self.stale, "it was announced, and the old state is void");
        debug_assert!(
            snapshot.index >= self.applied,
            "a snapshot holds all that was applied"
        );
        self.applied = snapshot.index;
        self.rebuild(engine, snapshot.term);
        self.group.snapshot_installed(snapshot.index);
    }

    /// The last entry that is both applied and in the log: after a snapshot, the log may still be on its way.
    pub fn reached(&self) -> u64 {
        self.applied.min(self.group.commit_index())
    }

    /// Whether the engine's state is not that of an entry of the log: it is void (see [`Polled::lost_leadership`]), or the group refuses
    /// its newest batch at the moment. It must not become a checkpoint.
    pub fn is_stale(&self) -> bool {
        self.stale || self.refused.is_some()
    }
}

/// The point up to which the state is committed.
#[derive(Clone, Copy)]
struct Settled {
    /// The last entry that was evaluated or applied.
    id: EntryId,
    /// Position of the record after it.
    next_position: u64,
}

/// Applies the payloads of consecutive committed entries, each with its index in the log.
pub(super) fn apply(engine: &mut Engine, entries: &[(u64, &[u8])]) -> Result<(), CoreError> {
    let batches: Vec<&[u8]> = entries.iter().map(|(_, batch)| *batch).collect();
    let applied = engine.apply_window(&batches).map_err(|(number, reason)| {
        let index = entries.get(number).map_or(0, |(index, _)| *index);
        CoreError::Apply { index, reason }
    });
    applied.map(drop)
}

fn entry(event: &Event) -> Option<&Committed> {
    if let Event::Apply(entry) = event {
        Some(entry)
    } else {
        None
    }
}
