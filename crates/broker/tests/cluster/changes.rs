//! Nodes come and go, and copies of partitions with them, under load: no acknowledged work is lost.

use super::*;
use skep_broker::cluster::{Answer as ClusterAnswer, Ask};
use skep_cluster::{NodeState, Operation, Outcome, Planned, Refusal, Request};

/// Only this many of the nodes bootstrap the cluster.
pub fn with_initial_nodes(initial_nodes: u32, nodes: Nodes) -> Nodes {
    Nodes {
        initial_nodes,
        ..nodes
    }
}

pub fn scale(add: &[u32], remove: &[u32], copies: Option<u32>) -> Request {
    Request::Scale {
        add: add.to_vec(),
        remove: remove.to_vec(),
        count: None,
        partitions: None,
        replication_factor: copies,
    }
}

pub async fn ask(rig: &Rig, request: Request, dry_run: bool) -> Result<Planned, Refusal> {
    match rig.broker.ask_for(Ask::Change { request, dry_run }).await? {
        ClusterAnswer::Planned(planned) => Ok(*planned),
        other => panic!("{other:?}"),
    }
}

/// Requests a change and waits for its end, as seen by all of these nodes.
pub async fn change(rigs: &[&Rig], request: Request) -> Planned {
    let planned = ask(rigs[0], request, false).await.unwrap();
    for rig in rigs {
        let began = Instant::now();
        while !is_over(rig, planned.change) {
            let state = rig.broker.cluster_state();
            assert!(began.elapsed() < DEADLINE, "it does not end: {state:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    planned
}

pub fn is_over(rig: &Rig, change: u64) -> bool {
    let state = rig.broker.cluster_state();
    let over = |last: &skep_cluster::Finished| {
        last.change.id == change && last.outcome == Outcome::Completed
    };
    state.finished.iter().any(over)
}

pub fn partitions_of(rig: &Rig) -> Vec<u32> {
    let partitions = rig.broker.partitions();
    partitions.iter().map(|p| p.status.partition).collect()
}

async fn will_find(rig: &Rig, key: Key) {
    let query = Query::Get {
        entity: &PROCESS_INSTANCE,
        key,
    };
    let began = Instant::now();
    loop {
        let found = rig
            .broker
            .query(query.clone(), Consistency::ReadYourWrites)
            .await;
        if matches!(found, Ok((Answer::Row(Some(_)), _))) {
            return;
        }
        assert!(began.elapsed() < DEADLINE, "{found:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_alone_becomes_the_first_of_three_with_all_of_its_data() {
    let nodes = Nodes::new(3, 2);
    let config = BrokerConfig {
        cluster: None,
        ..nodes.config(0)
    };
    let alone = Rig {
        broker: Broker::open(config, Arc::new(Clock::default())).unwrap(),
        clock: Arc::default(),
        directory: nodes.directories[0].clone(),
    };
    alone.deploy(&one_task()).await;
    let mut created = HashSet::new();
    for _ in 0..10 {
        created.insert(create_one(&alone).await);
    }
    stop(alone).await;

    let others = [nodes.opening(1), nodes.opening(2)];
    let first = nodes.open(0).await;
    created.insert(create_one(&first).await);
    assert_eq!(first.broker.topology().cluster_size, 1);
    let plan = ask(&first, scale(&[1, 2], &[], Some(3)), true)
        .await
        .unwrap();
    assert_eq!(plan.expected.replication_factor(), 3);
    assert_eq!(
        first.broker.cluster_state().running,
        None,
        "it was only planned"
    );
    change(&[&first], scale(&[1, 2], &[], Some(3))).await;
    let mut rigs = Vec::new();
    for (node, opening) in (1..).zip(others) {
        rigs.push(nodes.rig(node, opening).await);
    }
    for rig in &rigs {
        wait_until("copies", || partitions_of(rig) == [1, 2]).await;
        assert_eq!(rig.broker.topology().cluster_size, 3);
        wait_until("the end of the change", || is_over(rig, 1)).await;
        assert_eq!(rig.broker.topology().last_completed_change_id, "1");
    }
    created.insert(create_one(&rigs[1]).await);
    // Without the node that had everything.
    stop(first).await;
    wait_until("leaders", || rigs.iter().all(reaches_all_leaders)).await;
    for key in &created {
        will_find(&rigs[0], *key).await;
    }
    all_are_there(&rigs[1], created).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_added_and_another_one_removed_under_load() {
    let nodes = with_initial_nodes(3, Nodes::new(4, 4));
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    rigs.push(nodes_waiting(&nodes, &rigs, 3, scale(&[3], &[], None)).await);
    let rigs = Arc::new(rigs);
    let done = Arc::new(AtomicBool::new(false));
    let working = (0..4).filter(|node| *node != 1).map(|node| {
        let (rigs, done) = (rigs.clone(), done.clone());
        tokio::spawn(async move {
            let mut created = HashSet::new();
            while !done.load(Ordering::Relaxed) {
                if let Ok(Response::ProcessInstanceCreated(new)) =
                    insist(&rigs[node], create("one-task", "{}", None)).await
                {
                    created.insert(new.process_instance_key);
                }
            }
            created
        })
    });
    let working: Vec<_> = working.collect();
    // Each partition has three copies on four nodes: every node lacks one.
    let lack_one = || rigs.iter().all(|rig| partitions_of(rig).len() < 4);
    wait_until("nodes to give up what they had", lack_one).await;
    // The files of those copies stay for a day.
    let kept = |node: usize| {
        let all = nodes.directories[node].path().join("partitions");
        let mut names = (1..=4).map(|partition| format!("{partition}.given-up/log"));
        names.any(|name| all.join(name).exists())
    };
    wait_until("files to be moved away", || (0..3).all(kept)).await;
    let planned = change(&[&rigs[2], &rigs[0], &rigs[3]], scale(&[], &[1], None)).await;
    assert!(
        planned
            .operations
            .contains(&Operation::BrokerRemove { broker_id: 1 })
    );
    wait_until("the node to hear of it", || {
        partitions_of(&rigs[1]).is_empty()
    })
    .await;
    done.store(true, Ordering::Relaxed);
    let mut created = HashSet::new();
    for work in working {
        created.extend(work.await.unwrap());
    }
    assert!(!created.is_empty());
    for node in [0, 2, 3] {
        wait_until("copies", || partitions_of(&rigs[node]) == [1, 2, 3, 4]).await;
    }
    for key in created.iter().take(20) {
        will_find(&rigs[0], *key).await;
    }
    // A node that is no longer a member still reaches the cluster.
    let key = create_one(&rigs[1]).await;
    will_find(&rigs[1], key).await;
    created.insert(key);
    all_are_there(&rigs[3], created).await;
}

/// Starts a node that waits to be added, and adds it.
pub async fn nodes_waiting(nodes: &Nodes, rigs: &[Rig], node: usize, request: Request) -> Rig {
    let opening = nodes.opening(node);
    let all: Vec<&Rig> = rigs.iter().collect();
    change(&all, request).await;
    nodes.rig(node, opening).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_has_lost_its_disk_is_taken_out_and_added_again() {
    let nodes = Nodes::new(3, 2);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = HashSet::new();
    for _ in 0..10 {
        created.insert(create_one(&rigs[1]).await);
    }
    stop(rigs.pop().unwrap()).await;
    let lost = nodes.directories[2].path();
    for entry in std::fs::read_dir(lost).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
    let refused = nodes.opening(2);
    wait_until("the node to be refused", || refused.is_finished()).await;
    let refused = refused.join().unwrap().err().unwrap().to_string();
    assert!(refused.contains("node 2 has no data"), "{refused}");
    let gone = Request::ForceRemove { brokers: vec![2] };
    change(&[&rigs[0], &rigs[1]], gone).await;
    created.insert(create_one(&rigs[0]).await);
    let back = nodes_waiting(&nodes, &rigs, 2, scale(&[2], &[], Some(3))).await;
    wait_until("copies", || partitions_of(&back) == [1, 2]).await;
    // The new copy counts: together with one of the others it forms a majority.
    stop(rigs.remove(0)).await;
    created.insert(create_one(&back).await);
    all_are_there(&back, created).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_stuck_outlives_restarts_and_can_be_given_up_and_taken_up() {
    let nodes = with_initial_nodes(3, Nodes::new(4, 1));
    let mut rigs = nodes.all().await;
    // Node 3 does not exist.
    let planned = ask(&rigs[1], scale(&[3], &[], Some(3)), false)
        .await
        .unwrap();
    let busy = ask(&rigs[2], Request::AddBroker(4), false).await;
    assert!(matches!(busy, Err(Refusal::Busy(_))), "{busy:?}");
    for node in 0..3 {
        stop(rigs.remove(0)).await;
        rigs.push(nodes.open(node).await);
    }
    for rig in &rigs {
        let state = rig.broker.cluster_state();
        let next = state
            .next_operation()
            .map(|(change, next)| (change, next.clone()));
        let waits = Operation::BrokerAdd { broker_id: 3 };
        assert_eq!(next, Some((planned.change, waits)));
    }
    let cluster = rigs[0].broker.cluster().unwrap();
    let unknown = cluster.ask(Ask::Cancel { change: 9 }).await;
    assert!(matches!(unknown, Err(Refusal::Unknown(_))), "{unknown:?}");
    let change = planned.change;
    let state = loop {
        match cluster.ask(Ask::Cancel { change }).await {
            Ok(ClusterAnswer::State(state)) => break state,
            // It may have been carried out, and can be requested again.
            Err(Refusal::Unanswered(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(state.last_change().unwrap().outcome, Outcome::Cancelled);
    assert_eq!(state.nodes[&3].state, NodeState::Joining);
    let fourth = nodes_waiting(&nodes, &rigs, 3, scale(&[3], &[], Some(3))).await;
    assert_eq!(fourth.broker.topology().cluster_size, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metadata_group_hibernates_and_notices_that_its_leader_is_gone() {
    let nodes = Nodes::new(3, 1);
    let mut rigs = nodes.all().await;
    let led_by = |rig: &Rig| rig.broker.cluster().unwrap().led_by();
    let all_hibernate = |rigs: &[Rig]| {
        rigs.iter()
            .all(|rig| matches!(led_by(rig), Some((_, true))))
    };
    wait_until("the group to hibernate", || all_hibernate(&rigs)).await;
    let leader = led_by(&rigs[0]).unwrap().0;
    stop(rigs.remove(leader as usize)).await;
    let another =
        |rig: &Rig| led_by(rig).is_some_and(|(node, hibernates)| node != leader && !hibernates);
    wait_until("another leader", || rigs.iter().all(another)).await;
    rigs.push(nodes.open(leader as usize).await);
    wait_until("the group to hibernate again", || all_hibernate(&rigs)).await;
    // One of them gets the request, whether it leads or not, while all hibernate.
    let fewer_copies = scale(&[], &[], Some(2));
    change(&rigs.iter().collect::<Vec<_>>(), fewer_copies).await;
    wait_until("the group to hibernate after a change", || {
        all_hibernate(&rigs)
    })
    .await;
}
