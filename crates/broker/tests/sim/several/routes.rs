//! Routing of commands to their partition, as in `cluster/held.rs` and `Cluster::leader_of`.

use skep_cluster::node_of;
use skep_engine::remote::Distributed;
use skep_engine::{Effects, RemoteCommand, RequestId, RoutingCommand, Sent};
use skep_protocol::batch::BatchReader;
use skep_protocol::command::Request;
use skep_protocol::intent::{Intent, MessageSubscriptionIntent};
use skep_protocol::value::MessageSubscriptionValue;
use skep_protocol::{Key, ValueType};

use super::Mutation;
use super::heartbeats::SILENT;
use super::purging::OnItsWay;
use super::world::{Happening, RETRY, ReplicaId, World};

/// Maximum number of commands that a machine holds.
const MOST_HELD: usize = 300;

/// The way a command came to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A partition led here sends it.
    Own,
    /// Another machine considers this one the leader's. It is forwarded once.
    FromAnother,
    /// It was forwarded already: it is accepted here or dropped.
    SentOn,
    /// It waits for room in the partition led here.
    Backlog,
}

#[derive(Debug)]
pub struct Held {
    partition: u32,
    sent: Sent,
    way: Way,
    since: u64,
}

impl World {
    /// The machine of the partition's leader, as far as the local replica knows, otherwise as other machines report.
    pub fn leader_of(&self, host: u32, partition: u32) -> Option<u32> {
        let replica = &self.replicas[&(partition, host)];
        if let Some(running) = &replica.node.running
            && !self.is_known_to_hang((partition, host))
        {
            return running.core.group().leader().and_then(node_of);
        }
        if self.mutation == Mutation::LeaderOfLocalHandle
            && let Some(last) = replica.died
        {
            return last;
        }
        let now = self.agenda.now;
        let last_seen = self.hosts[host as usize].last_seen.iter();
        let fresh = last_seen.filter(|(_, (at, _))| now - at < SILENT);
        let leading = fresh.flat_map(|(from, (_, status))| {
            let of_partition = status.leads.iter().filter(|(it, _)| *it == partition);
            of_partition.map(|(_, term)| (*term, *from))
        });
        leading.max().map(|(_, from)| from)
    }

    pub fn leads(&self, place: ReplicaId) -> bool {
        let running = self.replicas[&place].node.running.as_ref();
        running.is_some_and(|it| it.core.is_leader()) && !self.is_known_to_hang(place)
    }

    /// Sends the effects of a partition's committed entry.
    pub fn released(&mut self, place: ReplicaId, effects: Effects) {
        if !effects.responses.is_empty()
            && let Some(running) = &self.replicas[&place].node.running
        {
            let applied = running.core.applied();
            self.clients.reads.knows(place.0, applied);
        }
        for (id, answer) in effects.responses {
            self.clients.answered(id, answer, &self.chronicle);
        }
        for (_, job) in effects.pushes {
            self.tally.add("pushed", 1);
            match self.random.below(10) {
                // It never reaches its worker: its time-out makes it available again.
                0 => {}
                // The client has closed its stream meanwhile.
                1 | 2 => self.give_back(place, &job),
                _ => self.clients.jobs.push(job),
            }
        }
        for (partition, sent) in effects.sends {
            self.tally
                .add("sent", u64::from(partition != place.0).max(1));
            // A node may stop between the commit and the sending.
            if !self.calm.faults || self.random.below(12) > 0 {
                self.hand_on(place.1, partition, sent, Way::Own);
            }
        }
    }

    /// Sends a command to the partition's leader as soon as there is one, behind others that wait already.
    fn hand_on(&mut self, host: u32, partition: u32, sent: Sent, way: Way) {
        let held = &self.hosts[host as usize].held;
        if held.iter().any(|held| held.partition == partition) {
            return self.hold(host, partition, sent, way);
        }
        if let Some(sent) = self.deliver(host, partition, sent, way) {
            self.hold(host, partition, sent, way);
        }
    }

