//! Nodes that meet in any order: who makes the id, who takes it over, who is refused.

use std::sync::Arc;

use skep_transport::PROTOCOL_VERSION;

use super::*;

const LAYOUT: Layout = Layout {
    size: 3,
    replication_factor: 3,
    partitions: 2,
};

struct Node {
    founding: Founding,
    kept: Arc<Mutex<Identity>>,
}

fn node(number: u32, known: &Identity) -> Node {
    let kept = Arc::new(Mutex::new(known.clone()));
    let keep = kept.clone();
    let keep: Keep = Box::new(move |identity| {
        *keep.lock() = identity.clone();
        Ok(())
    });
    Node {
        founding: Founding::new(number, LAYOUT, None, known.clone(), keep),
        kept,
    }
}

fn fresh() -> [Node; 3] {
    [0, 1, 2].map(|number| node(number, &Identity::default()))
}

fn greeting(node: &Node) -> Greeting {
    let identity = node.founding.identity();
    Greeting {
        version: PROTOCOL_VERSION,
        cluster_id: identity.cluster_id,
        formed: identity.formed,
        node: node.founding.node,
        incarnation: 1,
        address: String::new(),
        layout: LAYOUT,
        known: Vec::new(),
        oldest_version: 1,
    }
}

/// Both hear what the other was before.
fn meet(a: &Node, b: &Node) -> Result<(), String> {
    let (of_a, of_b) = (greeting(a), greeting(b));
    let (one, other) = (a.founding.meets(&of_b), b.founding.meets(&of_a));
    one.and(other)
}

fn id(node: &Node) -> String {
    let identity = node.founding.identity();
    assert_eq!(
        *node.kept.lock(),
        identity,
        "it is on disk before it counts"
    );
    identity.cluster_id
}

#[test]
fn an_id_is_made_when_all_have_met_and_by_node_0_alone() {
    let [zero, one, two] = fresh();
    meet(&one, &two).unwrap();
    meet(&zero, &one).unwrap();
    meet(&zero, &one).unwrap();
    assert!([&zero, &one, &two].iter().all(|node| id(node).is_empty()));
    meet(&two, &zero).unwrap();
    let made = id(&zero);
    assert!(!made.is_empty());
    // They have heard what node 0 was before: it must tell them.
    assert!(id(&two).is_empty());
    meet(&zero, &two).unwrap();
    assert_eq!(id(&two), made);
    assert!(!two.founding.identity().formed);
    // From somebody who has it from node 0.
    meet(&one, &two).unwrap();
    assert_eq!(id(&one), made);
    meet(&zero, &one).unwrap();
    meet(&zero, &two).unwrap();
    meet(&one, &two).unwrap();
    for node in [&zero, &one, &two] {
        assert!(node.founding.identity().formed);
        assert_eq!(node.founding.wait(), Ok(made.clone()));
    }
}

#[test]
fn a_founder_that_is_lost_before_it_told_anybody_is_waited_for() {
    let [zero, one, two] = fresh();
    meet(&zero, &one).unwrap();
    meet(&zero, &two).unwrap();
    let known = zero.founding.identity();
    // Without it the others make nothing up.
    meet(&one, &two).unwrap();
    assert!(id(&one).is_empty() && id(&two).is_empty());
    let again = node(0, &known);
    meet(&again, &one).unwrap();
    assert_eq!(id(&one), known.cluster_id);
}

#[test]
fn a_node_without_data_is_not_let_into_a_cluster_that_was_formed() {
    let formed = Identity {
        cluster_id: "c".to_string(),
        formed: true,
    };
    for lost in [0, 2] {
        let old = node(1, &formed);
        let new = node(lost, &Identity::default());
        let refused = meet(&new, &old).unwrap_err();
        assert!(
            refused.contains(&format!("node {lost} has no data")),
            "{refused}"
        );
        assert_eq!(new.founding.wait(), Err(refused));
        assert!(id(&new).is_empty());
    }
}

#[test]
fn nodes_of_different_clusters_or_layouts_refuse_each_other() {
    let known = |id: &str| Identity {
        cluster_id: id.to_string(),
        formed: true,
    };
    let (one, two) = (node(1, &known("a")), node(2, &known("b")));
    assert!(meet(&one, &two).unwrap_err().contains("of the cluster"));
    let mut other = greeting(&one);
    other.layout.partitions = 5;
    let refused = two.founding.meets(&other).unwrap_err();
    assert!(
        refused.contains("5 partitions") && refused.contains("2 partitions"),
        "{refused}"
    );
}

#[test]
fn what_cannot_be_kept_does_not_count() {
    let full: Keep = Box::new(|_| Err(std::io::Error::other("full")));
    let zero = Founding::new(0, LAYOUT, None, Identity::default(), full);
    let [_, one, two] = fresh();
    zero.meets(&greeting(&one)).unwrap();
    zero.meets(&greeting(&two)).unwrap();
    assert_eq!(zero.identity(), Identity::default());
    assert!(zero.wait().unwrap_err().contains("full"));
}
