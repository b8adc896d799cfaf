//! Faults of a world.

use super::world::{Happening, World};
use skep_cluster::node_of;
use skep_protocol::command::Request;

impl World {
    /// Injects a random fault.
    pub fn fault(&mut self) {
        let host = self.any();
        let to = self.any();
        match self.random.below(20) {
            0..3 => self.crash(host),
            3..6 => self.restart_all(),
            6 => {
                // One direction.
                self.network.cut.insert((u64::from(host), u64::from(to)));
            }
            7 | 8 => {
                // This node is isolated from all others.
                let all = self.hosts.keys().copied().map(u64::from);
                self.network.isolate(u64::from(host), all);
            }
            9 | 10 => self.network.cut.clear(),
            11 => self.transfer(to),
            12 => self.panic(),
            13 | 14 => {
                // Pauses of other nodes have little effect.
                let leader = self.leading_member().and_then(|(_, id)| node_of(id));
                let host = leader.filter(|_| self.random.below(2) == 0).unwrap_or(host);
                let length = 50_000 + self.random.below(900_000);
                self.host(host).paused_until = self.agenda.now + length;
                self.after(length, Happening::Wakes(host));
                self.tally.pauses += 1;
            }
            15 => {
                self.host(host).clock = self.random.below(6_000) as i64 - 3_000;
                self.tally.clock_jumps += 1;
            }
            16 => {
                // So slow that it might as well be full.
                self.host(host).slow_disk = self.random.below(600_000);
                self.tally.slow_disks += 1;
            }
            17 if self.kind.changes => self.own_fault(host),
            _ => self.capture_checkpoint(),
        }
    }

    fn capture_checkpoint(&mut self) {
        let ids = self.ids();
        let at = self.random.below(ids.len() as u64) as usize;
        if let Some(id) = ids.get(at).copied() {
            if let Some(node) = self.nodes.get_mut(&id) {
                node.capture_checkpoint();
            }
            self.settle(id);
        }
    }

    /// Transfers leadership to this machine's replica.
    pub fn transfer(&mut self, to: u32) {
        if let Some(to) = self.host(to).replica {
            for node in self.nodes.values_mut() {
                if let Some(running) = &mut node.running {
                    running.core.group_mut().transfer_leadership(to);
                }
            }
        }
        // Commands while leadership is handed over.
        self.client();
        for id in self.ids() {
            self.settle(id);
        }
    }

    /// Panics within a burst of commands, some of which are not proposed yet.
    fn panic(&mut self) {
        let (request, command) = self.clients.command(&mut self.random);
        let command = Request::internal(command);
        for id in self.ids() {
            let now = self.millis(id);
            if let Some(running) = self.leading(id) {
                let streams = &mut running.streams;
                running.core.process(now, Some(request), &command, streams);
                self.nodes.get_mut(&id).unwrap().panic();
                self.settle(id);
            }
        }
    }

    /// Cuts the power.
    pub fn crash(&mut self, host: u32) {
        let here = self.hosts.get_mut(&host).unwrap();
        if !std::mem::take(&mut here.up) {
            return;
        }
        if let Some(own) = &mut here.own {
            own.crash(&mut self.random);
        }
        let replica = here.replica.and_then(|id| self.nodes.get_mut(&id));
        if let Some(node) = replica {
            node.crash(&mut self.random);
        }
    }

    pub fn restart_all(&mut self) {
        for host in 0..self.hosts.len() as u32 {
            if !self.host(host).up {
                self.tally.restarts += 1;
                self.start(host);
            }
        }
    }
}