    fn hold(&mut self, host: u32, partition: u32, sent: Sent, way: Way) {
        let since = self.agenda.now;
        let held = &mut self.host(host).held;
        if held.len() < MOST_HELD {
            held.push_back(Held {
                partition,
                sent,
                way,
                since,
            });
            self.tally.add("held", 1);
        }
    }

    /// Returns the command if the leader is not known.
    fn deliver(&mut self, host: u32, partition: u32, sent: Sent, way: Way) -> Option<Sent> {
        let here = (partition, host);
        if self.leads(here) {
            self.carry_out(here, sent);
            return None;
        }
        let leader = match self.leader_of(host, partition) {
            Some(leader) if leader != host => leader,
            // This machine is about to lead, or no leader is known.
            _ => return Some(sent),
        };
        let way = match way {
            Way::Own => Way::FromAnother,
            Way::FromAnother => Way::SentOn,
            Way::SentOn | Way::Backlog => return None,
        };
        for (copy, delay) in self.deliveries(host, leader).into_iter().enumerate() {
            let late = self.lateness();
            let mut sent = Box::new(sent.clone());
            if copy > 0 && self.mutation == Mutation::RepeatsLookNew {
                look_new(&mut sent.command);
            }
            self.is_sent(OnItsWay {
                to: leader,
                partition,
                sent: (*sent).clone(),
                way,
            });
            let comes = Happening::Remote {
                host: leader,
                partition,
                sent,
                way,
            };
            self.after(delay + late, comes);
        }
        None
    }

    /// Handles a command of another partition.
    pub fn comes(&mut self, host: u32, partition: u32, sent: Sent, way: Way) {
        if !self.hosts[host as usize].up {
            return;
        }
        if way == Way::Backlog {
            // The new leader is looked up again.
            if self.leads((partition, host)) {
                self.carry_out((partition, host), sent);
            }
            return;
        }
        if let RemoteCommand::Distribute {
            distribution_key,
            origin,
            command,
        } = &sent.command
            && match self.mutation {
                Mutation::AcknowledgedOnArrival => true,
                Mutation::RightsAcknowledgedOnArrival => {
                    matches!(command, Distributed::Identity(_))
                }
                _ => false,
            }
        {
            let acknowledge = RemoteCommand::AcknowledgeDistribution {
                distribution_key: *distribution_key,
                partition,
            };
            self.hand_on(host, *origin, Sent::from(acknowledge), Way::Own);
        }
        if self.mutation == Mutation::TakenOnArrival
            && let RemoteCommand::Routing(RoutingCommand::Arrive(rows)) = &sent.command
            && rows.is_last
        {
            let taken = RoutingCommand::Leave {
                move_key: rows.move_key,
                up_to: None,
            };
            self.hand_on(
                host,
                rows.from,
                Sent::from(RemoteCommand::Routing(taken)),
                Way::Own,
            );
        }
        if self.mutation == Mutation::EndsUnheard
            && let (_, RemoteCommand::Routing(RoutingCommand::EndStart(_))) = sent.command.hops()
        {
            return;
        }
        self.hand_on(host, partition, sent, way);
    }

    fn carry_out(&mut self, place: ReplicaId, sent: Sent) {
        if self.is_purged(&sent) {
            return;
        }
        let now = self.millis(place.1);
        let Some(running) = self.node(place).leading() else {
            let (partition, host) = place;
            let comes = Happening::Remote {
                host,
                partition,
                sent: Box::new(sent),
                way: Way::Backlog,
            };
            return self.after(1000, comes);
        };
        let streams = &mut running.streams;
        running.core.process_remote(now, &sent, streams);
        self.tally.add("carried out", 1);
        self.propose(place);
        // Deferred, to leave the current step of this replica.
        self.after(1, Happening::Settle(place));
    }

