//! A leader that was paused while another one took over.

use super::Mutation;
use super::world::{Happening, Kind, World};
use skep_cluster::node_of;

pub fn leader(world: &World) -> u64 {
    world.leading_member().expect("a leader").1
}

/// Has one more entry written.
pub fn count(world: &mut World) {
    let before = world.clients.counted;
    let asked = world.clients.counts();
    world.send(leader(world), asked);
    world.run_for(50_000);
    assert!(world.clients.counted > before, "it was acknowledged");
}

#[test]
fn a_leader_that_was_paused_answers_nothing_stale() {
    let mut world = World::without_faults(Kind::default(), 1, Mutation::None);
    world.run_for(500_000);
    count(&mut world);
    let paused = leader(&world);
    let host = node_of(paused).unwrap();
    let length = 800_000;
    world.host(host).paused_until = world.agenda.now + length;
    world.after(length, Happening::Wakes(host));
    world.run_for(length - 100_000);
    assert_ne!(leader(&world), paused, "another one has taken over");
    count(&mut world);
    let acknowledged = world.clients.acknowledged;
    // It answers clients before it learns that it was deposed. These answers are checked.
    world.run_for(500_000);
    let asked = world.clients.looks(&mut world.random);
    world.send(leader(&world), asked);
    world.run_for(50_000);
    assert!(
        world.clients.acknowledged > acknowledged,
        "reads are answered"
    );
}
