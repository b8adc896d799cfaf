//! Operators: their requests to the cluster, and the final checks.

use std::collections::{BTreeMap, BTreeSet};

use skep_cluster::{Entry, ReplicaState, Request, State};
use skep_replication::Role;

use super::metadata::{MemberEvent, Metadata};
use super::world::World;
use super::{Mutation, hash};

/// Time limits in microseconds, without faults: for the next step of a change, and for all requested changes.
const STEP: u64 = 5_000_000;
const ALL: u64 = 60_000_000;

#[derive(Default)]
pub struct Operators {
    /// The machine whose disk is lost, until the cluster has removed it.
    pub lost: Option<u32>,
    /// Digests of agreed states by revision: all nodes must agree on each.
    history: BTreeMap<u64, u64>,
    newest: State,
}

impl Operators {
    /// Checks a state that a node acts on.
    pub fn agreed(&mut self, state: &State) {
        let digest = hash(&[], &state.encode());
        let known = *self.history.entry(state.revision).or_insert(digest);
        assert_eq!(
            known, digest,
            "nodes disagree on revision {} of the cluster's state: {state:?}",
            state.revision
        );
        if state.revision > self.newest.revision {
            self.newest = state.clone();
        }
    }

    /// The members of the metadata group, as far as any node knows.
    pub fn metadata_members(&self) -> BTreeSet<u64> {
        World::wanted(&self.newest).1.into_iter().collect()
    }
}

impl World {
    /// The node that considers itself the leader of the metadata group, with its state.
    fn metadata_leader(&mut self) -> Option<(u32, State)> {
        let now = self.agenda.now;
        let leads = |(host, here): (&u32, &super::host::Host)| {
            let own = here
                .own
                .as_ref()
                .filter(|_| here.up && here.paused_until <= now)?;
            Some((*host, own.leading()?.clone()))
        };
        let mut leaders: Vec<_> = self.hosts.iter().filter_map(leads).collect();
        let at = self.random.below(leaders.len() as u64) as usize;
        (!leaders.is_empty()).then(|| leaders.swap_remove(at))
    }

    /// Requests a random change of the cluster.
    pub fn operate(&mut self) {
        if !self.faults {
            return;
        }
        let Some((host, state)) = self.metadata_leader() else {
            return;
        };
        self.look_after_machines();
        if let Some(running) = &state.running {
            let lost = self.operators.lost.is_some();
            if self.random.below(if lost { 3 } else { 12 }) == 0 {
                self.tally.cancelled += 1;
                let (change, now) = (running.id, 0);
                self.metadata_event(host, MemberEvent::Propose(Entry::Cancel { change, now }));
            }
        } else if let Some(request) = self.wish(&state) {
            self.ask(host, &state, &request);
        }
    }

    /// Stops nodes that are no longer members, and replaces a lost disk by an empty one.
    fn look_after_machines(&mut self) {
        let state = self.operators.newest.clone();
        if !state.is_bootstrapped() || state.running.is_some() {
            return;
        }
        self.operators.lost = self
            .operators
            .lost
            .filter(|lost| state.nodes.contains_key(lost));
        for host in 0..self.hosts.len() as u32 {
            let gone = !state.nodes.contains_key(&host) && self.hosts[&host].own.is_some();
            // Occasionally one is not stopped, and is added again as it is.
            if gone && (!self.faults || self.random.below(3) == 0) {
                self.wipe(host);
            }
        }
    }

    pub fn wipe(&mut self, host: u32) {
        self.crash(host);
        let here = self.host(host);
        here.own = None;
        here.known = State::default();
        if let Some(replica) = here.replica.take() {
            self.remove_replica(replica);
        }
    }

    fn wish(&mut self, state: &State) -> Option<Request> {
        if let Some(lost) = self.operators.lost {
            let brokers = vec![lost];
            return Some(Request::ForceRemove { brokers });
        }
        let (replicas, nodes) = World::wanted(state);
        let least = if self.kind.lost_disks { 3 } else { 1 };
        let settled = state
            .nodes
            .values()
            .flat_map(|node| node.partitions.values());
        let settled = settled
            .into_iter()
            .all(|it| it.state == ReplicaState::Active);
        let has_spare = settled && self.members.voters.len() > least && replicas.len() > least;
        let broker = self.any();
        let is_there = state.nodes.contains_key(&broker);
        let scale = |add: Vec<u32>, remove: Vec<u32>, copies| Request::Scale {
            add,
            remove,
            count: None,
            partitions: None,
            replication_factor: copies,
        };
        let copies = least as u64 + self.random.below(4);
        let copies = u32::try_from(copies.min(nodes.len() as u64)).unwrap();
        match self.random.below(10) {
            0..3 if !is_there => Some(scale(vec![broker], vec![], None)),
            0..4 if is_there && nodes.len() > least => {
                let copies = copies.min(nodes.len() as u32 - 1);
                Some(scale(vec![], vec![broker], Some(copies)))
            }
            4..6 => Some(scale(vec![], vec![], Some(copies))),
            6..8 if is_there => Some(Request::Join {
                broker,
                partition: 1,
                priority: 1 + self.random.below(5) as u32,
            }),
            8 if has_spare => Some(Request::Leave {
                broker,
                partition: 1,
            }),
            9 => {
                let count = (least as u64 + self.random.below(3)).min(5) as u32;
                let first = self.random.below(u64::from(6 - count)) as u32;
                Some(Request::Brokers {
                    brokers: (first..first + count).collect(),
                    replication_factor: Some((least as u32).max(count - 1)),
                })
            }
            _ => None,
        }
    }

