//! One simulated node: the real partition core over a log on a faulty disk.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use skep_broker::partition::PublishedDirectory;
use skep_broker::partition::checkpoint::CheckpointMeta;
use skep_broker::partition::core::{PartitionCore, Polled};
use skep_cluster::SurvivingCopy;
use skep_engine::state::{State, VariableNames, table::EmptyStore};
use skep_engine::{Effects, Engine, EngineConfig, JobStreams, Reservation};
use skep_identity::Directory;
use skep_replication::{
    Append, EntryId, Event, Group, GroupConfig, LogEvidence, Members, Message, RecoveredLog, Role,
    SnapshotPoll, SnapshotSource, force_single_voter,
};
use skep_storage::disk::MemoryDisk;
use skep_storage::log::{Frame, Log, LogConfig, LogReader, Recovered};

use super::oracle::{Durable, Oracle, Stored};
use super::store::Store;
use super::{Mutation, Random, hash};

pub const VOTERS: [u64; 3] = [1, 2, 3];
/// Number of entries kept in the log before a checkpoint.
const KEEP: u64 = 10;

/// One job stream with a credit.
pub struct Streams(pub u64);

impl JobStreams for Streams {
    fn reserve(
        &mut self,
        job_type: &str,
        _may: &mut dyn FnMut(&skep_protocol::origin::Claims, &skep_protocol::Tenants) -> bool,
    ) -> Option<Reservation> {
        if job_type != super::clients::JOB_TYPE {
            return None;
        }
        self.0 = self.0.checked_sub(1)?;
        Some(Reservation {
            stream: 1,
            worker: "stream".into(),
            timeout: 700,
            fetch_variables: VariableNames::all(),
            tenant_filter: skep_protocol::TenantFilter::default(),
        })
    }

    fn has_credit(&mut self, _job_type: &str) -> bool {
        self.0 > 0
    }

    fn release(&mut self, _reservation: Reservation) {
        self.0 += 1;
    }
}

pub struct Running {
    pub core: PartitionCore,
    pub streams: Streams,
    log: Log,
    /// Appends handed to the disk and not flushed, in order.
    pub queue: VecDeque<Append>,
    pub disk_busy: bool,
    /// Term and payload of entries handed out for appending.
    entries: BTreeMap<u64, (u64, Bytes)>,
    /// Proposed entries whose effects wait.
    proposed: VecDeque<EntryId>,
    /// Digests of the leader's state after uncommitted entries.
    speculative: BTreeMap<u64, u64>,
    reported: u64,
    checked: u64,
    checkpoint: Option<CheckpointMeta>,
    /// Chunks of the snapshot being received.
    chunks: Vec<Bytes>,
    /// Whether the engine failed within a command; its state is rebuilt when nothing is in flight.
    panicked: bool,
    polled: Polled,
    published: PublishedDirectory,
    /// The directory of users and permissions that the node goes by.
    shown: Directory,
}

pub struct Settings {
    /// Also determines the partition.
    pub engine: EngineConfig,
    /// Ticks without work after which the group hibernates.
    hibernate_after: Option<usize>,
    /// See [`GroupConfig::write_ticks`].
    pub write_ticks: Option<usize>,
    /// States are compared with those of other nodes after one in this many entries: it takes a copy of all rows.
    pub states_one_in: u64,
    /// The same for users and permissions, which have few rows.
    pub directories_one_in: u64,
}

/// Whether something is compared after this entry: the same entries on all nodes, in no step with what clients do.
fn compares(index: u64, one_in: u64) -> bool {
    hash(&[index], &[]).is_multiple_of(one_in)
}

pub struct Node {
    pub id: u64,
    pub disk: MemoryDisk,
    store: Store,
    pub running: Option<Running>,
    /// Number of starts, so that events of an earlier life are dropped.
    pub life: u64,
    pub rebuilds: u64,
    pub step_downs: u64,
    pub checkpoints: u64,
    pub compactions: u64,
    pub installs: u64,
    pub panics: u64,
    mutation: Mutation,
    seed: u64,
    /// Members at its first start.
    members: Members,
    pub settings: Settings,
    /// The embedded store, which is filled at once, and the snapshot being installed.
    evidence: LogEvidence,
}

