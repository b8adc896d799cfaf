//! A leader is replaced right after its engine has panicked, while a checkpoint is being stored.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use skep_cluster::member;
use skep_protocol::command::Request;
use skep_replication::{
    EntryId, EntrySource, Group, GroupConfig, LogEvidence, Members, Message, Output, RecoveredLog,
    Role,
};
use skep_storage::StorageError;
use skep_storage::log::{Entry, Recovered};

use super::replay_tests::{config, message, opened};
use super::{Partition, Polled};
use crate::config::{BrokerConfig, ClusterConfig};
use crate::partition::parts::background::{Background, Task};
use crate::partition::parts::effect_sink::{Effect, EffectSink, Others};
use crate::partition::parts::panics::Panic;
use crate::replica_file::ReplicaOf;

const DEADLINE: Duration = Duration::from_secs(180);

type Job = Box<dyn FnOnce() + Send>;

/// A disk that does not answer, until it does. The partition's thread must not wait for it.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Vec<Job>>>);

impl Background for Disk {
    fn run(&self, _: &str, job: Job) -> std::io::Result<Task> {
        self.0.lock().push(job);
        Ok(Task::new(|| panic!("the partition's thread waits")))
    }
}

impl Disk {
    fn answers(&self) {
        let jobs = std::mem::take(&mut *self.0.lock());
        jobs.into_iter().for_each(|job| job());
    }
}

/// The messages to other members.
#[derive(Default)]
struct Sent(Mutex<Vec<Message>>);

impl EffectSink for Sent {
    fn send(&self, effect: Effect) {
        if let Effect::Replicate(message) = effect {
            self.0.lock().push(message);
        }
    }

    fn others(&self, _: u32) -> Others {
        Others {
            replicated: u64::MAX,
            alive: vec![1, 2],
        }
    }
}

/// The log of a member that has all of it in memory.
struct InMemory;

impl EntrySource for InMemory {
    fn read(&self, from: u64, _: u64, _: usize) -> Result<Vec<Entry>, StorageError> {
        Err(StorageError::Compacted {
            index: from,
            first: from + 1,
        })
    }
}

/// One of three members without its thread, and another one. The third is away.
struct Pair {
    partition: Box<Partition>,
    polled: Polled,
    sent: Arc<Sent>,
    other: Group,
    /// Whether they hear each other.
    connected: bool,
    /// Whether time passes for the other one, which stands for election then.
    other_ticks: bool,
    _directory: tempfile::TempDir,
}

impl Pair {
    fn new() -> Pair {
        let directory = tempfile::tempdir().unwrap();
        let sent = Arc::new(Sent::default());
        let voters: Vec<u64> = (0..3).map(|node| member(node, 0)).collect();
        let config = BrokerConfig {
            partitions: 1,
            cluster: Some(ClusterConfig {
                gateway: false,
                size: 3,
                replication_factor: 3,
                listen: (Ipv4Addr::LOCALHOST, 1).into(),
                advertised: String::new(),
                contact_points: Vec::new(),
                election_timeout: Duration::from_millis(400),
                rebalance_pace: crate::config::REBALANCE_PACE,
                tls: None,
            }),
            ..config(directory.path())
        };
        let replica = ReplicaOf::bootstrap(member(0, 0), voters.clone());
        let recovered = RecoveredLog {
            log: Recovered::default(),
            checkpoint: EntryId::default(),
            source: Box::new(InMemory),
            evidence: LogEvidence::default(),
        };
        let of_other = GroupConfig::joining(1, member(1, 0), Members::bootstrap(voters));
        Pair {
            partition: opened(&config, &replica, sent.clone()),
            polled: Polled::default(),
            sent,
            other: Group::open(of_other, recovered).unwrap(),
            connected: true,
            other_ticks: false,
            _directory: directory,
        }
    }

    /// One turn of the partition's thread, and what the other member does meanwhile.
    fn turn(&mut self) {
        let partition = &mut self.partition;
        partition.drive(&mut self.polled).unwrap();
        partition.recover_from_panic().unwrap();
        partition.take_messages().unwrap();
        partition.run_scheduled().unwrap();
        partition.propose().unwrap();
        let messages = std::mem::take(&mut *self.sent.0.lock());
        if !self.connected {
            return;
        }
        let own = self.other.config().node;
        for message in messages.into_iter().filter(|it| it.to() == own) {
            self.other.receive(message.from(), message);
        }
        if self.other_ticks {
            self.other.tick();
        }
        for message in messages_of(&mut self.other) {
            let group = partition.core.group_mut();
            if message.to() == group.config().node {
                group.receive(message.from(), message);
            }
        }
    }

    fn until(&mut self, what: &str, holds: impl Fn(&Pair) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            assert!(began.elapsed() < DEADLINE, "still not: {what}");
            self.turn();
        }
    }

    /// Has a message published, and waits until that is committed.
    fn publish(&mut self) {
        let partition = &mut *self.partition;
        let (now, request) = (
            partition.env.clock.now(),
            Request::internal(message(1, "{}")),
        );
        let streams = &mut partition.delivery.streams;
        partition.core.process(now, None, &request, streams);
        partition.propose().unwrap();
        let last = partition.core.group().last_index();
        self.until("the message to be committed", |it| {
            it.partition.core.applied() >= last
        });
    }
}

/// Its messages, once everything that it writes is durable.
fn messages_of(group: &mut Group) -> Vec<Message> {
    let mut messages = Vec::new();
    loop {
        let mut output = Output::default();
        group.poll(&mut output).unwrap();
        if output.is_empty() {
            return messages;
        }
        for append in &output.appends {
            group.persisted(append.number);
        }
        messages.append(&mut output.messages);
    }
}

#[test]
fn a_leader_that_is_replaced_after_a_panic_follows_without_a_state_until_its_disk_answers() {
    let mut pair = Pair::new();
    pair.until("the partition to lead", |it| {
        it.partition.core.is_leader() && it.partition.core.applied() > 0
    });
    pair.publish();
    let disk = Disk::default();
    pair.partition.env.background = Box::new(disk.clone());
    pair.partition.capture_checkpoint();
    assert!(pair.partition.checkpointer.is_storing());
    // The engine has panicked.
    pair.partition.core.discard();
    pair.partition.panics.happened(Panic {
        text: "a bug".to_string(),
        ban: None,
    });
    pair.connected = false;
    pair.until("it to step down", |it| !it.partition.core.is_leader());
    assert!(pair.partition.lacks_state());

    // It votes for the other one, takes its entries and acknowledges them.
    let before = pair.partition.core.applied();
    (pair.connected, pair.other_ticks) = (true, true);
    pair.until("the other one to lead, with its vote", |it| {
        it.partition.core.applied() > before
    });
    assert!(matches!(pair.other.role(), Role::Leader { .. }));
    assert!(pair.partition.lacks_state());

    disk.answers();
    pair.until("its state", |it| !it.partition.lacks_state());
    let core = &pair.partition.core;
    assert!(!core.is_leader());
    assert_eq!(core.evaluated().0, core.applied());
    assert_eq!(core.engine().state.messages.len(), 1);
}
