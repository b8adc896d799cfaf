//! Job streams while connections between nodes break: each connection is one direction, and both sides notice the break.

use super::*;
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