/// Output of a node.
#[derive(Default)]
pub struct Left {
    pub messages: Vec<Message>,
    pub effects: Vec<Effects>,
    /// Entries newly known to be committed.
    pub committed: Vec<(u64, Bytes)>,
    /// Batches that were proposed or received, whether committed or not.
    pub appended: Vec<Bytes>,
    /// Membership changes that took effect.
    pub members: Vec<Members>,
}

fn digest(engine: &Engine) -> u64 {
    let mut sum = 0;
    for ((table, key), row) in engine.state.dump() {
        sum = hash(&[sum, u64::from(table), key.len() as u64], &key);
        sum = hash(&[sum, row.len() as u64], &row);
    }
    sum
}

fn directory_digest(directory: &Directory) -> u64 {
    hash(&[], &skep_protocol::record::encode(&directory.rows()))
}

/// The chunks of a snapshot, in order of the requests.
struct Chunks(VecDeque<Bytes>);

impl SnapshotSource for Chunks {
    fn poll_chunk(&mut self) -> SnapshotPoll {
        let chunk = self.0.pop_front();
        chunk.map_or(SnapshotPoll::End, SnapshotPoll::Chunk)
    }
}

/// Settings that make many things happen in little time.
pub fn engine_config() -> EngineConfig {
    EngineConfig {
        retry_interval: 150,
        // So few that work is deferred again and again.
        turn_steps: 5,
        ..EngineConfig::default()
    }
}

fn open_engine(store: &Store, config: &EngineConfig) -> (Engine, CheckpointMeta) {
    let meta = store.meta();
    let state = State::open(config.partition, Arc::new(store.clone())).unwrap();
    let engine = Engine::new(config.clone(), state, meta.next_position);
    (engine, meta)
}

fn empty_engine(next_position: u64, config: &EngineConfig) -> Engine {
    let state = State::open(config.partition, Arc::new(EmptyStore)).unwrap();
    Engine::new(config.clone(), state, next_position)
}

/// The state as of entry `to`: the checkpoint and the log after it. Also the term of that entry.
fn rebuilt(
    (store, config): (&Store, &EngineConfig),
    reader: &LogReader,
    to: u64,
    replay: bool,
) -> (Engine, u64) {
    let (mut engine, meta) = open_engine(store, config);
    let (mut from, mut term) = (meta.index + 1, meta.term);
    while replay && from <= to {
        for entry in reader.read(from, to + 1, 2000).unwrap() {
            assert_eq!(entry.index, from);
            (from, term) = (entry.index + 1, entry.term);
            if !entry.content().is_empty() {
                engine.apply(&entry.payload).unwrap();
            }
        }
    }
    (engine, term)
}

impl Node {
    pub fn new(
        id: u64,
        members: Members,
        hibernate_after: Option<usize>,
        seed: u64,
        mutation: Mutation,
    ) -> Self {
        Self {
            id,
            disk: MemoryDisk::new(),
            store: Store::default(),
            running: None,
            life: 0,
            rebuilds: 0,
            step_downs: 0,
            checkpoints: 0,
            compactions: 0,
            installs: 0,
            panics: 0,
            mutation,
            seed,
            members,
            settings: Settings {
                engine: engine_config(),
                hibernate_after,
                write_ticks: None,
                states_one_in: 4,
                directories_one_in: 1,
            },
            evidence: LogEvidence::default(),
        }
    }

    fn open_log(&self) -> (Log, Recovered) {
        let config = LogConfig {
            segment_bytes: 16384,
            grow_bytes: 4096,
            spare_segments: 1,
            compress_from: 0,
            salt: Some(hash(&[self.seed, self.id], &[])),
        };
        Log::open(Arc::new(self.disk.clone()), "/log", config).unwrap()
    }

    /// The copy from which the group could continue if the other replicas were lost.
    pub fn survives(&self, partition: u32) -> SurvivingCopy {
        let group = self.running.as_ref().unwrap().core.group();
        let (members, last) = (group.members(), group.last_in_log());
        SurvivingCopy {
            partition,
            member: self.id,
            members_index: members.index,
            voters: members.voters.clone(),
            term: last.term,
            index: last.index,
            last_key: 0,
        }
    }

