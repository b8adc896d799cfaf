//! A prepared upgrade: all nodes pause with a snapshot, are replaced at once, and continue.

use std::process::{Command, Output};

use serde_json::Value;
use skep_client::CreateInstance;

use super::{Nodes, Server, eventually, ledger};

/// A command on all of these nodes.
fn on_all(servers: &[Server], arguments: &[&str]) -> Output {
    let addresses = servers.iter().map(|server| server.management);
    let addresses = addresses.map(|port| format!("http://127.0.0.1:{port}"));
    let addresses: Vec<String> = addresses.collect();
    Command::new(env!("CARGO_BIN_EXE_skep"))
        .args(["cluster", arguments[0], "--management"])
        .arg(addresses.join(","))
        .args(&arguments[1..])
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A field of each partition of a node.
fn phases(server: &Server, field: &str) -> Vec<Value> {
    let (_, body) = server.management("GET", "/actuator/partitions").unwrap();
    let partitions: Value = serde_json::from_str(&body).unwrap();
    let partitions = partitions.as_object().unwrap().values();
    partitions.map(|one| one[field].clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn all_nodes_pause_are_replaced_at_once_and_continue() {
    let nodes = Nodes::new(2);
    let mut servers = nodes.all().await;
    ledger::deploy_one_task(&servers[0].client()).await;
    let request = CreateInstance::latest("one-task");
    let client = servers[1].client();
    eventually("an instance before", async || {
        client.create_instance(&request).await.is_ok()
    })
    .await;

    let prepared = on_all(&servers, &["prepare-upgrade"]);
    assert_eq!(prepared.status.code(), Some(0), "{}", said(&prepared));
    for server in &servers {
        assert_eq!(phases(server, "streamProcessorPhase"), ["PAUSED"; 2]);
        eventually("the last copies to know that exporters pause", async || {
            phases(server, "exporterPhase") == ["PAUSED"; 2]
        })
        .await;
        let snapshots = phases(server, "snapshotId");
        assert!(snapshots.iter().all(Value::is_string), "{snapshots:?}");
    }
    for server in &mut servers {
        assert_eq!(server.terminate(), Some(0));
    }
    let servers = nodes.all().await;
    // A pause of exporters outlives restarts.
    let resumed = on_all(&servers, &["resume", "--upgraded", "--wait", "--json"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", said(&resumed));
    let done: Value = serde_json::from_slice(&resumed.stdout).unwrap();
    assert_eq!(done["state"], "RESUMED", "{done}");
    let client = servers[2].client();
    eventually("an instance afterwards", async || {
        client.create_instance(&request).await.is_ok()
    })
    .await;
    eventually("both partitions to be exported", async || {
        let exported = servers.iter().flat_map(|it| phases(it, "exporterPhase"));
        exported.filter(|phase| phase == "EXPORTING").count() >= 2
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn without_one_of_the_nodes_none_is_paused() {
    let nodes = Nodes::new(1);
    let mut servers = nodes.all().await;
    let gone = servers.last_mut().unwrap();
    gone.kill();
    let refused = on_all(&servers, &["prepare-upgrade"]);
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(
        said(&refused).contains("error[NO_SERVER]"),
        "{}",
        said(&refused)
    );
    for server in &servers[..2] {
        assert_ne!(phases(server, "streamProcessorPhase"), ["PAUSED"]);
    }
}
