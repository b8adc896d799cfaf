//! The current shape of a cluster, and the requested one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// The nodes, the replication factor and the number of partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub nodes: BTreeSet<u64>,
    /// Replicas of the active partition with the fewest. Zero if there is none.
    pub copies: u64,
    /// Whether all partitions have the same number of replicas.
    pub is_even: bool,
    /// Active partitions.
    pub partitions: u64,
}

/// The requested shape.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub size: u64,
    /// `None`: keep the current replication factor.
    pub copies: Option<u64>,
    /// `None`: keep the current number of partitions.
    pub partitions: Option<u64>,
}

impl Shape {
    /// Reads the answer of `GET /actuator/cluster`; `None` if it is something else.
    pub fn read(cluster: &Value) -> Option<Shape> {
        let brokers = cluster["brokers"].as_array()?;
        let active = active(cluster);
        let takes_part = |partition: u64| active.is_none_or(|active| partition <= active);
        let mut copies: BTreeMap<u64, u64> = BTreeMap::new();
        let mut nodes = BTreeSet::new();
        for broker in brokers {
            nodes.insert(broker["id"].as_u64()?);
            for partition in broker["partitions"].as_array().into_iter().flatten() {
                let id = partition["id"].as_u64()?;
                if takes_part(id) {
                    *copies.entry(id).or_default() += 1;
                }
            }
        }
        let fewest = copies.values().min().copied().unwrap_or(0);
        let most = copies.values().max().copied().unwrap_or(0);
        Some(Shape {
            nodes,
            copies: fewest,
            is_even: fewest == most,
            partitions: active.unwrap_or(copies.len() as u64),
        })
    }

    pub fn is(&self, wish: Wish) -> bool {
        let copies = wish
            .copies
            .is_none_or(|copies| self.is_even && self.copies == copies);
        let partitions = wish.partitions.is_none_or(|count| self.partitions == count);
        copies && partitions && self.nodes.iter().copied().eq(0..wish.size)
    }

    /// Whether the requested shape removes existing nodes.
    pub fn loses_nodes(&self, wish: Wish) -> bool {
        self.nodes.iter().any(|node| *node >= wish.size)
    }

    pub fn text(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(ToString::to_string).collect();
        format!(
            "nodes {}, partitions {}, copies of each {}",
            nodes.join(" "),
            self.partitions,
            self.copies
        )
    }
}

impl Wish {
    /// The body of `PATCH /actuator/cluster`.
    pub fn body(self) -> Value {
        let wishes = [
            ("replicationFactor", self.copies),
            ("count", self.partitions),
        ];
        let wishes = wishes.into_iter();
        let wishes = wishes.filter_map(|(name, wish)| Some((name.to_string(), json!(wish?))));
        let partitions: Map<String, Value> = wishes.collect();
        let brokers = json!({ "count": self.size });
        if partitions.is_empty() {
            json!({ "brokers": brokers })
        } else {
            json!({ "brokers": brokers, "partitions": partitions })
        }
    }
}

/// The number of active partitions; those just being created are not counted.
fn active(cluster: &Value) -> Option<u64> {
    let requests = cluster.pointer("/routing/requestHandling")?;
    let all = requests.get("partitionCount");
    all.or_else(|| requests.get("basePartitionCount"))?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(nodes: &[(u64, &[u64])]) -> Value {
        let brokers = nodes.iter().map(|(id, partitions)| {
            let partitions: Vec<Value> = partitions.iter().map(|id| json!({ "id": id })).collect();
            json!({ "id": id, "partitions": partitions })
        });
        json!({ "brokers": brokers.collect::<Vec<_>>() })
    }

    fn wish(size: u64, copies: impl Into<Option<u64>>) -> Wish {
        Wish {
            size,
            copies: copies.into(),
            partitions: None,
        }
    }

    #[test]
    fn a_cluster_that_is_as_asked_needs_no_change() {
        let three = cluster(&[(0, &[1, 2]), (1, &[1, 2]), (2, &[1, 2])]);
        let three = Shape::read(&three).unwrap();
        assert!(three.is(wish(3, 3)) && three.is(wish(3, None)));
        assert!(!three.is(wish(3, 2)) && !three.is(wish(4, 3)) && !three.is(wish(2, 2)));
        assert!(three.loses_nodes(wish(2, 2)) && !three.loses_nodes(wish(4, 2)));
        assert_eq!(three.text(), "nodes 0 1 2, partitions 2, copies of each 3");
        // The right number of other nodes, and partitions with different numbers of copies.
        let moved = cluster(&[(0, &[1]), (1, &[1]), (3, &[1])]);
        assert!(!Shape::read(&moved).unwrap().is(wish(3, 3)));
        let uneven = cluster(&[(0, &[1, 2]), (1, &[1, 2]), (2, &[1])]);
        assert!(!Shape::read(&uneven).unwrap().is(wish(3, 2)));
    }

    #[test]
    fn only_the_description_of_a_cluster_is_read_as_one() {
        assert_eq!(Shape::read(&json!({ "message": "starting" })), None);
        assert_eq!(Shape::read(&json!({ "brokers": [{}] })), None);
    }

    #[test]
    fn copies_are_asked_for_only_when_they_were_named() {
        assert_eq!(wish(3, None).body(), json!({"brokers": {"count": 3}}));
        let both = json!({"brokers": {"count": 3}, "partitions": {"replicationFactor": 2}});
        assert_eq!(wish(3, 2).body(), both);
    }

    #[test]
    fn partitions_count_once_they_take_part() {
        let wish = Wish {
            partitions: Some(3),
            ..wish(1, None)
        };
        assert_eq!(
            wish.body(),
            json!({"brokers": {"count": 1}, "partitions": {"count": 3}})
        );
        let mut scaling = cluster(&[(0, &[1, 2, 3])]);
        assert!(Shape::read(&scaling).unwrap().is(wish));
        scaling["routing"]["requestHandling"] = json!({
            "strategy": "ActivePartitions", "basePartitionCount": 2, "inactivePartitions": [3],
        });
        let shape = Shape::read(&scaling).unwrap();
        assert!(!shape.is(wish));
        assert_eq!(shape.partitions, 2);
        // The change was cancelled when the third partition had one of its two copies.
        let mut half = cluster(&[(0, &[1, 2, 3]), (1, &[1, 2])]);
        half["routing"] = scaling["routing"].clone();
        let half = Shape::read(&half).unwrap();
        assert_eq!(half.text(), "nodes 0 1, partitions 2, copies of each 2");
        assert!(half.is_even);
    }
}