    /// Recovers from the loss of the others: continues as another member, alone. The node is stopped.
    pub fn continue_as(&mut self, own: u64, plan: u64, oracle: &mut Oracle) -> Members {
        self.store.forget();
        let meta = self.store.meta();
        let checkpoint = EntryId {
            index: meta.index,
            term: meta.term,
        };
        let (mut log, recovered) = self.open_log();
        let members = force_single_voter(1, (&mut log, &recovered), checkpoint, own, plan).unwrap();
        oracle.is_gone(self.id);
        oracle.voters_are(members.index, members.voters.clone());
        (self.id, self.members) = (own, members.clone());
        members
    }

    pub fn start(&mut self, oracle: &mut Oracle) {
        let (log, recovered) = self.open_log();
        oracle.reopened(self.id, found(&log, oracle));
        self.store.forget();
        let (engine, meta) = open_engine(&self.store, &self.settings.engine);
        let partition = self.settings.engine.partition;
        let mut config = GroupConfig::joining(partition, self.id, self.members.clone());
        config.election_ticks = 10;
        config.hibernate_after_ticks = self.settings.hibernate_after;
        config.write_ticks = self.settings.write_ticks;
        config.seed = hash(&[self.seed, self.id, self.life], &[]);
        config.max_cached_bytes = 2000;
        config.max_message_bytes = 2000;
        config.max_apply_bytes = 1500;
        config.max_uncommitted_bytes = 6000;
        config.max_unpersisted_appends = 4;
        config.max_inflight_messages = 4;
        let recovered = RecoveredLog {
            log: recovered,
            checkpoint: EntryId {
                index: meta.index,
                term: meta.term,
            },
            source: Box::new(log.reader()),
            evidence: self.evidence,
        };
        let group = Group::open(config, recovered).unwrap();
        oracle.moved_to(self.id, meta.index);
        self.life += 1;
        self.running = Some(Running {
            core: PartitionCore::new(engine, group, (meta.index, meta.term)),
            streams: Streams(0),
            log,
            queue: VecDeque::new(),
            disk_busy: false,
            entries: BTreeMap::new(),
            proposed: VecDeque::new(),
            speculative: BTreeMap::new(),
            reported: meta.index,
            checked: 0,
            checkpoint: None,
            chunks: Vec::new(),
            panicked: false,
            polled: Polled::default(),
            published: PublishedDirectory::default(),
            shown: Directory::default(),
        });
    }

    /// Cuts the power, perhaps during a flush.
    pub fn crash(&mut self, random: &mut Random) {
        if let Some(mut running) = self.running.take() {
            self.disk.hang_syncs();
            let count = random.below(running.queue.len() as u64 + 1) as usize;
            let appends = running.queue.drain(..count);
            let frames: Vec<Frame> = appends.flat_map(|append| append.frames).collect();
            assert!(frames.is_empty() || running.log.append(&frames).is_err());
        }
        self.disk.crash(&mut |bound| random.below(bound));
    }

    /// Ends the node by itself, without its machine: files stay as they are.
    pub fn dies(&mut self) {
        self.running = None;
    }

    /// Completes this many flushes.
    pub fn disk_done(&mut self, count: usize, oracle: &mut Oracle) {
        let Some(running) = &mut self.running else {
            return;
        };
        running.disk_busy = false;
        let count = count.min(running.queue.len());
        let done: Vec<Append> = running.queue.drain(..count).collect();
        let Some(last) = done.last().map(|append| append.number) else {
            return;
        };
        let frames: Vec<Frame> = done.into_iter().flat_map(|append| append.frames).collect();
        running.log.append(&frames).unwrap();
        oracle.flushed(self.id, &frames);
        if self.mutation != Mutation::PersistedBeforeFlush {
            running.core.group_mut().persisted(last);
        }
    }

    pub fn receive(&mut self, from: u64, bytes: Bytes) {
        if let Some(running) = &mut self.running {
            let message = Message::decode(bytes).unwrap();
            running.core.group_mut().receive(from, message);
        }
    }

    /// The core of a node that accepts commands.
    pub fn leading(&mut self) -> Option<&mut Running> {
        self.running.as_mut().filter(|r| r.core.has_room())
    }

