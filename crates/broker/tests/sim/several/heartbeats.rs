//! Status messages between machines, as in `cluster/heartbeats.rs` and `cluster/members.rs`. Hibernating groups rely on them: their own
//! clocks stand still.

use skep_cluster::node_of;

use super::Mutation;
use super::world::{Happening, MACHINES, TICK, World};

/// Microseconds of silence after which a machine counts as away.
pub const SILENT: u64 = 8 * TICK;
/// Ticks credited to a follower of a failed leader: it starts an election at once.
const ELECTION: usize = 10;

/// Status of a machine.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Partitions that it leads, with their terms.
    pub leads: Vec<(u32, u64)>,
    /// Partitions whose replica has failed on it, or leads there and hangs.
    failed: Vec<u32>,
}

impl World {
    /// Sends the machine's status to the others.
    pub fn send_status(&mut self, from: u32) {
        let mut status = Status::default();
        for partition in self.there() {
            let place = (partition, from);
            let replica = &self.replicas[&place];
            if let Some(running) = &replica.node.running
                && !self.is_known_to_hang(place)
            {
                let term = self.published_term(place);
                let term = term.filter(|_| running.core.is_leader());
                status.leads.extend(term.map(|term| (partition, term)));
            } else if self.mutation != Mutation::ReplicaDiesNodeLives {
                status.failed.push(partition);
            }
        }
        for host in (0..MACHINES).filter(|host| *host != from) {
            for delay in self.deliveries(from, host) {
                let status = status.clone();
                self.after(delay, Happening::Status { host, from, status });
            }
        }
    }

    /// Handles the status of another machine. Followers of a failed replica would not notice otherwise, as its machine is alive.
    pub fn receive_status(&mut self, host: u32, from: u32, status: Status) {
        for partition in status.failed.clone() {
            let place = (partition, host);
            let Some(running) = &mut self.node(place).running else {
                continue;
            };
            let group = running.core.group_mut();
            if group.leader().and_then(node_of) == Some(from) {
                group.note_silent(|member| node_of(member) == Some(from), ELECTION);
                self.settle(place);
            }
        }
        let now = self.agenda.now;
        self.host(host).last_seen.insert(from, (now, status));
    }

    /// Tells the machine's replicas which other machines are silent. Hibernating ones would not notice.
    pub fn report_silence(&mut self, host: u32) {
        let now = self.agenda.now;
        let last_seen = &self.hosts[host as usize].last_seen;
        let silence: Vec<u64> = (0..MACHINES)
            .map(|other| match last_seen.get(&other) {
                _ if other == host => 0,
                last_seen => now - last_seen.map_or(0, |(at, _)| *at),
            })
            .collect();
        let silence = |member: u64| silence[node_of(member).unwrap() as usize];
        let mut hibernating = 0;
        for partition in self.there() {
            if let Some(running) = &mut self.node((partition, host)).running {
                let group = running.core.group_mut();
                hibernating += u64::from(group.hibernates());
                let ticks = group.leader().map_or(0, silence) / TICK;
                group.note_silent(|of| silence(of) > SILENT, ticks as usize);
            }
        }
        self.tally.add("hibernates", hibernating);
    }
}
