//! Documents in backups: those of a local store come back with a restore, and a cluster whose nodes have documents of their own is told
//! which ones a backup lacks.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::backups::{PATH, directory, expect_restored, said, skep, take};
use super::{Nodes, SIZE};
use crate::support::Server;

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// Stores a document and returns the path at which it is read.
fn upload(server: &Server, content: &str, metadata: &str) -> String {
    let part = "--xx\r\nContent-Disposition: form-data; name=";
    let body = format!(
        "{part}\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n{content}\r\n\
         {part}\"metadata\"\r\nContent-Type: application/json\r\n\r\n{metadata}\r\n--xx--\r\n"
    );
    let request = format!(
        "POST /v2/documents HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: multipart/form-data; boundary=xx\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(("127.0.0.1", server.rest)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 201"), "{answer}");
    let made: Value = serde_json::from_str(body).unwrap();
    let of = |name: &str| made[name].as_str().unwrap().to_string();
    format!(
        "/v2/documents/{}?contentHash={}",
        of("documentId"),
        of("contentHash")
    )
}

fn read(server: &Server, path: &str) -> (u16, String) {
    server.ask(server.rest, "GET", path, "").unwrap()
}

fn json(command: &[&str], data: &Path, arguments: &[String]) -> Value {
    serde_json::from_str(&printed(command, data, arguments)).unwrap()
}

fn printed(command: &[&str], data: &Path, arguments: &[String]) -> String {
    let output = skep(command, data, arguments);
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_a_local_store_are_restored_with_the_backup() {
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = directory(store.path());
    let log = data.path().join("log");
    let server = crate::start(data.path(), &arguments, log).await;
    let large = "0123456789abcdef".repeat(200_000);
    let kept = upload(&server, "a small one", "{}");
    let expires = upload(
        &server,
        "it expires",
        r#"{"expiresAt":"2124-01-01T00:00:00Z"}"#,
    );
    let in_pieces = upload(&server, &large, "{}");
    take(&server, 20).await;
    let later = upload(&server, "after the backup", "{}");
    drop(server);

    // `verify` reads no data directory, so this one may be the original one.
    let verified = printed(&["backup", "verify", "20"], data.path(), &arguments);
    let expected = "Documents of the store 'local' are in it (4 files in all stores).";
    assert!(verified.contains(expected), "{verified}");
    let restored = tempfile::tempdir().unwrap();
    let plan = printed(
        &["restore", "--backup", "20", "--dry-run"],
        restored.path(),
        &arguments,
    );
    assert!(
        plan.contains("Documents of the store 'local' are restored to"),
        "{plan}"
    );
    assert!(!restored.path().join("documents").exists(), "a dry run");
    expect_restored(20, restored.path(), &arguments);
    let mark = restored
        .path()
        .join("documents/expiring/2124-01-01T00")
        .read_dir()
        .unwrap();
    assert_eq!(mark.count(), 1, "it will be swept when it has expired");

    let log = data.path().join("restored.log");
    let server = crate::start(restored.path(), &arguments, log).await;
    assert_eq!(read(&server, &kept), (200, "a small one".to_string()));
    assert_eq!(read(&server, &expires), (200, "it expires".to_string()));
    let (status, content) = read(&server, &in_pieces);
    assert!(status == 200 && content == large, "{status}");
    assert_eq!(read(&server, &later).0, 404);
    drop(server);

    let objects = store.path().join("backup-documents/local/20");
    damage(&objects);
    let without = tempfile::tempdir().unwrap();
    let arguments_of_skep = ["restore", "--backup", "20"];
    let output = skep(&arguments_of_skep, without.path(), &arguments);
    assert!(output.status.success(), "{}", said(&output));
    let warned = said(&output) + &String::from_utf8_lossy(&output.stdout);
    assert!(
        warned.contains("Documents that are in there are not restored"),
        "{warned}"
    );
    let log = data.path().join("without.log");
    let server = crate::start(without.path(), &arguments, log).await;
    assert_eq!(read(&server, &kept).0, 404, "but everything else is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_cannot_be_read_is_named_and_does_not_stop_the_backup() {
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = directory(store.path());
    let log = data.path().join("log");
    let server = crate::start(data.path(), &arguments, log).await;
    let kept = upload(&server, "readable", "{}");
    let bad = data.path().join("documents/zz");
    std::fs::create_dir_all(&bad).unwrap();
    std::os::unix::fs::symlink("/nowhere", bad.join("zz12")).unwrap();
    take(&server, 20).await;
    let expected = "could not be read when the backup was taken";
    let names = |text: &str| text.contains(expected) && text.contains("zz/zz12");
    let (_, listed) = server.management("GET", &format!("{PATH}/20")).unwrap();
    assert!(names(&listed), "{listed}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_skep"));
    command.args(["backup", "take", "21", "--json", "--management"]);
    let management = format!("http://127.0.0.1:{}", server.management);
    let taken = command.arg(management).output().unwrap();
    assert!(taken.status.success(), "{}", said(&taken));
    let taken: Value = serde_json::from_slice(&taken.stdout).unwrap();
    assert!(names(taken["warning"].as_str().unwrap()), "{taken}");
    drop(server);

    let verified = printed(&["backup", "verify", "20"], data.path(), &arguments);
    assert!(
        verified.contains("(1 files in all stores)") && names(&verified),
        "{verified}"
    );
    let restored = tempfile::tempdir().unwrap();
    let command = ["restore", "--backup", "20"];
    let plan = [&command[..], &["--dry-run", "--json"]].concat();
    let plan = json(&plan, restored.path(), &arguments);
    assert_eq!(plan["unreadableDocuments"][0]["path"], "zz/zz12", "{plan}");
    let output = printed(&command, restored.path(), &arguments);
    assert!(names(&output), "{output}");
    let log = data.path().join("restored.log");
    let server = crate::start(restored.path(), &arguments, log).await;
    assert_eq!(read(&server, &kept), (200, "readable".to_string()));
}

/// The second backup refers to what the first has written, which outlives it.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_keeps_documents_of_a_deleted_one_and_brings_no_deleted_document_back() {
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = directory(store.path());
    let log = data.path().join("log");
    let server = crate::start(data.path(), &arguments, log).await;
    let kept = upload(&server, "kept", "{}");
    let gone = upload(&server, "gone", "{}");
    take(&server, 20).await;
    let document = gone.split('?').next().unwrap();
    let deleted = server.ask(server.rest, "DELETE", document, "").unwrap();
    assert_eq!(deleted.0, 204, "{}", deleted.1);
    let later = upload(&server, "later", "{}");
    take(&server, 30).await;
    let objects = |backup: u64| {
        let of = store
            .path()
            .join(format!("backup-documents/local/{backup}"));
        of.read_dir().map_or(0, Iterator::count)
    };
    assert_eq!((objects(20), objects(30)), (1, 1));
    let deleted = server.management("DELETE", &format!("{PATH}/20")).unwrap();
    assert_eq!(deleted.0, 204, "{}", deleted.1);
    assert_eq!((objects(20), objects(30)), (1, 1), "backup 30 needs both");
    drop(server);

    let verified = printed(&["backup", "verify", "30"], data.path(), &arguments);
    assert!(verified.contains("(2 files in all stores)"), "{verified}");
    let restored = tempfile::tempdir().unwrap();
    expect_restored(30, restored.path(), &arguments);
    let log = data.path().join("restored.log");
    let server = crate::start(restored.path(), &arguments, log).await;
    assert_eq!(read(&server, &kept), (200, "kept".to_string()));
    assert_eq!(read(&server, &later), (200, "later".to_string()));
    assert_eq!(read(&server, &gone).0, 404);
}

