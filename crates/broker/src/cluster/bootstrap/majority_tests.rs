//! Simulated clusters of which an operator has recovered a minority that was only cut off: the majority works on, in whatever order nodes
//! greet each other and start again.

use std::time::Duration;

use skep_random::Random;

use super::tests::{Node, greeting, node_of, of_epoch};
use super::{BTreeSet, Bootstrap, Majority};

/// Longer than any run.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Deliberate mistakes. The checks must catch each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutation {
    None,
    /// A node with a leader yields like any other.
    LiveMajorityYields,
    /// A node that starts believes what it hears first.
    BelievesAtOnce,
    /// A majority that was greeted forgets that it was alive then.
    Forgets,
    /// A node yields when it has no leader because a disk is full.
    FullDiskYields,
}

/// Node 0 was recovered alone. Nodes 1 and 2 are a majority of the cluster as it was.
struct World {
    mutation: Mutation,
    nodes: [Node; 3],
    /// Whether nodes 1 and 2 have met since each of them has started, and so have a leader.
    have_met: bool,
    /// Whether a node of the majority was greeted by node 0 while it had a leader, since its own start.
    contradicts: [bool; 3],
    /// Nodes of the majority whose disk is full: both are needed for a leader.
    full: [bool; 3],
}

fn patience(mutation: Mutation) -> Duration {
    match mutation {
        Mutation::None | Mutation::Forgets | Mutation::FullDiskYields => PATIENCE,
        Mutation::BelievesAtOnce | Mutation::LiveMajorityYields => Duration::ZERO,
    }
}

fn started(number: u32, epoch: u64, mutation: Mutation) -> Node {
    let patient = |bootstrap: Bootstrap| bootstrap.with_patience(patience(mutation));
    let node = node_of(number, &of_epoch(epoch), patient);
    let nodes: BTreeSet<u32> = if epoch > 0 {
        [0].into()
    } else {
        [0, 1, 2].into()
    };
    node.bootstrap.nodes_are(nodes, BTreeSet::new());
    node
}

impl World {
    fn new(mutation: Mutation) -> World {
        World {
            mutation,
            nodes: [0, 1, 2].map(|it| started(it, u64::from(it == 0), mutation)),
            have_met: false,
            contradicts: [false; 3],
            full: [false; 3],
        }
    }

    fn majority(&self, node: usize) -> Majority {
        if node == 0 {
            return Majority::Leads;
        }
        match (self.have_met, self.full) {
            (true, [_, false, false]) => Majority::Leads,
            // They reach each other, and the one with the full disk hears no leader.
            (true, _) => Majority::MayBe,
            (false, full) if full[node] => Majority::MayBe,
            (false, _) => Majority::Unknown,
        }
    }

    /// Nodes that were in a majority until now look for it again.
    fn look_again(&mut self) {
        for node in [1, 2] {
            if self.majority(node) != Majority::Unknown {
                self.nodes[node].bootstrap.patience = patience(self.mutation);
            }
        }
    }

    /// A disk is full, or has room again.
    fn fills(&mut self, node: usize) {
        self.look_again();
        self.full[node] = !self.full[node];
    }

    fn starts(&mut self, node: usize) {
        self.look_again();
        let epoch = u64::from(node == 0);
        self.nodes[node] = started(node as u32, epoch, self.mutation);
        self.have_met &= node == 0;
        self.contradicts[node] = false;
    }

    /// A node has no leader for longer than it is patient: a disk is full, or the other one stays away. In the second case node 0 has greeted
    /// it before, as it does each second.
    fn waits_long(&mut self, node: usize) {
        let is_away = !self.have_met && self.contradicts[node];
        if is_away || self.majority(node) == Majority::MayBe {
            let bootstrap = &mut self.nodes[node].bootstrap;
            bootstrap.patience = Duration::ZERO;
            if self.mutation == Mutation::Forgets {
                bootstrap.state.lock().contradicted = 0;
            }
        }
    }

    /// One of them presents itself to the other.
    fn greets(&mut self, from: usize, to: usize) {
        let other = greeting(&self.nodes[from]);
        let bootstrap = &self.nodes[to].bootstrap;
        let majority = match (self.mutation, self.majority(to)) {
            (Mutation::LiveMajorityYields, Majority::Leads)
            | (Mutation::FullDiskYields, Majority::MayBe) => Majority::Unknown,
            (_, majority) => majority,
        };
        let admitted = bootstrap.meets(&other, majority);
        if from != 0 && to != 0 {
            admitted.expect("nodes of the majority know each other");
            self.have_met = true;
            for node in &mut self.nodes[1..] {
                node.bootstrap.patience = patience(self.mutation);
            }
        } else {
            self.contradicts[to] |= self.majority(to) == Majority::Leads;
            assert!(admitted.is_err(), "the minority is kept away");
        }
    }

    fn step(&mut self, random: &mut Random) {
        let mut any = |count: u64| random.below(count) as usize;
        match any(9) {
            0 => {
                let node = any(3);
                self.starts(node);
            }
            2 => {
                let node = 1 + any(2);
                self.fills(node);
            }
            1 => {
                let node = 1 + any(2);
                self.waits_long(node);
            }
            _ => {
                let (from, to) = (any(3), any(3));
                if from != to {
                    self.greets(from, to);
                }
            }
        }
        for node in &self.nodes {
            let yields = node.bootstrap.left_behind();
            assert_eq!(yields, None, "a majority is alive");
        }
    }
}

fn run(seed: u64, mutation: Mutation) {
    let (mut world, mut random) = (World::new(mutation), Random(seed));
    for _ in 0..200 {
        world.step(&mut random);
    }
}

#[test]
fn a_majority_that_lives_yields_to_no_minority() {
    skep_sim::each(100, |seed| run(seed, Mutation::None));
}

#[test]
fn the_checks_catch_majorities_that_yield() {
    let seeds: Vec<u64> = (1..=20).collect();
    for mutation in [
        Mutation::LiveMajorityYields,
        Mutation::BelievesAtOnce,
        Mutation::Forgets,
        Mutation::FullDiskYields,
    ] {
        let caught = skep_sim::search(&seeds, |seed| run(seed, mutation));
        assert!(caught.is_some(), "{mutation:?} was not caught");
    }
}

#[test]
fn a_node_that_finds_no_majority_learns_that_it_was_left_behind() {
    let (survivor, old) = (
        started(0, 1, Mutation::None),
        node_of(2, &of_epoch(0), |it| it),
    );
    let refused = old.bootstrap.meets(&greeting(&survivor), Majority::Unknown);
    assert_eq!(old.bootstrap.left_behind(), refused.err());
    let patient = started(1, 0, Mutation::None);
    let refused = patient
        .bootstrap
        .meets(&greeting(&survivor), Majority::Unknown);
    assert!(refused.is_err());
    assert_eq!(patient.bootstrap.left_behind(), None);
}

/// Its metadata disk was full when the recovered minority greeted it first.
#[test]
fn a_node_with_a_full_disk_does_not_yield_while_a_majority_may_need_it() {
    let survivor = greeting(&started(0, 1, Mutation::None));
    let full = node_of(1, &of_epoch(0), |it| it);
    let refused = full.bootstrap.meets(&survivor, Majority::MayBe);
    assert!(refused.is_err());
    assert_eq!(full.bootstrap.left_behind(), None);
    let refused = full.bootstrap.meets(&survivor, Majority::Unknown);
    assert_eq!(
        full.bootstrap.left_behind(),
        refused.err(),
        "nobody needs it"
    );
}
