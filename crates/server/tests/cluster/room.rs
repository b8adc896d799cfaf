//! A leader with little or no disk space: another one leads until there is space again, and nothing is lost.

use super::faults::{Clients, others, takes_work};
use super::*;
use serde_json::Value;
use skep_random::Random;
use skep_testkit::sandbox::{self, FileSystem};

const MIB: u64 = 1 << 20;

/// Small files, so that a small disk suffices. No secondary storage, whose history remains after work is finished.
const SMALL: [(&str, &str); 6] = [
    ("secondary-storage.type", "none"),
    ("primary-storage.log-stream.log-segment-size", "4MB"),
    ("primary-storage.disk.monitoring-interval", "50ms"),
    ("primary-storage.disk.free-space.processing", "48MB"),
    ("primary-storage.disk.free-space.replication", "24MB"),
    ("snapshot-period", "5s"),
];

/// Node 0 has its own small disk.
pub fn with_a_small_disk(directory: &Path, more: &[(&str, &str)]) -> (Nodes, FileSystem) {
    let mut nodes = Nodes::new(1);
    for (name, value) in SMALL.iter().chain(more) {
        let set = format!("camunda.data.{name}={value}");
        nodes.more.extend(["--set".to_string(), set]);
    }
    let disk = FileSystem::ext4(directory, 160);
    let data = disk.root.join("data");
    std::fs::create_dir(&data).unwrap();
    std::os::unix::fs::symlink(&data, nodes.directory(0)).unwrap();
    (nodes, disk)
}

/// Node 0 is the first replica, to which leadership belongs.
pub async fn let_node_0_lead(servers: &[Server]) {
    eventually("node 0 to lead", async || {
        servers[1].management("POST", "/actuator/rebalance");
        leader(&servers[1]).await == 0
    })
    .await;
}

async fn another_leads(servers: &[Server], ledger: &Shared) {
    eventually("another node to lead", async || {
        leader(&servers[1]).await != 0
    })
    .await;
    let before = ledger.created();
    eventually("work to go on", async || ledger.created() > before + 20).await;
    // Clients of the node with the full disk do not notice it.
    takes_work(&servers[0], ledger).await;
}

/// Knowledge of another node about partition 1, by node.
fn nodes_of(servers: &[Server]) -> Value {
    let answer = servers[1].management("GET", "/actuator/nodes");
    let nodes = answer.and_then(|(_, body)| serde_json::from_str(&body).ok());
    nodes.unwrap_or_default()
}

fn of_node_0(servers: &[Server], field: &str) -> Value {
    nodes_of(servers)["0"]["1"][field].clone()
}

/// Number of entries that node 0 is behind node 1.
fn lag_of_node_0(servers: &[Server]) -> Option<u64> {
    let nodes = nodes_of(servers);
    let applied = |node: &str| nodes[node]["1"]["appliedIndex"].as_u64();
    Some(applied("1")?.saturating_sub(applied("0")?))
}

#[test]
fn a_leader_whose_disk_gets_low_hands_over_until_there_is_room_again() {
    let name = "room::a_leader_whose_disk_gets_low_hands_over_until_there_is_room_again";
    sandbox::run(name, async |directory| {
        let (nodes, disk) = with_a_small_disk(&directory, &[]);
        let servers = nodes.all().await;
        ledger::deploy_one_task(&servers[1].client()).await;
        let ledger = Shared::default();
        let_node_0_lead(&servers).await;
        assert_eq!(of_node_0(&servers, "diskLow"), false);
        let clients = Clients::start(servers.iter(), &ledger);
        let filler = disk.fill_but(36 * MIB);
        another_leads(&servers, &ledger).await;
        assert_eq!(of_node_0(&servers, "diskLow"), true);
        // Rebalancing does not move leadership back to a node that would refuse new work.
        for _ in 0..3 {
            servers[1].management("POST", "/actuator/rebalance");
            let before = ledger.created();
            eventually("work to go on", async || ledger.created() > before + 20).await;
            assert_ne!(leader(&servers[1]).await, 0);
        }
        // The rest is reserved for work that frees space: the others are a majority without this node.
        let more = disk.fill_but(16 * MIB);
        eventually("the node to take no entries", async || {
            lag_of_node_0(&servers) > Some(50)
        })
        .await;
        drop((filler, more));
        eventually("room", async || of_node_0(&servers, "diskLow") == false).await;
        let_node_0_lead(&servers).await;
        println!("without an answer for {:?}", clients.end().await);
        for server in &servers {
            ledger::expect_everything_acknowledged(server, &ledger).await;
        }
    });
}

