//! Three nodes with authentication: a permission revoked on one node is gone on all of them once that node has answered.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::tenants::{deploy, name_of};
use super::{Server, UNAVAILABLE, ask, eventually};

const ADMIN: Option<(&str, &str)> = Some(("admin", "hush"));
const ANNA: Option<(&str, &str)> = Some(("anna", "hush"));

/// Node 2 has another one than the others.
const PATTERN: &str = "camunda.security.id-validation-pattern";

const CONFIGURATION: &str = "\
camunda.security:
  authentication.method: basic
  multi-tenancy.checks-enabled: true
  initialization:
    users:
      - {username: admin, password: hush, name: Admin, email: admin@example.org}
      - {username: anna, password: hush, name: Anna, email: anna@example.org}
    default-roles:
      admin: {users: [admin]}
    tenants:
      - {tenant-id: acme, name: A, users: [admin, anna]}
";

/// Three nodes with three partitions, each in its own directory.
fn nodes(here: &Path) -> Vec<Server> {
    let file = here.join("nodes.yaml");
    std::fs::write(&file, CONFIGURATION).unwrap();
    let file = &*file.display().to_string();
    let ports = skep_testbed::free_ports(3).unwrap();
    let points: Vec<String> = ports
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    let points = points.join(",");
    std::thread::scope(|scope| {
        // A new cluster waits for all of its nodes.
        let starting = ports.iter().enumerate().map(|(node, port)| {
            let points = &points;
            scope.spawn(move || {
                let directory = here.join(node.to_string());
                std::fs::create_dir(&directory).unwrap();
                let settings = [
                    format!("node-id={node}"),
                    "size=3".to_string(),
                    "replication-factor=3".to_string(),
                    "partition-count=3".to_string(),
                    format!("initial-contact-points={points}"),
                    format!("network.internal-api.port={port}"),
                ];
                let mut settings = settings.map(|it| format!("camunda.cluster.{it}")).to_vec();
                settings.push("skep.security.max-view-age=5s".to_string());
                if node == 2 {
                    settings.push(format!("{PATTERN}=[a-z-]+"));
                }
                let set = settings.iter().flat_map(|it| ["--set", it.as_str()]);
                let arguments: Vec<&str> = ["--config", file].into_iter().chain(set).collect();
                Server::start(&directory, &arguments, &[])
            })
        });
        let starting: Vec<_> = starting.collect();
        let started = starting.into_iter().map(|node| node.join().unwrap());
        started.collect()
    })
}

/// The first answer that decides. On a busy machine a partition may be without a leader for a moment, or a node may not hear the first one,
/// and then says nothing about permissions.
fn decided(mut attempt: impl FnMut() -> (u16, Value)) -> (u16, Value) {
    let mut answer = attempt();
    eventually("an attempt is decided", || {
        let is_decided = !UNAVAILABLE.contains(&answer.0);
        if !is_decided {
            answer = attempt();
        }
        is_decided
    });
    answer
}

/// Statuses of anna's attempts to start a process for acme: on each node, several for each partition.
fn attempts(nodes: &[Server]) -> Vec<u16> {
    let creation = json!({"processDefinitionId": name_of("job"), "tenantId": "acme"}).to_string();
    let attempt = |node: &Server| decided(|| node.post("/v2/process-instances", &creation, ANNA)).0;
    let mut answers: Vec<u16> = nodes
        .iter()
        .flat_map(|node| (0..6).map(move |_| attempt(node)))
        .collect();
    answers.dedup();
    answers
}

/// The administrator's change on this node, and its answer; `None`: an earlier attempt has done it, and was not answered.
fn change(node: &Server, method: &str, path: &str, body: &Value) -> Option<Value> {
    let (path, body) = (format!("/v2{path}"), body.to_string());
    let mut attempts = 0;
    let (status, answer) = decided(|| {
        attempts += 1;
        ask(&node.rest, method, &path, &body, ADMIN)
    });
    if attempts > 1 && [404, 409].contains(&status) {
        // Changes reach each partition in order: once a later one is answered, all have this one.
        let later = json!({"name": "A", "description": ""}).to_string();
        eventually("a later change is answered", || {
            ask(&node.rest, "PUT", "/v2/tenants/acme", &later, ADMIN).0 == 200
        });
        return None;
    }
    assert!(
        (200..300).contains(&status),
        "{method} {path}: {status} {answer}"
    );
    Some(answer)
}

fn grant(node: &Server) -> String {
    let right = json!({
        "ownerType": "USER", "ownerId": "anna", "resourceType": "PROCESS_DEFINITION", "resourceId": name_of("job"),
        "permissionTypes": ["CREATE_PROCESS_INSTANCE"],
    });
    let made = change(node, "POST", "/authorizations", &right);
    let made = made.unwrap_or_else(|| granted(node));
    format!(
        "/authorizations/{}",
        made["authorizationKey"].as_str().unwrap()
    )
}

/// The authorization that a grant without an answer has made.
fn granted(node: &Server) -> Value {
    let filter = json!({"filter": {"ownerId": "anna", "resourceType": "PROCESS_DEFINITION"}});
    let mut found = Value::Null;
    eventually("the authorization is found", || {
        let (_, answer) = node.post("/v2/authorizations/search", &filter.to_string(), ADMIN);
        found = answer["items"].clone();
        found.as_array().is_some_and(|items| items.len() == 1)
    });
    found[0].clone()
}

/// The settings that differ on other nodes, in the health of this one.
fn differences(node: &Server) -> Value {
    let (_, health) = ask(&node.management, "GET", "/actuator/health", "", None);
    health["components"]["securitySettings"].clone()
}

#[test]
fn a_permission_revoked_on_one_node_is_gone_on_all_nodes() {
    let directory = TempDir::new().unwrap();
    let mut nodes = nodes(directory.path());
    for node in &nodes {
        eventually("every node knows who there is", || {
            let known = [ADMIN, ANNA].map(|login| node.get("/v2/topology", login).0);
            known == [200, 200]
        });
    }
    let (status, deployed) = decided(|| deploy(&nodes[0], ADMIN, Some("acme")));
    assert_eq!(status, 200, "{deployed}");
    let nothing = json!({});
    for node in &nodes {
        assert_eq!(attempts(&nodes), [403]);
        let right = grant(node);
        assert_eq!(attempts(&nodes), [200]);
        change(node, "DELETE", &right, &nothing);
        assert_eq!(attempts(&nodes), [403]);
        let right = grant(node);
        change(node, "DELETE", "/tenants/acme/users/anna", &nothing);
        assert_eq!(attempts(&nodes), [403]);
        change(node, "PUT", "/tenants/acme/users/anna", &nothing);
        assert_eq!(attempts(&nodes), [200]);
        change(node, "DELETE", &right, &nothing);
    }
    // Authentication uses the local node's knowledge.
    change(&nodes[0], "DELETE", "/users/anna", &nothing);
    for node in &nodes {
        eventually("nobody lets in who is gone", || {
            node.get("/v2/topology", ANNA).0 == 401
        });
    }
    let differs =
        json!({"status": "DEGRADED", "details": {"differences": [format!("node 2: {PATTERN}")]}});
    eventually("a node with other settings is named", || {
        differences(&nodes[0]) == differs
    });
    // A node that hears no leader does not answer by its old view for longer than it may.
    nodes.truncate(1);
    eventually("the view is too old", || {
        let (status, answer) = nodes[0].get("/v2/topology", ADMIN);
        assert!([200, 503].contains(&status), "{status} {answer}");
        status == 503 && answer.to_string().contains("max-view-age")
    });
}
