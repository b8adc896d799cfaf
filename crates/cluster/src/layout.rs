//! Placement of copies on nodes, and the numbering of members of Raft groups.

use std::collections::BTreeMap;

/// The placement of copies: round robin, so that each node is the first replica of about as many partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Ascending.
    pub nodes: Vec<u32>,
    pub copies: u32,
    pub partitions: u32,
}

impl Layout {
    /// By partition: its nodes with their priorities, highest first.
    pub fn replicas(&self) -> BTreeMap<u32, Vec<(u32, u32)>> {
        let partitions = (1..=self.partitions).map(|partition| (partition, self.of(partition)));
        partitions.collect()
    }

    fn of(&self, partition: u32) -> Vec<(u32, u32)> {
        let count = self.nodes.len().max(1);
        let first = partition.saturating_sub(1) as usize % count;
        let nodes = self.nodes.iter().cycle().skip(first).take(self.nodes.len());
        let priorities = (1..=self.copies).rev();
        nodes.copied().zip(priorities).collect()
    }
}

/// The member number of a node in a Raft group. Each time that a node joins a group it becomes another member, so that nobody relies on
/// what an earlier one had on its disk. There is no member 0.
pub fn member(node: u32, generation: u64) -> u64 {
    (generation << 32) | (u64::from(node) + 1)
}

/// The node of a member: the inverse of [`member`].
pub fn node_of(member: u64) -> Option<u32> {
    u32::try_from((member & u64::from(u32::MAX)).checked_sub(1)?).ok()
}

/// The revision of the state that made it a member; 0: it is one of those with which the group began.
pub fn generation(member: u64) -> u64 {
    member >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_placed_round_robin() {
        let layout = Layout {
            nodes: vec![0, 1, 4, 5],
            copies: 3,
            partitions: 5,
        };
        let all = layout.replicas();
        assert_eq!(all[&1], [(0, 3), (1, 2), (4, 1)]);
        assert_eq!(all[&2], [(1, 3), (4, 2), (5, 1)]);
        assert_eq!(all[&4], [(5, 3), (0, 2), (1, 1)]);
        assert_eq!(all[&5], all[&1]);
        assert_eq!(node_of(member(3, 7)), Some(3));
        assert_eq!(member(3, 0), 4);
        assert_eq!(node_of(0), None);
        assert_eq!(generation(member(3, 7)), 7);
    }
}
