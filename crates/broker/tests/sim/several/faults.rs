//! Faults of a world.

use skep_engine::Place;

use super::world::{MACHINES, ReplicaId, World};

const HOUR: u64 = 3_600_000;

impl World {
    /// Injects a random fault.
    pub fn fault(&mut self) {
        let host = self.any_host();
        let to = self.any_host();
        match self.random.below(28) {
            0..3 => self.crash(host),
            3..6 => self.restart_all(),
            6 => {
                // One direction.
                self.network.cut.insert((u64::from(host), u64::from(to)));
            }
            7 | 8 => {
                let all = (0..MACHINES).map(u64::from);
                self.network.isolate(u64::from(host), all);
                self.tally.add("isolated", 1);
            }
            9..12 => self.network.cut.clear(),
            12 => self.transfer(to),
            13 => self.panic(),
            14 | 15 => {
                let length = 50_000 + self.random.below(600_000);
                self.host(host).paused_until = self.agenda.now + length;
                self.tally.add("pauses", 1);
            }
            16 | 17 => self.clock_jumps(host),
            18 => {
                // So slow that it might as well be full.
                self.host(host).slow_disk = self.random.below(300_000);
                self.tally.add("slow disks", 1);
            }
            19 | 23 => self.flush_hangs(),
            20 | 21 => {
                let place = self.likely_leader();
                self.dies(place);
            }
            22 => self.revive_all(),
            24 | 25 => self.thread_hangs(),
            _ => self.capture_checkpoint(),
        }
    }

    fn clock_jumps(&mut self, host: u32) {
        let clock = match self.random.below(3) {
            0 => self.random.below(6_000) as i64 - 3_000,
            _ => self.random.below(12 * HOUR) as i64 - 6 * HOUR as i64,
        };
        self.host(host).clock = clock;
        self.tally.add("clock jumps", 1);
    }

    fn flush_hangs(&mut self) {
        let place = self.likely_leader();
        let until = self.agenda.now + 200_000 + self.random.below(1_500_000);
        self.replicas.get_mut(&place).unwrap().hangs_until = until;
        self.tally.add("hanging flushes", 1);
    }

    fn thread_hangs(&mut self) {
        let place = self.likely_leader();
        let length = 50_000 + self.random.below(1_000_000);
        self.hangs_for(place, length);
    }

    /// A replica that probably leads: faults of others have little effect.
    pub fn likely_leader(&mut self) -> ReplicaId {
        let place = self.any_place();
        let leader = self.leader_of(place.1, place.0);
        let leader = leader.filter(|_| self.random.below(3) > 0);
        (place.0, leader.unwrap_or(place.1))
    }

    /// Ends the replica's thread by an error; its machine continues.
    pub fn dies(&mut self, place: ReplicaId) {
        let known = self.leader_of(place.1, place.0);
        let replica = self.replicas.get_mut(&place).unwrap();
        if replica.node.running.is_some() {
            replica.node.dies();
            replica.died = Some(known);
            self.tally.add("deaths", 1);
        }
    }

    pub fn revive_all(&mut self) {
        for place in self.places() {
            if self.replicas[&place].died.is_some() {
                self.start_replica(place);
            }
        }
    }

    /// Ends all faults for this time, so that each partition gets a leader.
    pub fn calms_down(&mut self, time: u64) {
        self.calm.faults = false;
        self.network.cut.clear();
        for machine in &mut self.hosts {
            (machine.paused_until, machine.slow_disk) = (0, 0);
        }
        for replica in self.replicas.values_mut() {
            (replica.hangs_until, replica.hung) = (0, None);
        }
        self.restart_all();
        self.revive_all();
        self.run_for(time);
    }

    fn capture_checkpoint(&mut self) {
        let place = self.any_place();
        self.node(place).capture_checkpoint();
        self.settle(place);
    }

    /// Transfers leadership of partitions to this machine.
    fn transfer(&mut self, to: u32) {
        if !self.operators.left.is_empty() {
            return;
        }
        let (partition, _) = self.any_place();
        let member = self.members()[to as usize];
        for host in 0..MACHINES {
            if let Some(running) = &mut self.node((partition, host)).running {
                running.core.group_mut().transfer_leadership(member);
                self.settle((partition, host));
            }
        }
    }

    /// Makes the engine fail within a burst of commands, some of which are not proposed yet.
    fn panic(&mut self) {
        let (id, request) = self.any_command();
        let partition = self.partition_for(id, &request);
        let host = self.any_host();
        let place = (partition, self.leader_of(host, partition).unwrap_or(host));
        let now = self.millis(place.1);
        if let Some(running) = self.node(place).leading()
            && running.core.engine_mut().place_of(&request) == Place::Here
        {
            let streams = &mut running.streams;
            running.core.process(now, Some(id), &request, streams);
            self.node(place).panic();
            self.settle(place);
        }
    }

    /// Cuts the power.
    pub fn crash(&mut self, host: u32) {
        let here = self.host(host);
        if !std::mem::take(&mut here.up) {
            return;
        }
        here.held.clear();
        here.last_seen.clear();
        self.streams_end(host);
        self.tally.add("crashes", 1);
        for partition in self.there() {
            let replica = self.replicas.get_mut(&(partition, host)).unwrap();
            replica.node.crash(&mut self.random);
            replica.died = None;
        }
    }

    pub fn restart_all(&mut self) {
        for host in 0..MACHINES {
            if !self.host(host).up {
                self.start(host);
            }
        }
    }
}
