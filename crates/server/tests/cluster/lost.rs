//! Two of three nodes are lost for good: the remaining one continues and gets new nodes. Each step is described in docs/cluster.md. Or they
//! only seemed to be lost.

use std::process::Stdio;

use serde_json::Value;
use skep_testkit::sandbox::{self, FileSystem};

use super::faults::Clients;
use super::*;

/// Both lost nodes.
const LOST: &str = r#"{"brokers":{"remove":[0,1]}}"#;

/// The nodes that come back after all.
const NOT_LOST: &str = r#"{"brokers":{"remove":[1,2]}}"#;

/// Positions of the node's copies in their stores.
fn exported(server: &Server) -> Option<[u64; 2]> {
    let (_, body) = server.management("GET", "/actuator/partitions")?;
    let partitions: Value = serde_json::from_str(&body).ok()?;
    let of = |partition: &str| partitions[partition]["exportedPosition"].as_u64();
    Some([of("1")?, of("2")?])
}

/// Works until all nodes have everything.
async fn works(servers: &[Server], ledger: &Shared) {
    let wanted = ledger.created() + 100;
    let clients = Clients::start(servers.iter(), ledger);
    eventually("work", async || ledger.created() > wanted).await;
    clients.end().await;
    eventually("copies to be abreast", async || {
        let mut positions = servers.iter().map(exported);
        let first = positions.next().flatten();
        first.is_some() && positions.all(|position| position == first)
    })
    .await;
}

/// Repeats the request until the lost nodes are no longer considered reachable. Returns the answer.
async fn remove(left: &Server, lost: &str, query: &str) -> Value {
    let mut answer = None;
    eventually("the lost nodes to be removed", async || {
        let path = format!("{CLUSTER}?force=true{query}");
        answer = left.manage("PATCH", &path, lost);
        matches!(answer, Some((202, _)))
    })
    .await;
    serde_json::from_str(&answer.unwrap().1).unwrap()
}

fn known(server: &Server) -> Value {
    let (_, body) = server.management("GET", CLUSTER).unwrap();
    serde_json::from_str(&body).unwrap()
}

/// Starts a former node with its data: it must report that it is no longer a member.
async fn is_refused(nodes: &Nodes, node: usize) {
    let removed = format!("node {node} was removed as lost for good");
    is_refused_saying(nodes, node, &[&removed, "empty its data directory"]).await;
}

