//! A node whose replica gets a snapshot goes by the users in it.

use skep_cluster::node_of;
use skep_protocol::Key;
use skep_protocol::command::{Command, IdentityCommand};
use skep_protocol::value::{PasswordHash, UserValue};

use super::Mutation;
use super::node::VOTERS;
use super::paused::{count, leader};
use super::world::{Kind, World};

fn creation(name: &str) -> IdentityCommand {
    IdentityCommand::CreateUser(UserValue {
        user_key: Key::NONE,
        username: name.into(),
        name: "".into(),
        email: "".into(),
        password: PasswordHash::new("a hash"),
    })
}

fn change(world: &mut World, command: IdentityCommand) {
    let before = world.clients.acknowledged;
    let asked = world.clients.other(Command::Identity(command));
    world.send(leader(world), asked);
    world.run_for(50_000);
    assert!(world.clients.acknowledged > before, "it was acknowledged");
}

/// The snapshot has as many rows of users as the replica has applied changes of them. [`super::node`] checks what the node goes by.
fn gets_a_snapshot(mutation: Mutation) {
    let mut world = World::without_faults(Kind::default(), 1, mutation);
    world.run_for(500_000);
    for name in ["anna", "bert"] {
        change(&mut world, creation(name));
    }
    let leads = leader(&world);
    let away = VOTERS.into_iter().find(|id| *id != leads).unwrap();
    let hosts: Vec<u64> = world.hosts.keys().copied().map(u64::from).collect();
    let host = u64::from(node_of(away).unwrap());
    world.network.isolate(host, hosts);
    let username = "bert".into();
    change(&mut world, IdentityCommand::DeleteUser { username });
    change(&mut world, creation("carl"));
    // More than a log keeps.
    for _ in 0..20 {
        count(&mut world);
    }
    for id in VOTERS.into_iter().filter(|id| *id != away) {
        world.nodes.get_mut(&id).unwrap().capture_checkpoint();
        world.settle(id);
    }
    world.run_for(100_000);
    world.network.heal();
    world.run_for(1_000_000);
    let node = &world.nodes[&away];
    assert!(node.installs > 0, "it got a snapshot");
    let core = &node.running.as_ref().unwrap().core;
    let directory = &core.engine().state.identity.directory;
    assert!(directory.user("carl").is_some() && directory.user("bert").is_none());
}

#[test]
fn a_replica_that_gets_a_snapshot_publishes_its_users() {
    gets_a_snapshot(Mutation::None);
}

#[test]
fn the_checks_catch_a_node_that_goes_by_older_users_than_its_snapshot_has() {
    let mistake = Mutation::VersionsAcrossStates;
    let caught = skep_sim::search(&[1], |_| gets_a_snapshot(mistake));
    let (_, reason) = caught.expect("it is caught");
    assert!(
        reason.contains("goes by other users and permissions"),
        "{reason}"
    );
}
