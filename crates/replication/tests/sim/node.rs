//! One simulated node: a group, a log on a faulty disk, a store for checkpoints and the toy machine.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use skep_replication::{
    Append, Change, EntryId, Event, Group, GroupConfig, LogEvidence, Members, Message, Output,
    Part, RecoveredLog, Role, SnapshotPoll, SnapshotSource,
};
use skep_storage::disk::MemoryDisk;
use skep_storage::kv::{KvBatch, KvStore, MemoryKv, StreamReader, StreamWriter};
use skep_storage::log::{Frame, Log, LogConfig};

use super::machine::{Command, Counted, Machine};
use super::oracle::{Durable, Oracle, Stored};
use super::{Mutation, Random, hash};

pub const VOTERS: [u64; 3] = [1, 2, 3];

/// A proposal with a waiting client.
struct Waiting {
    number: u64,
    id: EntryId,
}

/// A checkpoint that may be written once its position is committed.
struct PendingCheckpoint {
    id: EntryId,
    machine: Machine,
}

pub struct Running {
    pub group: Group,
    log: Log,
    /// Appends handed to the disk and not flushed, in order.
    pub queue: VecDeque<Append>,
    /// True while the disk works on the front of the queue.
    pub disk_busy: bool,
    machine: Machine,
    /// The position of the group's last event.
    reported: EntryId,
    /// The last own proposal that the machine has applied speculatively.
    speculative: EntryId,
    clients: VecDeque<Waiting>,
    proposals: VecDeque<(EntryId, Bytes)>,
    checkpoint: Option<PendingCheckpoint>,
    chunks: Vec<Bytes>,
}

pub struct Node {
    pub id: u64,
    pub disk: MemoryDisk,
    kv: MemoryKv,
    pub running: Option<Running>,
    /// Number of starts, so that events of an earlier life are dropped.
    pub life: u64,
    mutation: Mutation,
    seed: u64,
    /// Members at its first start, if it joined later.
    joined: Option<Members>,
    /// A store that is filled from the log, and the snapshot being installed.
    evidence: LogEvidence,
    /// Membership changes that took effect here, not yet processed by the world.
    pub news: Vec<Members>,
}

fn position(kv: &MemoryKv) -> EntryId {
    let meta = kv.meta().unwrap().unwrap_or_else(|| vec![0; 16]);
    let number = |at: usize| u64::from_be_bytes(meta[at..at + 8].try_into().unwrap());
    EntryId {
        index: number(0),
        term: number(8),
    }
}

fn load(kv: &MemoryKv) -> Machine {
    let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
    let rows = kv.scan(1, &[], None).map(Result::unwrap);
    Machine {
        counters: rows
            .map(|(key, value)| (number(&key), number(&value)))
            .collect(),
        digest: kv
            .get(2, b"digest")
            .unwrap()
            .map_or(0, |bytes| number(&bytes)),
    }
}

fn store(kv: &mut MemoryKv, machine: &Machine, id: EntryId) {
    let mut batch = KvBatch::new();
    for (counter, value) in &machine.counters {
        batch.put(1, counter.to_be_bytes(), value.to_be_bytes());
    }
    batch.put(2, *b"digest", machine.digest.to_be_bytes());
    let mut meta = id.index.to_be_bytes().to_vec();
    meta.extend_from_slice(&id.term.to_be_bytes());
    batch.set_meta(meta);
    kv.commit(batch).unwrap();
}

/// Chunks that arrive with pauses.
struct Chunks {
    rest: VecDeque<Bytes>,
    pause: bool,
}

impl SnapshotSource for Chunks {
    fn poll_chunk(&mut self) -> SnapshotPoll {
        self.pause = !self.pause;
        if self.pause && self.rest.len().is_multiple_of(3) {
            return SnapshotPoll::Pending;
        }
        self.rest
            .pop_front()
            .map_or(SnapshotPoll::End, SnapshotPoll::Chunk)
    }
}

impl Node {
    pub fn new(id: u64, seed: u64, mutation: Mutation) -> Self {
        Self {
            id,
            disk: MemoryDisk::new(),
            kv: MemoryKv::new(),
            running: None,
            life: 0,
            mutation,
            seed,
            joined: None,
            evidence: LogEvidence::default(),
            news: Vec::new(),
        }
    }

    /// A node that joins a group with these current members.
    pub fn joining(id: u64, seed: u64, mutation: Mutation, members: Members) -> Self {
        let mut node = Self::new(id, seed, mutation);
        node.joined = Some(members);
        node
    }