/// Starts a node that the others refuse: it must report all of this.
pub async fn is_refused_saying(nodes: &Nodes, node: usize, wanted: &[&str]) {
    let log = nodes.data.path().join(format!("{node}-again.log"));
    let mut again = std::process::Command::new(env!("CARGO_BIN_EXE_skep"))
        .args(["serve", "--data"])
        .arg(nodes.directory(node))
        .args(["--rest-port", "0", "--grpc-port", "0"])
        .args(["--management-port", "0"])
        .args(nodes.arguments(node))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    eventually("the node to be refused", async || {
        let said = std::fs::read_to_string(&log).unwrap();
        wanted.iter().all(|wanted| said.contains(wanted))
    })
    .await;
    let _ = again.kill();
    support::end(&mut again);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn one_of_three_recovers_when_the_others_are_lost_for_good() {
    let nodes = Nodes::new(2);
    let mut servers = nodes.all().await;
    let ledger = Shared::default();
    ledger::deploy_one_task(&servers[0].client()).await;
    works(&servers, &ledger).await;
    // A forced removal is refused while the other nodes are reachable.
    let path = format!("{CLUSTER}?force=true");
    let refused = servers[2].manage("PATCH", &path, LOST);
    assert!(matches!(&refused, Some((400, text)) if text.contains("lost for good")));
    servers[0].kill();
    servers[1].kill();
    let planned = remove(&servers[2], LOST, "&dryRun=true").await;
    let recovery = &planned["unsafeRecovery"];
    assert_eq!(recovery["epoch"], 1, "{planned}");
    assert_eq!(
        recovery["lostPartitions"],
        serde_json::json!([]),
        "{planned}"
    );
    assert_eq!(recovery["partitions"][1]["brokerId"], 2, "{planned}");
    assert_eq!(known(&servers[2])["brokers"].as_array().unwrap().len(), 3);

    remove(&servers[2], LOST, "").await;
    assert_eq!(known(&servers[2])["brokers"].as_array().unwrap().len(), 1);
    let request = CreateInstance::latest("one-task");
    let client = servers[2].client();
    eventually("commands without a majority of before", async || {
        let created = client.create_instance(&request).await;
        let created = created.map(|it| ledger.with(|l| l.created.insert(it.process_instance_key)));
        assert!(created.as_ref().is_ok_and(|new| *new) || created.is_err());
        created.is_ok()
    })
    .await;
    ledger::expect_everything_acknowledged(&servers[2], &ledger).await;

    // The decision survives a restart, and former nodes stay out.
    servers[2].kill();
    servers[2] = nodes.start(2).await.unwrap();
    is_refused(&nodes, 0).await;
    is_refused(&nodes, 1).await;

    for node in [0, 1] {
        std::fs::remove_dir_all(nodes.directory(node)).unwrap();
    }
    let starting = [nodes.start(0), nodes.start(1)];
    change(
        &servers[2],
        "",
        r#"{"brokers":{"add":[0,1]},"partitions":{"replicationFactor":3}}"#,
    );
    for (node, server) in starting.into_iter().enumerate() {
        servers[node] = server.await.unwrap();
    }
    eventually("copies on all nodes", async || {
        servers.iter().all(|server| is_over(server, 2))
    })
    .await;
    works(&servers, &ledger).await;
    // The former survivor is not indispensable.
    servers[2].kill();
    ledger::expect_everything_acknowledged(&servers[1], &ledger).await;
}

/// A node of the majority creates an instance whose key nobody else has given.
async fn goes_on(server: &Server, ledger: &Shared) {
    let (client, request) = (server.client(), CreateInstance::latest("one-task"));
    eventually("the majority to work", async || {
        let created = client.create_instance(&request).await;
        let new = created.map(|it| ledger.with(|l| l.created.insert(it.process_instance_key)));
        assert!(!matches!(new, Ok(false)), "a key was given twice");
        new.is_ok()
    })
    .await;
}

/// Nodes 1 and 2 were only down when an operator took them for lost. A paused one would be refused: its connections are open.
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_majority_that_lives_works_on_beside_a_minority_that_was_recovered() {
    let nodes = Nodes::new(2);
    let mut servers = nodes.all().await;
    let ledger = Shared::default();
    ledger::deploy_one_task(&servers[0].client()).await;
    works(&servers, &ledger).await;
    for server in &mut servers[1..] {
        server.kill();
    }
    remove(&servers[0], NOT_LOST, "").await;
    assert_eq!(known(&servers[0])["brokers"].as_array().unwrap().len(), 1);
    // Node 0 is what they may hear first.
    let starting = [nodes.start(1), nodes.start(2)];
    for (node, server) in (1..).zip(starting) {
        servers[node] = server.await.unwrap();
    }
    for node in [1, 2] {
        goes_on(&servers[node], &ledger).await;
        eventually("the majority to say that there are two parts", async || {
            let said = std::fs::read_to_string(nodes.log(node)).unwrap();
            said.contains("Two parts of the cluster accept commands now")
        })
        .await;
    }
    for node in [1, 2] {
        servers[node].kill();
        servers[node] = nodes.start(node).await.unwrap();
        goes_on(&servers[node], &ledger).await;
        goes_on(&servers[3 - node], &ledger).await;
    }
    assert_eq!(known(&servers[1])["brokers"].as_array().unwrap().len(), 3);
    ledger::expect_everything_acknowledged(&servers[1], &ledger).await;
}

const COPY_ON_2: &str = "/actuator/cluster/brokers/2/partitions/1";
/// Logged by a node that yields to those who continue without it.
const YIELDS: &str = "this node no longer takes part in the cluster";
/// Longer than a node without a leader looks for a majority before it believes that the cluster continues without it.
const BELIEVES: Duration = Duration::from_secs(15);

/// Node 1 has a small disk of its own for the cluster's state; its partitions are elsewhere.
fn with_a_small_disk_for_the_state(nodes: &Nodes, directory: &Path) -> FileSystem {
    let disk = FileSystem::ext4(directory, 32);
    let state = disk.root.join("cluster-state");
    std::fs::create_dir(&state).unwrap();
    std::fs::create_dir(nodes.directory(1)).unwrap();
    let link = nodes.directory(1).join("cluster-state");
    std::os::unix::fs::symlink(&state, link).unwrap();
    disk
}

/// Health of the node's copy of the cluster's state: status and message.
fn health_of_state(server: &Server) -> (Value, Value) {
    let (_, body) = server
        .management("GET", "/actuator/health")
        .unwrap_or_default();
    let health: Value = serde_json::from_str(&body).unwrap_or_default();
    let state = &health["components"]["clusterState"];
    (state["status"].clone(), state["details"]["message"].clone())
}

/// Node 0 continues alone while the others are down, as an operator takes them for lost. Then they run without it.
async fn recovers_0_while_others_are_down(nodes: &Nodes, servers: &mut [Server]) {
    for server in &mut servers[1..] {
        server.kill();
    }
    remove(&servers[0], NOT_LOST, "").await;
    assert_eq!(known(&servers[0])["brokers"].as_array().unwrap().len(), 1);
    servers[0].kill();
    let starting = [nodes.start(1), nodes.start(2)];
    for (node, server) in (1..).zip(starting) {
        servers[node] = server.await.unwrap();
    }
}

/// The majority agrees on a change, and node 1 hears of it.
async fn agrees_on_a_change(servers: &[Server]) {
    let mut begun = None;
    eventually("a change to be taken", async || {
        let answer = servers[2].manage("POST", COPY_ON_2, r#"{"priority":3}"#);
        let taken = answer.filter(|(status, _)| *status == 202);
        let planned = taken.and_then(|(_, body)| serde_json::from_str::<Value>(&body).ok());
        begun = planned.and_then(|planned| planned["changeId"].as_u64());
        begun.is_some()
    })
    .await;
    let change = u32::try_from(begun.unwrap()).unwrap();
    eventually("the change", async || is_over(&servers[1], change)).await;
}

#[test]
fn a_node_without_room_for_the_clusters_state_yields_to_no_recovered_minority() {
    let name = "lost::a_node_without_room_for_the_clusters_state_yields_to_no_recovered_minority";
    sandbox::run(name, async |directory| {
        let nodes = Nodes::new(2);
        let disk = with_a_small_disk_for_the_state(&nodes, &directory);
        let mut servers = nodes.all().await;
        let ledger = Shared::default();
        ledger::deploy_one_task(&servers[0].client()).await;
        works(&servers, &ledger).await;
        recovers_0_while_others_are_down(&nodes, &mut servers).await;
        assert_eq!(health_of_state(&servers[1]).0, "UP");

        let mut filler = disk.fill();
        eventually("the node to be named in health", async || {
            filler.take_more();
            // Whether this is agreed on depends on who leads; the node that has to store it has no room.
            servers[2].manage("POST", COPY_ON_2, r#"{"priority":2}"#);
            health_of_state(&servers[1]).0 == "DOWN"
        })
        .await;
        let (_, message) = health_of_state(&servers[1]);
        assert!(message.to_string().contains("cluster-state"), "{message}");
        // Partitions have room, and each of the two nodes is needed for a majority.
        goes_on(&servers[1], &ledger).await;
        goes_on(&servers[2], &ledger).await;

        // Alone, it hears of nobody but the minority.
        servers[2].kill();
        servers[0] = nodes.start(0).await.unwrap();
        eventually("the minority to be refused", async || {
            // The answer to the greeting of node 0.
            let said = servers[0].log();
            said.contains("may belong to a majority") || servers[1].log().contains(YIELDS)
        })
        .await;
        // The duration of the fault: with room, the node would believe the minority by now.
        tokio::time::sleep(BELIEVES).await;
        let said = servers[1].log();
        assert!(!said.contains(YIELDS), "{said}");
        assert_eq!(health_of_state(&servers[1]).0, "DOWN");

        servers[2] = nodes.start(2).await.unwrap();
        drop(filler);
        eventually("the node to take part again", async || {
            health_of_state(&servers[1]).0 == "UP"
        })
        .await;
        agrees_on_a_change(&servers).await;
        eventually("the node to say that there are two parts", async || {
            let said = servers[1].log();
            said.contains("Two parts of the cluster accept commands now")
        })
        .await;
        goes_on(&servers[1], &ledger).await;
        goes_on(&servers[2], &ledger).await;
        ledger::expect_everything_acknowledged(&servers[1], &ledger).await;
        assert_eq!(known(&servers[1])["brokers"].as_array().unwrap().len(), 3);
    });
}
