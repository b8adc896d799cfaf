//! Authentication in the built binary: settings below `camunda.security`, and commands with passwords.

#[path = "login/documented.rs"]
mod documented;
#[path = "login/kept.rs"]
mod kept;
#[path = "login/leaderless.rs"]
mod leaderless;
#[path = "login/management.rs"]
mod management;
#[path = "login/nodes.rs"]
mod nodes;
#[path = "login/permissions.rs"]
mod permissions;
#[path = "login/shared.rs"]
mod shared;
#[path = "login/streams.rs"]
mod streams;
#[path = "login/tenants.rs"]
mod tenants;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use skep_client::Authorization;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(180);

/// Answers of a partition without a leader, or whose leader has just gone.
const UNAVAILABLE: [u16; 3] = [502, 503, 504];

fn skep(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skep"));
    command.current_dir(directory);
    // Processes must not inherit the settings of the test environment.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CAMUNDA_") || name.starts_with("SKEP_") {
            command.env_remove(name);
        }
    }
    command
}

/// A running server on free ports. Dropping it kills it.
struct Server {
    process: Child,
    lines: BufReader<std::process::ChildStdout>,
    rest: String,
    grpc: String,
    management: String,
}

impl Server {
    fn start(directory: &Path, args: &[&str], environment: &[(&str, &str)]) -> Server {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(directory.join("log"));
        let mut process = skep(directory)
            .envs(environment.iter().copied())
            .args(["serve", "--rest-port", "0", "--grpc-port", "0"])
            .args(["--management-port", "0"])
            .args([
                "--set",
                "camunda.data.primary-storage.disk.free-space.processing=2MB",
            ])
            .args([
                "--set",
                "camunda.data.primary-storage.disk.free-space.replication=1MB",
            ])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(log.unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        let mut read = String::new();
        while !read.contains("What to do next") {
            if lines.read_line(&mut read).unwrap() == 0 {
                panic!("the server did not start: {read}{}", log_of(directory));
            }
        }
        let after = |label: &str| {
            let line = read.lines().find(|line| line.trim().starts_with(label));
            let address = line.unwrap().split_whitespace().last().unwrap();
            let address = address.trim_start_matches("http://");
            address.split('/').next().unwrap().to_string()
        };
        Server {
            rest: after("REST"),
            grpc: after("gRPC"),
            management: after("management"),
            process,
            lines,
        }
    }

    /// Sends SIGTERM, and waits until the server has ended.
    fn stop(mut self) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(sent.success());
        let _ = self.lines.read_to_string(&mut String::new());
        assert!(self.process.wait().unwrap().success());
    }

    fn get(&self, path: &str, login: Option<(&str, &str)>) -> (u16, Value) {
        ask(&self.rest, "GET", path, "", login)
    }