    /// The leader, as far as it knows.
    pub fn leader(&self) -> Option<u64> {
        self.running.as_ref()?.group.leader()
    }

    /// Proposes a membership change, if this node leads.
    pub fn change(&mut self, change: Change) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        let changes = running.group.change_members(change, 0).is_ok();
        if changes {
            let id = EntryId {
                index: running.group.last_index(),
                term: running.group.term(),
            };
            running.speculative = id;
            running.proposals.push_back((id, Bytes::new()));
        }
        changes
    }

    pub fn start(&mut self, oracle: &mut Oracle) {
        let config = LogConfig {
            segment_bytes: 8192,
            grow_bytes: 4096,
            spare_segments: 1,
            compress_from: 0,
            salt: Some(hash(&[self.seed, self.id], &[])),
        };
        let (log, mut recovered) = Log::open(Arc::new(self.disk.clone()), "/log", config).unwrap();
        oracle.reopened(self.id, found(&log, oracle));
        if self.mutation == Mutation::ForgetVote {
            recovered.state = None;
        }
        let checkpoint = position(&self.kv);
        let mut config = match &self.joined {
            None => GroupConfig::new(1, self.id, VOTERS.to_vec()),
            Some(members) => GroupConfig::joining(1, self.id, members.clone()),
        };
        config.election_ticks = 10;
        config.hibernate_after_ticks = Some(6);
        config.seed = hash(&[self.seed, self.id, self.life], &[]);
        config.max_cached_bytes = 300;
        config.max_message_bytes = 400;
        config.max_apply_bytes = 200;
        config.max_unpersisted_appends = 4;
        config.max_inflight_messages = 4;
        config.max_inflight_chunks = 2;
        let recovered = RecoveredLog {
            log: recovered,
            checkpoint,
            source: Box::new(log.reader()),
            evidence: self.evidence,
        };
        let group = Group::open(config, recovered).unwrap();
        oracle.moved_to(self.id, checkpoint.index);
        self.life += 1;
        self.running = Some(Running {
            group,
            log,
            queue: VecDeque::new(),
            disk_busy: false,
            machine: load(&self.kv),
            reported: checkpoint,
            speculative: checkpoint,
            clients: VecDeque::new(),
            proposals: VecDeque::new(),
            checkpoint: None,
            chunks: Vec::new(),
        });
    }

    /// Cuts the power, perhaps during a flush.
    pub fn crash(&mut self, random: &mut Random) {
        if let Some(mut running) = self.running.take() {
            self.disk.hang_syncs();
            let count = random.below(running.queue.len() as u64 + 1) as usize;
            let frames: Vec<Frame> = running
                .queue
                .drain(..count)
                .flat_map(|append| append.frames)
                .collect();
            assert!(frames.is_empty() || running.log.append(&frames).is_err());
        }
        self.disk.crash(&mut |bound| random.below(bound));
    }

    /// Completes this many flushes.
    pub fn disk_done(&mut self, count: usize, oracle: &mut Oracle) {
        let Some(running) = &mut self.running else {
            return;
        };
        let done: Vec<Append> = running
            .queue
            .drain(..count.min(running.queue.len()))
            .collect();
        let Some(last) = done.last().map(|append| append.number) else {
            return;
        };
        let mut frames: Vec<Frame> = done.into_iter().flat_map(|append| append.frames).collect();
        if self.mutation == Mutation::IgnoreReplacement {
            let mut known = running.log.last().index;
            frames.retain(|frame| match frame {
                Frame::Entry { index, .. } => {
                    let keep = *index > known;
                    known = known.max(*index);
                    keep
                }
                _ => true,
            });
        }
        running.log.append(&frames).unwrap();
        oracle.flushed(self.id, &frames);
        if self.mutation != Mutation::PersistedBeforeFlush {
            running.group.persisted(last);
        }
    }

    /// Handles a client's command. False if this node does not lead.
    pub fn command(&mut self, command: Command, oracle: &mut Oracle) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        let event = running.machine.evaluate(command);
        let payload = event.encode();
        let Ok(id) = running.group.propose(payload.clone()) else {
            return false;
        };
        running.machine.apply(event).unwrap();
        running.speculative = id;
        running.proposals.push_back((id, payload));
        if self.mutation == Mutation::EffectBeforeCommit {
            oracle.acknowledge(command.number, id.index, id.term);
        } else {
            running.clients.push_back(Waiting {
                number: command.number,
                id,
            });
        }
        true
    }

    /// Writes a checkpoint of the current state as soon as that is committed, and compacts the log behind it.
    pub fn checkpoint(&mut self, keep: u64, oracle: &mut Oracle) {
        let Some(running) = &mut self.running else {
            return;
        };
        let id = match running.group.role() {
            Role::Leader { .. } if running.speculative.index > running.reported.index => {
                running.speculative
            }
            _ => running.reported,
        };
        running.checkpoint = Some(PendingCheckpoint {
            id,
            machine: running.machine.clone(),
        });
        self.try_checkpoint(keep, oracle);
    }

    fn try_checkpoint(&mut self, keep: u64, oracle: &mut Oracle) {
        let Some(running) = &mut self.running else {
            return;
        };
        let early = self.mutation == Mutation::SpeculativeCheckpoint;
        let ready =
            |pending: &PendingCheckpoint| early || pending.id.index <= running.reported.index;
        let Some(pending) = running.checkpoint.take_if(|pending| ready(pending)) else {
            return;
        };
        store(&mut self.kv, &pending.machine, pending.id);
        if let Some(id) = running.group.compact(pending.id.index.saturating_sub(keep)) {
            // Compaction may overtake pending appends: none of them concerns the compacted entries.
            if id.index <= running.log.last().index {
                running.log.compact(id.index, id.term).unwrap();
                let base = Frame::Base {
                    index: id.index,
                    term: id.term,
                    reset: false,
                };
                oracle.flushed(self.id, &[base]);
            }
        }
    }

    pub fn receive(&mut self, from: u64, bytes: Bytes) {
        if let Some(running) = &mut self.running {
            running.group.receive(from, Message::decode(bytes).unwrap());
        }
    }

    /// Carries out the group's requests. Returns messages to send.
    pub fn poll(&mut self, oracle: &mut Oracle) -> Vec<Message> {
        let mut messages = Vec::new();
        loop {
            let Some(running) = &mut self.running else {
                return messages;
            };
            let mut out = Output::default();
            running.group.poll(&mut out).unwrap();
            for append in out.appends {
                if self.mutation == Mutation::PersistedBeforeFlush {
                    running.group.persisted(append.number);
                }
                running.queue.push_back(append);
            }
            messages.append(&mut out.messages);
            let idle = out.events.is_empty() && !out.more;
            let committed = running.group.commit_index();
            self.evidence
                .installing
                .take_if(|snapshot| snapshot.index <= committed);
            for event in out.events {
                self.handle(event, oracle);
            }
            self.try_checkpoint(5, oracle);
            if idle {
                break;
            }
        }
        if let Some(running) = &self.running {
            let leads = running.group.leader() == Some(self.id);
            oracle.saw_term(self.id, running.group.term(), leads);
        }
        messages
    }

    fn handle(&mut self, event: Event, oracle: &mut Oracle) {
        let id = self.id;
        let Some(running) = &mut self.running else {
            return;
        };
        match event {
            Event::Apply(entry) => {
                oracle.committed(id, entry.index, entry.term, &entry.payload);
                if !entry.payload.is_empty() {
                    running
                        .machine
                        .apply(Counted::decode(entry.payload))
                        .unwrap();
                }
                running.reported = EntryId {
                    index: entry.index,
                    term: entry.term,
                };
                self.evidence.exported = entry.index;
                oracle.state_at(id, entry.index, running.machine.digest);
            }
            Event::Committed { index } => {
                while let Some((at, payload)) =
                    running.proposals.pop_front_if(|(at, _)| at.index <= index)
                {
                    oracle.committed(id, at.index, at.term, &payload);
                    running.reported = at;
                }
                assert_eq!(
                    running.reported.index, index,
                    "only own proposals are reported so"
                );
                self.evidence.exported = index;
                while let Some(waiting) = running
                    .clients
                    .pop_front_if(|waiting| waiting.id.index <= index)
                {
                    oracle.acknowledge(waiting.number, waiting.id.index, waiting.id.term);
                }
                if running.speculative.index == index {
                    oracle.state_at(id, index, running.machine.digest);
                }
            }
            Event::Role(Role::Leader { term }) => {
                oracle.leads(id, term);
                running.speculative = running.reported;
            }
            Event::Role(_) => {
                running.clients.clear();
                running.proposals.clear();
                running.checkpoint = None;
                if self.mutation != Mutation::KeepSpeculation {
                    running.rebuild(&self.kv);
                    oracle.state_at(id, running.reported.index, running.machine.digest);
                }
            }
            Event::ProduceSnapshot { to } => {
                let checkpoint = position(&self.kv);
                if checkpoint.index < running.group.base().index || checkpoint.index == 0 {
                    running.group.refuse_snapshot(to);
                    return;
                }
                let view = self.kv.view().unwrap();
                let mut stream = StreamWriter::new(&*view, 40).unwrap();
                let chunks = std::iter::from_fn(|| stream.next_chunk().unwrap());
                let source = Chunks {
                    rest: chunks.collect(),
                    pause: false,
                };
                let begin = log_begin(&running.group, checkpoint);
                running.group.offer_snapshot(to, begin, Box::new(source));
            }
            Event::SnapshotChunk { part, bytes, .. } => running.take_in(part, bytes),
            Event::Members(members) => self.news.push(note_voters(oracle, members)),
            Event::DiscardSnapshot => running.chunks.clear(),
            Event::InstallSnapshot { id: at } => {
                let chunks = std::mem::take(&mut running.chunks);
                let reader = StreamReader::new(chunks.into_iter().map(Ok)).unwrap();
                let meta = reader.meta().map(<[u8]>::to_vec);
                self.kv.install(Box::new(reader), meta).unwrap();
                let begin = at;
                let at = position(&self.kv);
                self.evidence.installing = Some(at);
                assert!(
                    begin.index < at.index || begin == at,
                    "the snapshot is the one that was announced"
                );
                running.machine = load(&self.kv);
                (running.reported, running.speculative) = (at, at);
                running.checkpoint = None;
                oracle.moved_to(id, at.index);
                oracle.state_at(id, at.index, running.machine.digest);
                running.group.snapshot_installed(at.index);
            }
        }
    }

    /// The position up to which entries were applied.
    pub fn reported(&self) -> u64 {
        self.running
            .as_ref()
            .map_or(0, |running| running.reported.index)
    }

    pub fn term(&self) -> u64 {
        let running = self.running.as_ref();
        running.map_or(0, |running| running.group.term())
    }

    pub fn leads(&self) -> bool {
        let role = self.running.as_ref().map(|running| running.group.role());
        matches!(role, Some(Role::Leader { .. }))
    }
}

