//! A leader of the partition that has not heard of later changes of the cluster.

use skep_cluster::{Request, node_of};

use super::Mutation;
use super::world::{Kind, World};

const PARTITION: u32 = 1;

/// Whether node 2 keeps its copy after it has left and joined again, and then a leader takes over that knows only of its leaving.
fn stays(mutation: Mutation) -> bool {
    let kind = Kind {
        changes: true,
        ..Kind::default()
    };
    let mut world = World::without_faults(kind, 1, mutation);
    world.run_for(500_000);
    let leave = Request::Leave {
        broker: 2,
        partition: PARTITION,
    };
    let old = world.change(&leave);
    let join = Request::Join {
        broker: 2,
        partition: PARTITION,
        priority: 1,
    };
    world.change(&join);
    world.host(0).known = old;
    let leader = world.host(0).replica;
    for _ in 0..30 {
        world.transfer(0);
        world.run_for(20_000);
    }
    let (_, leads) = world.leading_member().expect("a leader");
    assert_eq!(
        Some(leads),
        leader,
        "the node that knows the old state leads"
    );
    let mut voters = world.members.voters.iter();
    voters.any(|voter| node_of(*voter) == Some(2))
}

#[test]
fn a_leader_that_knows_an_old_state_of_the_cluster_undoes_nothing() {
    assert!(stays(Mutation::None));
    // The test would detect it.
    assert!(!stays(Mutation::OldPlans));
}
