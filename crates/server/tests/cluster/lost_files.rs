//! A part of a node's data directory is lost, or replaced by an older copy: the replica must not vote as if it had acknowledged nothing.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::faults::Clients;
use super::majority::exported;
use super::stragglers::begin;
use super::*;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            copy(&file.path(), &to);
        } else {
            std::fs::copy(file.path(), to).unwrap();
        }
    }
}

async fn works(servers: &[Server], ledger: &Shared) {
    let wanted = ledger.created() + 100;
    let clients = Clients::start(servers.iter(), ledger);
    eventually("work", async || ledger.created() > wanted).await;
    clients.end().await;
}

/// The health of the node's copy of partition 1, as shown to operators.
pub fn health(server: &Server) -> String {
    let (_, body) = server
        .management("GET", "/actuator/partitions")
        .unwrap_or_default();
    let partitions: Value = serde_json::from_str(&body).unwrap_or_default();
    partitions["1"]["health"]["status"]
        .as_str()
        .unwrap_or_default()
        .to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_partition_whose_directory_is_gone_takes_no_part_until_its_node_is_added_again() {
    let nodes = Nodes::new(2);
    let mut servers = nodes.all().await;
    let ledger = Shared::default();
    ledger::deploy_one_task(&servers[0].client()).await;
    works(&servers, &ledger).await;

    servers[2].kill();
    std::fs::remove_dir_all(nodes.directory(2).join("partitions/1")).unwrap();
    servers[2] = nodes.start(2).await.unwrap();
    let said = servers[2].log();
    assert!(
        said.contains("is missing, although")
            && said.contains("Remove this member and add it again"),
        "{said}"
    );
    assert_ne!(health(&servers[2]), "HEALTHY");
    // The others lead, and this node finds them: even for deployments, which concern all partitions.
    ledger::deploy_one_task(&servers[2].client()).await;
    works(&servers, &ledger).await;
    // Without this copy the remaining one is no majority: it waits for the third rather than let an empty one vote.
    servers[0].kill();
    let led = async |server: &Server| {
        let topology = server.client().topology().await;
        topology.is_ok_and(|it| leader_of(&it, 1).is_some_and(|leader| leader != 0))
    };
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(!led(&servers[1]).await, "an empty replica has voted");
    servers[0] = nodes.start(0).await.unwrap();
    ledger::expect_everything_acknowledged(&servers[2], &ledger).await;

    // As described in docs/cluster.md for a lost disk.
    servers[2].kill();
    eventually("the node to be removed", async || {
        let path = format!("{CLUSTER}?force=true");
        let answer = servers[1].manage("PATCH", &path, r#"{"brokers":{"remove":[2]}}"#);
        matches!(answer, Some((202, _)))
    })
    .await;
    eventually("the node to be taken out", async || {
        is_over(&servers[0], 1) && is_over(&servers[1], 1)
    })
    .await;
    std::fs::remove_dir_all(nodes.directory(2)).unwrap();
    let empty = nodes.start(2);
    change(
        &servers[1],
        "",
        r#"{"brokers":{"add":[2]},"partitions":{"replicationFactor":3}}"#,
    );
    servers[2] = empty.await.unwrap();
    eventually("the node to be one of them again", async || {
        servers.iter().all(|server| is_over(server, 2))
    })
    .await;
    servers[0].kill();
    eventually("the new copy to count", async || led(&servers[2]).await).await;
    ledger::expect_everything_acknowledged(&servers[2], &ledger).await;
}

/// How often the node has logged that files of a replica are gone.
fn misses(server: &Server) -> usize {
    server.log().matches("is missing, although").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_copy_that_cannot_start_is_replaced_while_its_node_runs_and_missed_if_it_is_lost_again() {
    let nodes = Nodes::new(2);
    let mut servers = nodes.all().await;
    let ledger = Shared::default();
    ledger::deploy_one_task(&servers[0].client()).await;
    works(&servers, &ledger).await;
    let files = nodes.directory(2).join("partitions/1");
    servers[2].kill();
    std::fs::remove_dir_all(&files).unwrap();
    servers[2] = nodes.start(2).await.unwrap();
    assert!(misses(&servers[2]) > 0, "nobody misses it");

    let copy = "/brokers/2/partitions/1";
    for (method, body) in [("DELETE", ""), ("POST", r#"{"priority":1}"#)] {
        let change = begin(&servers[0], method, copy, body).await;
        eventually("the change to be over", async || {
            servers.iter().all(|server| is_over(server, change))
        })
        .await;
    }
    eventually("the new copy to work", async || {
        health(&servers[2]) == "HEALTHY"
    })
    .await;
    works(&servers, &ledger).await;

    // The new copy is not one of those with which the cluster began.
    let before = misses(&servers[2]);
    servers[2].kill();
    std::fs::remove_dir_all(&files).unwrap();
    servers[2] = nodes.start(2).await.unwrap();
    assert!(misses(&servers[2]) > before, "nobody misses it");
    assert_ne!(health(&servers[2]), "HEALTHY");
    for server in &servers {
        ledger::expect_everything_acknowledged(server, &ledger).await;
    }
}

/// Runs the node until it has logged this text, and then kills it.
async fn says(nodes: &Nodes, node: usize, name: &str, wanted: &str) {
    let log = nodes.data.path().join(format!("{node}-{name}.log"));
    let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_skep"))
        .args(["serve", "--data"])
        .arg(nodes.directory(node))
        .args(["--rest-port", "0", "--grpc-port", "0"])
        .args(["--management-port", "0"])
        .args(nodes.arguments(node))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let said = || std::fs::read_to_string(&log).unwrap();
    let what = format!("{name}: {wanted}");
    eventually(&what, async || said().contains(wanted)).await;
    assert!(said().contains("Remove this member and add it again"));
    let _ = process.kill();
    support::end(&mut process);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn incomplete_and_outdated_replicas_take_no_part() {
    let nodes = Nodes::new(2);
    let mut servers = nodes.all().await;
    let ledger = Shared::default();
    ledger::deploy_one_task(&servers[0].client()).await;
    works(&servers, &ledger).await;
    let older = tempfile::tempdir().unwrap();
    servers[2].kill();
    copy(&nodes.directory(2).join("partitions/1"), older.path());
    servers[2] = nodes.start(2).await.unwrap();
    works(&servers, &ledger).await;
    servers.pop().unwrap().kill();

    let whole = tempfile::tempdir().unwrap();
    copy(&nodes.directory(2), whole.path());
    let restored = || {
        std::fs::remove_dir_all(nodes.directory(2)).unwrap();
        copy(whole.path(), &nodes.directory(2));
    };
    for (name, lost) in [
        ("log", "partitions/1/log"),
        ("state", "cluster-state"),
        ("state-log", "cluster-state/log"),
    ] {
        std::fs::remove_dir_all(nodes.directory(2).join(lost)).unwrap();
        says(&nodes, 2, name, "is missing, although").await;
        restored();
    }
    let partition = nodes.directory(2).join("partitions/1");
    std::fs::remove_dir_all(&partition).unwrap();
    copy(older.path(), &partition);
    says(&nodes, 2, "older", "is an older copy").await;
    restored();
    // The data is still untouched.
    servers.push(nodes.start(2).await.unwrap());
    assert_eq!(health(&servers[2]), "HEALTHY");
    ledger::expect_everything_acknowledged(&servers[2], &ledger).await;
}

/// Cuts the last file of a log to half of its content: a crash leaves such an end too, but of entries that nobody relies on.
fn cut(log: &Path) {
    let files = std::fs::read_dir(log).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let is_segment = |path: &PathBuf| !path.to_string_lossy().contains("spare");
    let last = paths.filter(is_segment).max().unwrap();
    let bytes = std::fs::read(&last).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let file = std::fs::File::options().write(true).open(last).unwrap();
    file.set_len(end as u64 / 2).unwrap();
}

/// Its own store has entries that its log lacks: the node notices before it votes, and the others have them.
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_replica_whose_log_lacks_what_its_store_has_takes_no_part() {
    let nodes = Nodes::new(1);
    let mut servers = nodes.all().await;
    let ledger = Shared::default();
    ledger::deploy_one_task(&servers[0].client()).await;
    works(&servers, &ledger).await;
    eventually("all to be stored", async || {
        let mut positions = servers.iter().map(exported);
        let first = positions.next().flatten();
        first.is_some() && positions.all(|position| position == first)
    })
    .await;
    servers.pop().unwrap().kill();
    cut(&nodes.directory(2).join("partitions/1/log"));
    let wanted = "entries that were acknowledged are missing";
    says(&nodes, 2, "cut", wanted).await;
    ledger::expect_everything_acknowledged(&servers[0], &ledger).await;
}
