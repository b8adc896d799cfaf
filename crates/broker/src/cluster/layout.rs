//! Which nodes have a copy of which partition. Every node computes the same.

use skep_transport::Layout;

/// The nodes with a copy of the partition: round robin, so that each node is the first of about as many partitions.
pub fn replicas(layout: Layout, partition: u32) -> Vec<u32> {
    let size = layout.size.max(1);
    let first = partition.saturating_sub(1) % size;
    let copies = layout.replication_factor.clamp(1, size);
    (0..copies).map(|n| (first + n) % size).collect()
}

/// The node as the replicas of a partition name it. They have no number 0.
pub fn member(node: u32) -> u64 {
    u64::from(node) + 1
}

/// The other way round.
pub fn node_of(member: u64) -> Option<u32> {
    u32::try_from(member.checked_sub(1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_go_round_the_nodes() {
        let layout = Layout {
            size: 4,
            replication_factor: 3,
            partitions: 5,
        };
        let all: Vec<_> = (1..=5)
            .map(|partition| replicas(layout, partition))
            .collect();
        let expected = [[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 1, 2]];
        assert_eq!(all, expected);
        assert_eq!(node_of(member(3)), Some(3));
        assert_eq!(node_of(0), None);
    }
}
