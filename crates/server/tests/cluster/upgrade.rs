//! Upgrades from an earlier version: data directories of each format version are read and their work completed, and the nodes of a cluster
//! are replaced one by one under load, forwards and back.
//!
//! `golden/data-N.tar.gz` are directories of a killed server with two partitions: half of the work is in its checkpoint, the rest only in
//! the log. `data-1` is of commit bc7885cd, `data-2` of the version that introduced it. They are never edited; docs/testing.md describes
//! how to make the next one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ledger::{self, Shared};
use super::{Gap, Nodes, SIZE, Server, create, eventually, leader_of, work};

/// Instances of each of the six processes of a golden directory.
const EACH: u64 = 4;

fn golden_directory(version: u32) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let archive =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/data-{version}.tar.gz"));
    let unpacked = Command::new("tar")
        .args(["-x", "-z", "-f"])
        .arg(archive)
        .arg("-C")
        .arg(directory.path())
        .status();
    assert!(unpacked.unwrap().success());
    directory
}

fn ask(server: &Server, method: &str, path: &str, body: &Value) -> Value {
    let answer = server.ask(
        server.rest,
        method,
        &format!("/v2{path}"),
        &body.to_string(),
    );
    let (status, body) = answer.unwrap_or_else(|| panic!("no answer to {method} {path}"));
    assert!(
        (200..300).contains(&status),
        "{method} {path}: {status} {body}"
    );
    serde_json::from_str(&body).unwrap_or_default()
}

fn found(server: &Server, entity: &str, filter: &Value) -> Vec<Value> {
    let body = json!({"filter": filter, "page": {"limit": 100}});
    let answer = ask(server, "POST", &format!("/{entity}/search"), &body);
    answer["items"].as_array().unwrap().clone()
}

fn instances(server: &Server, state: &str) -> usize {
    found(server, "process-instances", &json!({"state": state})).len()
}

/// Completes all jobs. The worker that had one when its server was killed has long timed out.
fn complete_jobs(server: &Server) {
    let request =
        json!({"type": "work", "maxJobsToActivate": 100, "timeout": 600_000, "worker": "w"});
    let jobs = ask(server, "POST", "/jobs/activation", &request);
    for job in jobs["jobs"].as_array().unwrap() {
        let key = job["jobKey"].as_str().unwrap();
        ask(
            server,
            "POST",
            &format!("/jobs/{key}/completion"),
            &json!({}),
        );
    }
}

/// Completes each kind of work, as clients do.
async fn complete_all(server: &Server) {
    for task in found(server, "user-tasks", &json!({"state": "CREATED"})) {
        let key = task["userTaskKey"].as_str().unwrap();
        ask(
            server,
            "POST",
            &format!("/user-tasks/{key}/completion"),
            &json!({}),
        );
    }
    for n in 0..EACH {
        let message = json!({"name": "paid", "correlationKey": format!("k{n}"), "timeToLive": 0});
        ask(server, "POST", "/messages/publication", &message);
    }
    ask(
        server,
        "POST",
        "/signals/broadcast",
        &json!({"signalName": "sig"}),
    );
    for incident in found(server, "incidents", &json!({"state": "ACTIVE"})) {
        let scope = incident["processInstanceKey"].as_str().unwrap();
        let variables = json!({"variables": {"missing": {"thing": "work"}}});
        ask(
            server,
            "PUT",
            &format!("/element-instances/{scope}/variables"),
            &variables,
        );
        let key = incident["incidentKey"].as_str().unwrap();
        ask(
            server,
            "POST",
            &format!("/incidents/{key}/resolution"),
            &json!({}),
        );
    }
    // Two timers are due in 83 days; the others were due within a second.
    eventually("all but two instances are completed", async || {
        complete_jobs(server);
        instances(server, "ACTIVE") == 2
    })
    .await;
    for waits in found(server, "process-instances", &json!({"state": "ACTIVE"})) {
        assert_eq!(waits["processDefinitionId"], "ptimer");
        let key = waits["processInstanceKey"].as_str().unwrap();
        ask(
            server,
            "POST",
            &format!("/process-instances/{key}/cancellation"),
            &json!({}),
        );
    }
    eventually("nothing is left", async || instances(server, "ACTIVE") == 0).await;
    assert_eq!(
        (
            instances(server, "COMPLETED"),
            instances(server, "TERMINATED")
        ),
        (22, 2)
    );
}

