//! Users: nodes that join the cluster, and those that are left after a loss, know all of them.

use super::changes::{change, is_over, nodes_waiting, scale, with_initial_nodes};
use super::lost::remove_lost;
use super::*;
use skep_protocol::command::IdentityCommand;
use skep_protocol::value::{PasswordHash, UserValue};

fn creation(name: &str) -> Command {
    let user = UserValue {
        user_key: Key::NONE,
        username: name.into(),
        name: "".into(),
        email: "".into(),
        password: PasswordHash::new("a hash"),
    };
    Command::Identity(IdentityCommand::CreateUser(user))
}

async fn make_user(rig: &Rig, name: &str) {
    let made = insist(rig, creation(name)).await;
    assert!(matches!(made, Ok(Response::User(_))), "{made:?}");
}

/// Waits until the node knows these users, with the hashes of their passwords.
async fn knows(rig: &Rig, names: &[&str]) {
    wait_until("the users", || {
        let directory = rig.broker.directory();
        let mut users = names.iter().map(|name| directory.user(name));
        users.all(|user| user.is_some_and(|user| user.password.reveal() == "a hash"))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_joins_knows_the_users_and_so_does_one_without_the_first_partition() {
    let nodes = with_initial_nodes(3, Nodes::new(4, 4));
    let mut rigs = nodes.all().await;
    make_user(&rigs[0], "anna").await;
    rigs.push(nodes_waiting(&nodes, &rigs, 3, scale(&[3], &[], None)).await);
    make_user(&rigs[3], "bert").await;
    // Each partition has three copies on four nodes, so one of them lacks the first.
    for rig in &rigs {
        knows(rig, &["anna", "bert"]).await;
    }
    change(&[&rigs[2], &rigs[0], &rigs[3]], scale(&[], &[1], None)).await;
    make_user(&rigs[3], "carl").await;
    for node in [0, 2, 3] {
        knows(&rigs[node], &["anna", "bert", "carl"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_users_outlive_the_loss_of_most_nodes() {
    let nodes = Nodes::new(5, 3);
    let mut rigs = nodes.all().await;
    make_user(&rigs[3], "anna").await;
    // Also by the copy that is left.
    for rig in &rigs {
        knows(rig, &["anna"]).await;
    }
    for node in [4, 2, 1] {
        stop(rigs.remove(node)).await;
    }
    let planned = remove_lost(&rigs[1], &[1, 2, 4]).await;
    for rig in &rigs {
        wait_until("the end of the change", || is_over(rig, planned.change)).await;
    }
    make_user(&rigs[1], "bert").await;
    for node in [0, 3] {
        for rig in &rigs {
            knows(rig, &["anna", "bert"]).await;
        }
        // Also after a restart.
        stop(rigs.remove(0)).await;
        rigs.push(nodes.open(node).await);
    }
    for rig in &rigs {
        knows(rig, &["anna", "bert"]).await;
    }
}

/// Without users, nobody could log in at it.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_while_the_first_partition_has_no_leader_asks_the_copy_that_is_left() {
    let nodes = Nodes {
        copies: Some(3),
        ..Nodes::new(5, 1)
    };
    let mut rigs = nodes.all().await;
    make_user(&rigs[3], "anna").await;
    for rig in &rigs {
        knows(rig, &["anna"]).await;
    }
    // The copies are on the first three nodes.
    for node in [4, 1, 0] {
        stop(rigs.remove(node)).await;
    }
    let is_led = |rig: &Rig| leader(&rig.broker.topology(), 1).is_some();
    wait_until("no leader", || !rigs.iter().any(is_led)).await;
    rigs.push(nodes.open(4).await);
    knows(&rigs[2], &["anna"]).await;
    assert!(!rigs.iter().any(is_led));
}

/// What a replica finds in its log beyond what it has heard to be committed is committed by its election.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_goes_by_the_users_that_its_election_has_committed() {
    let nodes = Nodes::new(3, 1);
    let rigs = nodes.all().await;
    make_user(&rigs[0], "anna").await;
    for rig in &rigs {
        knows(rig, &["anna"]).await;
        snapshot(rig).await;
    }
    make_user(&rigs[0], "bert").await;
    // Their logs have the second user, their snapshots only the first one.
    for rig in rigs {
        stop(rig).await;
    }
    for rig in &nodes.all().await {
        knows(rig, &["anna", "bert"]).await;
    }
}

async fn snapshot(rig: &Rig) {
    let (done, wait) = crossbeam_channel::bounded(1);
    let handle = &rig.broker.partitions()[0];
    handle.inbox.send(Report::TakeSnapshot(Some(done)));
    let taken = tokio::task::spawn_blocking(move || wait.recv());
    taken.await.unwrap().unwrap().unwrap();
}

/// The second node has no copy of the first partition, and asks for changes ten times a second.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_known_to_the_node_that_was_asked_for_it_when_it_answers() {
    const CHANGES: usize = 20;
    let nodes = Nodes {
        copies: Some(1),
        ..Nodes::new(2, 2)
    };
    let rigs = nodes.all().await;
    make_user(&rigs[1], "first").await;
    let mut known = 0;
    for change in 0..CHANGES {
        let name = format!("user-{change}");
        make_user(&rigs[1], &name).await;
        known += usize::from(rigs[1].broker.directory().user(&name).is_some());
    }
    // On a machine that is too busy for a message within a second, an answer does not wait for it.
    assert!(known > CHANGES / 2, "{known} of {CHANGES}");
}

/// The second node has no copy of the first partition. The messages that it misses are those that would tell it of the change.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_misses_a_change_shows_the_gap_within_a_second_and_asks_for_it() {
    const SECOND: Duration = Duration::from_secs(1);
    let nodes = Nodes {
        copies: Some(1),
        ..Nodes::linked(2, 2)
    };
    let rigs = nodes.all().await;
    streams::all_connected(&nodes).await;
    wait_until("leaders", || rigs.iter().all(knows_all_leaders)).await;
    make_user(&rigs[0], "anna").await;
    knows(&rigs[1], &["anna"]).await;
    let age = || rigs[1].broker.directory_age();
    wait_until("the view to be current", || age() < SECOND).await;
    let hold = |held| nodes.links.values().for_each(|link| link.hold(held));
    hold(true);
    let began = Instant::now();
    // The answer waits for the second partition, which is on the other side.
    let broker = rigs[0].broker.clone();
    let making = tokio::spawn(async move {
        let create = Request::internal(creation("bert"));
        broker.execute(create).await.result
    });
    knows(&rigs[0], &["bert"]).await;
    wait_until("the gap to show", || age() > SECOND).await;
    // It counts from when the node last heard the leader, not from when it gave the leader up.
    assert!(age() + SECOND * 2 > began.elapsed(), "{:?}", age());
    assert!(rigs[1].broker.directory().user("bert").is_none());
    hold(false);
    knows(&rigs[1], &["anna", "bert"]).await;
    wait_until("the view to be current again", || age() < SECOND).await;
    let made = making.await.unwrap();
    assert!(
        matches!(made, Ok(Response::User(_)) | Err(Failure::Aborted(_))),
        "{made:?}"
    );
}
