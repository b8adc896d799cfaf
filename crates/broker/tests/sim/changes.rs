//! Changes of the cluster on simulated nodes: notifications and actions. Like the broker, but without threads.

use skep_broker::cluster::metadata_member::Admission;
use skep_broker::cluster::steps::{Next, next};
use skep_cluster::{Entry, ReplicaState, State, member, node_of};
use skep_replication::{Change, Members, Message, Role};

use super::Mutation;
use super::hash;
use super::metadata::{MemberEvent, Metadata, Said};
use super::network::Flight;
use super::world::{Happening, World};

/// The partition.
const PARTITION: u32 = 1;

/// Messages between nodes about changes. They may be lost.
#[derive(Debug)]
pub enum ControlMessage {
    /// The receiver is a member of the cluster.
    Admit(Box<Admission>),
    /// The receiver has a copy of the partition.
    Join { member: u64, members: Members },
    /// A proposal for the metadata group.
    Propose(Entry),
}

impl World {
    pub fn metadata_arrives(&mut self, flight: Flight) {
        let host = node_of(flight.to).unwrap();
        let own = self.host(host).own.as_ref();
        if own.is_some_and(|own| own.member == flight.to) {
            let message = Message::decode(flight.bytes).unwrap();
            self.metadata_event(host, MemberEvent::Message(message));
        }
    }

    /// Handles an event of the node's member of the metadata group.
    pub fn metadata_event(&mut self, host: u32, event: MemberEvent) {
        let here = self.hosts.get_mut(&host).unwrap();
        let Some(own) = here.own.as_mut().filter(|_| here.up) else {
            return;
        };
        let from = own.member;
        let said = own.handle(event, &mut self.own_oracle);
        let Said {
            messages,
            admissions,
            state,
            failed,
        } = said;
        for message in messages {
            self.fly(from, message.to(), message.encode(), Happening::Metadata);
        }
        for (node, admission) in admissions {
            self.send_control(host, node, || {
                ControlMessage::Admit(Box::new(admission.clone()))
            });
        }
        if let Some(state) = state {
            self.state_is(host, state);
        }
        if failed {
            self.crash(host);
        }
    }

    fn send_control(&mut self, from: u32, to: u32, message: impl Fn() -> ControlMessage) {
        for delay in self.deliveries(from, to) {
            self.after(delay, Happening::ControlMessage(to, Box::new(message())));
        }
    }

    pub fn receive_control(&mut self, host: u32, message: ControlMessage) {
        if !self.host(host).up {
            return;
        }
        match message {
            ControlMessage::Admit(admission) => self.admitted(host, *admission),
            ControlMessage::Join { member, members } => self.join(host, member, members),
            ControlMessage::Propose(entry) => {
                self.metadata_event(host, MemberEvent::Propose(entry))
            }
        }
    }

    fn admitted(&mut self, host: u32, admission: Admission) {
        let known = self.host(host).own.as_ref().map(|own| own.member);
        let member = admission.member;
        if known >= Some(member) || admission.state.member(host) != Some(member) {
            return;
        }
        // An earlier member of this node was removed and no longer counts.
        let members = Members::decode(admission.members.into()).unwrap();
        let mut own = Metadata::new(member, members, None);
        let seed = hash(&[self.seed, member], &[]);
        own.start(seed, &mut self.own_oracle);
        self.host(host).own = Some(own);
        self.state_is(host, admission.state);
    }

    /// Handles an agreed state.
    pub fn state_is(&mut self, host: u32, state: State) {
        self.operators.agreed(&state);
        let here = self.host(host);
        if state.revision <= here.known.revision {
            return;
        }
        let begins = !here.known.is_bootstrapped();
        here.known = state;
        if begins {
            self.open_replica(host);
        }
        self.give_up(host);
    }

    /// Opens the node's replica at its start, if the cluster knows it.
    pub fn open_replica(&mut self, host: u32) {
        let here = &self.hosts[&host];
        let wanted = here.known.replica_of(host, PARTITION);
        let Some(id) = here.replica.filter(|id| wanted == Some(*id)) else {
            return;
        };
        let node = self.nodes.get_mut(&id).unwrap();
        if node.running.is_none() {
            node.start(&mut self.oracle);
            self.settle(id);
        }
    }

    fn give_up(&mut self, host: u32) {
        let here = &self.hosts[&host];
        let Some(id) = here.replica else {
            return;
        };
        let leaves = || {
            let replica = here.known.nodes[&host].partitions.get(&PARTITION);
            replica.is_some_and(|replica| replica.state == ReplicaState::Leaving)
        };
        let early = self.mutation == Mutation::GivesUpEarly;
        let is_wanted = !here.known.has_given_up(id, PARTITION);
        if is_wanted && !(early && here.known.nodes.contains_key(&host) && leaves()) {
            return;
        }
        self.tally.given_up += 1;
        self.host(host).replica = None;
        self.remove_replica(id);
    }