impl Running {
    /// Takes a part of a snapshot; for some snapshots there is no room.
    fn take_in(&mut self, part: Part, bytes: Bytes) {
        if part.number == 0 {
            self.chunks.clear();
        }
        if part == no_room(part.arrival) {
            self.chunks.clear();
            self.group.abandon_snapshot(part);
        } else {
            self.chunks.push(bytes);
            self.group.snapshot_taken(part);
        }
    }

    /// Returns to the committed state: the checkpoint and the log after it.
    fn rebuild(&mut self, kv: &MemoryKv) {
        self.machine = load(kv);
        self.speculative = self.reported;
        let from = position(kv).index + 1;
        let reader = self.log.reader();
        let mut next = from;
        while next <= self.reported.index {
            let entries = reader.read(next, self.reported.index + 1, 1000).unwrap();
            for entry in entries {
                assert_eq!(entry.index, next);
                next += 1;
                if !entry.content().is_empty() {
                    self.machine.apply(Counted::decode(entry.payload)).unwrap();
                }
            }
        }
    }
}

fn note_voters(oracle: &mut Oracle, members: Members) -> Members {
    oracle.voters_are(members.index, members.voters.clone());
    members
}

/// The part of an arriving snapshot for which there is no room, for every other snapshot.
fn no_room(arrival: u64) -> Part {
    let number = match arrival % 4 {
        0 => 0,
        2 => arrival % 5,
        _ => u64::MAX,
    };
    Part { arrival, number }
}

/// Content of a reopened log, in the oracle's terms.
fn found(log: &Log, oracle: &Oracle) -> Durable {
    let base = log.base();
    let mut durable = Durable {
        base: (base.index, base.term),
        ..Durable::default()
    };
    let mut chain = oracle.chain(durable.base);
    for entry in log
        .reader()
        .read(base.index + 1, u64::MAX, usize::MAX)
        .unwrap()
    {
        chain = hash(&[chain, entry.index, entry.term], &entry.payload);
        let stored = Stored {
            term: entry.term,
            chain,
        };
        durable.entries.insert(entry.index, stored);
    }
    durable
}

/// The entry before the log of a replica that gets the checkpoint: some snapshots include a part of the log.
fn log_begin(group: &Group, checkpoint: EntryId) -> EntryId {
    let base = group.base().index;
    let index = base + (checkpoint.index - base) * (checkpoint.index % 3) / 2;
    let term = group.term_at(index).unwrap();
    EntryId { index, term }
}
