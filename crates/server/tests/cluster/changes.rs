//! Nodes are added and removed by the API, and a change is cancelled, while nodes are killed under load.

use serde_json::Value;

use super::faults::Clients;
use super::*;

/// Status of a change, as known to the node.
pub fn status_of(server: &Server, change: u32) -> Option<String> {
    let path = format!("{CLUSTER}/changes/{change}");
    let (_, body) = server.management("GET", &path)?;
    let change: Value = serde_json::from_str(&body).ok()?;
    Some(change["status"].as_str()?.to_string())
}

/// The nodes with a copy of the partition, as known to the node.
pub fn copies(server: &Server, partition: u64) -> Vec<u64> {
    let answer = server.management("GET", CLUSTER);
    let cluster = answer.and_then(|(_, body)| serde_json::from_str(&body).ok());
    let cluster: Value = cluster.unwrap_or_default();
    let brokers = cluster["brokers"].as_array().into_iter().flatten();
    let has = |broker: &&Value| {
        let mut partitions = broker["partitions"].as_array().into_iter().flatten();
        partitions.any(|it| it["id"] == partition)
    };
    let with = brokers.filter(has);
    with.filter_map(|broker| broker["id"].as_u64()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_node_comes_and_goes_though_each_of_the_others_is_killed_in_between() {
    let nodes = Nodes::new(2);
    let mut servers = nodes.all().await;
    ledger::deploy_one_task(&servers[0].client()).await;
    let ledger = Shared::default();
    let mut fourth = nodes.start(SIZE);
    let add = r#"{"brokers":{"add":[3]}}"#;
    let remove = r#"{"brokers":{"remove":[3]}}"#;
    // One of these three nodes was coordinating the change when it was killed.
    for (n, wanted) in [add, remove, add].into_iter().enumerate() {
        let other = (n + 1) % SIZE;
        let clients = Clients::start(std::iter::once(&servers[other]), &ledger);
        let before = ledger.created();
        eventually("work", async || ledger.created() > before + 20).await;
        change(&servers[other], "", wanted);
        servers[n].kill();
        servers[n] = nodes.start(n).await.unwrap();
        let number = u32::try_from(n).unwrap() + 1;
        eventually("the change", async || {
            servers.iter().all(|server| is_over(server, number))
        })
        .await;
        let second = if wanted == add { [1, 2, 3] } else { [0, 1, 2] };
        for server in &servers {
            assert_eq!(copies(server, 1), [0, 1, 2]);
            assert_eq!(copies(server, 2), second);
        }
        let before = ledger.created();
        eventually("work after the change", async || {
            ledger.created() > before + 20
        })
        .await;
        println!(
            "change {number}: without an answer for {:?}",
            clients.end().await
        );
        let known = fourth.await.unwrap();
        if wanted == remove {
            // It is no longer a member: it returns as a new member, without data.
            drop(known);
            std::fs::remove_dir_all(nodes.directory(SIZE)).unwrap();
            fourth = nodes.start(SIZE);
        } else {
            fourth = tokio::spawn(async move { known });
        }
    }
    let fourth = fourth.await.unwrap();
    servers.push(fourth);
    for server in &servers {
        ledger::expect_everything_acknowledged(server, &ledger).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_change_that_cannot_end_outlives_kills_and_is_given_up() {
    let nodes = Nodes::new(1);
    let mut servers = nodes.all().await;
    // Node 3 is not started.
    change(&servers[0], "", r#"{"brokers":{"add":[3]}}"#);
    for (n, server) in servers.iter_mut().enumerate() {
        server.kill();
        *server = nodes.start(n).await.unwrap();
    }
    eventually("all to know of the change", async || {
        let known = |server: &Server| status_of(server, 1).as_deref() == Some("IN_PROGRESS");
        servers.iter().all(known)
    })
    .await;
    let priority = r#"{"priority":5}"#;
    let path = format!("{CLUSTER}/brokers/2/partitions/1");
    eventually("another change to be refused", async || {
        let refused = servers[1].manage("POST", &path, priority);
        matches!(refused, Some((409, _)))
    })
    .await;
    let given_up = servers[2].management("DELETE", &format!("{CLUSTER}/changes/1"));
    assert!(matches!(given_up, Some((200, _))), "{given_up:?}");
    eventually("all to know of the end", async || {
        let known = |server: &Server| status_of(server, 1).as_deref() == Some("CANCELLED");
        servers.iter().all(known)
    })
    .await;
    let taken = servers[1].manage("POST", &path, priority);
    assert!(matches!(taken, Some((202, _))), "{taken:?}");
    eventually("the next change", async || {
        servers.iter().all(|server| is_over(server, 2))
    })
    .await;
}

/// `skep cluster apply`, as run by the hooks of the Helm chart.
pub fn apply(server: &Server, arguments: &[&str]) -> (Option<i32>, String) {
    let management = format!("http://127.0.0.1:{}", server.management);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_skep"))
        .args(["cluster", "apply", "--management", &management])
        .args(arguments)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (output.status.code(), text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn the_command_line_grows_and_shrinks_a_cluster_and_repeats_nothing() {
    let nodes = Nodes::new(2);
    let mut servers = nodes.all().await;
    let (code, text) = apply(&servers[0], &["--size", "3", "--replication-factor", "3"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("As requested: nodes 0 1 2, partitions 2, copies of each 3"),
        "{text}"
    );
    let (code, text) = apply(&servers[0], &["--size", "3", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    let cluster: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        cluster["brokers"].as_array().map(Vec::len),
        Some(3),
        "{text}"
    );
    let (code, text) = apply(&servers[0], &["--size", "4", "--shrink-only"]);
    assert_eq!(
        (code, text.contains("No node needs to be removed")),
        (Some(0), true),
        "{text}"
    );
    // The first has a usage error, the second is refused by the cluster.
    let (code, text) = apply(&servers[0], &["--size", "2", "--replication-factor", "3"]);
    assert_eq!(code, Some(2), "{text}");

    let fourth = nodes.start(SIZE);
    let (code, text) = apply(&servers[1], &["--size", "4", "--wait"]);
    assert_eq!(code, Some(0), "{text}");
    servers.push(fourth.await.unwrap());
    assert_eq!(copies(&servers[0], 1).len(), 3);
    let before = status_of(&servers[0], 1);
    assert_eq!(before.as_deref(), Some("COMPLETED"));
    let (code, text) = apply(&servers[3], &["--size", "3", "--shrink-only", "--wait"]);
    assert_eq!(code, Some(0), "{text}");
    for partition in [1, 2] {
        assert!(!copies(&servers[0], partition).contains(&3));
    }
    // No node answers: the command reports what it waits for, and ends in time.
    let gone = servers.pop().unwrap();
    let port = gone.management;
    drop(gone);
    let nobody = format!("http://127.0.0.1:{port}");
    let wait = ["--size", "3", "--timeout", "1", "--management", &nobody];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_skep"))
        .args(["cluster", "apply"])
        .args(wait)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("error[NO_ANSWER]: after 1 s"), "{text}");
}
