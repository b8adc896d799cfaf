//! Job streams: each machine has a client with a stream, and announces it to the others, whose leaders push to it, as in
//! `cluster/streams.rs`. A connection has one direction. When it breaks, each end notices on its own, and forgets what the other has sent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use skep_broker::cluster::shares::Shares;

use super::Mutation;
use super::world::{Happening, MACHINES, World};

/// Jobs that may be on the way to a client.
const CREDIT: u32 = 8;
/// Maximum microseconds until one end of a connection notices that it is broken.
const NOTICES: u64 = 60_000;

/// What a machine notices, or receives from another one.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Its own connection to the other machine is there, or gone.
    Connected,
    Disconnected,
    /// The connection of the other machine to it is there, or gone.
    Opened,
    Closed,
    OpenStream {
        connection: u64,
        name: u64,
        credit: u32,
    },
    CloseStream {
        connection: u64,
        name: u64,
    },
}

/// A connection from one machine to another.
#[derive(Default)]
struct Connection {
    number: u64,
    is_open: bool,
    /// Whether the machine that writes to it has noticed that it broke: it connects again.
    is_noticed: bool,
    /// What each end has not handled yet, in order: the machine that writes, and the one that reads.
    steps: [VecDeque<Step>; 2],
}

#[derive(Default)]
pub struct Streams {
    names: u64,
    /// The stream of each machine's client.
    own: BTreeMap<u32, Shares>,
    /// By machine: the streams of others that it knows, with their credit there.
    known: BTreeMap<u32, BTreeMap<(u32, u64), u32>>,
    /// Other machines to which a machine is connected, as far as it knows.
    connected: BTreeSet<(u32, u32)>,
    connections: BTreeMap<(u32, u32), Connection>,
}

impl Streams {
    fn name(&mut self) -> u64 {
        self.names += 1;
        self.names
    }

    /// Whether jobs can be pushed from the machine.
    pub fn has_any(&self, host: u32) -> bool {
        let known = self.known.get(&host);
        self.own.contains_key(&host) || known.is_some_and(|known| !known.is_empty())
    }

    fn connection(&mut self, from: u32, to: u32) -> &mut Connection {
        self.connections.entry((from, to)).or_default()
    }

    fn lose(&mut self, host: u32, other: u32) {
        if let Some(own) = self.own.get_mut(&host) {
            own.lost(other);
        }
        let known = self.known.entry(host).or_default();
        known.retain(|(of, _), _| *of != other);
    }
}

fn others(host: u32) -> impl Iterator<Item = u32> {
    (0..MACHINES).filter(move |other| *other != host)
}

impl World {
    /// A machine starts, and its client opens a stream.
    pub fn stream_opens(&mut self, host: u32) {
        let streams = &mut self.clients.streams;
        let name = streams.name();
        let shares = Shares::new(CREDIT, name, [host]);
        streams.own.insert(host, shares);
    }

    /// A machine stops. The others notice, each in its time.
    pub fn streams_end(&mut self, host: u32) {
        let streams = &mut self.clients.streams;
        streams.own.remove(&host);
        streams.known.remove(&host);
        streams.connected.retain(|(from, _)| *from != host);
        for other in others(host) {
            self.breaks(host, other);
            self.breaks(other, host);
            self.clients.streams.connection(host, other).is_noticed = true;
        }
    }

    fn breaks(&mut self, from: u32, to: u32) {
        let connection = self.clients.streams.connection(from, to);
        if !std::mem::take(&mut connection.is_open) {
            return;
        }
        connection.is_noticed = false;
        self.tally.add("broken connections", 1);
        self.stream_step(NOTICES, (from, to), from, Step::Disconnected);
        self.stream_step(NOTICES, (from, to), to, Step::Closed);
    }

    /// Schedules what an end of a connection notices, or receives. It comes in order: a paused machine handles it later.
    fn stream_step(&mut self, most: u64, (from, to): (u32, u32), host: u32, step: Step) {
        let delay = 1 + self.random.below(most);
        let connection = self.clients.streams.connection(from, to);
        connection.steps[usize::from(host == to)].push_back(step);
        self.after(delay, Happening::Stream { host, from, to });
    }

