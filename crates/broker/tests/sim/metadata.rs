//! A simulated node's member of the metadata group: the real member over a disk that fails.

use std::sync::Arc;

use skep_broker::cluster::metadata_member::{
    Admission, MetadataError, MetadataMember, OnDisk, Surroundings, failed, stored_state,
};
use skep_cluster::{Entry, State};
use skep_replication::{EntryId, Members, Message, Output, Role};
use skep_storage::disk::MemoryDisk;
use skep_storage::log::{Frame, Log, LogConfig};

use super::node::found;
use super::oracle::Oracle;
use super::{Random, hash};

/// Data on the disk is durable at once: the real member waits for each write.
pub struct Metadata {
    pub member: u64,
    members: Members,
    /// The bootstrap state of the cluster, before it has begun.
    first: Option<State>,
    disk: MemoryDisk,
    stored: Option<Vec<u8>>,
    running: Option<Running>,
    /// The power fails after this many more writes.
    pub fuse: Option<u64>,
}

struct Running {
    core: MetadataMember,
    log: Log,
}

/// An event of a member.
pub enum MemberEvent {
    Tick,
    Message(Message),
    Propose(Entry),
}

/// Output of a member.
#[derive(Default)]
pub struct Said {
    pub messages: Vec<Message>,
    pub admissions: Vec<(u32, Admission)>,
    /// The state as stored now.
    pub state: Option<State>,
    /// Whether the power failed.
    pub failed: bool,
}

struct Around<'a> {
    log: &'a mut Log,
    stored: &'a mut Option<Vec<u8>>,
    fuse: &'a mut Option<u64>,
    oracle: &'a mut Oracle,
    member: u64,
    said: Said,
}

impl Around<'_> {
    fn burn(&mut self) -> Result<(), MetadataError> {
        match self.fuse {
            Some(0) => Err(failed("the power has failed")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Surroundings for Around<'_> {
    fn send(&mut self, message: Message) {
        self.said.messages.push(message);
    }

    fn append(&mut self, frames: &[Frame]) -> Result<(), MetadataError> {
        self.burn()?;
        self.log.append(frames).map_err(failed)?;
        self.oracle.flushed(self.member, frames);
        Ok(())
    }

    fn keep(&mut self, stored: &[u8]) -> Result<(), MetadataError> {
        self.burn()?;
        *self.stored = Some(stored.to_vec());
        Ok(())
    }

    fn compact(&mut self, upto: EntryId) -> Result<(), MetadataError> {
        self.burn()?;
        self.log.compact(upto.index, upto.term).map_err(failed)?;
        let base = Frame::Base {
            index: upto.index,
            term: upto.term,
            reset: false,
        };
        self.oracle.flushed(self.member, &[base]);
        Ok(())
    }

    fn state_is(&mut self, state: &State) {
        self.said.state = Some(state.clone());
    }

    fn admit(&mut self, node: u32, admission: Admission) {
        self.said.admissions.push((node, admission));
    }

    fn now(&self) -> i64 {
        0
    }
}

impl Metadata {
    pub fn new(member: u64, members: Members, first: Option<State>) -> Self {
        Self {
            member,
            members,
            first,
            disk: MemoryDisk::new(),
            stored: None,
            running: None,
            fuse: None,
        }
    }

    /// `seed`: for this life.
    pub fn start(&mut self, seed: u64, oracle: &mut Oracle) {
        let config = LogConfig {
            segment_bytes: 16384,
            grow_bytes: 4096,
            spare_segments: 0,
            compress_from: 0,
            salt: Some(hash(&[seed, self.member], &[])),
        };
        let (log, recovered) = Log::open(Arc::new(self.disk.clone()), "/own", config).unwrap();
        oracle.reopened(self.member, found(&log, oracle));
        let mut config = MetadataMember::config(self.member, self.members.clone());
        config.heartbeat_ticks = 3;
        config.election_ticks = 10;
        config.seed = hash(&[seed, self.member], b"own");
        let found = OnDisk {
            log: recovered,
            source: Box::new(log.reader()),
            stored: self.stored.clone(),
        };
        let core = MetadataMember::open(config, found, self.first.clone()).unwrap();
        self.fuse = None;
        self.running = Some(Running { core, log });
    }

    pub fn crash(&mut self, random: &mut Random) {
        self.running = None;
        self.disk.crash(&mut |bound| random.below(bound));
    }

    /// The last agreed state that it knows, if any.
    pub fn stored_state(&self) -> Option<State> {
        stored_state(self.stored.as_deref()?)
    }

    /// The member that it considers the leader.
    pub fn leader(&self) -> Option<u64> {
        self.running.as_ref()?.core.group().leader()
    }

    /// The members of its group, as far as it knows.
    pub fn members(&self) -> Option<&Members> {
        Some(self.running.as_ref()?.core.group().members())
    }

    /// Role, term and members, for people.
    pub fn shown(&self) -> String {
        let Some(running) = &self.running else {
            return "down".to_string();
        };
        let group = running.core.group();
        format!(
            "{:?} in {} {:?}",
            group.role(),
            group.term(),
            group.members()
        )
    }

    /// The state, if this member leads.
    pub fn leading(&self) -> Option<&State> {
        let core = &self.running.as_ref()?.core;
        matches!(core.group().role(), Role::Leader { .. }).then(|| core.state())
    }

    /// Passes an event to the member, and carries out the consequences.
    pub fn handle(&mut self, event: MemberEvent, oracle: &mut Oracle) -> Said {
        let Some(Running { core, log }) = &mut self.running else {
            return Said::default();
        };
        let mut around = Around {
            log,
            stored: &mut self.stored,
            fuse: &mut self.fuse,
            oracle,
            member: self.member,
            said: Said::default(),
        };
        match event {
            MemberEvent::Tick => core.tick(&mut around),
            MemberEvent::Message(message) => core.receive(message),
            MemberEvent::Propose(entry) => core.propose(entry),
        }
        let outcome = core.poll(&mut Output::default(), &mut around);
        let mut said = around.said;
        said.failed = outcome.is_err();
        let group = core.group();
        let leads = group.leader() == Some(self.member);
        oracle.saw_term(self.member, group.term(), leads);
        said
    }
}
