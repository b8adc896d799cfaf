//! Nodes that meet in any order: creation, adoption and refusal of the cluster id.

use std::sync::Arc;

use skep_transport::PROTOCOL_VERSION;

use super::{BTreeSet, Bootstrap, Greeting, Identity, Keep, Layout, Majority, Mutex, id_and_epoch};

const LAYOUT: Layout = Layout {
    size: 3,
    replication_factor: 3,
    partitions: 2,
};

pub(super) struct Node {
    pub(super) bootstrap: Bootstrap,
    kept: Arc<Mutex<Identity>>,
}

fn node(number: u32, known: &Identity) -> Node {
    node_of(number, known, |bootstrap| bootstrap)
}

pub(super) fn node_of(
    number: u32,
    known: &Identity,
    set_up: impl FnOnce(Bootstrap) -> Bootstrap,
) -> Node {
    let kept = Arc::new(Mutex::new(known.clone()));
    let keep = kept.clone();
    let keep: Keep = Box::new(move |identity| {
        *keep.lock() = identity.clone();
        Ok(())
    });
    Node {
        bootstrap: set_up(Bootstrap::new(number, LAYOUT, None, known.clone(), keep)),
        kept,
    }
}

fn fresh() -> [Node; 3] {
    [0, 1, 2].map(|number| node(number, &Identity::default()))
}

pub(super) fn greeting(node: &Node) -> Greeting {
    let identity = node.bootstrap.identity();
    Greeting {
        version: PROTOCOL_VERSION,
        cluster_id: identity.presented(),
        formed: identity.formed,
        node: node.bootstrap.node,
        incarnation: 1,
        address: String::new(),
        layout: LAYOUT,
        members: node.bootstrap.members(),
        known: Vec::new(),
        oldest_version: 1,
    }
}

/// Each receives the other's state from before the meeting.
fn meet(a: &Node, b: &Node) -> Result<(), String> {
    let (of_a, of_b) = (greeting(a), greeting(b));
    let (one, other) = (
        a.bootstrap.meets(&of_b, Majority::Unknown),
        b.bootstrap.meets(&of_a, Majority::Unknown),
    );
    one.and(other)
}

fn id(node: &Node) -> String {
    let identity = node.bootstrap.identity();
    assert_eq!(
        *node.kept.lock(),
        identity,
        "it is on disk before it counts"
    );
    identity.cluster_id
}

#[test]
fn only_node_0_creates_an_id_once_all_nodes_have_met() {
    let [zero, one, two] = fresh();
    meet(&one, &two).unwrap();
    meet(&zero, &one).unwrap();
    meet(&zero, &one).unwrap();
    assert!([&zero, &one, &two].iter().all(|node| id(node).is_empty()));
    meet(&two, &zero).unwrap();
    let made = id(&zero);
    assert!(!made.is_empty());
    // They have heard node 0's previous state, so it must tell them.
    assert!(id(&two).is_empty());
    meet(&zero, &two).unwrap();
    assert_eq!(id(&two), made);
    assert!(!two.bootstrap.identity().formed);
    // From a node that received it from node 0.
    meet(&one, &two).unwrap();
    assert_eq!(id(&one), made);
    meet(&zero, &one).unwrap();
    meet(&zero, &two).unwrap();
    meet(&one, &two).unwrap();
    for node in [&zero, &one, &two] {
        assert!(node.bootstrap.identity().formed);
        assert_eq!(node.bootstrap.wait(), Ok(made.clone()));
    }
}

#[test]
fn nodes_wait_for_a_bootstrapping_node_lost_before_it_shared_its_id() {
    let [zero, one, two] = fresh();
    meet(&zero, &one).unwrap();
    meet(&zero, &two).unwrap();
    let known = zero.bootstrap.identity();
    // Without node 0 the others do not create an id.
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
        epoch: 0,
    };
    for lost in [0, 2] {
        let old = node(1, &formed);
        let new = node(lost, &Identity::default());
        let refused = meet(&new, &old).unwrap_err();
        assert!(
            refused.contains(&format!("node {lost} has no data")),
            "{refused}"
        );
        assert_eq!(new.bootstrap.wait(), Err(refused));
        assert!(id(&new).is_empty());
    }
}

#[test]
fn another_node_waits_outside_of_a_formed_cluster_until_it_is_added() {
    let formed = Identity {
        cluster_id: "c".to_string(),
        formed: true,
        epoch: 0,
    };
    let old = node(1, &formed);
    // The third one was removed: it may come without data.
    old.bootstrap.nodes_are([0, 1].into(), BTreeSet::new());
    for new in [2, 5] {
        let new = node(new, &Identity::default());
        meet(&new, &old).unwrap();
        meet(&new, &old).unwrap();
        assert!(id(&new).is_empty());
        new.bootstrap.admitted("c", 0).unwrap();
        assert_eq!(new.bootstrap.wait(), Ok("c".to_string()));
        assert_eq!(*new.kept.lock(), formed);
    }
    let lost = node(0, &Identity::default());
    assert!(
        meet(&lost, &old)
            .unwrap_err()
            .contains("node 0 has no data")
    );
}

