//! The commands in the README work in any order.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs `.ci/cluster`, like `make cluster`, with a server that only reports to be up.
fn cluster_begins(here: &Path) -> bool {
    let server = here.join("server");
    std::fs::write(
        &server,
        "#!/bin/sh\necho 'What to do next'\nexec sleep 600\n",
    )
    .unwrap();
    std::fs::set_permissions(&server, PermissionsExt::from_mode(0o755)).unwrap();
    let mut cluster = Command::new("setsid")
        .arg("--wait")
        .arg(Path::new(ROOT).join(".ci/cluster"))
        .arg(&server)
        .current_dir(here)
        .stdout(std::fs::File::create(here.join("said")).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let begins = loop {
        let said = std::fs::read_to_string(here.join("said")).unwrap();
        if said.contains("Three nodes are one cluster") {
            break true;
        }
        if cluster.try_wait().unwrap().is_some() || Instant::now() > deadline {
            break false;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let group = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", cluster.id()));
    for child in group.unwrap_or_default().split_whitespace() {
        let _ = Command::new("kill").args(["-TERM", child]).status();
    }
    let _ = cluster.kill();
    let _ = cluster.wait();
    begins
}

/// Starts and ends a server in its default directory.
fn server_begins(here: &Path) -> bool {
    let ports = [
        "--rest-port",
        "0",
        "--grpc-port",
        "0",
        "--management-port",
        "0",
    ];
    let mut server = Command::new(env!("CARGO_BIN_EXE_skep"))
        .arg("serve")
        .args(ports)
        .current_dir(here)
        .stdout(std::fs::File::create(here.join("up")).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    let begins = loop {
        if std::fs::read_to_string(here.join("up"))
            .unwrap()
            .contains(" is up after ")
        {
            break true;
        }
        if server.try_wait().unwrap().is_some() || Instant::now() > deadline {
            break false;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let _ = server.kill();
    let _ = server.wait();
    begins
}

#[test]
fn a_server_and_a_cluster_begin_in_any_order() {
    let run_first = tempfile::tempdir().unwrap();
    assert!(server_begins(run_first.path()), "make run");
    assert!(
        cluster_begins(run_first.path()),
        "make cluster after make run"
    );
    let cluster_first = tempfile::tempdir().unwrap();
    assert!(cluster_begins(cluster_first.path()), "make cluster");
    assert!(
        server_begins(cluster_first.path()),
        "make run after make cluster"
    );
    assert!(server_begins(run_first.path()), "make run again");
}