/// Changes a byte of each object below the directory.
fn damage(directory: &Path) {
    for entry in directory.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            damage(&path);
        } else {
            let mut content = std::fs::read(&path).unwrap();
            content[0] ^= 1;
            std::fs::write(&path, content).unwrap();
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            std::fs::copy(&path, &copied).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_says_which_documents_it_lacks_if_each_node_has_its_own() {
    let store = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(1);
    nodes.more = directory(store.path());
    let servers = nodes.all().await;
    let kept = upload(&servers[0], "of the first node", "{}");
    take(&servers[0], 7).await;
    drop(servers);
    let empty = tempfile::tempdir().unwrap();
    let lacks = "Documents of the store 'local' are not in";
    let arguments = nodes.arguments(0);
    for command in [
        ["backup", "verify", "7"].as_slice(),
        &["restore", "--backup", "7", "--dry-run"],
    ] {
        let printed = printed(command, empty.path(), &arguments);
        assert!(printed.contains(lacks), "{command:?}: {printed}");
    }

    let original = nodes.data.path().join("original");
    std::fs::rename(nodes.directory(0), &original).unwrap();
    let documents = nodes.directory(0).join("documents");
    copy(&original.join("documents"), &documents);
    let early = skep(
        &["restore", "--backup", "7"],
        &nodes.directory(0),
        &arguments,
    );
    assert!(
        said(&early).contains("has data already ('documents')"),
        "{}",
        said(&early)
    );
    for node in 0..SIZE {
        std::fs::remove_dir_all(nodes.directory(node)).unwrap();
        expect_restored(7, &nodes.directory(node), &nodes.arguments(node));
    }
    copy(&original.join("documents"), &documents);
    let servers = nodes.all().await;
    assert_eq!(
        read(&servers[0], &kept),
        (200, "of the first node".to_string())
    );
}