    fn post(&self, path: &str, body: &str, login: Option<(&str, &str)>) -> (u16, Value) {
        ask(&self.rest, "POST", path, body, login)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn log_of(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("log")).unwrap_or_default()
}

/// One request; the status and the body of the answer, if that is JSON.
fn ask(
    address: &str,
    method: &str,
    path: &str,
    body: &str,
    login: Option<(&str, &str)>,
) -> (u16, Value) {
    exchange(address, (method, path), login.map(basic).as_deref(), body)
}

/// The header `authorization` for a name and a password.
fn basic((name, password): (&str, &str)) -> String {
    let header = Authorization::basic(name, password).unwrap().header();
    header.unwrap().to_str().unwrap().to_string()
}

/// Separates the parts of a multipart body.
const BOUNDARY: &str = "--xx";

/// Like [`ask`], with this header `authorization`; a body that begins with [`BOUNDARY`] is multipart.
fn exchange(
    address: &str,
    (method, path): (&str, &str),
    shown: Option<&str>,
    body: &str,
) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).unwrap();
    let shown = shown.map_or_else(String::new, |it| format!("authorization: {it}\r\n"));
    let content_type = if body.starts_with(BOUNDARY) {
        "multipart/form-data; boundary=xx"
    } else {
        "application/json"
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{shown}content-type: {content_type}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

/// A command of the command line.
fn run(directory: &Path, args: &[&str], environment: &[(&str, &str)]) -> Output {
    skep(directory)
        .args(args)
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// These settings contradict each other: the server reports it, and does not start.
fn does_not_start(here: &Path, args: &[&str], environment: &[(&str, &str)], reasons: &[&str]) {
    let refused = run(here, &[&["serve"], args].concat(), environment);
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    for part in [&["error[CONFIGURATION]"], reasons].concat() {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!here.join("data").exists(), "nothing has begun");
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The configuration example of docs/security.md, in a file.
fn documented(directory: &Path) -> String {
    let page = include_str!("../../../docs/security.md");
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let file = directory.join("security.yaml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

const ADMIN: Option<(&str, &str)> = Some(("admin", "hush-hush"));
const SECRET: [(&str, &str); 2] = [
    ("ADMIN_PASSWORD", "hush-hush"),
    ("CONNECTORS_PASSWORD", "shush-shush"),
];
const BASIC: [(&str, &str); 1] = [("CAMUNDA_SECURITY_AUTHENTICATION_METHOD", "basic")];

#[test]
fn the_configuration_of_the_documentation_asks_for_a_password() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let file = documented(here);
    let server = Server::start(here, &["--config", &file], &SECRET);
    assert_eq!(server.get("/v2/topology", ADMIN).0, 200);
    for login in [None, Some(("admin", "hush")), Some(("nobody", "hush-hush"))] {
        let (status, problem) = server.get("/v2/topology", login);
        assert_eq!((status, &problem["title"]), (401, &"Unauthorized".into()));
    }
    assert_eq!(server.get("/v2/status", None).0, 204);
    // Both users have the configured roles.
    let (status, roles) = server.post("/v2/roles/connectors/users/search", "{}", ADMIN);
    assert_eq!(status, 200, "{roles}");
    assert_eq!(roles["items"][0]["username"], "connectors");
    let connectors = Some(("connectors", "shush-shush"));
    let (status, problem) = server.post("/v2/users", "{}", connectors);
    assert_eq!(status, 400, "the body is looked at first: {problem}");
    let user =
        r#"{"username": "anna", "password": "p", "name": "Anna", "email": "anna@example.org"}"#;
    let (status, problem) = server.post("/v2/users", user, connectors);
    assert_eq!((status, &problem["title"]), (403, &"FORBIDDEN".into()));
    assert_eq!(server.post("/v2/users", user, ADMIN).0, 201);
    assert_eq!(server.get("/v2/topology", Some(("anna", "p"))).0, 200);
    // Others may have some that she must not see.
    let anna = [
        ("CAMUNDA_BASIC_AUTH_USERNAME", "anna"),
        ("CAMUNDA_BASIC_AUTH_PASSWORD", "p"),
    ];
    let none = run(here, &["incidents", "--address", &server.rest], &anna);
    let none = String::from_utf8(none.stdout).unwrap();
    assert_eq!(none, "No open incidents that this user may see.\n");
    // Passwords are stored as hashes only.
    let (_, settings) = ask(&server.management, "GET", "/actuator/configprops", "", None);
    assert!(settings.to_string().contains("authentication.method"));
    let listed = run(here, &["config", "--config", &file], &SECRET);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(
        listed.contains("camunda.security.authorizations.enabled: true"),
        "{listed}"
    );
    let data = here.join("data").display().to_string();
    let records = run(here, &["log", &data], &[]);
    let records = String::from_utf8(records.stdout).unwrap();
    assert!(records.contains("\"IDENTITY_SETUP\""), "{records}");
    for text in [settings.to_string(), listed, records, log_of(here)] {
        for (_, password) in SECRET {
            assert!(!text.contains(password), "{text}");
        }
        assert!(!text.contains("argon2"), "{text}");
    }
    server.stop();
}

#[test]
fn a_restart_leaves_users_as_they_are_and_a_purge_makes_those_of_the_configuration_again() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let file = documented(here);
    let server = Server::start(here, &["--config", &file], &SECRET);
    let delete = "/v2/roles/admin/users/connectors";
    assert_eq!(ask(&server.rest, "PUT", delete, "", ADMIN).0, 204);
    server.stop();
    let other = [
        ("ADMIN_PASSWORD", "other"),
        ("CONNECTORS_PASSWORD", "other"),
    ];
    let server = Server::start(here, &["--config", &file], &other);
    assert_eq!(server.get("/v2/topology", ADMIN).0, 200);
    assert_eq!(server.get("/v2/topology", Some(("admin", "other"))).0, 401);
    let (_, admins) = server.post("/v2/roles/admin/users/search", "{}", ADMIN);
    assert_eq!(admins["page"]["totalItems"], 2, "{admins}");
    let purged = ask(
        &server.management,
        "POST",
        "/actuator/cluster/purge",
        "",
        None,
    );
    assert_eq!(purged.0, 202, "{}", purged.1);
    eventually("the configured password counts after a purge", || {
        server.get("/v2/topology", Some(("admin", "other"))).0 == 200
    });
    assert_eq!(server.get("/v2/topology", ADMIN).0, 401);
}

/// The request for a user with the password of [`ADMIN`].
fn user(name: &str) -> String {
    format!(
        r#"{{"username": "{name}", "password": "hush-hush", "name": "A", "email": "a@example.org"}}"#
    )
}

#[test]
fn the_first_user_set_up_becomes_the_administrator() {
    let directory = TempDir::new().unwrap();
    let server = Server::start(directory.path(), &[], &BASIC);
    assert_eq!(server.get("/v2/topology", ADMIN).0, 401);
    let (status, made) = server.post("/v2/setup/user", &user("admin"), None);
    assert_eq!((status, &made["username"]), (201, &"admin".into()));
    assert_eq!(server.get("/v2/topology", ADMIN).0, 200);
    assert_eq!(server.post("/v2/setup/user", &user("second"), None).0, 403);
    assert_eq!(server.post("/v2/users", &user("second"), ADMIN).0, 201);
}

/// All of them find no administrator, and have their passwords hashed.
#[test]
fn of_several_set_up_at_once_one_becomes_the_administrator() {
    let directory = TempDir::new().unwrap();
    let server = Server::start(directory.path(), &[], &BASIC);
    assert_eq!(server.get("/v2/topology", ADMIN).0, 401);
    let rest = &*server.rest;
    let names: Vec<String> = (0..6).map(|number| format!("admin-{number}")).collect();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let asking = names.iter().map(|name| {
            scope.spawn(move || ask(rest, "POST", "/v2/setup/user", &user(name), None).0)
        });
        let asking: Vec<_> = asking.collect();
        let answered = asking.into_iter().map(|it| it.join().unwrap());
        answered.collect()
    });
    let made = statuses.iter().position(|status| *status == 201);
    let made = made.unwrap_or_else(|| panic!("{statuses:?}"));
    let refused = statuses.iter().filter(|status| **status == 403).count();
    assert_eq!(refused, names.len() - 1, "{statuses:?}");
    let login = Some((&*names[made], "hush-hush"));
    for of in ["users", "roles/admin/users"] {
        let path = format!("/v2/{of}/search");
        eventually("the administrator is found", || {
            let (_, found) = server.post(&path, "{}", login);
            found["items"][0]["username"] == *names[made]
        });
        let (_, found) = server.post(&path, "{}", login);
        assert_eq!(found["page"]["totalItems"], 1, "{of}: {found}");
    }
}

#[test]
fn without_settings_nobody_is_asked_and_there_are_the_roles_of_every_cluster() {
    let directory = TempDir::new().unwrap();
    let server = Server::start(directory.path(), &[], &[]);
    for login in [None, ADMIN] {
        assert_eq!(server.get("/v2/topology", login).0, 200);
    }
    let (status, roles) = server.post("/v2/roles/search", "{}", None);
    assert_eq!((status, &roles["page"]["totalItems"]), (200, &6.into()));
}

#[test]
fn a_server_for_other_machines_does_not_start_without_a_choice_about_logins() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let reasons = [
        "CAMUNDA_SECURITY_AUTHENTICATION_METHOD=basic",
        "CAMUNDA_SECURITY_AUTHENTICATION_UNPROTECTEDAPI=true",
    ];
    does_not_start(here, &["--address", "0.0.0.0"], &[], &reasons);
    let unprotected = [("CAMUNDA_SECURITY_AUTHENTICATION_UNPROTECTEDAPI", "true")];
    for (chosen, warning) in [
        (
            unprotected,
            "open to other machines without authentication: REST",
        ),
        (BASIC, "callers log in without TLS: REST"),
    ] {
        let server = Server::start(here, &["--address", "0.0.0.0"], &chosen);
        // Logged after the output for the user.
        eventually(warning, || log_of(here).contains(warning));
        server.stop();
    }
}

