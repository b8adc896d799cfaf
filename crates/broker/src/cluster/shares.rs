//! Distribution of a job stream's credit over nodes.
//!
//! The client's node deals its credit out to all nodes, so that every leader can push at once. A node that has jobs but no credit says so;
//! the others then return half of their unused credit. Credit is never created on the way: what one node returns, another one gets, and the
//! credit of a lost node is given to others once its jobs can no longer arrive.
//!
//! A node identifies a stream by a name, and gets a new name each time the stream is announced. Messages under the old name are ignored,
//! except that jobs which came under it occupy credit until the client takes them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use skep_engine::StreamId;

/// A node that has starved within this time is not asked to give up credit. An unanswered request for credit expires after this time.
const RECENT: Duration = Duration::from_secs(1);

/// The credit of one stream.
#[derive(Debug)]
pub struct Shares {
    total: u32,
    /// The credit of each node, whether free or used for jobs in transit.
    granted: BTreeMap<u32, u32>,
    /// The name under which each node knows the stream.
    names: BTreeMap<u32, StreamId>,
    /// The last name of each lost node. It may know the stream all the same: it may have read the announcement after it lost this node.
    former_names: BTreeMap<u32, StreamId>,
    /// Jobs that came from a node under a name and that the client has not taken yet.
    waiting: BTreeMap<(u32, StreamId), u32>,
    starving: BTreeMap<u32, Instant>,
    /// Nodes that were asked to give up credit and have not answered.
    asked: BTreeMap<u32, Instant>,
}

/// Changes to send to nodes, each with an amount.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Moves {
    pub grow: Vec<(u32, u32)>,
    pub shrink: Vec<(u32, u32)>,
}