    /// Handles the message of the partition's leader that this node is a member of its group.
    fn join(&mut self, host: u32, own: u64, members: Members) {
        let here = &self.hosts[&host];
        let wanted = here.known.replica_of(host, PARTITION) == Some(own);
        let there = here.replica.and_then(|id| self.nodes.get(&id));
        if !wanted || there.is_some_and(|node| node.running.is_some()) {
            return;
        }
        if here.replica != Some(own) {
            // A replica of an earlier member was given up and is deleted.
            if let Some(earlier) = here.replica {
                self.remove_replica(earlier);
            }
            let replica = self.replica(own, members);
            self.nodes.insert(own, replica);
            self.host(host).replica = Some(own);
            self.tally.joined += 1;
        }
        let node = self.nodes.get_mut(&own).unwrap();
        node.start(&mut self.oracle);
        self.settle(own);
    }

    /// Continues the running change as the leader of its partition.
    pub fn go_on_with_change(&mut self, host: u32) {
        let here = &self.hosts[&host];
        let Some((change, operation)) = here.known.next_operation() else {
            return;
        };
        if operation.partition() != Some(PARTITION) {
            return;
        }
        let own = here.replica.and_then(|id| self.nodes.get_mut(&id));
        let Some(node) = own else {
            return;
        };
        let id = node.id;
        let Some(running) = &mut node.running else {
            return;
        };
        let group = running.core.group_mut();
        if !matches!(group.role(), Role::Leader { .. }) {
            return;
        }
        let members = group.members().clone();
        let mut plan = here.known.revision;
        let mut now = next(&here.known, operation, &members, id);
        match (self.mutation, now) {
            (Mutation::OldPlans, Next::Change(Change::Confirm(_))) => now = Next::Done,
            (Mutation::OldPlans, _) => plan = u64::MAX >> 1,
            (Mutation::RemovedStillCounts, Next::Change(Change::Remove(_))) => now = Next::Done,
            _ => {}
        }
        match now {
            Next::Done => {
                let entry = Entry::Done {
                    change,
                    operation: operation.clone(),
                    now: 0,
                };
                self.propose_metadata(host, entry);
            }
            Next::Change(Change::Promote(member)) if !group.has_caught_up(member) => {
                let to = node_of(member).unwrap();
                self.send_control(host, to, || ControlMessage::Join {
                    member,
                    members: members.clone(),
                });
            }
            // Refused while an earlier one is in progress: it is tried again.
            Next::Change(change) => drop(group.change_members(change, plan)),
            Next::HandOver => {
                if let Some(to) = group.successor() {
                    group.transfer_leadership(to);
                }
            }
        }
        self.settle(id);
    }

    /// Proposes an entry to the leader of the metadata group.
    fn propose_metadata(&mut self, from: u32, entry: Entry) {
        let own = self.host(from).own.as_ref();
        if let Some(to) = own.and_then(Metadata::leader).and_then(node_of) {
            self.send_control(from, to, || ControlMessage::Propose(entry.clone()));
        }
    }

    /// Cuts the power while the cluster state is written, or loses a disk.
    pub fn own_fault(&mut self, host: u32) {
        if self.kind.lost_disks && self.random.below(4) > 0 {
            return self.lose_disk(host);
        }
        let writes = self.random.below(6);
        if let Some(own) = &mut self.host(host).own {
            own.fuse = Some(writes);
        }
    }

    /// Loses a disk for good, if the others are majorities without it.
    fn lose_disk(&mut self, host: u32) {
        let here = &self.hosts[&host];
        let has_own = |own: &Metadata| self.operators.metadata_members().contains(&own.member);
        let voters = &self.members.voters;
        let counts = here.own.as_ref().is_some_and(has_own);
        let enough = voters.len() > 2 && self.operators.metadata_members().len() > 2;
        if self.operators.lost.is_some() || !counts || !enough {
            return;
        }
        self.crash(host);
        self.tally.lost_disks += 1;
        let here = self.host(host);
        here.own = None;
        if let Some(replica) = here.replica.take() {
            self.remove_replica(replica);
        }
        self.operators.lost = Some(host);
    }

    /// The members required by the state, of the partition's group and of the metadata group.
    pub fn wanted(state: &State) -> (Vec<u64>, Vec<u64>) {
        let replicas = state.replicas(PARTITION).into_iter();
        let mut replicas: Vec<u64> = replicas.map(|(_, member)| member).collect();
        let nodes = state.nodes.iter();
        let mut own: Vec<u64> = nodes
            .map(|(id, node)| member(*id, node.generation))
            .collect();
        replicas.sort_unstable();
        own.sort_unstable();
        (replicas, own)
    }
}
