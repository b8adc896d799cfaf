//! Job streams while connections between nodes break, each of which is one direction, and while nodes join.

use super::changes::{change, nodes_waiting, scale, with_initial_nodes};
use super::*;
use skep_cluster::Request;
use skep_protocol::origin::Claims;

/// Message classes, each with its own connection.
const CLASSES: usize = 3;

/// Ends all connections from one node to the other, and waits for new ones.
async fn cut(nodes: &Nodes, from: usize, to: usize) {
    let link = &nodes.links[&(from, to)];
    link.cut();
    wait_until("the connections to end", || link.connections() == 0).await;
    wait_until("the connections to come back", || {
        link.connections() == CLASSES
    })
    .await;
}

/// Waits until each pair of nodes has its connections in both directions.
pub async fn all_connected(nodes: &Nodes) {
    let began = Instant::now();
    while nodes.links.values().any(|it| it.connections() < CLASSES) {
        assert!(began.elapsed() < DEADLINE, "nodes go each other's ways");
        // A node may have been found over another node's link.
        nodes.links.values().for_each(Proxy::cut);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_gets_jobs_after_connections_in_one_direction_broke_and_its_credit_stays_the_same()
{
    const CREDIT: usize = 12;
    let nodes = Nodes::linked(3, 1);
    let rigs = nodes.all().await;
    all_connected(&nodes).await;
    wait_until("leaders", || rigs.iter().all(knows_all_leaders)).await;
    rigs[0].deploy(&one_task()).await;
    let leads = leader(&rigs[0].broker.topology(), 1).unwrap();
    let client = (leads + 1) % 3;
    let mut stream = rigs[client]
        .broker
        .open_job_stream(jobs(CREDIT as u32), Claims::Internal);
    let mut left = HashSet::new();
    for round in 0..6 {
        let (from, to) = match round % 2 {
            0 => (leads, client),
            _ => (client, leads),
        };
        cut(&nodes, from, to).await;
        // Neither side waits for the other connection to break.
        let pushes = |rig: &Rig| !rig.broker.streams_of_all_nodes().is_empty();
        wait_until("the stream to be known", || rigs.iter().all(pushes)).await;
        for _ in 0..4 {
            left.insert(create_one(&rigs[client]).await);
        }
        // None has been received yet.
        let activated = activated(&rigs);
        assert!(activated <= CREDIT, "{activated} jobs are on their way");
        if round == 0 {
            // It may be the job of an instance created by an unanswered request that was retried.
            let job = next(&mut stream).await.unwrap();
            left.remove(&job.process_instance_key);
        }
    }
    // Jobs pushed while a connection broke come again, at their time-out at the latest.
    while !left.is_empty() {
        let job = next(&mut stream).await.unwrap();
        left.remove(&job.process_instance_key);
        rigs[client].complete(job.key).await.unwrap();
    }
}

/// The new node hears of the stream while it waits to be added, and never again.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_gets_the_jobs_of_a_node_that_joins_later() {
    let nodes = Nodes {
        copies: Some(1),
        ..Nodes::new(3, 1)
    };
    let nodes = with_initial_nodes(2, nodes);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let broker = &rigs[0].broker;
    let mut stream = broker.open_job_stream(jobs(30), Claims::Internal);
    rigs.push(nodes_waiting(&nodes, &rigs, 2, scale(&[2], &[], None)).await);
    let three = Request::Scale {
        add: Vec::new(),
        remove: Vec::new(),
        count: None,
        partitions: Some(3),
        replication_factor: None,
    };
    let all: Vec<&Rig> = rigs.iter().collect();
    change(&all, three).await;
    wait_until("leaders", || rigs.iter().all(knows_all_leaders)).await;
    let topology = rigs[0].broker.topology();
    let led = (1..=3).find(|partition| leader(&topology, *partition) == Some(2));
    let led = led.expect("the new node has one of three partitions");
    let began = Instant::now();
    let mut of_new_node = false;
    while !of_new_node {
        assert!(began.elapsed() < DEADLINE, "partition {led} gets no work");
        let created = create_one(&rigs[0]).await;
        let job = next(&mut stream).await.expect("the job of an instance");
        assert_eq!(job.process_instance_key, created);
        rigs[0].complete(job.key).await.unwrap();
        of_new_node = created.partition() == Some(led);
    }
}
