//! Leaders of the partitions, as reported by a node.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde_json::Value;

use super::PATIENCE;
use crate::http::{Kept, Rest};

/// Leaders by partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    leaders: BTreeMap<u32, u32>,
    partitions: usize,
    copies: usize,
}

impl Topology {
    /// # Errors
    /// The node does not answer, or its answer is not a topology.
    pub fn of(node: &mut Kept) -> io::Result<Self> {
        let answer = node.json("GET", "/v2/topology", "", PATIENCE)?;
        Ok(Self::read(&answer))
    }

    fn read(answer: &Value) -> Self {
        let list = |value: &Value, name| value.get(name).and_then(Value::as_array).cloned();
        let number = |value: &Value, name| {
            let number = value.get(name).and_then(Value::as_u64);
            number.and_then(|number| u32::try_from(number).ok())
        };
        let mut leaders = BTreeMap::new();
        for broker in list(answer, "brokers").unwrap_or_default() {
            for partition in list(&broker, "partitions").unwrap_or_default() {
                let leads = partition.get("role").and_then(Value::as_str) == Some("leader");
                if let (true, Some(id), Some(node)) = (
                    leads,
                    number(&partition, "partitionId"),
                    number(&broker, "nodeId"),
                ) {
                    leaders.insert(id, node);
                }
            }
        }
        let count = |name| {
            let count = number(answer, name).unwrap_or(0);
            usize::try_from(count).unwrap_or(usize::MAX)
        };
        Self {
            leaders,
            partitions: count("partitionsCount"),
            copies: count("replicationFactor"),
        }
    }

    /// The number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// The number of brokers that have a copy of a partition.
    pub fn copies(&self) -> usize {
        self.copies
    }

    pub fn leader_of(&self, partition: u32) -> Option<u32> {
        self.leaders.get(&partition).copied()
    }

    /// The number of partitions that a node leads.
    pub fn leads(&self, node: u32) -> usize {
        self.leaders
            .values()
            .filter(|leader| **leader == node)
            .count()
    }

    /// Whether every partition has a leader.
    pub fn is_led(&self) -> bool {
        self.partitions > 0 && self.leaders.len() == self.partitions
    }

    /// Whether every partition has a leader, and the numbers of partitions that any two of this many nodes lead differ by at most one.
    pub fn is_even(&self, nodes: usize) -> bool {
        let nodes = nodes.max(1);
        let (least, most) = (self.partitions / nodes, self.partitions.div_ceil(nodes));
        let leading: BTreeSet<u32> = self.leaders.values().copied().collect();
        // A node that leads nothing is not among them.
        let all_lead = least == 0 || leading.len() == nodes;
        let share = least..=most;
        let mut each = leading.iter().map(|node| self.leads(*node));
        self.is_led() && all_lead && each.all(|led| share.contains(&led))
    }
}

/// Whether none of these nodes leads a partition, by its own account. Blocks.
pub fn lead_nothing(nodes: &[(u32, Rest)]) -> bool {
    nodes.iter().all(|(node, rest)| {
        let topology = Topology::of(&mut Kept::to(rest.clone()));
        topology.is_ok_and(|topology| topology.leads(*node) == 0)
    })
}

/// Whether as many of these nodes answer as there are members, and all agree on leaders that are spread evenly among them; of a foreign
/// cluster (`None`) it is unknown how many there are, so every partition must have a leader. Blocks.
pub fn are_even(nodes: &mut [Kept], members: Option<usize>) -> bool {
    let seen = nodes.iter_mut().filter_map(|node| Topology::of(node).ok());
    let seen: Vec<Topology> = seen.collect();
    let is_even = |topology: &Topology| {
        members.map_or_else(|| topology.is_led(), |members| topology.is_even(members))
    };
    seen.len() >= members.unwrap_or(1) && seen.iter().all(is_even)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::http::fake;

    /// Where opening a connection takes seconds, a node would seem to become even by so much later.
    #[test]
    fn a_node_that_is_asked_again_and_again_is_asked_over_one_connection() {
        let topology = json!({
            "brokers": [{ "nodeId": 0, "partitions": [{ "partitionId": 1, "role": "leader" }] }],
            "partitionsCount": 1,
        });
        let address = fake::serve(1, move |_, _| topology.to_string());
        let mut nodes = [Kept::to(Rest::open(&address))];
        for _ in 0..2 {
            assert!(are_even(&mut nodes, Some(1)));
        }
    }

    #[test]
    fn leaders_are_even_when_none_leads_more_than_its_share() {
        let broker = |node, roles: &[(u32, &str)]| {
            let partitions = roles
                .iter()
                .map(|(id, role)| json!({"partitionId": id, "role": role}));
            json!({"nodeId": node, "partitions": partitions.collect::<Vec<_>>()})
        };
        let of =
            |brokers: &[Value]| Topology::read(&json!({"brokers": brokers, "partitionsCount": 2}));
        let even = of(&[
            broker(0, &[(1, "leader"), (2, "follower")]),
            broker(1, &[(1, "follower"), (2, "leader")]),
            broker(2, &[(1, "follower"), (2, "follower")]),
        ]);
        assert!(even.is_even(3));
        assert_eq!((even.leader_of(2), even.leads(2)), (Some(1), 0));
        assert!(!of(&[broker(0, &[(1, "leader"), (2, "leader")])]).is_even(3));
        assert!(of(&[broker(0, &[(1, "leader"), (2, "leader")])]).is_even(1));
        let half = of(&[broker(0, &[(1, "leader"), (2, "candidate")])]);
        assert!(!half.is_even(3) && !half.is_led() && even.is_led());
        assert!(!Topology::read(&json!({})).is_even(1));
    }

    #[test]
    fn leaders_are_not_even_when_a_node_leads_less_than_its_share() {
        // The numbers of partitions that each node leads.
        let of = |led: &[u32]| {
            let (mut leaders, mut next) = (BTreeMap::new(), 0);
            for (node, count) in (0..).zip(led) {
                for _ in 0..*count {
                    next += 1;
                    leaders.insert(next, node);
                }
            }
            let partitions = leaders.len();
            Topology {
                leaders,
                partitions,
                ..Topology::default()
            }
        };
        for (led, even) in [
            ([2, 2, 0], false),
            ([2, 1, 1], true),
            ([3, 1, 1], false),
            ([2, 2, 1], true),
            ([1, 1, 0], true),
            ([2, 0, 0], false),
            ([3, 3, 0], false),
            ([2, 2, 2], true),
        ] {
            assert_eq!(of(&led).is_even(3), even, "{led:?}");
        }
    }
}