    fn ask(&mut self, host: u32, state: &State, request: &Request) -> bool {
        let Ok(planned) = state.plan(request, 0) else {
            return false;
        };
        if planned.operations.is_empty() {
            return false;
        }
        self.tally.changes += 1;
        let entry = Entry::Begin {
            revision: planned.revision,
            operations: planned.operations,
            now: 0,
        };
        if self.mutation == Mutation::ChangesEarly {
            let anywhere = self.any();
            let mut early = self.host(anywhere).known.clone();
            early.apply(entry.clone());
            self.state_is(anywhere, early);
            if self.random.below(2) == 0 {
                // The proposal is lost.
                return true;
            }
        }
        self.metadata_event(host, MemberEvent::Propose(entry));
        true
    }

    /// Requests a change in a world without faults, and waits for its end. Returns the state with which it began.
    pub fn change(&mut self, request: &Request) -> State {
        let asked = self.metadata_leader();
        let (host, state) = asked.expect("a leader of the metadata group");
        assert!(self.ask(host, &state, request), "{request:?} is refused");
        let mut began = None;
        while began.is_none() || self.operators.newest.running.is_some() {
            self.run_for(1000);
            let newest = &self.operators.newest;
            if began.is_none() && newest.running.is_some() {
                began = Some(newest.clone());
            }
        }
        began.expect("it has begun")
    }

    /// Waits until all requested changes are done and a lost machine is replaced; then three nodes have a copy each.
    pub fn finish_changes(&mut self) {
        let until = self.agenda.now + ALL;
        let mut last = (0, self.agenda.now);
        loop {
            let revision = self.operators.newest.revision;
            if last.0 != revision {
                last = (revision, self.agenda.now);
            }
            self.restart_all();
            self.run_for(100_000);
            let late = self.agenda.now > until.min(last.1 + STEP);
            assert!(!late, "a change does not come about: {}", self.whole());
            let Some((host, state)) = self.metadata_leader() else {
                continue;
            };
            self.look_after_machines();
            if let Some(running) = &state.running {
                // A change that needs the lost machine cannot end.
                if self
                    .operators
                    .lost
                    .is_some_and(|lost| waits_for(&state, lost))
                {
                    let (change, now) = (running.id, 0);
                    self.metadata_event(host, MemberEvent::Propose(Entry::Cancel { change, now }));
                }
                continue;
            }
            let request = match self.operators.lost {
                Some(lost) => Request::ForceRemove {
                    brokers: vec![lost],
                },
                None => Request::Brokers {
                    brokers: vec![0, 1, 2],
                    replication_factor: Some(3),
                },
            };
            if !self.ask(host, &state, &request) && self.operators.lost.is_none() {
                return;
            }
        }
    }

    /// All nodes' knowledge, for debugging.
    fn whole(&self) -> String {
        use std::fmt::Write as _;
        let mut text = format!("{:?}\n", self.operators.newest);
        for (id, here) in &self.hosts {
            let own = here.own.as_ref();
            let _ = writeln!(
                text,
                "machine {id}: up {}, revision {}, own {:?} {}, replica {:?} {:?}",
                here.up,
                here.known.revision,
                own.map(|own| own.member),
                own.map_or_else(String::new, Metadata::shown),
                here.replica,
                here.replica
                    .and_then(|id| self.nodes.get(&id)?.running.as_ref())
                    .map(|it| (it.core.group().role(), it.core.group().members())),
            );
        }
        text
    }

    /// Checks that the groups have the members that the state wants, and that all nodes know the same.
    pub fn check_cluster(&mut self) {
        let state = self.operators.newest.clone();
        assert!(state.running.is_none(), "a change is under way: {state:?}");
        let (replicas, nodes) = World::wanted(&state);
        let there: Vec<u64> = self.nodes.keys().copied().collect();
        assert_eq!(
            there, replicas,
            "other replicas than wanted are there: {state:?}"
        );
        for node in self.nodes.values() {
            let group = node.running.as_ref().unwrap().core.group();
            if matches!(group.role(), Role::Leader { .. }) {
                let members = group.members();
                assert_eq!(
                    members.voters, replicas,
                    "voters of the partition: {state:?}"
                );
                assert!(members.learners.is_empty(), "{members:?}");
            }
        }
        for id in state.nodes.keys() {
            let here = &self.hosts[id];
            assert_eq!(here.known, state, "node {id} knows another state");
            let members = here.own.as_ref().and_then(Metadata::members).unwrap();
            assert_eq!(
                members.voters,
                nodes,
                "the metadata group, at node {id}: {}",
                self.whole()
            );
            assert!(members.learners.is_empty(), "{members:?}");
        }
    }
}

/// Whether the next operation requires this node.
fn waits_for(state: &State, lost: u32) -> bool {
    use skep_cluster::Operation::{BrokerAdd, PartitionJoin};
    let next = state.next_operation();
    next.is_some_and(|(_, next)| match next {
        BrokerAdd { broker_id } | PartitionJoin { broker_id, .. } => *broker_id == lost,
        _ => false,
    })
}
