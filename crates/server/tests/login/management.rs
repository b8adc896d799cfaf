//! The management port with the login of the API (`skep.management.authentication: api`).

use serde_json::Value;

use super::{Server, ask, skep};

const SETTINGS: &str = "
camunda.security:
  authentication.method: basic
  initialization:
    users:
      - {username: admin, password: admin-secret}
      - {username: guest, password: guest-secret}
      - {username: reader, password: reader-secret}
    default-roles:
      admin: {users: [admin]}
    authorizations:
      - {owner-type: USER, owner-id: reader, resource-type: SYSTEM, resource-id: '*', permissions: [READ]}
skep.management.authentication: api
";

const ADMIN: (&str, &str) = ("admin", "admin-secret");
const GUEST: (&str, &str) = ("guest", "guest-secret");
const READER: (&str, &str) = ("reader", "reader-secret");

const OPEN: [&str; 6] = [
    "/ready",
    "/startup",
    "/health",
    "/actuator/health",
    "/actuator/health/readiness",
    "/actuator/prometheus",
];

const READABLE: [&str; 16] = [
    "/actuator",
    "/actuator/",
    "/actuator//configprops",
    "/actuator/info",
    "/actuator/configprops",
    "/actuator/loggers",
    "/actuator/partitions",
    "/actuator/flowControl",
    "/actuator/jobstreams",
    "/actuator/incidents",
    "/actuator/nodes",
    "/actuator/leases",
    "/actuator/exporters",
    "/actuator/cluster",
    "/actuator/nothing",
    "/debug/pprof/flamegraph?seconds=0",
];

const CHANGES: [(&str, &str); 9] = [
    ("POST", "/actuator/partitions/pauseProcessing"),
    ("POST", "/actuator/exporting/pause"),
    ("POST", "/actuator/rebalance"),
    ("POST", "/actuator/loggers/skep"),
    ("POST", "/actuator/clock/add"),
    ("PATCH", "/actuator/cluster"),
    ("DELETE", "/actuator/backupRuntime/1"),
    ("POST", "/actuator/backupRuntime"),
    ("POST", "/actuator/banning/1"),
];

fn started() -> (tempfile::TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("skep.yaml"), SETTINGS).unwrap();
    let server = Server::start(directory.path(), &["--config", "skep.yaml"], &[]);
    (directory, server)
}

impl Server {
    fn manage(&self, method: &str, path: &str, login: Option<(&str, &str)>) -> (u16, Value) {
        ask(&self.management, method, path, "", login)
    }
}

#[test]
fn the_management_port_asks_for_the_login_and_the_rights_of_the_api() {
    let (_directory, server) = started();
    for open in OPEN {
        assert_eq!(server.manage("GET", open, None).0, 200, "{open}");
    }
    for path in READABLE {
        let (status, answer) = server.manage("GET", path, None);
        assert_eq!(status, 401, "{path}: {answer}");
        assert_eq!(
            server.manage("GET", path, Some(("nobody", "wrong"))).0,
            401,
            "{path}"
        );
        let (status, answer) = server.manage("GET", path, Some(GUEST));
        assert_eq!(status, 403, "{path}: {answer}");
        let text = answer["message"].as_str().unwrap();
        assert!(
            text.contains("'READ' on resource 'SYSTEM'"),
            "{path}: {text}"
        );
        let (status, _) = server.manage("GET", path, Some(READER));
        assert!(![401, 403].contains(&status), "{path}: {status}");
    }
    for (method, path) in CHANGES {
        assert_eq!(server.manage(method, path, None).0, 401, "{path}");
        for login in [GUEST, READER] {
            let (status, answer) = server.manage(method, path, Some(login));
            assert_eq!(status, 403, "{path}: {answer}");
        }
    }
    assert_eq!(
        server
            .manage("POST", "/actuator/partitions/pauseProcessing", Some(ADMIN))
            .0,
        200
    );
    assert_eq!(
        server
            .manage("POST", "/actuator/partitions/resumeProcessing", Some(ADMIN))
            .0,
        200
    );
}

#[test]
fn commands_of_operators_log_in_where_they_are_asked() {
    let (directory, server) = started();
    let management = format!("http://{}", server.management);
    let rebalance = |password: Option<&str>| {
        let mut command = skep(directory.path());
        command.args(["cluster", "rebalance", "--management", &management]);
        if let Some(password) = password {
            command.args(["--user", "admin"]);
            command.env("CAMUNDA_BASIC_AUTH_PASSWORD", password);
        }
        command.output().unwrap()
    };
    let done = rebalance(Some("admin-secret"));
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    for refused in [None, Some("wrong")] {
        let output = rebalance(refused);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains("401"), "{text}");
    }
}

#[test]
fn a_server_that_asks_nobody_cannot_ask_at_its_management_port() {
    let directory = tempfile::tempdir().unwrap();
    let output = skep(directory.path())
        .args(["serve", "--set", "skep.management.authentication=api"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    assert!(
        text.contains("skep.management.authentication is api, but the API requires no login"),
        "{text}"
    );
}
