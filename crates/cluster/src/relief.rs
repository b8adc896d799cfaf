//! Which leadership a node that is too busy gives away, and when it takes it back.
//!
//! [`spread`] makes the numbers of leaders even, whatever they have to do. A stand-in then leads a partition in the place of the node that
//! is its leader by number. Only that node decides on it, and all others follow what it reports: they agree without asking each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::leaders::spread;

/// Looks for which one node must be too busy, with the same leaders: a minute.
const TOO_BUSY_FOR: u32 = 12;
/// Looks for which a node must have room for a partition before it takes it back from a stand-in: ten minutes. A load that comes and goes
/// should not move leaders each time.
const ROOM_FOR: u32 = 120;
/// A node that uses less, in thousandths of a core, is never too busy.
const LEAST: u64 = 100;

/// What a node reports about its copy of a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyLoad {
    /// CPU time that the copy takes, in thousandths of a core.
    pub cpu: u32,
    /// The node that leads the partition in this one's place, which is too busy.
    pub stand_in: Option<u32>,
}

/// What the nodes that can be reached report.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// By partition, the nodes that could lead it, the preferred one first.
    pub candidates: BTreeMap<u32, Vec<u32>>,
    /// By partition, the node that leads it.
    pub leaders: BTreeMap<u32, u32>,
    /// By node and partition.
    pub copies: BTreeMap<(u32, u32), CopyLoad>,
}

/// A partition that another node should lead from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    pub partition: u32,
    pub to: u32,
}

/// The CPU time of all nodes, in thousandths of a core.
struct Loads {
    by_node: BTreeMap<u32, u64>,
    total: u64,
}

impl Loads {
    fn of(&self, node: u32) -> u64 {
        self.by_node.get(&node).copied().unwrap_or_default()
    }

    fn nodes(&self) -> u64 {
        self.by_node.len() as u64
    }

    /// The busiest node: of several, the one with the lowest number.
    fn busiest(&self) -> Option<(u32, u64)> {
        let nodes = self.by_node.iter().map(|(node, load)| (*node, *load));
        nodes.min_by_key(|(node, load)| (std::cmp::Reverse(*load), *node))
    }

    /// Whether this is more than one and a half times the mean.
    fn is_too_much(&self, load: u64) -> bool {
        load * self.nodes() * 2 > self.total * 3
    }

    /// Whether this is at most one and a quarter times the mean.
    fn leaves_room(&self, load: u64) -> bool {
        load * self.nodes() * 4 <= self.total * 5
    }

    /// Whether the first is less than the second by at least a quarter of the mean.
    fn is_much_less(&self, load: u64, than: u64) -> bool {
        load * self.nodes() * 4 + self.total <= than * self.nodes() * 4
    }
}

impl View {
    /// The leaders that partitions should have.
    pub fn placed(&self) -> BTreeMap<u32, u32> {
        self.with_stand_ins(spread(&self.candidates))
    }

    /// `by_number`: the leaders by their number alone.
    fn with_stand_ins(&self, by_number: BTreeMap<u32, u32>) -> BTreeMap<u32, u32> {
        let placed = by_number.into_iter().map(|(partition, node)| {
            let copy = self.copies.get(&(node, partition));
            let stand_in = copy.and_then(|copy| copy.stand_in);
            let able = stand_in.filter(|stand_in| self.could_lead(*stand_in, partition));
            (partition, able.unwrap_or(node))
        });
        placed.collect()
    }

    fn could_lead(&self, node: u32, partition: u32) -> bool {
        let nodes = self.candidates.get(&partition);
        nodes.is_some_and(|nodes| nodes.contains(&node))
    }

    fn cpu(&self, node: u32, partition: u32) -> u64 {
        let copy = self.copies.get(&(node, partition));
        copy.map_or(0, |copy| u64::from(copy.cpu))
    }

    /// The CPU time that moves with the leadership. Both nodes have the work of a copy, whoever leads.
    fn moved(&self, partition: u32, from: u32, to: u32) -> u64 {
        let leads = self.cpu(from, partition);
        leads.saturating_sub(self.cpu(to, partition))
    }

    /// The loads of the nodes that could lead something. `None` if one of them does not report any: its version does not know how.
    fn loads(&self) -> Option<Loads> {
        for (partition, nodes) in &self.candidates {
            let known = |node: &u32| self.copies.contains_key(&(*node, *partition));
            if !nodes.iter().all(known) {
                return None;
            }
        }
        let nodes: BTreeSet<u32> = self.candidates.values().flatten().copied().collect();
        let mut by_node: BTreeMap<u32, u64> = nodes.into_iter().map(|node| (node, 0)).collect();
        for ((node, _), copy) in &self.copies {
            if let Some(load) = by_node.get_mut(node) {
                *load += u64::from(copy.cpu);
            }
        }
        let total = by_node.values().sum();
        Some(Loads { by_node, total })
    }

