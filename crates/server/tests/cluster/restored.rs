//! A restored cluster is a cluster like any other: it goes on without a node that never comes back, and replaces nodes that it loses, one
//! after the other, until none of them has its data from the backup.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use skep_client::{ActivateJobs, CreateInstance};

use super::backups::{create, directory, expect_restored, expect_searchable, instances, take};
use super::{CLUSTER, Nodes, SIZE, change, is_over, start};
use crate::support::{Server, eventually, ledger};

const BACKUP: u64 = 5;

/// The instances of a node alone, in a backup of two partitions.
async fn backup_of_one(store: &Path) -> HashSet<i64> {
    let data = tempfile::tempdir().unwrap();
    let arguments = [
        directory(store),
        vec!["--partitions".to_string(), "2".to_string()],
    ]
    .concat();
    let server = start(data.path(), &arguments, data.path().join("log")).await;
    ledger::deploy_one_task(&server.client()).await;
    let mut keys = HashSet::new();
    for _ in 0..20 {
        keys.insert(create(&server.client()).await);
    }
    take(&server, BACKUP).await;
    keys
}

/// Removes a node that is lost for good. Repeats the request until the others consider it lost.
async fn remove_lost(server: &Server, node: usize, number: u32) {
    let body = format!(r#"{{"brokers":{{"remove":[{node}]}}}}"#);
    eventually("the lost node to be removed", async || {
        let path = format!("{CLUSTER}?force=true");
        matches!(server.manage("PATCH", &path, &body), Some((202, _)))
    })
    .await;
    eventually("the removal", async || is_over(server, number)).await;
}

/// Starts a node without data, and adds it with copies of all partitions.
async fn replace(nodes: &Nodes, server: &Server, node: usize, number: u32) -> Server {
    let starting = nodes.start(node);
    let body =
        format!(r#"{{"brokers":{{"add":[{node}]}},"partitions":{{"replicationFactor":{SIZE}}}}}"#);
    change(server, "", &body);
    let started = starting.await.unwrap();
    eventually("its copies", async || is_over(server, number)).await;
    started
}

/// The nodes of the cluster, as known to one of them.
fn members(server: &Server) -> Vec<u64> {
    let (_, body) = server.management("GET", CLUSTER).unwrap();
    let cluster: serde_json::Value = serde_json::from_str(&body).unwrap();
    let brokers = cluster["brokers"].as_array().unwrap().iter();
    brokers.map(|it| it["id"].as_u64().unwrap()).collect()
}

/// Repeats until an instance is created, whose key must be new.
async fn goes_on(server: &Server, kept: &mut HashSet<i64>) {
    let (client, request) = (server.client(), CreateInstance::latest("one-task"));
    let mut created = None;
    eventually("an instance is created", async || {
        created = client.create_instance(&request).await.ok();
        created.is_some()
    })
    .await;
    let key = created.unwrap().process_instance_key;
    assert!(kept.insert(key), "key {key} was given twice");
}

/// Every instance has its job.
async fn expect_jobs(server: &Server, kept: &HashSet<i64>) {
    let jobs = ActivateJobs {
        timeout: Duration::from_secs(300),
        ..ActivateJobs::new("work", 100)
    };
    let (client, mut worked) = (server.client(), HashSet::new());
    eventually("all jobs are there", async || {
        let jobs = client.activate_jobs(&jobs).await.unwrap_or_default();
        for job in jobs {
            let is_new = worked.insert(job.process_instance_key);
            assert!(is_new, "job {} is given to two workers", job.key);
        }
        kept.is_subset(&worked)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_restored_cluster_goes_on_without_a_lost_node_and_replaces_it() {
    let store = tempfile::tempdir().unwrap();
    let mut kept = backup_of_one(store.path()).await;
    let mut nodes = Nodes::new(2);
    nodes.more = directory(store.path());
    for node in [0, 1] {
        expect_restored(BACKUP, &nodes.directory(node), &nodes.arguments(node));
    }
    // Node 2 is never restored.
    let starting = [nodes.start(0), nodes.start(1)];
    let [first, second] = starting;
    let (mut first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!(expect_searchable(&second, kept.len()).await, kept);
    kept.insert(create(&second.client()).await);

    remove_lost(&first, 2, 1).await;
    // It learns of the removal a moment later than the node that was asked.
    eventually("the other node to know", async || {
        members(&second) == [0, 1]
    })
    .await;
    goes_on(&second, &mut kept).await;

    // Somebody restores it after all: it was given up, and changes nothing.
    expect_restored(BACKUP, &nodes.directory(2), &nodes.arguments(2));
    let late = nodes.start(2).await.unwrap();
    goes_on(&second, &mut kept).await;
    assert_eq!(members(&first), [0, 1]);
    drop(late);
    std::fs::remove_dir_all(nodes.directory(2)).unwrap();

    let third = replace(&nodes, &first, 2, 2).await;
    assert_eq!(members(&first), [0, 1, 2]);
    goes_on(&third, &mut kept).await;

    // The nodes with data from the backup are lost in turn.
    first.kill();
    std::fs::remove_dir_all(nodes.directory(0)).unwrap();
    goes_on(&third, &mut kept).await;
    remove_lost(&third, 0, 3).await;
    let first = replace(&nodes, &third, 0, 4).await;
    drop(second);
    std::fs::remove_dir_all(nodes.directory(1)).unwrap();
    goes_on(&first, &mut kept).await;
    eventually("all instances can be searched", async || {
        kept.is_subset(&instances(&third))
    })
    .await;
    expect_jobs(&first, &kept).await;
}
