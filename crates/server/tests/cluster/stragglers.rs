//! Nodes that stood still, or come from another restore, while the others emptied or restored the cluster: they bring nothing back, and delete
//! nothing that was written since.

use std::collections::HashSet;

use serde_json::Value;
use skep_testbed::Postgres;

use super::backups::{directory, expect_restored, take};
use super::lost::is_refused_saying;
use super::*;

fn known(server: &Server) -> Value {
    let answer = server.management("GET", CLUSTER);
    let known = answer.and_then(|(_, body)| serde_json::from_str(&body).ok());
    known.unwrap_or_default()
}

/// Number of completed operations of the running change; `None` without one.
fn steps(server: &Server) -> Option<usize> {
    let completed = known(server)["pendingChange"]["completed"]
        .as_array()?
        .len();
    Some(completed)
}

/// Begins a change; returns its number.
pub async fn begin(server: &Server, method: &str, path: &str, body: &str) -> u32 {
    let mut change = None;
    eventually("the change to be taken", async || {
        let answer = server.manage(method, &format!("{CLUSTER}{path}"), body);
        let planned = answer.filter(|(status, _)| *status == 202);
        let planned = planned.and_then(|(_, body)| serde_json::from_str::<Value>(&body).ok());
        change = planned.and_then(|planned| planned["changeId"].as_u64());
        change.is_some()
    })
    .await;
    u32::try_from(change.unwrap()).unwrap()
}

/// Gives up a change, unless it is over.
async fn cancel(server: &Server, change: u32) {
    let path = format!("{CLUSTER}/changes/{change}");
    eventually("the change to be given up", async || {
        let answer = server.management("DELETE", &path);
        matches!(answer, Some((200 | 404, _)))
    })
    .await;
}

async fn create_some(server: &Server, count: usize) -> HashSet<i64> {
    let (client, request) = (server.client(), CreateInstance::latest("one-task"));
    let mut keys = HashSet::new();
    eventually("instances are created", async || {
        if let Ok(instance) = client.create_instance(&request).await {
            assert!(keys.insert(instance.process_instance_key), "given twice");
        }
        keys.len() >= count
    })
    .await;
    keys
}

/// Number of instances that a search finds.
fn total(server: &Server) -> Option<u64> {
    let path = "/v2/process-instances/search";
    let (200, body) = server.ask(server.rest, "POST", path, "{}")? else {
        return None;
    };
    let found: Value = serde_json::from_str(&body).ok()?;
    found["page"]["totalItems"].as_u64()
}

/// The leader repeats its message to join until it is answered. Those that node 2 finds when it resumes are about a copy that was given up
/// since.
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn messages_to_join_that_are_read_after_a_purge_began_begin_no_copy() {
    let nodes = Nodes::new(2);
    let servers = nodes.all().await;
    ledger::deploy_one_task(&servers[0].client()).await;
    let mut before = create_some(&servers[0], 20).await;
    let copy = "/brokers/2/partitions/1";
    let leaves = begin(&servers[0], "DELETE", copy, "").await;
    eventually("the copy to be gone", async || {
        servers.iter().all(|server| is_over(server, leaves))
    })
    .await;
    servers[2].stop();
    let joins = begin(&servers[0], "POST", copy, r#"{"priority":1}"#).await;
    before.extend(create_some(&servers[0], 50).await);
    eventually("it to wait for the node", async || {
        steps(&servers[0]) == Some(0)
    })
    .await;
    cancel(&servers[0], joins).await;
    let purge = begin(&servers[0], "POST", "/purge", "").await;
    servers[2].resume();
    eventually("the end of the purge", async || {
        servers.iter().all(|server| is_over(server, purge))
    })
    .await;
    ledger::deploy_one_task(&servers[2].client()).await;
    let after = create_some(&servers[2], 50).await;
    assert!(after.is_disjoint(&before), "a key was given twice");
    for server in &servers {
        eventually("all nodes find the new instances only", async || {
            total(server) == Some(50)
        })
        .await;
    }
    let said = servers[2].log();
    assert!(!said.contains("PARTITION_STOPPED"), "{said}");
}

/// Node 0 empties the database. It stands still before, or in the middle, and the others finish without it.
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_node_that_stood_still_in_a_purge_deletes_nothing_that_was_written_since() {
    let Some(database) = Postgres::start_new() else {
        return;
    };
    let mut nodes = Nodes::new(2);
    let url = database.url();
    for (name, value) in [
        ("type", "rdbms"),
        ("rdbms.url", url.as_str()),
        ("rdbms.username", "skep"),
        ("rdbms.password", "secret"),
    ] {
        let set = format!("camunda.data.secondary-storage.{name}={value}");
        nodes.more.extend(["--set".to_string(), set]);
    }
    let servers = nodes.all().await;
    ledger::deploy_one_task(&servers[1].client()).await;
    let before = create_some(&servers[1], 20).await;
    let purge = begin(&servers[1], "POST", "/purge", "").await;
    // All six copies have left, or it is already over.
    eventually("the database to be emptied next", async || {
        steps(&servers[1]).is_none_or(|steps| steps >= 6)
    })
    .await;
    servers[0].stop();
    cancel(&servers[1], purge).await;
    let force = r#"{"brokers":{"remove":[0]}}"#;
    let removed = begin(&servers[1], "PATCH", "?force=true", force).await;
    eventually("the node to be removed", async || {
        is_over(&servers[1], removed)
    })
    .await;
    let again = begin(&servers[1], "POST", "/purge", "").await;
    eventually("the purge without it", async || is_over(&servers[1], again)).await;
    ledger::deploy_one_task(&servers[1].client()).await;
    let after = create_some(&servers[1], 30).await;
    assert!(after.is_disjoint(&before), "a key was given twice");
    eventually("they are found", async || total(&servers[1]) == Some(30)).await;
    servers[0].resume();
    eventually("the node to run again", async || {
        let health = servers[0].management("GET", "/actuator/health");
        health.is_some()
    })
    .await;
    let more = create_some(&servers[2], 30).await;
    assert!(more.is_disjoint(&after));
    eventually("none is missing", async || total(&servers[2]) == Some(60)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_node_of_another_restore_of_the_same_moment_is_refused() {
    let (first, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = directory(store.path());
    let original = crate::start(first.path(), &arguments, first.path().join("log")).await;
    ledger::deploy_one_task(&original.client()).await;
    take(&original, 1).await;
    drop(original);
    let mut nodes = Nodes::new(1);
    nodes.more = arguments;
    for node in 0..SIZE {
        expect_restored(1, &nodes.directory(node), &nodes.arguments(node));
    }
    let mut servers = nodes.all().await;
    let mut keys = create_some(&servers[0], 20).await;
    servers[2].kill();
    // Its directory is lost, and somebody restores it again: that is another cluster.
    std::fs::remove_dir_all(nodes.directory(2)).unwrap();
    expect_restored(1, &nodes.directory(2), &nodes.arguments(2));
    is_refused_saying(&nodes, 2, &["NODE_REFUSED"]).await;
    let more = create_some(&servers[1], 20).await;
    assert!(more.is_disjoint(&keys), "a key was given twice");
    keys.extend(more);
    eventually("the two have them all", async || {
        total(&servers[1]) == Some(40)
    })
    .await;
}