    /// The client closes its stream and opens another one.
    pub fn stream_changes(&mut self, host: u32) {
        let streams = &mut self.clients.streams;
        let Some(closed) = streams.own.remove(&host) else {
            return;
        };
        for other in others(host) {
            let connection = self.clients.streams.connection(host, other).number;
            if let Some(name) = closed.announced_at(other) {
                let close = Step::CloseStream { connection, name };
                self.stream_step(3_000, (host, other), other, close);
            }
        }
        self.stream_opens(host);
        for other in others(host) {
            if self.clients.streams.connected.contains(&(host, other)) {
                self.announces_stream(host, other);
            }
        }
        self.tally.add("changed streams", 1);
    }

    /// Opens the machine's connections to others that it can reach, and breaks those to others that it cannot.
    pub fn connect(&mut self, host: u32) {
        for other in others(host) {
            let is_cut = self
                .network
                .cut
                .contains(&(u64::from(host), u64::from(other)));
            let is_reached = !is_cut && self.hosts[other as usize].up;
            let is_old = self.random.below(4) == 0;
            let connection = self.clients.streams.connection(host, other);
            if connection.is_open && !is_reached && is_old {
                self.breaks(host, other);
            } else if !connection.is_open
                && is_reached
                && (connection.is_noticed || connection.number == 0)
            {
                connection.number += 1;
                connection.is_open = true;
                self.stream_step(1_000, (host, other), host, Step::Connected);
                self.stream_step(1_000, (host, other), other, Step::Opened);
            }
        }
    }

    /// Handles the next step at an end of this connection.
    pub fn stream_happens(&mut self, host: u32, (from, to): (u32, u32)) {
        let other = if host == to { from } else { to };
        let connection = self.clients.streams.connection(from, to);
        let step = connection.steps[usize::from(host == to)].pop_front();
        let Some(step) = step.filter(|_| self.hosts[host as usize].up) else {
            return;
        };
        match step {
            Step::Connected => {
                self.clients.streams.connected.insert((host, other));
                self.announces_stream(host, other);
            }
            Step::Disconnected => {
                let streams = &mut self.clients.streams;
                streams.connected.remove(&(host, other));
                streams.lose(host, other);
                streams.connection(host, other).is_noticed = true;
            }
            Step::Opened => {
                // The other machine has forgotten what it was sent when this direction broke.
                let is_connected = self.clients.streams.connected.contains(&(host, other));
                if is_connected && self.mutation != Mutation::StreamsToldOnce {
                    self.announces_stream(host, other);
                }
            }
            Step::Closed => self.clients.streams.lose(host, other),
            Step::OpenStream {
                connection,
                name,
                credit,
            } => {
                if self.carries(other, host, connection) {
                    let known = self.clients.streams.known.entry(host).or_default();
                    known.insert((other, name), credit);
                }
            }
            Step::CloseStream { connection, name } => {
                if self.carries(other, host, connection)
                    && let Some(known) = self.clients.streams.known.get_mut(&host)
                {
                    known.remove(&(other, name));
                }
            }
        }
    }

    /// Whether a message on this connection arrives.
    fn carries(&mut self, from: u32, to: u32, number: u64) -> bool {
        let connection = self.clients.streams.connection(from, to);
        connection.is_open && connection.number == number
    }

    fn announces_stream(&mut self, host: u32, to: u32) {
        let streams = &mut self.clients.streams;
        let connection = streams.connection(host, to);
        let number = connection.number;
        let name = streams.name();
        let Some(own) = streams.own.get_mut(&host) else {
            return;
        };
        let before = own.announced_at(to);
        let credit = own.met(to, name);
        self.tally.add("announced streams", 1);
        if let Some(name) = before {
            let close = Step::CloseStream {
                connection: number,
                name,
            };
            self.stream_step(3_000, (host, to), to, close);
        }
        let open = Step::OpenStream {
            connection: number,
            name,
            credit,
        };
        self.stream_step(3_000, (host, to), to, open);
    }

    /// When all is well, each machine can push to the stream of each other one, once, and with the credit that it was given.
    pub fn check_streams(&self) {
        let streams = &self.clients.streams;
        for (owner, shares) in &streams.own {
            for host in others(*owner) {
                let known = streams.known.get(&host).into_iter().flatten();
                let of_owner: Vec<(u64, u32)> = known
                    .filter(|((of, _), _)| of == owner)
                    .map(|((_, name), credit)| (*name, *credit))
                    .collect();
                let announced = shares.name_at(host).map(|name| (name, shares.of(host)));
                assert_eq!(
                    of_owner,
                    Vec::from_iter(announced),
                    "machine {host} knows other streams of machine {owner} than were announced"
                );
                assert_eq!(of_owner.len(), 1, "machine {host} has forgotten a stream");
            }
        }
    }
}