    /// Proposes the evaluated commands.
    pub fn propose(&mut self, oracle: &mut Oracle, releases: &mut u64) {
        let Some(running) = &mut self.running else {
            return;
        };
        let before = running.core.evaluated();
        let Some(index) = running.core.propose().unwrap() else {
            return;
        };
        let (last, term) = running.core.evaluated();
        let id = EntryId { index, term };
        running.proposed.push_back(id);
        let compares = compares(index, self.settings.states_one_in);
        if compares && last != before.0 && running.core.engine().batch_len() == 0 {
            let digest = digest(running.core.engine());
            running.speculative.insert(index, digest);
        }
        if self.mutation == Mutation::EffectBeforeCommit {
            *releases += 1;
            oracle.acknowledge(*releases, index, term);
        }
    }

    /// Makes the engine fail within a command: commands evaluated but not proposed are lost.
    pub fn panic(&mut self) {
        if let Some(running) = self.running.as_mut().filter(|r| r.core.has_room()) {
            self.panics += 1;
            running.core.discard();
            running.panicked = true;
        }
    }

    /// Whether parts of a snapshot have arrived, and others have not.
    pub fn takes_snapshot(&self) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|running| !running.chunks.is_empty())
    }

    /// Takes the changed rows out of the state; they are stored when their entry is committed.
    pub fn capture_checkpoint(&mut self) {
        let Some(running) = &mut self.running else {
            return;
        };
        let core = &mut running.core;
        if running.checkpoint.is_some() || core.is_stale() || core.engine().batch_len() > 0 {
            return;
        }
        let (index, term) = core.evaluated();
        if index == 0 {
            return;
        }
        let next_position = core.engine().next_position();
        core.engine_mut().state.checkpoint(&mut self.store);
        running.checkpoint = Some(CheckpointMeta {
            index,
            term,
            next_position,
        });
    }

    fn store_checkpoint(&mut self, oracle: &mut Oracle) {
        let Some(running) = &mut self.running else {
            return;
        };
        let early = self.mutation == Mutation::SpeculativeCheckpoint;
        let applied = running.core.applied();
        let Some(meta) = running
            .checkpoint
            .take_if(|meta| early || meta.index <= applied)
        else {
            return;
        };
        self.store.commit(meta);
        self.checkpoints += 1;
        // Twice: recently used rows get a second chance.
        running.core.engine_mut().state.evict(0);
        running.core.engine_mut().state.evict(0);
        // The log is compacted, whoever may still need it.
        let upto = meta.index.saturating_sub(KEEP);
        if let Some(id) = running.core.group_mut().compact(upto)
            && id.index <= running.log.last().index
        {
            running.log.compact(id.index, id.term).unwrap();
            self.compactions += 1;
            let base = Frame::Base {
                index: id.index,
                term: id.term,
                reset: false,
            };
            oracle.flushed(self.id, &[base]);
        }
    }

    /// Carries out the core's requests, as the partition thread does.
    pub fn poll(&mut self, oracle: &mut Oracle, releases: &mut u64) -> Left {
        let mut left = Left::default();
        while self.poll_once(oracle, releases, &mut left) {
            self.store_checkpoint(oracle);
        }
        self.store_checkpoint(oracle);
        if let Some(running) = &self.running {
            let group = running.core.group();
            oracle.saw_term(self.id, group.term(), group.leader() == Some(self.id));
        }
        left
    }

    fn poll_once(&mut self, oracle: &mut Oracle, releases: &mut u64, left: &mut Left) -> bool {
        let (id, mutation) = (self.id, self.mutation);
        let Some(running) = &mut self.running else {
            return false;
        };
        let mut polled = std::mem::take(&mut running.polled);
        // These mutations show only where the state comes from the disk.
        if matches!(
            mutation,
            Mutation::RebuildWithoutLog | Mutation::SpeculativeCheckpoint
        ) {
            running.core.engine_mut().keep_undo(false);
        }
        running.core.poll(&mut polled).unwrap();
        running.publish_released(id, &polled, oracle);
        for append in polled.output.appends.drain(..) {
            left.appended.extend(batches(&append));
            if mutation == Mutation::PersistedBeforeFlush {
                running.core.group_mut().persisted(append.number);
            }
            running.append(append);
        }
        left.messages.append(&mut polled.output.messages);
        let mut install = None;
        for event in &polled.output.events {
            if let Event::InstallSnapshot { id: at } = event {
                install = Some(*at);
            }
            running.learn(id, event, &self.store, oracle, left);
        }
        running.entries = running.entries.split_off(&running.reported);
        for released in polled.released.drain(..) {
            let entry = running.proposed.pop_front().unwrap();
            assert_eq!(entry.index, released.index);
            if mutation != Mutation::EffectBeforeCommit {
                *releases += 1;
                oracle.acknowledge(*releases, entry.index, entry.term);
            }
            left.effects.push(released.effects);
        }
        assert_eq!(running.core.applied(), running.reported);
        if let Some(at) = install {
            self.installs += 1;
            running.install(at, (&self.store, &self.settings.engine), mutation);
            self.evidence.installing = Some(self.store.checkpoint());
            oracle.moved_to(id, running.reported);
        } else if polled.lost_leadership || running.panicked && !running.core.is_in_flight() {
            running.forget(polled.kept);
            if running.core.is_void() {
                self.rebuilds += 1;
                running.rebuild((&self.store, &self.settings.engine), mutation);
            } else {
                self.step_downs += 1;
                if mutation == Mutation::StepDownWithoutUndo {
                    running.keep_what_is_proposed();
                }
            }
        }
        running.publish_state(id, &polled, mutation, oracle);
        if install.is_none() {
            self.evidence.exported = running.reported;
        }
        let committed = running.core.group().commit_index();
        let installing = &mut self.evidence.installing;
        installing.take_if(|snapshot| snapshot.index <= committed);
        running.check(id, &self.settings, oracle);
        let busy = polled.output.more || !polled.output.events.is_empty();
        running.polled = polled;
        busy
    }
}