/// The metadata group continues on the other nodes, and on the node without space it recovers.
async fn change_priority(servers: &[Server]) {
    let path = "/actuator/cluster/brokers/2/partitions/1";
    eventually("a change to be taken", async || {
        let answer = servers[1].manage("POST", path, r#"{"priority":2}"#);
        matches!(answer, Some((202, _)))
    })
    .await;
    eventually("the change", async || is_over(&servers[1], 1)).await;
}

#[test]
fn a_leader_whose_disk_is_full_lets_others_lead_and_finds_back_by_itself() {
    let name = "room::a_leader_whose_disk_is_full_lets_others_lead_and_finds_back_by_itself";
    sandbox::run(name, async |directory| {
        // Free space is not monitored: the disk is full before the node knows.
        let unwatched = [("primary-storage.disk.monitoring-enabled", "false")];
        let (nodes, disk) = with_a_small_disk(&directory, &unwatched);
        let mut servers = nodes.all().await;
        ledger::deploy_one_task(&servers[1].client()).await;
        let ledger = Shared::default();
        let_node_0_lead(&servers).await;
        let clients = Clients::start(others(&servers, 0), &ledger);
        let mut fillers = vec![disk.fill()];
        eventually("the log to find no room", async || {
            if disk.free() > MIB {
                fillers.push(disk.fill());
            }
            servers[0].log().contains("the log cannot grow")
        })
        .await;
        another_leads(&servers, &ledger).await;
        println!("without an answer for {:?}", clients.end().await);
        change_priority(&servers).await;
        drop(fillers);
        eventually("the node to know of the change", async || {
            is_over(&servers[0], 1)
        })
        .await;
        // It counts again: without it there is no majority now.
        servers[1].kill();
        takes_work(&servers[2], &ledger).await;
        takes_work(&servers[0], &ledger).await;
        for node in [0, 2] {
            ledger::expect_everything_acknowledged(&servers[node], &ledger).await;
        }
    });
}

const REPLICA_0: &str = "/actuator/cluster/brokers/0/partitions/1";

/// Creates about this many MiB of incompressible state, in rows of half a MiB.
pub async fn make_state(server: &Server, ledger: &Shared, mebibytes: u64) {
    let client = server.client();
    let mut random = Random(1);
    for _ in 0..2 * mebibytes {
        let noise = random.noise(MIB as usize / 2);
        let variables = serde_json::json!({ "noise": noise }).to_string();
        let request = CreateInstance::latest("one-task").variables(variables);
        eventually("an instance to be created", async || {
            let created = client.create_instance(&request).await;
            let keep = |key| ledger.with(|ledger| ledger.created.insert(key));
            created.is_ok_and(|instance| keep(instance.process_instance_key))
        })
        .await;
    }
}

fn size_of(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .sum()
}

/// The node's report on the health of its replica of partition 1: status and message.
pub fn health_of_replica(server: &Server) -> (Value, Value) {
    let answer = server.management("GET", "/actuator/partitions");
    let partitions = answer.and_then(|(_, body)| serde_json::from_str::<Value>(&body).ok());
    let health = partitions.unwrap_or_default()["1"]["health"].clone();
    (health["status"].clone(), health["message"].clone())
}

#[test]
fn a_replica_without_room_for_the_snapshot_stays_a_follower_and_takes_it_once_there_is_room() {
    let name = "room::a_replica_without_room_for_the_snapshot_stays_a_follower_and_takes_it_once_there_is_room";
    sandbox::run(name, async |directory| {
        let (nodes, disk) = with_a_small_disk(&directory, &[]);
        let mut servers = nodes.all().await;
        ledger::deploy_one_task(&servers[1].client()).await;
        let ledger = Shared::default();
        let gone = servers[1].management("DELETE", REPLICA_0);
        assert!(matches!(gone, Some((202, _))), "{gone:?}");
        eventually("the replica to go", async || {
            servers.iter().all(|s| is_over(s, 1))
        })
        .await;
        make_state(&servers[1], &ledger, 50).await;
        eventually("a log without what is in the state", async || {
            [1, 2].iter().all(|node| {
                servers[*node].begin_checkpoint();
                size_of(&nodes.directory(*node).join("partitions/1/log")) < 30 * MIB
            })
        })
        .await;
        // Space for a part of the snapshot.
        let filler = disk.fill_but(46 * MIB);
        let joins = servers[1].manage("POST", REPLICA_0, r#"{"priority":3}"#);
        assert!(matches!(joins, Some((202, _))), "{joins:?}");
        eventually("the replica to find no room", async || {
            servers[0].log().contains("SNAPSHOT_NO_ROOM")
        })
        .await;
        let (status, message) = health_of_replica(&servers[0]);
        assert_eq!(status, "UNHEALTHY");
        assert!(message.to_string().contains("no space"), "{message}");
        // What had arrived gave its room back, and the leader's next offers take none.
        for _ in 0..3 {
            takes_work(&servers[2], &ledger).await;
            assert!(disk.free() > 24 * MIB, "{} bytes are free", disk.free());
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
        assert!(!is_over(&servers[1], 2), "it has no vote");
        assert_eq!(servers[0].log().matches("SNAPSHOT_NO_ROOM").count(), 1);
        drop(filler);
        eventually("the replica to have its vote", async || {
            is_over(&servers[0], 2)
        })
        .await;
        eventually("health", async || {
            health_of_replica(&servers[0]).0 == "HEALTHY"
        })
        .await;
        // It counts: without it there is no majority now.
        servers[1].kill();
        takes_work(&servers[2], &ledger).await;
        takes_work(&servers[0], &ledger).await;
        for node in [0, 2] {
            ledger::expect_everything_acknowledged(&servers[node], &ledger).await;
        }
    });
}