    /// Delivers waiting commands if possible, and drops those that have waited so long that their sender repeats them.
    pub fn deliver_held(&mut self, host: u32) {
        let now = self.agenda.now;
        let held = std::mem::take(&mut self.host(host).held);
        let mut waiting = Vec::new();
        for it in held {
            if now - it.since >= 1000 * RETRY as u64 {
                continue;
            }
            if waiting.contains(&it.partition) {
                self.host(host).held.push_back(it);
            } else if let Some(sent) = self.deliver(host, it.partition, it.sent, it.way) {
                waiting.push(it.partition);
                self.host(host).held.push_back(Held { sent, ..it });
            }
        }
    }

    /// The partition that a client's request is for.
    pub fn partition_for(&self, id: RequestId, request: &Request) -> u32 {
        let chosen = self.clients.partition_of(id);
        let needed = || self.routing.partition_of(request.command.at());
        let partition = chosen.or_else(needed);
        partition.expect("clients choose where anything may be done")
    }

    /// Sends a client's request from this machine. It may be lost unnoticed.
    pub fn ask(&mut self, host: u32, id: RequestId, request: Request, at_once: bool) {
        let partition = self.partition_for(id, &request);
        let Some(leader) = self.leader_of(host, partition) else {
            return;
        };
        let place = (partition, leader);
        let delays = if host == leader {
            vec![20]
        } else {
            self.deliveries(host, leader)
        };
        let Some(delay) = delays.first() else {
            return;
        };
        let paused = self.hosts[leader as usize].paused_until > self.agenda.now;
        if at_once && !paused {
            self.process(place, id, &request);
            self.propose(place);
            return self.settle(place);
        }
        if !at_once {
            let request = Box::new(request);
            self.after(*delay, Happening::Request { place, id, request });
        }
    }

    /// Sends a request on to the partition that has its correlation key. It may be lost unnoticed.
    pub fn send_on(&mut self, host: u32, partition: u32, id: RequestId, request: &Request) {
        if let Some(leader) = self.leader_of(host, partition)
            && let Some(delay) = self.deliveries(host, leader).first()
        {
            let (place, mut request) = ((partition, leader), Box::new(request.clone()));
            request.hops += 1;
            self.after(*delay, Happening::Request { place, id, request });
        }
    }

    /// Implements [`Mutation::SendsBeforeCommit`], for messages to waiting instances.
    pub fn send_early(&mut self, place: ReplicaId, batches: &[bytes::Bytes]) {
        if !self.leads(place) {
            return;
        }
        for batch in batches.iter().filter(|batch| !batch.is_empty()) {
            for record in BatchReader::new(batch).unwrap() {
                let record = record.unwrap();
                if record.value_type != ValueType::MessageSubscription
                    || record.intent != MessageSubscriptionIntent::Correlating.id()
                {
                    continue;
                }
                let value: MessageSubscriptionValue = record.value().unwrap();
                let correlate = skep_engine::remote::CorrelateSubscription {
                    message_partition: place.0,
                    process_instance_key: value.process_instance_key,
                    element_instance_key: value.element_instance_key,
                    message_name: value.message_name,
                    message_key: value.message_key,
                    variables: value.variables,
                };
                let partition = self.routing.home(value.process_instance_key).unwrap();
                let command = RemoteCommand::CorrelateSubscription(correlate);
                self.hand_on(place.1, partition, Sent::from(command), Way::Own);
            }
        }
    }
}

/// Removes the data by which the receiver recognizes a repeated command.
fn look_new(command: &mut RemoteCommand) {
    let later = |key: Key| Key::new(key.partition().unwrap(), key.counter() + (1 << 30));
    match command {
        RemoteCommand::CorrelateSubscription(command) => {
            command.message_key = later(command.message_key);
        }
        RemoteCommand::Distribute {
            distribution_key, ..
        } => *distribution_key = later(*distribution_key),
        _ => {}
    }
}