impl Running {
    /// Hands an append to the disk.
    fn append(&mut self, append: Append) {
        for frame in &append.frames {
            if let Frame::Entry {
                index,
                term,
                tag,
                payload,
            } = frame
            {
                // Replication's own entries have no content.
                let content = if *tag == 0 {
                    payload.clone()
                } else {
                    Bytes::new()
                };
                self.entries.insert(*index, (*term, content));
            }
        }
        self.queue.push_back(append);
    }

    fn learn(
        &mut self,
        id: u64,
        event: &Event,
        store: &Store,
        oracle: &mut Oracle,
        left: &mut Left,
    ) {
        match event {
            Event::Apply(entry) => {
                oracle.committed(id, entry.index, entry.term, &entry.payload);
                left.committed.push((entry.index, entry.payload.clone()));
                self.reported = entry.index;
            }
            Event::Committed { index } => {
                for index in self.reported + 1..=*index {
                    let (term, payload) = &self.entries[&index];
                    oracle.committed(id, index, *term, payload);
                    left.committed.push((index, payload.clone()));
                }
                self.reported = *index;
                let later = self.speculative.split_off(&(*index + 1));
                for (at, digest) in std::mem::replace(&mut self.speculative, later) {
                    oracle.state_at(id, at, digest);
                }
            }
            Event::Role(Role::Leader { term }) => oracle.leads(id, *term),
            Event::ProduceSnapshot { to } => self.offer_snapshot(*to, store),
            Event::SnapshotChunk { part, bytes, .. } => {
                if part.number == 0 {
                    self.chunks.clear();
                }
                self.chunks.push(bytes.clone());
                self.core.group_mut().snapshot_taken(*part);
            }
            Event::DiscardSnapshot => self.chunks.clear(),
            Event::Members(members) => {
                oracle.voters_are(members.index, members.voters.clone());
                left.members.push(members.clone());
            }
            Event::Role(_) | Event::InstallSnapshot { .. } => {}
        }
    }

    fn offer_snapshot(&mut self, to: u64, store: &Store) {
        let meta = store.meta();
        let group = self.core.group_mut();
        if meta.index == 0 || meta.index < group.base().index {
            return group.refuse_snapshot(to);
        }
        // Some snapshots include a part of the log, as for an exporter that is behind.
        let base = group.base().index;
        let index = base + (meta.index - base) * (meta.index % 3) / 2;
        let term = group.term_at(index).unwrap();
        let begin = EntryId { index, term };
        group.offer_snapshot(to, begin, Box::new(Chunks(store.chunks())));
    }

    /// Forgets evaluated and uncommitted entries: those after `kept`.
    fn forget(&mut self, kept: u64) {
        self.proposed.clear();
        self.speculative.clear();
        self.checkpoint.take_if(|meta| meta.index > kept);
        self.checked = 0;
        self.panicked = false;
    }

