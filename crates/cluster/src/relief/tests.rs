//! Clusters whose nodes look at their loads every 5 s, and hand over one partition each in between.

use std::collections::BTreeMap;

use skep_random::Random;

use super::{CopyLoad, Move, ROOM_FOR, Relief, TOO_BUSY_FOR, View};
use crate::Layout;

/// CPU time of a copy that leads, and of one that follows.
#[derive(Clone, Copy, Debug)]
struct Work {
    leads: u32,
    follows: u32,
}

#[derive(Debug)]
struct World {
    candidates: BTreeMap<u32, Vec<u32>>,
    leaders: BTreeMap<u32, u32>,
    work: BTreeMap<u32, Work>,
    nodes: BTreeMap<u32, Relief>,
}

impl World {
    /// Each of the nodes has a copy of each partition, and one of these amounts of work if it leads the partition.
    fn new(nodes: u32, works: &[Work]) -> World {
        let layout = Layout {
            nodes: (0..nodes).collect(),
            copies: nodes,
            partitions: works.len() as u32,
        };
        let replicas = layout.replicas().into_iter();
        let candidates = replicas.map(|(partition, of)| {
            let nodes: Vec<u32> = of.into_iter().map(|it| it.0).collect();
            (partition, nodes)
        });
        let mut world = World {
            candidates: candidates.collect(),
            leaders: BTreeMap::new(),
            work: (1..).zip(works.iter().copied()).collect(),
            nodes: (0..nodes).map(|node| (node, Relief::default())).collect(),
        };
        world.leaders = world.view().placed();
        world
    }

    /// The same, where copies that follow have nothing to do.
    fn led(nodes: u32, leads: &[u32]) -> World {
        let works: Vec<Work> = leads.iter().map(|leads| work(*leads, 0)).collect();
        World::new(nodes, &works)
    }

    fn view(&self) -> View {
        let mut view = View {
            candidates: self.candidates.clone(),
            leaders: self.leaders.clone(),
            copies: BTreeMap::new(),
        };
        for (partition, nodes) in &self.candidates {
            for node in nodes {
                let leads = self.leaders.get(partition) == Some(node);
                let work = self.work[partition];
                let copy = CopyLoad {
                    cpu: if leads { work.leads } else { work.follows },
                    stand_in: self.nodes[node].stand_in(*partition),
                };
                view.copies.insert((*node, *partition), copy);
            }
        }
        view
    }

    /// All nodes look, and hand over. Returns what was decided.
    fn look(&mut self) -> Option<Move> {
        let view = self.view();
        let decided: Vec<Move> = self
            .nodes
            .iter_mut()
            .filter_map(|(own, relief)| relief.look(*own, &view))
            .collect();
        assert!(decided.len() <= 1, "two at once: {decided:?} {self:?}");
        let placed = self.view().placed();
        let before = self.leaders.clone();
        for node in self.nodes.keys() {
            let mut led = before.iter().filter(|(_, leader)| *leader == node);
            let misplaced = led.find(|(partition, _)| placed[*partition] != *node);
            if let Some((partition, _)) = misplaced {
                self.leaders.insert(*partition, placed[partition]);
            }
        }
        decided.first().copied()
    }

    /// The decisions of this many looks.
    fn looks(&mut self, looks: u32) -> Vec<Move> {
        (0..looks).filter_map(|_| self.look()).collect()
    }

    #[track_caller]
    fn decides_nothing(&mut self, looks: u32) {
        let decided = self.looks(looks);
        assert!(decided.is_empty(), "{decided:?}: {self:?}");
    }

    fn loads(&self) -> Vec<u64> {
        self.view().loads().unwrap().by_node.into_values().collect()
    }

    fn most(&self) -> u64 {
        self.loads().into_iter().max().unwrap()
    }

    /// Looks after which nothing can be decided any more unless something changes.
    fn quiet(&self) -> u32 {
        let mut nodes = self.nodes.values();
        let has_stand_ins = nodes.any(|it| !it.stand_ins.is_empty());
        2 * TOO_BUSY_FOR + if has_stand_ins { ROOM_FOR } else { 0 }
    }
}

fn work(leads: u32, follows: u32) -> Work {
    Work { leads, follows }
}

#[test]
fn a_node_that_is_too_busy_for_a_minute_gives_one_partition_away() {
    // Node 0 leads 1 and 3, node 1 leads 2 and 4.
    let mut world = World::led(2, &[400, 0, 300, 0]);
    assert_eq!(world.loads(), [700, 0]);
    // The first look only sees who leads.
    world.decides_nothing(TOO_BUSY_FOR);
    let given = Move {
        partition: 1,
        to: 1,
    };
    assert_eq!(world.look(), Some(given));
    assert_eq!(world.loads(), [300, 400]);
    world.decides_nothing(1000);
    assert_eq!(world.loads(), [300, 400]);
}

#[test]
fn what_a_copy_costs_whoever_leads_does_not_move() {
    let (rest, first, other) = (work(0, 0), work(300, 250), work(300, 10));
    let mut world = World::new(3, &[first, rest, rest, other, rest, rest, other]);
    assert_eq!(world.loads(), [900, 270, 270]);
    // Without the first partition, node 0 would have almost as much to do.
    let given = Move {
        partition: 4,
        to: 1,
    };
    assert_eq!(world.looks(1000), [given]);
    assert_eq!(world.loads(), [610, 560, 270]);
}

