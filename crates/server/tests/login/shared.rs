//! Shared answers (`skep-consistency: shared`) depend on the current permissions: after one was revoked, nobody gets an answer that was
//! given under it.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::tenants::deploy;
use super::{PATIENCE, Server, basic, eventually};

const ADMIN: Option<(&str, &str)> = Some(("admin", "hush"));
const ANNA: (&str, &str) = ("anna", "hush");

const CONFIGURATION: &str = "\
camunda.security:
  authentication.method: basic
  initialization:
    users:
      - {username: admin, password: hush, name: Admin, email: admin@example.org}
      - {username: anna, password: hush, name: Anna, email: anna@example.org}
    default-roles:
      admin: {users: [admin]}
";

/// The number of process definitions found by a shared search, and whether the answer was given before.
fn found(server: &Server, login: (&str, &str)) -> (usize, bool) {
    let shown = basic(login);
    let request = format!(
        "POST /v2/process-definitions/search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: {shown}\r\n\
         skep-consistency: shared\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
    );
    let mut stream = TcpStream::connect(&server.rest).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    let body: Value = serde_json::from_str(body).unwrap();
    let items = body["items"].as_array().unwrap().len();
    (items, head.to_lowercase().contains("\r\nage: "))
}

#[test]
fn shared_answers_are_gone_once_the_permission_is_revoked() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let file = here.join("shared.yaml");
    std::fs::write(&file, CONFIGURATION).unwrap();
    let server = Server::start(here, &["--config", &file.display().to_string()], &[]);
    let (status, deployed) = deploy(&server, ADMIN, None);
    assert_eq!(status, 200, "{deployed}");
    let right = json!({"ownerType": "USER", "ownerId": "anna", "resourceType": "PROCESS_DEFINITION", "resourceId": "*",
        "permissionTypes": ["READ_PROCESS_DEFINITION"]});
    let mut shared = 0;
    for _ in 0..20 {
        assert_eq!(found(&server, ANNA), (0, false), "she has no right");
        let (status, made) = server.post("/v2/authorizations", &right.to_string(), ADMIN);
        assert_eq!(status, 201, "{made}");
        // The search does not wait for secondary storage.
        eventually("definitions to be found", || found(&server, ANNA).0 > 0);
        let (items, is_shared) = found(&server, ANNA);
        assert!(items > 0);
        shared += usize::from(is_shared);
        let key = made["authorizationKey"].as_str().unwrap();
        let path = format!("/v2/authorizations/{key}");
        let (status, gone) = super::ask(&server.rest, "DELETE", &path, "", ADMIN);
        assert_eq!(status, 204, "{gone}");
    }
    assert!(shared > 10, "{shared} of 20 answers were shared");
}