    /// The move that relieves this node best: afterwards the busier one of both nodes has much less to do than this one has now. So no
    /// number of such moves leads back to where they began.
    fn relief(&self, busiest: u32, loads: &Loads) -> Option<Move> {
        let load = loads.of(busiest);
        let led = self.leaders.iter().filter(|(_, node)| **node == busiest);
        let moves = led.flat_map(move |(partition, _)| {
            let nodes = self.candidates.get(partition).into_iter().flatten();
            let others = nodes.filter(move |node| **node != busiest);
            others.map(move |to| Move {
                partition: *partition,
                to: *to,
            })
        });
        let peaks = moves.map(|it| {
            let moved = self.moved(it.partition, busiest, it.to);
            let peak = load.saturating_sub(moved).max(loads.of(it.to) + moved);
            (peak, it)
        });
        let (_, best) = peaks
            .filter(|(peak, _)| loads.is_much_less(*peak, load))
            .min()?;
        Some(best)
    }
}

/// A node that leads a partition in the place of this one.
#[derive(Debug)]
struct StandIn {
    node: u32,
    /// Looks for which this node has had room for the partition.
    room: u32,
}

/// What one node decides. Begins again with each change of the nodes that can be reached.
#[derive(Debug, Default)]
pub struct Relief {
    /// The leaders at the last look.
    leaders: BTreeMap<u32, u32>,
    /// The node that is too busy, and the number of looks for which it has been.
    too_busy: Option<(u32, u32)>,
    /// By partition.
    stand_ins: BTreeMap<u32, StandIn>,
}

impl Relief {
    /// The node that leads the partition in this one's place.
    pub fn stand_in(&self, partition: u32) -> Option<u32> {
        let stand_in = self.stand_ins.get(&partition)?;
        Some(stand_in.node)
    }

    /// Looks at the loads on behalf of this node; to be called every 5 s. Returns what it has decided: [`Relief::stand_in`] is different
    /// from then on.
    pub fn look(&mut self, own: u32, view: &View) -> Option<Move> {
        let Some(loads) = view.loads() else {
            // A node that reports no load does not know of stand-ins either, and would take the partitions back again and again.
            *self = Relief::default();
            return None;
        };
        let by_number = spread(&view.candidates);
        self.stand_ins.retain(|partition, it| {
            by_number.get(partition) == Some(&own) && view.could_lead(it.node, *partition)
        });
        let (busiest, most) = loads.busiest()?;
        let is_settled = view.with_stand_ins(by_number.clone()) == view.leaders;
        if !is_settled || self.leaders != view.leaders || most < LEAST {
            self.leaders.clone_from(&view.leaders);
            self.begin_again();
            return None;
        }
        if self.has_been_too_busy(busiest, loads.is_too_much(most)) {
            self.begin_again();
            let relief = view.relief(busiest, &loads)?;
            return (by_number.get(&relief.partition) == Some(&own)).then(|| {
                self.decide(own, relief);
                relief
            });
        }
        let back = self.has_room_again(own, view, &loads)?;
        self.begin_again();
        self.decide(own, back);
        Some(back)
    }

    fn begin_again(&mut self) {
        self.too_busy = None;
        for stand_in in self.stand_ins.values_mut() {
            stand_in.room = 0;
        }
    }

    fn has_been_too_busy(&mut self, busiest: u32, is_too_busy: bool) -> bool {
        let before = self.too_busy.filter(|(node, _)| *node == busiest);
        let looks = before.map_or(0, |(_, looks)| looks) + 1;
        self.too_busy = is_too_busy.then_some((busiest, looks));
        is_too_busy && looks >= TOO_BUSY_FOR
    }

    /// A partition that this node can lead itself again.
    fn has_room_again(&mut self, own: u32, view: &View, loads: &Loads) -> Option<Move> {
        let mut back = None;
        for (partition, stand_in) in &mut self.stand_ins {
            let moved = view.moved(*partition, stand_in.node, own);
            let has_room = loads.leaves_room(loads.of(own) + moved);
            stand_in.room = if has_room { stand_in.room + 1 } else { 0 };
            if stand_in.room >= ROOM_FOR {
                back = back.or(Some(Move {
                    partition: *partition,
                    to: own,
                }));
            }
        }
        back
    }

    fn decide(&mut self, own: u32, Move { partition, to }: Move) {
        if to == own {
            self.stand_ins.remove(&partition);
        } else {
            self.stand_ins
                .insert(partition, StandIn { node: to, room: 0 });
        }
    }
}

#[cfg(test)]
mod tests;