async fn takes_over(version: u32) {
    let directory = golden_directory(version);
    let data = directory.path().join("data");
    let mut server = Server::start(&data, &["--partitions", "2"]).await;
    let all = found(&server, "process-instances", &json!({}));
    assert_eq!(all.len() as u64, 6 * EACH);
    for instance in &all {
        assert_eq!(instance["tags"], json!(["golden"]));
        let business_id = instance["businessId"].as_str().unwrap();
        let process = instance["processDefinitionId"].as_str().unwrap();
        assert_eq!(business_id.split('-').next(), Some(process));
    }
    assert_eq!(
        found(&server, "incidents", &json!({"state": "ACTIVE"})).len() as u64,
        EACH
    );
    assert_eq!(
        found(&server, "user-tasks", &json!({"state": "CREATED"})).len() as u64,
        EACH
    );
    complete_all(&server).await;
    // A restart reads the data written by this version.
    server.kill();
    for partition in 1..=2 {
        let file =
            std::fs::read(data.join(format!("partitions/{partition}/query.sqlite"))).unwrap();
        // SQLite's `user_version`: the earlier version can open the file too, for a downgrade.
        assert_eq!(file[60..64], [0, 0, 0, 8]);
    }
    let server = Server::start(&data, &["--partitions", "2"]).await;
    assert_eq!(
        (
            instances(&server, "COMPLETED"),
            instances(&server, "TERMINATED")
        ),
        (22, 2)
    );
    ask(
        &server,
        "POST",
        "/process-instances",
        &json!({"processDefinitionId": "pjob"}),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_directory_of_commit_bc7885cd_is_taken_over() {
    takes_over(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_directory_of_protocol_version_2_is_taken_over() {
    takes_over(2).await;
}

/// The binary of commit bc7885cd: `SKEP_TEST_EARLIER`, or the one built by `.ci/earlier`. `None`: there is none, which has been reported.
fn earlier() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/earlier/skep");
    let binary = std::env::var_os("SKEP_TEST_EARLIER").map_or(built, PathBuf::from);
    if binary.is_file() {
        return Some(binary);
    }
    let line = format!(
        "NOT RUN (upgrade): {} is not there; .ci/earlier builds it\n",
        binary.display()
    );
    let _ = std::io::Write::write_all(&mut std::io::stderr().lock(), line.as_bytes());
    None
}

/// Clients of one node. They continue while the node is down.
struct Clients {
    stop: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Clients {
    fn of(server: &Server, ledger: &Shared) -> Clients {
        let stop = Arc::<AtomicBool>::default();
        let gap = Arc::new(std::sync::Mutex::new(Gap {
            last: Instant::now(),
            longest: Duration::ZERO,
        }));
        let tasks = vec![
            tokio::spawn(create(server.client(), ledger.clone(), gap, stop.clone())),
            tokio::spawn(work(server.client(), ledger.clone(), stop.clone())),
        ];
        Clients { stop, tasks }
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

/// A cluster under load whose nodes change their versions.
struct Upgraded {
    nodes: Nodes,
    servers: Vec<Option<(Server, Clients)>>,
    ledger: Shared,
}

impl Upgraded {
    async fn start(binary: &Path) -> Upgraded {
        let nodes = Nodes::new(3);
        let starting: Vec<_> = (0..SIZE).map(|node| nodes.start_as(node, binary)).collect();
        let mut started = Vec::new();
        for server in starting {
            started.push(server.await.unwrap());
        }
        ledger::deploy_one_task(&started[0].client()).await;
        let ledger = Shared::default();
        let with_clients = |server: Server| {
            let clients = Clients::of(&server, &ledger);
            Some((server, clients))
        };
        Upgraded {
            servers: started.into_iter().map(with_clients).collect(),
            nodes,
            ledger,
        }
    }

    fn server(&self, node: usize) -> &Server {
        &self.servers[node].as_ref().unwrap().0
    }

    /// Restarts the node with this version.
    async fn becomes(&mut self, node: usize, binary: &Path) {
        let (mut server, clients) = self.servers[node].take().unwrap();
        let code = tokio::task::spawn_blocking(move || server.terminate());
        assert_eq!(code.await.unwrap(), Some(0));
        clients.end().await;
        let server = self.nodes.start_as(node, binary).await.unwrap();
        let clients = Clients::of(&server, &self.ledger);
        self.servers[node] = Some((server, clients));
        self.works_between_all(node).await;
    }

    /// Works while each node leads a partition, so that every node sends commands, answers and jobs to every other one.
    async fn works_between_all(&self, asked: usize) {
        let client = self.server(asked).client();
        let mut asked_at = None::<Instant>;
        eventually("each node leads a partition", async || {
            let Ok(topology) = client.topology().await else {
                return false;
            };
            let leaders: std::collections::BTreeSet<_> =
                (1..=3).filter_map(|id| leader_of(&topology, id)).collect();
            if leaders.len() < SIZE
                && asked_at.is_none_or(|at| at.elapsed() > Duration::from_secs(2))
            {
                asked_at = Some(Instant::now());
                self.server(asked).management("POST", "/actuator/rebalance");
            }
            leaders.len() == SIZE
        })
        .await;
        let before = (self.ledger.created(), self.ledger.completed());
        eventually("instances are created and completed", async || {
            self.ledger.created() > before.0 + 300 && self.ledger.completed() > before.1 + 300
        })
        .await;
    }

    async fn end(mut self) {
        let mut servers = Vec::new();
        for (server, clients) in self.servers.drain(..).flatten() {
            clients.end().await;
            servers.push(server);
        }
        ledger::expect_everything_acknowledged(&servers[0], &self.ledger).await;
        println!("{} instances", self.ledger.created());
        for node in 0..SIZE {
            let log = std::fs::read_to_string(self.nodes.log(node)).unwrap_or_default();
            for trouble in [
                "NODE_REFUSED",
                "PARTITION_STOPPED",
                "PARTITION_CANNOT_START",
                "PANIC",
            ] {
                assert!(!log.contains(trouble), "node {node}: {log}");
            }
        }
    }
}

/// Commands that make users and all that belongs to them.
const IDENTITY: [(&str, &str); 6] = [
    (
        "/v2/users",
        r#"{"username":"ada","password":"a long password","name":"A","email":"a@example.com"}"#,
    ),
    ("/v2/groups", r#"{"groupId":"staff","name":"Staff"}"#),
    ("/v2/roles", r#"{"roleId":"clerk","name":"Clerk"}"#),
    ("/v2/tenants", r#"{"tenantId":"acme","name":"Acme"}"#),
    (
        "/v2/mapping-rules",
        r#"{"mappingRuleId":"sales","claimName":"dept","claimValue":"sales","name":"Sales"}"#,
    ),
    (
        "/v2/authorizations",
        r#"{"ownerType":"GROUP","ownerId":"staff","resourceType":"BATCH","resourceId":"*","permissionTypes":["READ"]}"#,
    ),
];

/// Events of these commands could stop the replicas of node 2.
fn refuses_what_node_2_does_not_know(server: &Server) {
    let migration = r#"{"targetProcessDefinitionKey":"2","mappingInstructions":[{"sourceElementId":"a","targetElementId":"b"}]}"#;
    let migrate = ("/v2/process-instances/1/migration", migration);
    for (path, body) in IDENTITY.into_iter().chain([migrate]) {
        let (status, body) = server.ask(server.rest, "POST", path, body).unwrap();
        assert!(
            status == 503 && body.contains("node 2 speaks version 1"),
            "{path}: {status} {body}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_cluster_of_commit_bc7885cd_is_upgraded_node_by_node_under_load() {
    let Some(earlier) = earlier() else {
        return;
    };
    let own = PathBuf::from(env!("CARGO_BIN_EXE_skep"));
    let mut cluster = Upgraded::start(&earlier).await;
    cluster.works_between_all(0).await;
    // A downgrade is possible as long as one node has the earlier version.
    for node in [0, 1] {
        cluster.becomes(node, &own).await;
    }
    for node in [0, 1] {
        refuses_what_node_2_does_not_know(cluster.server(node));
    }
    let server = cluster.server(0);
    let partitions = r#"{"partitions":{"count":4,"replicationFactor":3}}"#;
    let (status, body) = server
        .manage("PATCH", "/actuator/cluster", partitions)
        .unwrap();
    assert!(status >= 400, "{status} {body}");
    for node in [1, 0] {
        cluster.becomes(node, &earlier).await;
    }
    for node in [2, 0, 1] {
        cluster.becomes(node, &own).await;
    }
    let server = cluster.server(1);
    for (path, body) in IDENTITY {
        eventually("what only the new version knows works", async || {
            let answer = server.ask(server.rest, "POST", path, body);
            answer.is_some_and(|(status, _)| status == 201 || status == 409)
        })
        .await;
    }
    for node in 0..SIZE {
        let server = cluster.server(node);
        for path in ["/v2/users/ada", "/v2/groups/staff", "/v2/tenants/acme"] {
            eventually("each node knows it", async || {
                let answer = server.ask(server.rest, "GET", path, "");
                answer.is_some_and(|(status, _)| status == 200)
            })
            .await;
        }
    }
    cluster.end().await;
}
