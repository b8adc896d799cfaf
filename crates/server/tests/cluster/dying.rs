//! The replica of a leader ends while its group hibernates: the node lives on and is heard, and the followers expect nothing.

use serde_json::Value;
use skep_testkit::sandbox;

use super::faults::{others, takes_work};
use super::room::{health_of_replica, let_node_0_lead, make_state, with_a_small_disk};
use super::*;

/// Longer than several heartbeats of a leader, and than the silence that an awake follower counts as missed.
const OBSERVED: Duration = Duration::from_secs(3);
/// Several times the blocks that the state store keeps in memory (`FjallConfig::cache_bytes`).
const STATE_MIB: u64 = 24;

/// What a replica of partition 1 counts while it follows and is awake: messages of its leader, and their absence.
fn heartbeats(server: &Server) -> Vec<String> {
    let (_, metrics) = server.management("GET", "/actuator/prometheus").unwrap();
    let counts = |line: &&str| {
        line.starts_with("atomix_heartbeat_")
            && line.contains("_count")
            && line.contains("partition=\"1\"")
    };
    let counts: Vec<String> = metrics.lines().filter(counts).map(String::from).collect();
    assert!(!counts.is_empty(), "{metrics}");
    counts
}

/// Waits until the followers neither hear their leader nor miss it.
async fn hibernates(servers: &[Server], leader: usize) {
    let counts = || -> Vec<Vec<String>> { others(servers, leader).map(heartbeats).collect() };
    eventually("the group to hibernate", async || {
        let before = counts();
        tokio::time::sleep(OBSERVED).await;
        counts() == before
    })
    .await;
}

/// Waits until the node's checkpoint contains everything: it has no reason to store another one, and after a restart it has no row of the
/// state in memory.
async fn has_checkpoint_of_all(server: &Server) {
    eventually("a checkpoint of everything", async || {
        let answer = server.management("GET", "/actuator/partitions");
        let partitions = answer.and_then(|(_, body)| serde_json::from_str::<Value>(&body).ok());
        let partition = partitions.unwrap_or_default()["1"].clone();
        let stored = partition["snapshotId"].as_str().unwrap_or_default();
        stored.starts_with(&format!("{}-", partition["appliedIndex"]))
    })
    .await;
}

/// The node is up, and says that its only replica does not work, and why.
async fn says_that_it_has_failed(server: &Server) {
    eventually("the replica to count as dead", async || {
        health_of_replica(server).0 == "DEAD"
    })
    .await;
    let message = health_of_replica(server).1.to_string();
    // Not the log: nothing was proposed, so the followers have got nothing that could wake them.
    assert!(
        message.contains("reading the key-value store in")
            && message.contains("Input/output error"),
        "{message}"
    );
    for group in ["readiness", "liveness", "status"] {
        let path = format!("/actuator/health/{group}");
        let (status, body) = server.management("GET", &path).expect("an answer");
        assert_eq!(status, 503, "{group}: {body}");
    }
}

/// The disk of the leader fails while nothing is read or written. The first command needs a row that is only there.
#[test]
fn a_leader_that_cannot_read_its_state_while_its_group_hibernates_is_replaced() {
    let name = "dying::a_leader_that_cannot_read_its_state_while_its_group_hibernates_is_replaced";
    sandbox::run(name, async |directory| {
        let (nodes, disk) = with_a_small_disk(&directory, &[]);
        let mut servers = nodes.all().await;
        ledger::deploy_one_task(&servers[1].client()).await;
        let ledger = Shared::default();
        make_state(&servers[1], &ledger, STATE_MIB).await;
        has_checkpoint_of_all(&servers[0]).await;
        assert_eq!(servers[0].terminate(), Some(0));
        servers[0] = nodes.start(0).await.unwrap();
        let_node_0_lead(&servers).await;
        let power = disk.switch();
        // Nothing is due that would write meanwhile.
        has_checkpoint_of_all(&servers[0]).await;
        hibernates(&servers, 0).await;
        assert_eq!(leader(&servers[1]).await, 0);
        power.off();

        let mut instances: Vec<i64> = ledger.with(|it| it.created.iter().copied().collect());
        instances.sort_unstable();
        // When the node started, it read all rows in this order: neither the first nor the last ones.
        let instance = instances[instances.len() / 2];
        let client = servers[0].client();
        // The leader ends before it answers. Whether another one gets the command in time does not matter.
        let answer = client
            .set_variables(instance, r#"{"noise":""}"#, true)
            .await;
        println!("the command that ended the replica: {answer:?}");
        let began = Instant::now();
        says_that_it_has_failed(&servers[0]).await;
        eventually("another node to lead", async || {
            leader(&servers[1]).await != 0
        })
        .await;
        println!("replaced after {:?}", began.elapsed());
        // Clients of the node with the failed replica reach the next leader.
        for server in &servers {
            takes_work(server, &ledger).await;
        }

        servers[0].kill();
        disk.power_on();
        servers[0] = nodes.start(0).await.unwrap();
        for server in &servers {
            takes_work(server, &ledger).await;
            ledger::expect_everything_acknowledged(server, &ledger).await;
        }
    });
}
