//! A purge in the steps of `skep_cluster::Purge`: each machine stops its replicas; after the last one, the partitions start empty, with
//! other members and greater keys. Commands from before are still on their way.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use skep_cluster::member;
use skep_engine::Sent;

use super::Mutation;
use super::operators::LOOK;
use super::routes::Way;
use super::world::{Happening, MACHINES, RETRY, ReplicaId, Watched, World};

/// Number of keys to skip: copies may have assigned keys that nobody else knows.
const KEYS: u64 = 1 << 28;
/// Within so many microseconds after a purge come those commands from before that a paused node has kept.
const LATE: u64 = 700_000;
/// Number of such commands.
const KEPT: usize = 64;
/// Within so many microseconds each machine begins to end its copies.
const BEGINS: u64 = 100_000;

#[derive(Default)]
pub struct Purge {
    /// How often everything was purged.
    pub incarnation: u64,
    /// By partition: keys up to this counter were purged.
    pub purged: BTreeMap<u32, u64>,
    /// During a purge: the machines whose copies are gone.
    pub left: Option<BTreeSet<u32>>,
    /// The last commands on their way between machines.
    pub sent: VecDeque<OnItsWay>,
}

/// A command between machines.
#[derive(Clone)]
pub struct OnItsWay {
    pub to: u32,
    pub partition: u32,
    pub sent: Sent,
    pub way: Way,
}

impl Purge {
    /// New keys of the partition are above this counter.
    pub fn least_key(&self, partition: u32) -> u64 {
        self.purged.get(&partition).copied().unwrap_or_default()
    }
}

impl World {
    /// The members of all groups.
    pub fn members(&self) -> Vec<u64> {
        let incarnation = self.operators.purge.incarnation;
        (0..MACHINES)
            .map(|host| member(host, incarnation))
            .collect()
    }

    /// Whether the machine has ended its copy, or has lost it, and may not start it again.
    pub fn has_left(&self, place: ReplicaId) -> bool {
        let left = self.operators.purge.left.as_ref();
        left.is_some_and(|left| left.contains(&place.1)) || self.is_lost(place)
    }

    /// Clients begin from nothing afterwards: in some worlds, and once.
    pub fn begin_purging(&mut self) {
        if !self.seed.is_multiple_of(2) || self.operators.purge.incarnation > 0 {
            return;
        }
        self.operators.purge.left = Some(BTreeSet::new());
        for host in 0..MACHINES {
            let delay = self.random.below(BEGINS);
            self.after(delay, Happening::Leaves { host });
        }
    }

    /// A machine ends its copies. A purge waits for those that are down.
    pub fn leaves(&mut self, host: u32) {
        if !self.hosts[host as usize].up {
            return self.after(LOOK, Happening::Leaves { host });
        }
        for partition in self.there() {
            let replica = self.replicas.get_mut(&(partition, host)).unwrap();
            replica.node.dies();
            replica.died = None;
        }
        if let Some(left) = &mut self.operators.purge.left {
            left.insert(host);
        }
    }

    pub fn go_on_purging(&mut self) {
        let left = self.operators.purge.left.as_ref();
        if left.is_some_and(|left| left.len() == MACHINES as usize) {
            self.begin_anew();
        }
    }

    fn begin_anew(&mut self) {
        self.operators.purge.left = None;
        self.operators.purge.incarnation += 1;
        for partition in self.there() {
            let newest = self.chronicle.newest_key(partition);
            let purged = self.operators.purge.purged.entry(partition).or_default();
            *purged = newest.max(*purged) + KEYS;
        }
        // Their connections have ended with the leaders that would have carried them out.
        self.agenda
            .retain(|happening| !matches!(happening, Happening::Request { .. }));
        self.clients.forget();
        let purged = self.operators.purge.purged.clone();
        self.chronicle.forget(purged);
        for kept in std::mem::take(&mut self.operators.purge.sent) {
            let late = self.random.below(LATE);
            let OnItsWay {
                to: host,
                partition,
                sent,
                way,
            } = kept;
            let sent = Box::new(sent);
            let comes = Happening::Remote {
                host,
                partition,
                sent,
                way,
            };
            self.after(late, comes);
        }
        self.tally.add("purges", 1);
        self.forget_relocations();
        for partition in self.there() {
            self.groups.insert(partition, Watched::of(self.members()));
            for host in 0..MACHINES {
                let life = self.replicas[&(partition, host)].node.life;
                let mut replica = self.replica(partition, host);
                // Events of the copy before are dropped.
                replica.node.life = life;
                self.replicas.insert((partition, host), replica);
            }
            for host in 0..MACHINES {
                if self.hosts[host as usize].up {
                    self.start_replica((partition, host));
                }
            }
        }
    }

    /// A machine may keep a copy of the command for long.
    pub fn is_sent(&mut self, command: OnItsWay) {
        let sent = &mut self.operators.purge.sent;
        if sent.len() == KEPT {
            sent.pop_front();
        }
        sent.push_back(command);
    }

    /// Microseconds by which a command is late. Some commands are delayed for as long as a node holds them.
    pub fn lateness(&mut self) -> u64 {
        let is_late = self.calm.faults && self.random.below(30) == 0;
        let longest = if is_late { 1000 * RETRY as u64 } else { 1 };
        self.random.below(longest)
    }

    /// Whether the command is from before a purge, as `Local::is_purged` decides it.
    pub fn is_purged(&self, sent: &Sent) -> bool {
        let Some(key) = sent.command.made_with() else {
            return false;
        };
        let home = self.routing.home(key);
        let purged = home.and_then(|home| self.operators.purge.purged.get(&home));
        let is_old = purged.is_some_and(|purged| key.counter() <= *purged);
        is_old && self.mutation != Mutation::OldCommandsCount
    }
}