    /// `begin`: the entry before the first one in the log.
    fn install(
        &mut self,
        begin: EntryId,
        (store, config): (&Store, &EngineConfig),
        mutation: Mutation,
    ) {
        self.forget(0);
        store.install(std::mem::take(&mut self.chunks));
        let (engine, meta) = open_engine(store, config);
        let at = EntryId {
            index: meta.index,
            term: meta.term,
        };
        assert!(begin.index < at.index || begin == at);
        self.reported = at.index;
        let engine = match mutation {
            Mutation::SnapshotWithoutState => empty_engine(meta.next_position, config),
            _ => engine,
        };
        self.core.installed(engine, at);
        self.state_is_new(mutation);
    }

    fn state_is_new(&mut self, mutation: Mutation) {
        if mutation != Mutation::VersionsAcrossStates {
            self.published.state_is_new();
        }
    }

    fn publish_released(&mut self, id: u64, polled: &Polled, oracle: &mut Oracle) {
        let released = self.published.released(&polled.released);
        self.show(id, released, oracle);
    }

    fn publish_state(&mut self, id: u64, polled: &Polled, mutation: Mutation, oracle: &mut Oracle) {
        let is_committed = polled.became_leader || !self.core.is_leader();
        if is_committed || mutation == Mutation::PublishesProposals {
            let of_state = self.published.of_state(&self.core);
            self.show(id, of_state, oracle);
        }
    }

    /// The node goes by this directory from now on, if there is a new one.
    fn show(&mut self, id: u64, published: Option<Directory>, oracle: &mut Oracle) {
        if let Some(directory) = published {
            let digest = directory_digest(&directory);
            oracle.directory_at(id, self.published.entry(), digest);
            self.shown = directory;
        }
    }

    /// Applies uncommitted entries, as a deposed leader must not.
    fn keep_what_is_proposed(&mut self) {
        for (_, payload) in self.entries.values() {
            let _ = self.core.engine_mut().apply(payload);
        }
    }

    fn rebuild(&mut self, (store, config): (&Store, &EngineConfig), mutation: Mutation) {
        self.forget(0);
        store.forget();
        let replay = mutation != Mutation::RebuildWithoutLog;
        let applied = self.core.applied();
        let (engine, term) = rebuilt((store, config), &self.log.reader(), applied, replay);
        self.core.rebuild(engine, term);
        self.state_is_new(mutation);
    }

    /// Compares the state with that of others, when nothing is in progress.
    fn check(&mut self, id: u64, settings: &Settings, oracle: &mut Oracle) {
        let core = &self.core;
        let settled = !core.is_stale() && core.engine().batch_len() == 0;
        if settled && core.evaluated().0 == core.applied() && self.checked != core.applied() {
            self.checked = core.applied();
            if compares(self.checked, settings.states_one_in) {
                oracle.state_at(id, self.checked, digest(core.engine()));
            }
            if !compares(self.checked, settings.directories_one_in) {
                return;
            }
            let directory = directory_digest(&core.engine().state.identity.directory);
            oracle.directory_at(id, self.checked, directory);
            assert_eq!(
                directory_digest(&self.shown),
                directory,
                "node {id} goes by other users and permissions than its state has after entry {}",
                self.checked
            );
        }
    }
}

/// The batches of an append.
fn batches(append: &Append) -> impl Iterator<Item = Bytes> + '_ {
    append.frames.iter().filter_map(|frame| match frame {
        Frame::Entry {
            tag: 0, payload, ..
        } => Some(payload.clone()),
        _ => None,
    })
}

/// Content of a reopened log, in the oracle's terms.
pub fn found(log: &Log, oracle: &Oracle) -> Durable {
    let base = log.base();
    let mut durable = Durable {
        base: (base.index, base.term),
        ..Durable::default()
    };
    let mut chain = oracle.chain(durable.base);
    let entries = log.reader().read(base.index + 1, u64::MAX, usize::MAX);
    for entry in entries.unwrap() {
        let term = entry.term;
        chain = hash(&[chain, entry.index, term], &entry.payload);
        durable.entries.insert(entry.index, Stored { term, chain });
    }
    durable
}
