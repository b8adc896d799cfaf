//! Operators add partitions while clients work, in the steps of `hosting/scaling.rs`: the first partition records the number, the new
//! partitions copy what every partition has, and get work once the first one says that they are complete.

use std::sync::Arc;

use skep_protocol::Routing;
use skep_protocol::command::{Command, Request};

use super::Mutation;
use super::clients::Pending;
use super::world::{Happening, MACHINES, Watched, World};

/// Maximum number of partitions, and of changes in one world.
const MOST: u32 = 6;
const MOST_CHANGES: u32 = 2;
/// Relocations of one world that follow from no new partitions.
const MOST_RELOCATIONS: u32 = 3;
/// At one look in so many, a relocation is cancelled.
const CANCELLED: u64 = 40;
/// Within so many microseconds all machines know what the cluster has agreed on.
const HEARD_OF: u64 = 200_000;

/// Changes of the number of partitions.
#[derive(Default)]
pub struct Growth {
    /// The wanted number, until all of them take part.
    pub target: Option<u32>,
    /// The number over which correlation keys are being spread, and all over which they were before.
    pub relocating: Option<u32>,
    spread: Vec<u32>,
    changes: u32,
    relocations: u32,
    /// Whether operators only move correlation keys, all the time.
    pub moves_on: bool,
}

impl World {
    /// The partitions that exist, whether they take part or not.
    pub fn there(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.groups.len() as u32
    }

    pub fn begin_growing(&mut self) {
        let active = self.routing.count();
        let target = active + 1 + self.random.below(2) as u32;
        let growth = &mut self.operators.growth;
        if target > MOST || growth.changes >= MOST_CHANGES {
            return;
        }
        growth.changes += 1;
        growth.target = Some(target);
        self.agree_on(self.scaled(active, target));
        for partition in active + 1..=target {
            self.groups.insert(partition, Watched::of(self.members()));
            for host in 0..MACHINES {
                let replica = self.replica(partition, host);
                self.replicas.insert((partition, host), replica);
            }
            // The copies of a new partition are there before it gets work.
            for host in 0..MACHINES {
                if self.hosts[host as usize].up {
                    self.start_replica((partition, host));
                }
            }
        }
    }

    /// The leader of the first partition is asked until it has recorded the number, and whether the new partitions are complete.
    pub fn go_on_growing(&mut self, target: u32) {
        let Some(place) = self.leader(Routing::FIRST) else {
            return;
        };
        let Some(running) = &self.replicas[&place].node.running else {
            return;
        };
        let engine = running.core.engine();
        let is_desired = engine.state.scaling.get().desired == target;
        let is_whole = engine.scaled_up_to() >= target;
        if !is_desired {
            let id = self.clients.asks(Pending::Scale, Some(Routing::FIRST));
            let request = Request::internal(Command::ScaleUp { partitions: target });
            let host = self.any_host();
            return self.ask(host, id, request, false);
        }
        if is_whole || self.mutation == Mutation::WorkBeforeState {
            self.operators.growth.target = None;
            self.tally.add("grown", 1);
            self.chronicle.grows(target);
            self.relocate(target, target);
        }
    }

    /// The routing of so many partitions, by which no slots move.
    fn scaled(&self, active: u32, partitions: u32) -> Routing {
        let routing = Routing::scaled(self.routing.initial(), active, partitions);
        routing.spread_over(&self.operators.growth.spread)
    }

    /// After a purge, each slot is where it was when the cluster began.
    pub fn forget_relocations(&mut self) {
        self.operators.growth.spread.clear();
        let active = self.routing.count();
        self.agree_on(self.scaled(active, active));
    }

    /// Correlation keys move as when partitions are drained, or get work again.
    pub fn begin_relocating(&mut self) {
        let (initial, active) = (self.routing.initial(), self.routing.count());
        let growth = &mut self.operators.growth;
        // Slots of the initial partitions can move too, which no operator may ask for.
        let least = if growth.moves_on { 1 } else { initial };
        if active == least || growth.relocations >= MOST_RELOCATIONS && !growth.moves_on {
            return;
        }
        growth.relocations += 1;
        let target = least + self.random.below(u64::from(active - least + 1)) as u32;
        self.relocate(active, target);
    }

    /// Spreads correlation keys over `target` of the partitions that take part.
    fn relocate(&mut self, active: u32, target: u32) {
        self.operators.growth.relocating = Some(target);
        let routing = self.scaled(active, active);
        self.agree_on(routing.relocating_to(Some(target)));
    }

    /// The leader of the first partition is asked whether all slots have moved. Operators cancel that at times: the slots that move arrive.
    pub fn go_on_relocating(&mut self, target: u32) {
        let active = self.routing.count();
        if self.calm.faults && self.random.below(CANCELLED) == 0 {
            self.operators.growth.relocating = None;
            self.tally.add("cancelled relocations", 1);
            return self.agree_on(self.scaled(active, active));
        }
        let leader = self.leader(Routing::FIRST);
        let running = leader.and_then(|place| self.replicas[&place].node.running.as_ref());
        let relocated = running.and_then(|running| running.core.engine().relocated_at());
        if relocated == Some(self.routing.version()) {
            let growth = &mut self.operators.growth;
            growth.relocating = None;
            growth.spread.push(target);
            self.tally.add("relocated", 1);
            self.agree_on(self.scaled(active, active));
        }
    }

    /// The cluster agrees on a routing, of which its machines hear one after the other.
    fn agree_on(&mut self, routing: Routing) {
        let version = self.routing.version() + 1;
        self.routing = Arc::new(routing.at_version(version));
        for host in 0..MACHINES {
            let delay = self.random.below(HEARD_OF);
            self.after(delay, Happening::Learns { host });
        }
    }

    /// A machine learns the newest routing, and tells its replicas.
    pub fn learns(&mut self, host: u32) {
        let routing = self.routing.clone();
        self.host(host).routing = routing.clone();
        for partition in self.there() {
            let node = self.node((partition, host));
            node.settings.engine.routing = routing.clone();
            if let Some(running) = &mut node.running {
                running.core.engine_mut().set_routing(routing.clone());
            }
        }
    }
}