#[test]
fn commands_log_in() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let file = documented(here);
    let server = Server::start(here, &["--config", &file], &SECRET);
    let rest = format!("http://{}", server.rest);
    let grpc = format!("http://{}", server.grpc);
    let variables = [
        ("CAMUNDA_AUTH_STRATEGY", "BASIC"),
        ("CAMUNDA_BASIC_AUTH_USERNAME", "admin"),
        ("CAMUNDA_BASIC_AUTH_PASSWORD", "hush-hush"),
    ];
    let password = here.join("password");
    std::fs::write(&password, "hush-hush\n").unwrap();
    let password = password.display().to_string();
    let over_rest = ["instances", "--address", &rest];
    let over_grpc = ["status", "--transport", "grpc", "--address", &grpc];
    let management = format!("http://{}", server.management);
    let over_grpc = [&over_grpc[..], &["--management", &management]].concat();
    for command in [&over_rest[..], &over_grpc] {
        let done = run(here, command, &variables);
        assert!(done.status.success(), "{}", stderr(&done));
        let flags = ["--user", "admin", "--password-file", &password];
        let done = run(here, &[command, &flags].concat(), &[]);
        assert!(done.status.success(), "{}", stderr(&done));
        // Without credentials, with a wrong password, and with a token of an unknown issuer.
        let refused = run(here, command, &[]);
        let said = stderr(&refused);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("error[UNAUTHENTICATED]"), "{said}");
        assert!(said.contains("give --user NAME"), "{said}");
        let wrong = [
            variables[0],
            variables[1],
            ("CAMUNDA_BASIC_AUTH_PASSWORD", "hush"),
        ];
        let refused = run(here, command, &wrong);
        let said = stderr(&refused);
        assert!(said.contains("password is wrong"), "{said}");
        let refused = run(here, command, &[("CAMUNDA_AUTH_STRATEGY", "OAUTH")]);
        let said = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("CAMUNDA_OAUTH_URL is not set"), "{said}");
    }
    let load = [
        "load",
        "--rest-address",
        &server.rest,
        "--duration",
        "300ms",
    ];
    let load = [
        &load[..],
        &["--warmup", "0s", "--concurrency", "2", "--find"],
    ]
    .concat();
    let done = run(here, &load, &variables);
    assert!(done.status.success(), "{}", stderr(&done));
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(!text.contains("UNAUTHENTICATED"), "{text}");
    let refused = run(here, &load, &[]);
    assert!(
        stderr(&refused).contains("error[UNAUTHENTICATED]"),
        "{}",
        stderr(&refused)
    );
}
