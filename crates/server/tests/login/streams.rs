//! Open job streams of callers whose permissions or credentials change.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;
use tempfile::TempDir;

use super::{ADMIN, PATIENCE, SECRET, Server, ask, basic, documented, eventually, exchange};

const WORKER: (&str, &str) = ("worker", "first");

const PROCESS: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
<process id="p" isExecutable="true"><startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="t"/>
<serviceTask id="t"><extensionElements><zeebe:taskDefinition type="work"/></extensionElements></serviceTask></process></definitions>"#;

/// An open REST stream for jobs of the type "work".
struct Stream(TcpStream);

impl Stream {
    fn open(server: &Server, login: (&str, &str)) -> Stream {
        let body = json!({"type": "work", "timeout": 60_000, "worker": "w"}).to_string();
        let mut socket = TcpStream::connect(&server.rest).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "POST /v2/jobs/stream HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: {}\r\ncontent-type: application/json\r\ncontent-length: \
             {}\r\n\r\n{body}",
            basic(login),
            body.len()
        );
        socket.write_all(request.as_bytes()).unwrap();
        let mut stream = Stream(socket);
        let head = stream.until("\r\n\r\n");
        assert!(head.is_some_and(|head| head.starts_with("HTTP/1.1 200")));
        eventually("the broker knows the stream", || {
            let path = "/actuator/jobstreams";
            let (_, streams) = ask(&server.management, "GET", path, "", None);
            streams.to_string().contains("work")
        });
        stream
    }

    /// Reads until the text holds this. `None`: the stream ended before.
    fn until(&mut self, part: &str) -> Option<String> {
        let mut text = String::new();
        while !text.contains(part) {
            let mut bytes = [0; 8192];
            match self.0.read(&mut bytes).unwrap() {
                0 => return None,
                count => text.push_str(&String::from_utf8_lossy(&bytes[..count])),
            }
        }
        Some(text)
    }

    fn has_job(&mut self) -> bool {
        self.until("jobKey").is_some()
    }
}

/// A protected server with a process and a user without permissions.
fn started(directory: &TempDir) -> Server {
    let file = documented(directory.path());
    let server = Server::start(directory.path(), &["--config", &file], &SECRET);
    let (name, password) = WORKER;
    let user =
        json!({"username": name, "password": password, "name": name, "email": "w@example.org"});
    created(&server, "/v2/users", &user.to_string());
    eventually("the worker can log in", || {
        server.get("/v2/topology", Some(WORKER)).0 == 200
    });
    let file = "--xx\r\nContent-Disposition: form-data; name=\"resources\"; filename=\"p.bpmn\"";
    created(
        &server,
        "/v2/deployments",
        &format!("{file}\r\n\r\n{PROCESS}\r\n--xx--\r\n"),
    );
    server
}

fn created(server: &Server, path: &str, body: &str) {
    let login = ADMIN.map(basic);
    let (status, answer) = exchange(&server.rest, ("POST", path), login.as_deref(), body);
    assert!((200..300).contains(&status), "{path}: {status} {answer}");
}

fn permit(server: &Server) {
    let authorization = json!({
        "ownerId": WORKER.0, "ownerType": "USER", "resourceType": "PROCESS_DEFINITION", "resourceId": "p",
        "permissionTypes": ["UPDATE_PROCESS_INSTANCE"],
    });
    created(server, "/v2/authorizations", &authorization.to_string());
}

fn create_instance(server: &Server) {
    let instance = json!({"processDefinitionId": "p"}).to_string();
    created(server, "/v2/process-instances", &instance);
}

#[test]
fn an_open_stream_gets_the_jobs_that_wait_when_a_permission_is_granted() {
    let directory = TempDir::new().unwrap();
    let server = started(&directory);
    create_instance(&server);
    let mut stream = Stream::open(&server, WORKER);
    permit(&server);
    assert!(stream.has_job());
}

/// A change of the user ends the stream, which has got a job before.
fn assert_ends(method: &str, body: &str, expected: u16) {
    let directory = TempDir::new().unwrap();
    let server = started(&directory);
    permit(&server);
    let mut stream = Stream::open(&server, WORKER);
    create_instance(&server);
    assert!(stream.has_job());
    let (status, answer) = ask(&server.rest, method, "/v2/users/worker", body, ADMIN);
    assert_eq!(status, expected, "{answer}");
    assert!(!stream.has_job(), "the stream has ended");
}

#[test]
fn a_stream_ends_with_the_password_that_opened_it() {
    let other = r#"{"name":"worker","email":"w@example.org","password":"second"}"#;
    assert_ends("PUT", other, 200);
}

#[test]
fn a_stream_ends_with_its_user() {
    assert_ends("DELETE", "", 204);
}
