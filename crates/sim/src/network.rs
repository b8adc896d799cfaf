//! A network that loses, delays, duplicates and reorders messages, and can be cut in either direction.

use std::collections::BTreeSet;

use bytes::Bytes;

use skep_random::Random;

#[derive(Debug, Default)]
pub struct Network {
    /// Number of lost messages per thousand.
    pub loss: u64,
    /// Number of duplicated messages per thousand.
    pub repeats: u64,
    /// Maximum delay in microseconds.
    pub delay: u64,
    /// Directions in which no message gets through.
    pub cut: BTreeSet<(u64, u64)>,
}

/// A message in transit.
#[derive(Debug, Clone)]
pub struct Flight {
    pub from: u64,
    pub to: u64,
    pub bytes: Bytes,
}

impl Network {
    /// A network with some losses, repeats and delays.
    pub fn random(random: &mut Random) -> Network {
        Network {
            loss: random.below(3) * 50,
            repeats: random.below(3) * 50,
            delay: 500 + random.below(3) * 6_000,
            cut: BTreeSet::new(),
        }
    }

    /// Cuts this node off from all others, in both directions.
    pub fn isolate(&mut self, node: u64, nodes: impl IntoIterator<Item = u64>) {
        for other in nodes.into_iter().filter(|other| *other != node) {
            self.cut.insert((node, other));
            self.cut.insert((other, node));
        }
    }

    /// The delays of the copies of a message: none, one or two.
    pub fn deliveries(&self, random: &mut Random, from: u64, to: u64) -> Vec<u64> {
        if self.cut.contains(&(from, to)) || random.below(1000) < self.loss {
            return Vec::new();
        }
        let copies = if random.below(1000) < self.repeats {
            2
        } else {
            1
        };
        let mut delay = || 50 + random.below(self.delay.max(1));
        (0..copies).map(|_| delay()).collect()
    }

    pub fn heal(&mut self) {
        *self = Self {
            delay: 1000,
            ..Self::default()
        };
    }
}