#[test]
fn nothing_moves_that_would_make_another_node_as_busy() {
    // By number, one node leads one more than the others: of equal partitions, that is one and a half times the mean.
    for leads in [
        &[200, 200, 200, 200][..],
        &[230, 200, 200, 200],
        &[200, 200, 200, 230],
        // One partition is all that there is to do.
        &[900, 0, 0],
        &[900, 0, 0, 0],
    ] {
        let mut world = World::led(3, leads);
        world.decides_nothing(1000);
    }
}

#[test]
fn a_cluster_at_rest_moves_nothing() {
    let mut world = World::led(2, &[50, 0, 49, 0]);
    world.decides_nothing(1000);
    // Leaders that moved while it was busy stay where they are.
    let mut world = World::led(2, &[400, 0, 300, 0]);
    assert_eq!(world.looks(100).len(), 1);
    for work in world.work.values_mut() {
        work.leads = 0;
    }
    world.decides_nothing(1000);
    assert_eq!(world.leaders[&1], 1);
}

#[test]
fn a_load_that_comes_and_goes_moves_nothing() {
    let mut world = World::led(2, &[400, 0, 300, 0]);
    for _ in 0..50 {
        world.decides_nothing(TOO_BUSY_FOR - 1);
        world.work.insert(2, work(600, 0));
        world.decides_nothing(1);
        world.work.insert(2, work(0, 0));
    }
}

#[test]
fn a_partition_is_taken_back_once_there_has_been_room_for_ten_minutes() {
    let mut world = World::led(2, &[400, 0, 300, 0]);
    assert_eq!(world.looks(100).len(), 1);
    // With it, node 0 would have 1.3 times the mean: less than made it give the partition away.
    let (too_little, enough) = (work(376, 0), work(420, 0));
    world.work.insert(2, too_little);
    world.decides_nothing(1000);
    // 1.25 times the mean.
    world.work.insert(2, enough);
    world.decides_nothing(ROOM_FOR - 1);
    world.work.insert(2, too_little);
    world.decides_nothing(1);
    world.work.insert(2, enough);
    let back = Move {
        partition: 1,
        to: 0,
    };
    assert_eq!(world.looks(ROOM_FOR), [back]);
    assert_eq!(world.leaders[&1], 0);
    world.decides_nothing(1000);
}

#[test]
fn a_node_whose_version_reports_no_load_ends_all_that_was_decided() {
    let mut world = World::led(2, &[400, 0, 300, 0]);
    assert_eq!(world.looks(100).len(), 1);
    let mut view = world.view();
    view.copies.retain(|(node, _), _| *node == 0);
    let relief = world.nodes.get_mut(&0).unwrap();
    assert_eq!(relief.stand_in(1), Some(1));
    for _ in 0..100 {
        assert_eq!(relief.look(0, &view), None);
        assert_eq!(relief.stand_in(1), None);
    }
}

#[test]
fn a_stand_in_that_can_no_longer_lead_is_given_up() {
    let mut world = World::led(3, &[400, 0, 0, 300]);
    assert_eq!(world.looks(100).len(), 1);
    let stand_in = world.nodes[&0].stand_in(1).unwrap();
    world
        .candidates
        .get_mut(&1)
        .unwrap()
        .retain(|node| *node != stand_in);
    world.look();
    assert_eq!(world.nodes[&0].stand_in(1), None);
    assert_eq!(world.view().placed()[&1], 0);
}

/// Lets leaders come to rest.
fn comes_to_rest(mut world: World) {
    let (before, mut quiet, mut moves) = (world.most(), 0, 0);
    while quiet < world.quiet() {
        quiet += 1;
        if world.look().is_some() {
            moves += 1;
            quiet = 0;
        }
        assert!(moves <= 10, "leaders do not come to rest: {world:?}");
    }
    assert!(world.most() <= before, "{before}: {world:?}");
    assert_eq!(world.leaders, world.view().placed());
}

#[test]
fn leaders_come_to_rest_whatever_four_partitions_have_to_do() {
    const AMOUNTS: [u32; 3] = [0, 150, 400];
    for number in 0..AMOUNTS.len().pow(4) {
        let digits = (0..4).map(|digit| number / AMOUNTS.len().pow(digit) % AMOUNTS.len());
        let leads: Vec<u32> = digits.map(|digit| AMOUNTS[digit]).collect();
        comes_to_rest(World::led(2, &leads));
        comes_to_rest(World::led(3, &leads));
        let works = leads.iter().map(|leads| work(*leads, leads * 3 / 10));
        comes_to_rest(World::new(3, &works.collect::<Vec<_>>()));
    }
}

#[test]
fn leaders_of_random_clusters_come_to_rest() {
    let mut random = Random(7);
    let mut below = |bound: u64| random.below(bound);
    for _ in 0..100 {
        let nodes = 2 + below(4) as u32;
        let works = (0..2 + below(8)).map(|_| {
            let leads = below(1000) as u32;
            work(leads, leads * below(4) as u32 / 5)
        });
        let mut world = World::new(nodes, &works.collect::<Vec<_>>());
        // Not every node has a copy.
        for nodes in world.candidates.values_mut() {
            let kept = 1 + below(nodes.len() as u64) as usize;
            nodes.truncate(kept);
        }
        world.leaders = world.view().placed();
        comes_to_rest(world);
    }
}
