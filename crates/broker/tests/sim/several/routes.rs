//! How commands find the partition that they are for: as `cluster/held.rs` and `Cluster::leader_of` do it.

use skep_cluster::node_of;
use skep_engine::{Effects, RemoteCommand, RequestId, Sent};
use skep_protocol::batch::BatchReader;
use skep_protocol::command::Request;
use skep_protocol::intent::{Intent, MessageSubscriptionIntent};
use skep_protocol::value::MessageSubscriptionValue;
use skep_protocol::{Key, ValueType};

use super::Mutation;
use super::heartbeats::SILENT;
use super::world::{Happening, RETRY, ReplicaId, World};

/// Commands that a machine holds, at most.
const MOST_HELD: usize = 300;

/// How a command came to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A partition that is led here sends it.
    Own,
    /// Another machine took this one for the leader's. It is sent on once.
    FromAnother,
    /// It was sent on already: it is taken here or nowhere.
    SentOn,
    /// It waits for room in the partition that leads here.
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
    /// The machine that leads the partition, as far as the replica here knows, or as others say if that does not work.
    pub fn leader_of(&self, host: u32, partition: u32) -> Option<u32> {
        let replica = &self.replicas[&(partition, host)];
        if let Some(running) = &replica.node.running {
            return running.core.group().leader().and_then(node_of);
        }
        if self.mutation == Mutation::LeaderOfLocalHandle
            && let Some(last) = replica.died
        {
            return last;
        }
        let now = self.agenda.now;
        let heard = self.hosts[host as usize].heard.iter();
        let fresh = heard.filter(|(_, (at, _))| now - at < SILENT);
        let leading = fresh.flat_map(|(from, (_, status))| {
            let of_partition = status.leads.iter().filter(|(it, _)| *it == partition);
            of_partition.map(|(_, term)| (*term, *from))
        });
        leading.max().map(|(_, from)| from)
    }

    fn leads(&self, (partition, host): ReplicaId) -> bool {
        let running = self.replicas[&(partition, host)].node.running.as_ref();
        running.is_some_and(|it| it.core.is_leader())
    }

    /// What leaves a partition when its entry is committed.
    pub fn released(&mut self, place: ReplicaId, effects: Effects) {
        for (id, answer) in effects.responses {
            self.clients.answered(id, answer, &self.chronicle);
        }
        for (_, job) in effects.pushes {
            self.tally.add("pushed", 1);
            // Some pushed jobs never reach their worker: their time-out brings them back.
            if self.random.below(5) > 0 {
                self.clients.jobs.push(job);
            }
        }
        for (partition, sent) in effects.sends {
            self.tally
                .add("sent", u64::from(partition != place.0).max(1));
            // A node may stop between the commit and the sending.
            if !self.faults || self.random.below(12) > 0 {
                self.hand_on(place.1, partition, sent, Way::Own);
            }
        }
    }

    /// To the partition's leader, as soon as there is one, behind what waits for it already.
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

    /// Gives it back if the leader is not known.
    fn deliver(&mut self, host: u32, partition: u32, sent: Sent, way: Way) -> Option<Sent> {
        let here = (partition, host);
        if self.leads(here) {
            self.carry_out(here, sent);
            return None;
        }
        let leader = match self.leader_of(host, partition) {
            Some(leader) if leader != host => leader,
            // This machine is about to lead, or none is known.
            _ => return Some(sent),
        };
        let way = match way {
            Way::Own => Way::FromAnother,
            Way::FromAnother => Way::SentOn,
            Way::SentOn | Way::Backlog => return None,
        };
        for (copy, delay) in self.deliveries(host, leader).into_iter().enumerate() {
            // Some stay somewhere for as long as a node holds them.
            let late = self.faults && self.random.below(30) == 0;
            let late = self
                .random
                .below(if late { 1000 * RETRY as u64 } else { 1 });
            let mut sent = Box::new(sent.clone());
            if copy > 0 && self.mutation == Mutation::RepeatsLookNew {
                look_new(&mut sent.command);
            }
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

    /// A command of another partition arrives at a machine.
    pub fn comes(&mut self, host: u32, partition: u32, sent: Sent, way: Way) {
        if !self.hosts[host as usize].up {
            return;
        }
        if way == Way::Backlog {
            // The new leader is asked again.
            if self.leads((partition, host)) {
                self.carry_out((partition, host), sent);
            }
            return;
        }
        if let RemoteCommand::Distribute {
            distribution_key,
            origin,
            ..
        } = &sent.command
            && self.mutation == Mutation::AcknowledgedOnArrival
        {
            let acknowledge = RemoteCommand::AcknowledgeDistribution {
                distribution_key: *distribution_key,
                partition,
            };
            self.hand_on(host, *origin, Sent::from(acknowledge), Way::Own);
        }
        self.hand_on(host, partition, sent, way);
    }

    fn carry_out(&mut self, place: ReplicaId, sent: Sent) {
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
        // Not within what leads here.
        self.after(1, Happening::Settle(place));
    }

    /// Delivers what waits and can be delivered, and drops what has waited for so long that its sender repeats it.
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

    /// A client of this machine asks something. Nobody hears whether it arrives.
    pub fn ask(&mut self, host: u32, id: RequestId, request: Request, at_once: bool) {
        let partition = match self.clients.partition_of(id) {
            Some(partition) => partition,
            None => {
                let at = self.routing.partition_of(request.command.at());
                at.expect("clients choose where anything may be done")
            }
        };
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

    /// Does what [`Mutation::SendsBeforeCommit`] says, of messages for waiting instances.
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

/// Takes from a command what tells its receiver that it was there before.
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