impl Shares {
    /// Even shares; each node has at least one.
    pub fn new(total: u32, name: StreamId, nodes: impl IntoIterator<Item = u32>) -> Shares {
        let nodes: Vec<u32> = nodes.into_iter().collect();
        let each = even(total, nodes.len());
        Shares {
            total,
            names: nodes.iter().map(|node| (*node, name)).collect(),
            granted: nodes.into_iter().map(|node| (node, each)).collect(),
            former_names: BTreeMap::new(),
            waiting: BTreeMap::new(),
            starving: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    /// Each node's initial share.
    pub fn each(&self) -> u32 {
        even(self.total, self.granted.len())
    }

    /// Credit that neither a node nor a job of a lost node holds.
    fn free(&self) -> u32 {
        let granted: u32 = self.granted.values().sum();
        self.total.saturating_sub(granted + self.left())
    }

    /// Jobs from nodes that have been lost since.
    fn left(&self) -> u32 {
        let left = |((node, name), _): &(&(u32, StreamId), &u32)| !self.is_known(*node, *name);
        self.waiting.iter().filter(left).map(|it| *it.1).sum()
    }

    /// A node's minimum share: one, or nothing while there are jobs from before a node was lost. Once they are taken, it gets some.
    fn least(&self) -> u32 {
        u32::from(self.left() == 0)
    }

    /// The name under which the node knows the stream.
    pub fn name_at(&self, node: u32) -> Option<StreamId> {
        self.names.get(&node).copied()
    }

    /// The last name under which the stream was announced to the node, which may know it by that name.
    pub fn announced_at(&self, node: u32) -> Option<StreamId> {
        let former = || self.former_names.get(&node).copied();
        self.name_at(node).or_else(former)
    }

    fn is_known(&self, node: u32, name: StreamId) -> bool {
        self.name_at(node) == Some(name)
    }

    /// The node has pushed a job under this name.
    pub fn came(&mut self, node: u32, name: StreamId) {
        *self.waiting.entry((node, name)).or_default() += 1;
    }

    /// The client has taken the job. Returns the share of the node, which gets the credit back; or, if the node was lost meanwhile, who
    /// gets it instead.
    pub fn taken(&mut self, node: u32, name: StreamId) -> Result<u32, Vec<(u32, u32)>> {
        if let Some(waiting) = self.waiting.get_mut(&(node, name)) {
            *waiting -= 1;
            if *waiting == 0 {
                self.waiting.remove(&(node, name));
            }
        }
        if self.is_known(node, name) {
            Ok(self.of(node))
        } else {
            Err(self.deal())
        }
    }

    /// The node's share.
    pub fn of(&self, node: u32) -> u32 {
        self.granted.get(&node).copied().unwrap_or_default()
    }

    /// A node joins or returns, and knows the stream by this name. Returns its share.
    pub fn met(&mut self, node: u32, name: StreamId) -> u32 {
        self.lost(node);
        let each = even(self.total, self.granted.len() + 1);
        let share = each.min(self.free()).max(self.least());
        self.granted.insert(node, share);
        self.names.insert(node, name);
        share
    }

    /// A node is lost, with its share.
    pub fn lost(&mut self, node: u32) {
        self.starving.remove(&node);
        self.asked.remove(&node);
        self.granted.remove(&node);
        if let Some(name) = self.names.remove(&node) {
            self.former_names.insert(node, name);
        }
    }

    /// A node has jobs and no credit.
    pub fn starves(&mut self, node: u32, now: Instant) -> Moves {
        if !self.granted.contains_key(&node) {
            return Moves::default();
        }
        let is_recent = |since: &Instant| now.saturating_duration_since(*since) < RECENT;
        self.starving.retain(|_, since| is_recent(since));
        self.asked.retain(|_, since| is_recent(since));
        self.starving.insert(node, now);
        let mut moves = Moves {
            grow: self.deal(),
            shrink: Vec::new(),
        };
        if moves.grow.is_empty() && self.asked.is_empty() {
            let can_give = |(node, has): (&u32, &u32)| {
                (!self.starving.contains_key(node) && *has > 1).then(|| (*node, has / 2))
            };
            moves.shrink = self.granted.iter().filter_map(can_give).collect();
            let asked = moves.shrink.iter().map(|(node, _)| (*node, now));
            self.asked = asked.collect();
        }
        moves
    }

    /// Credit meant for the node did not reach it.
    pub fn not_grown(&mut self, node: u32, amount: u32) {
        if let Some(has) = self.granted.get_mut(&node) {
            *has = has.saturating_sub(amount);
        }
    }

    /// A node has given up some credit. Returns who gets it.
    pub fn freed(&mut self, node: u32, amount: u32) -> Vec<(u32, u32)> {
        self.asked.remove(&node);
        self.not_grown(node, amount);
        self.deal()
    }

    /// Gives free credit to starving nodes, and to those that have nothing.
    fn deal(&mut self) -> Vec<(u32, u32)> {
        let (mut free, least) = (self.free(), self.least());
        let wants = |(node, has): &(&u32, &mut u32)| **has == 0 || self.starving.contains_key(node);
        let mut nodes: Vec<(&u32, &mut u32)> = self.granted.iter_mut().filter(wants).collect();
        let mut left = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let mut dealt = Vec::new();
        for (node, has) in &mut nodes {
            let least = if **has == 0 { least } else { 0 };
            let amount = (free / left.max(1)).max(least);
            (free, left) = (free.saturating_sub(amount), left.saturating_sub(1));
            if amount > 0 {
                **has += amount;
                dealt.push((**node, amount));
            }
        }
        dealt
    }
}

fn even(total: u32, nodes: usize) -> u32 {
    let nodes = u32::try_from(nodes).unwrap_or(u32::MAX).max(1);
    (total / nodes).max(1)
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, Moves, RECENT, Shares, StreamId};

    const NAME: StreamId = 7;

    #[test]
    fn idle_nodes_give_half_of_their_share_to_a_starving_one() {
        let mut shares = Shares::new(30, NAME, 0..3);
        let now = Instant::now();
        assert_eq!(shares.starves(1, now).shrink, [(0, 5), (2, 5)]);
        assert_eq!(shares.freed(0, 5), [(1, 5)]);
        assert_eq!(
            shares.starves(1, now),
            Moves::default(),
            "one is still asked"
        );
        assert_eq!(shares.freed(2, 3), [(1, 3)]);
        assert_eq!((shares.of(0), shares.of(1), shares.of(2)), (5, 18, 7));
        assert_eq!(shares.starves(1, now).shrink, [(0, 2), (2, 3)]);
        // Their answers are lost.
        assert_eq!(shares.starves(1, now), Moves::default());
        assert_eq!(shares.starves(1, now + RECENT).shrink, [(0, 2), (2, 3)]);
    }

    #[test]
    fn every_node_keeps_one_and_starving_nodes_are_not_asked() {
        let mut shares = Shares::new(3, NAME, 0..3);
        let now = Instant::now();
        assert_eq!(shares.starves(0, now), Moves::default());
        let mut shares = Shares::new(30, NAME, 0..3);
        assert_eq!(shares.starves(0, now).shrink, [(1, 5), (2, 5)]);
        assert_eq!(shares.freed(1, 0), []);
        assert_eq!(shares.starves(1, now), Moves::default());
        // Both get a part of the freed share.
        assert_eq!(shares.freed(2, 5), [(0, 2), (1, 3)]);
        // Their answers have expired some time later.
        assert_eq!(shares.starves(2, now + RECENT).shrink, [(0, 6), (1, 6)]);
    }

    #[test]
    fn the_share_of_a_lost_node_goes_to_nodes_that_starve_and_a_returning_node_gets_one() {
        let mut shares = Shares::new(32, NAME, 0..3);
        let now = Instant::now();
        shares.lost(2);
        assert_eq!(shares.starves(0, now).grow, [(0, 12)]);
        assert_eq!(shares.met(2, NAME), 1, "the others have all of it");
        assert_eq!(
            shares.starves(2, now).shrink,
            [(1, 5)],
            "the first one starves too"
        );
        shares.lost(0);
        assert_eq!(shares.met(0, NAME), 10);
        // A message from a node that is no longer there.
        shares.lost(1);
        assert_eq!(shares.freed(1, 5), [(2, 21)]);
        assert_eq!(shares.starves(1, now), Moves::default());
    }

    #[test]
    fn no_credit_is_made_or_lost() {
        skep_sim::each(20, |seed| {
            let mut random = skep_random::Random(seed);
            let mut shares = Shares::new(32, NAME, 0..3);
            let start = Instant::now();
            for step in 0..2_000 {
                let now = start + Duration::from_millis(step * 20);
                let node = random.below(4) as u32;
                let has = shares.of(node);
                match random.below(8) {
                    0 => shares.lost(node),
                    1 => assert!(shares.met(node, NAME) > 0),
                    2..=4 => drop(shares.starves(node, now)),
                    _ => drop(shares.freed(node, random.below(6).min(u64::from(has)) as u32)),
                }
                // Nodes that join when nothing is left get a share of one each.
                let granted: u32 = shares.granted.values().sum();
                assert!(granted <= 32 + 4, "{shares:?}");
            }
        });
    }

    #[test]
    fn jobs_of_a_lost_node_take_their_room_until_they_are_taken() {
        let mut shares = Shares::new(12, NAME, 0..3);
        let now = Instant::now();
        for _ in 0..3 {
            shares.came(1, NAME);
        }
        assert_eq!(shares.taken(1, NAME), Ok(4));
        shares.lost(1);
        assert_eq!(shares.met(1, 8), 2, "two of four are in the client's queue");
        // A job pushed before the sender knew the new name.
        shares.came(1, NAME);
        assert_eq!(shares.starves(1, now).shrink, [(0, 2), (2, 2)]);
        assert_eq!(shares.freed(0, 2), [(1, 1)], "one job too many is here");
        assert_eq!(shares.taken(1, NAME), Err(vec![(1, 1)]));
        assert_eq!(shares.taken(1, NAME), Err(vec![(1, 1)]));
        assert_eq!(shares.taken(1, NAME), Err(vec![(1, 1)]));
        shares.came(1, 8);
        assert_eq!(shares.taken(1, 8), Ok(6));
        assert_eq!(shares.freed(2, 2), [(1, 2)]);
        shares.not_grown(1, 2);
        assert_eq!(shares.free(), 2);
        // Everything was used for jobs, and nothing returned: a node that comes back gets nothing for now.
        let mut shares = Shares::new(3, NAME, 0..3);
        shares.came(1, NAME);
        shares.lost(1);
        assert_eq!(shares.met(1, 8), 0);
        assert_eq!(shares.starves(1, now), Moves::default());
        assert_eq!(shares.taken(1, NAME), Err(vec![(1, 1)]));
    }

    #[test]
    fn the_last_name_of_a_lost_node_is_remembered() {
        let mut shares = Shares::new(9, NAME, 0..3);
        shares.lost(2);
        assert_eq!(
            (shares.name_at(2), shares.announced_at(2)),
            (None, Some(NAME))
        );
        shares.met(2, 8);
        shares.lost(2);
        shares.lost(2);
        assert_eq!(shares.announced_at(2), Some(8));
        assert_eq!(shares.announced_at(3), None);
    }
}
