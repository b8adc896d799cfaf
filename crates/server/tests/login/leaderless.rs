//! Five nodes of which two are lost, so that one partition has no leader. Partition 1 decides who may do what, all partitions apply it:
//! without a leader of the first, only changes stop; without one of another, a change is decided and is applied there later.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::tenants::{deploy, name_of};
use super::{Server, UNAVAILABLE, eventually};

const ADMIN: Option<(&str, &str)> = Some(("admin", "hush"));
/// May do everything with instances.
const ANNA: Option<(&str, &str)> = Some(("anna", "hush"));
/// May do nothing.
const BERT: Option<(&str, &str)> = Some(("bert", "hush"));

const CONFIGURATION: &str = "\
camunda.security:
  authentication.method: basic
  authorizations.enabled: true
  initialization:
    users:
      - {username: admin, password: hush, name: Admin, email: admin@example.org}
      - {username: anna, password: hush, name: Anna, email: anna@example.org}
      - {username: bert, password: hush, name: Bert, email: bert@example.org}
    default-roles:
      admin: {users: [admin]}
    authorizations:
      - {owner-type: USER, owner-id: anna, resource-type: PROCESS_DEFINITION, resource-id: \"*\", \
         permissions: [CREATE_PROCESS_INSTANCE, READ_PROCESS_INSTANCE, UPDATE_PROCESS_INSTANCE]}
";

const NODES: usize = 5;

/// Three partitions with three copies: the first is on nodes 0 to 2, the second on 1 to 3, the third on 2 to 4.
struct Cluster {
    here: TempDir,
    ports: Vec<u16>,
}

impl Cluster {
    fn new() -> Cluster {
        let here = TempDir::new().unwrap();
        std::fs::write(here.path().join("nodes.yaml"), CONFIGURATION).unwrap();
        let ports = skep_testbed::free_ports(NODES).unwrap();
        Cluster { here, ports }
    }

    fn directory(&self, node: usize) -> PathBuf {
        let directory = self.here.path().join(node.to_string());
        std::fs::create_dir_all(&directory).unwrap();
        directory
    }

    fn start(&self, node: usize) -> Server {
        let points = self.ports.iter().map(|port| format!("127.0.0.1:{port}"));
        let points: Vec<String> = points.collect();
        let settings = [
            format!("node-id={node}"),
            format!("size={NODES}"),
            "replication-factor=3".to_string(),
            "partition-count=3".to_string(),
            format!("initial-contact-points={}", points.join(",")),
            format!("network.internal-api.port={}", self.ports[node]),
        ];
        let file = self.here.path().join("nodes.yaml").display().to_string();
        let settings = settings.map(|it| format!("camunda.cluster.{it}"));
        let set = settings.iter().flat_map(|it| ["--set", it.as_str()]);
        let arguments: Vec<&str> = ["--config", &file].into_iter().chain(set).collect();
        Server::start(&self.directory(node), &arguments, &[])
    }

    /// These nodes, started together: a new cluster waits for all of its nodes.
    fn start_all(&self, nodes: std::ops::Range<usize>) -> Vec<Server> {
        std::thread::scope(|scope| {
            let starting = nodes.map(|node| scope.spawn(move || self.start(node)));
            let starting: Vec<_> = starting.collect();
            let started = starting.into_iter().map(|node| node.join().unwrap());
            started.collect()
        })
    }

    /// All nodes, once they know the users, with a deployed process.
    fn ready(&self) -> Vec<Server> {
        let nodes = self.start_all(0..NODES);
        for node in &nodes {
            eventually("every node knows who there is", || {
                [ADMIN, ANNA, BERT].map(|login| node.get("/v2/topology", login).0) == [200; 3]
            });
        }
        let (status, deployed) = deploy(&nodes[0], ADMIN, None);
        assert_eq!(status, 200, "{deployed}");
        nodes
    }
}

/// An attempt to create an instance: the partition that has it, or the status of the refusal.
fn attempt(node: &Server, login: Option<(&str, &str)>) -> Result<u64, u16> {
    let creation = json!({"processDefinitionId": name_of("job")}).to_string();
    let (status, created) = node.post("/v2/process-instances", &creation, login);
    match created["processInstanceKey"].as_str() {
        Some(key) => Ok(partition_of(key)),
        None => Err(status),
    }
}

fn partition_of(key: &str) -> u64 {
    key.parse::<u64>().unwrap() >> 51
}

/// Creates instances until this partition has a new one.
fn creates_on(node: &Server, login: Option<(&str, &str)>, partition: u64) {
    eventually("an instance on the partition", || {
        match attempt(node, login) {
            Ok(found) => found == partition,
            Err(status) => {
                assert!(UNAVAILABLE.contains(&status), "{status}");
                false
            }
        }
    });
}

fn user(name: &str) -> String {
    let user = json!({"username": name, "password": "a long password", "name": name, "email": "c@example.org"});
    user.to_string()
}

/// The instances that the caller finds; `None`: they cannot be searched now.
fn search(node: &Server, login: Option<(&str, &str)>) -> Option<Vec<Value>> {
    let body = json!({"filter": {"processDefinitionId": name_of("job")}, "page": {"limit": 1000}});
    let (status, found) = node.post("/v2/process-instances/search", &body.to_string(), login);
    assert!(status == 200 || UNAVAILABLE.contains(&status), "{found}");
    found["items"].as_array().cloned()
}

/// The key of one of these instances for each partition, once the caller finds them.
fn finds_of_each(node: &Server, login: Option<(&str, &str)>) -> Vec<String> {
    let mut found = Vec::new();
    eventually("instances of all partitions are found", || {
        let items = search(node, login).unwrap_or_default();
        let keys = items.iter().map(|it| &it["processInstanceKey"]);
        let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
        let of = |partition| keys.iter().find(|key| partition_of(key) == partition);
        found = (1..=3)
            .filter_map(of)
            .map(|key| (*key).to_string())
            .collect();
        found.len() == 3
    });
    found
}

/// Completes a job of some partition that has a leader; nobody may who has no permission for it.
fn completes_a_job(node: &Server) {
    let activation =
        json!({"type": "work", "maxJobsToActivate": 1, "timeout": 600_000, "requestTimeout": -1});
    let mut job = None;
    eventually("a job", || {
        let path = "/v2/jobs/activation";
        let (_, activated) = node.post(path, &activation.to_string(), ANNA);
        job = activated["jobs"][0]["jobKey"].as_str().map(str::to_string);
        job.is_some()
    });
    let path = format!("/v2/jobs/{}/completion", job.unwrap());
    assert_eq!(node.post(&path, "{}", BERT).0, 403);
    assert_eq!(node.post(&path, "{}", ANNA).0, 204);
}

#[test]
fn without_a_leader_of_the_first_partition_only_changes_of_users_stop() {
    let cluster = Cluster::new();
    let mut nodes = cluster.ready();
    for partition in 1..=3 {
        creates_on(&nodes[2], ANNA, partition);
    }
    finds_of_each(&nodes[2], ANNA);
    // One of three copies of the first partition is left.
    let left = nodes.split_off(2);
    drop(nodes);
    for node in &left {
        eventually("a change is refused at once", || {
            let (status, answer) = node.post("/v2/users", &user("carl"), ADMIN);
            assert!(UNAVAILABLE.contains(&status), "{status} {answer}");
            status == 503 && answer.to_string().contains("Partition 1 has no leader")
        });
        for partition in [2, 3] {
            creates_on(node, ANNA, partition);
        }
        eventually("who may not is refused", || {
            attempt(node, BERT).unwrap_err() == 403
        });
        completes_a_job(node);
        // Searches find the rows of the first partition, too.
        for key in finds_of_each(node, ANNA) {
            let path = format!("/v2/process-instances/{key}");
            let statuses = [ANNA, BERT].map(|login| node.get(&path, login).0);
            assert_eq!(statuses, [200, 403], "{key}");
        }
        assert_eq!(search(node, BERT).unwrap_or_default().len(), 0);
        let (status, users) = node.post("/v2/users/search", "{}", ADMIN);
        assert_eq!(
            (status, &users["page"]["totalItems"]),
            (200, &3.into()),
            "{users}"
        );
        let wrong = Some(("anna", "shush"));
        assert_eq!(node.get("/v2/authentication/me", wrong).0, 401);
    }
}

#[test]
fn without_a_leader_of_another_partition_a_change_is_decided_and_applied_there_later() {
    let cluster = Cluster::new();
    let mut nodes = cluster.ready();
    creates_on(&nodes[0], ANNA, 3);
    // One of three copies of the third partition is left.
    nodes.truncate(3);
    let grant = json!({
        "ownerType": "USER", "ownerId": "bert", "resourceType": "PROCESS_DEFINITION", "resourceId": name_of("job"),
        "permissionTypes": ["CREATE_PROCESS_INSTANCE"],
    });
    for (path, body) in [
        ("/v2/users", user("carl")),
        ("/v2/authorizations", grant.to_string()),
    ] {
        // The answer waits for all partitions. The first one may change its leader before.
        eventually("the request times out", || {
            let (status, answer) = nodes[0].post(path, &body, ADMIN);
            let is_known = status == 409 || UNAVAILABLE.contains(&status);
            assert!(is_known, "{path}: {status} {answer}");
            // Who sends it again learns that it was carried out.
            status == 504 || status == 409
        });
    }
    for node in &nodes {
        for partition in [1, 2] {
            eventually("the partitions with a leader apply it", || {
                attempt(node, BERT) == Ok(partition)
            });
        }
        eventually("every node knows the user", || {
            node.get("/v2/users/carl", ADMIN).0 == 200
        });
    }
    nodes.extend(cluster.start_all(3..NODES));
    for node in &nodes {
        eventually("the third partition applies it, too", || {
            attempt(node, BERT) == Ok(3)
        });
        eventually("every node knows the user", || {
            node.get("/v2/users/carl", ADMIN).0 == 200
        });
    }
}