#[test]
fn a_formed_cluster_ignores_the_configured_size() {
    let formed = Identity {
        cluster_id: "c".to_string(),
        formed: true,
        epoch: 0,
    };
    let (one, two) = (node(1, &formed), node(2, &formed));
    let mut other = greeting(&one);
    other.layout.size = 1;
    two.bootstrap.meets(&other, Majority::Unknown).unwrap();
}

#[test]
fn nodes_of_different_clusters_or_layouts_refuse_each_other() {
    let known = |id: &str| Identity {
        cluster_id: id.to_string(),
        formed: true,
        epoch: 0,
    };
    let (one, two) = (node(1, &known("a")), node(2, &known("b")));
    assert!(
        meet(&one, &two)
            .unwrap_err()
            .contains("belongs to the cluster")
    );
    let [new, newer, _] = fresh();
    let mut other = greeting(&new);
    other.layout.partitions = 5;
    let refused = newer
        .bootstrap
        .meets(&other, Majority::Unknown)
        .unwrap_err();
    assert!(
        refused.contains("5 partitions") && refused.contains("2 partitions"),
        "{refused}"
    );
}

#[test]
fn an_identity_that_cannot_be_stored_is_not_taken() {
    let full: Keep = Box::new(|_| Err(std::io::Error::other("full")));
    let zero = Bootstrap::new(0, LAYOUT, None, Identity::default(), full);
    let [_, one, two] = fresh();
    zero.meets(&greeting(&one), Majority::Unknown).unwrap();
    zero.meets(&greeting(&two), Majority::Unknown).unwrap();
    assert_eq!(zero.identity(), Identity::default());
    assert!(zero.wait().unwrap_err().contains("full"));
}

pub(super) fn of_epoch(epoch: u64) -> Identity {
    Identity {
        cluster_id: "c".to_string(),
        formed: true,
        epoch,
    }
}

#[test]
fn a_node_that_was_removed_as_lost_is_refused_and_knows_why() {
    let survivor = node(0, &of_epoch(1));
    survivor.bootstrap.nodes_are([0].into(), BTreeSet::new());
    let old = node(2, &of_epoch(0));
    let reason = survivor
        .bootstrap
        .meets(&greeting(&old), Majority::Unknown)
        .unwrap_err();
    assert!(reason.contains("node 2 was removed as lost"), "{reason}");
    assert_eq!(survivor.bootstrap.left_behind(), None);
    assert_eq!(old.bootstrap.left_behind(), None);
    assert_eq!(
        old.bootstrap.meets(&greeting(&survivor), Majority::Unknown),
        Err(reason.clone())
    );
    assert_eq!(old.bootstrap.left_behind(), Some(reason.clone()));
    assert_eq!(old.bootstrap.wait(), Err(reason));
    // It still meets others of its own epoch.
    let other = node(1, &of_epoch(0));
    other
        .bootstrap
        .meets(&greeting(&old), Majority::Unknown)
        .unwrap();
}

#[test]
fn nodes_of_two_restores_and_of_the_original_cluster_refuse_each_other() {
    for (earlier, later) in [(0, 1024), (1, 1024), (1024, 2048), (1025, 2048)] {
        let one = node(1, &of_epoch(earlier));
        let other = node(0, &of_epoch(later));
        let refused = meet(&one, &other).unwrap_err();
        assert!(refused.contains("of another restore"), "{refused}");
        assert!(refused.contains("node 1 "), "{refused}");
    }
}

#[test]
fn an_awaited_survivor_takes_the_new_epoch_and_later_nobody_of_the_old_one_is_admitted() {
    let survivor = node(0, &of_epoch(1));
    survivor.bootstrap.nodes_are([0, 2].into(), [2].into());
    let late = node(2, &of_epoch(0));
    meet(&survivor, &late).unwrap();
    late.bootstrap.admitted("c", 1).unwrap();
    assert_eq!(*late.kept.lock(), of_epoch(1));
    survivor.bootstrap.nodes_are([0, 2].into(), BTreeSet::new());
    meet(&survivor, &late).unwrap();
    let restored = node(2, &of_epoch(0));
    assert!(meet(&survivor, &restored).is_err());
}

#[test]
fn a_later_epoch_looks_like_another_cluster_to_nodes_without_epochs() {
    assert_eq!(of_epoch(0).presented(), "c");
    assert_ne!(of_epoch(3).presented(), "c");
    assert_eq!(id_and_epoch(&of_epoch(3).presented()), ("c", 3));
    assert_eq!(id_and_epoch("c / epoch x"), ("c / epoch x", 0));
}

#[test]
fn a_node_with_a_reused_number_can_only_be_added() {
    let [zero, one, two] = fresh();
    two.bootstrap.only_joins();
    meet(&zero, &one).unwrap();
    let refused = meet(&two, &one).unwrap_err();
    assert!(refused.contains("only be added"), "{refused}");
    // Node 0 has met all, and its id is not adopted.
    let _ = meet(&two, &zero);
    assert!(!id(&zero).is_empty());
    assert!(meet(&zero, &two).is_err());
    assert!(id(&two).is_empty());
    two.bootstrap.admitted("the cluster", 0).unwrap();
    assert_eq!(two.bootstrap.wait(), Ok("the cluster".to_string()));
}
