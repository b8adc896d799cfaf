//! What two users keep on a real server: each has their own, reads what the other one shares, and replaces what they have read. It
//! outlives the server, and goes with its user.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PATIENCE, Server, ask, basic};

const ADMIN: (&str, &str) = ("admin", "hush");
const ANNA: (&str, &str) = ("anna", "hush");

const CONFIGURATION: &str = "\
camunda.security:
  authentication.method: basic
  initialization:
    users:
      - {username: admin, password: hush, name: Admin, email: admin@example.org}
    default-roles:
      admin: {users: [admin]}
";

fn server(here: &TempDir) -> Server {
    let file = here.path().join("kept.yaml");
    std::fs::write(&file, CONFIGURATION).unwrap();
    Server::start(here.path(), &["--config", &file.display().to_string()], &[])
}

fn make_anna(server: &Server) {
    let anna = json!({"username": "anna", "password": "hush", "name": "Anna", "email": "anna@example.org"});
    let (status, answer) = server.post("/v2/users", &anna.to_string(), Some(ADMIN));
    assert_eq!(status, 201, "{answer}");
}

/// A request with a precondition.
fn change(
    server: &Server,
    (method, path): (&str, &str),
    precondition: &str,
    body: &str,
    login: (&str, &str),
) -> (u16, Value) {
    let mut stream = TcpStream::connect(&server.rest).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "{method} /skep/v1/kept/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: {}\r\n{precondition}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        basic(login),
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

fn put(
    server: &Server,
    path: &str,
    precondition: &str,
    body: &Value,
    login: (&str, &str),
) -> Value {
    let (status, answer) = change(
        server,
        ("PUT", path),
        precondition,
        &body.to_string(),
        login,
    );
    assert_eq!(status, 200, "{answer}");
    answer
}

fn get(server: &Server, path: &str, login: (&str, &str)) -> (u16, Value) {
    let path = format!("/skep/v1/kept/{path}");
    ask(&server.rest, "GET", &path, "", Some(login))
}

fn names(server: &Server, kind: &str, login: (&str, &str)) -> Vec<String> {
    let (status, answer) = get(server, kind, login);
    assert_eq!(status, 200, "{answer}");
    let items = answer["items"].as_array().unwrap().iter();
    items
        .map(|it| {
            format!(
                "{}/{}",
                it["owner"].as_str().unwrap(),
                it["name"].as_str().unwrap()
            )
        })
        .collect()
}

fn tag(answer: &Value) -> String {
    format!("if-match: \"{}\"", answer["revision"].as_str().unwrap())
}

const NEW: &str = "if-none-match: *";

#[test]
fn users_have_separate_objects_and_can_read_shared_ones() {
    let here = TempDir::new().unwrap();
    let running = server(&here);
    make_anna(&running);
    let body =
        |url: &str, shared: bool| json!({"title": "Mine", "shared": shared, "body": {"url": url}});
    let first = put(&running, "views/a", NEW, &body("/tasks", false), ANNA);
    put(&running, "views/a", NEW, &body("/other", false), ADMIN);
    put(&running, "views/b", NEW, &body("/shared", true), ANNA);
    assert_eq!(names(&running, "views", ANNA), ["anna/a", "anna/b"]);
    assert_eq!(names(&running, "views", ADMIN), ["admin/a", "anna/b"]);
    // Not even the administrator reads what is private.
    assert_eq!(get(&running, "views/a?owner=anna", ADMIN).0, 404);
    let (status, shared) = get(&running, "views/b?owner=anna", ADMIN);
    assert_eq!((status, &shared["body"]), (200, &json!({"url": "/shared"})));
    let (status, _) = change(&running, ("DELETE", "views/b"), &tag(&shared), "", ADMIN);
    assert_eq!(status, 404, "it is not the administrator's");

    // Of two browsers one is refused, and nothing is lost.
    let second = put(
        &running,
        "views/a",
        &tag(&first),
        &body("/mine", false),
        ANNA,
    );
    let late = body("/late", false).to_string();
    let (status, problem) = change(&running, ("PUT", "views/a"), &tag(&first), &late, ANNA);
    assert_eq!(
        (status, &problem["title"]),
        (412, &json!("PRECONDITION_FAILED"))
    );
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains(second["revision"].as_str().unwrap())
    );

    // Objects survive a restart of the server.
    running.stop();
    let running = server(&here);
    let (status, kept) = get(&running, "views/a", ANNA);
    assert_eq!((status, &kept["body"]), (200, &json!({"url": "/mine"})));
    assert_eq!(kept["revision"], second["revision"]);
    let third = put(
        &running,
        "views/a",
        &tag(&kept),
        &body("/newer", false),
        ANNA,
    );
    let (status, _) = change(&running, ("DELETE", "views/a"), &tag(&third), "", ANNA);
    assert_eq!((status, get(&running, "views/a", ANNA).0), (204, 404));

    // It goes with its user, and is not that of the next one of the name.
    let (status, _) = ask(&running.rest, "DELETE", "/v2/users/anna", "", Some(ADMIN));
    assert_eq!(status, 204);
    make_anna(&running);
    assert_eq!(names(&running, "views", ANNA), [""; 0]);
    assert_eq!(names(&running, "views", ADMIN), ["admin/a"]);
}
