//! A single node whose log has lost its end: this looks like the half-written rest of a killed process, but the embedded search store has
//! entries beyond it. The node reports it and does not start, rather than use keys a second time.

mod support;

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use skep_client::{ActivateJobs, CreateInstance};
use support::{Server, eventually, ledger};

const INSTANCES: usize = 40;
/// A server that refuses its data does so long before this.
const PATIENCE: Duration = Duration::from_secs(15);

/// Damage to the last file of the log.
#[derive(Clone, Copy, Debug)]
enum Damage {
    CutToHalf,
    ZeroedFromHalf,
    /// Eight bytes inverted, this far before the end of the content.
    FlippedBeforeEnd(u64),
}

/// The last file of the log, and the end of its content: files are preallocated with zeros.
fn log_end(data: &Path) -> (PathBuf, u64) {
    let directory = data.join("partitions/1/log");
    let files = std::fs::read_dir(directory).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let is_segment = |path: &PathBuf| !path.to_string_lossy().contains("spare");
    let last = paths.filter(is_segment).max().unwrap();
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(&last).unwrap();
    file.read_to_end(&mut bytes).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    (last, end as u64)
}

fn damage(data: &Path, how: Damage) {
    let (path, end) = log_end(data);
    let mut file = std::fs::File::options().write(true).open(path).unwrap();
    match how {
        Damage::CutToHalf => file.set_len(end / 2).unwrap(),
        Damage::ZeroedFromHalf => {
            let length = file.metadata().unwrap().len();
            file.set_len(end / 2).unwrap();
            file.set_len(length).unwrap();
        }
        Damage::FlippedBeforeEnd(bytes) => {
            file.seek(SeekFrom::Start(end - bytes)).unwrap();
            file.write_all(&[0xff; 8]).unwrap();
        }
    }
}

/// Number of instances found by a search: those whose entries the store has processed.
fn found(server: &Server) -> u64 {
    let path = "/v2/process-instances/search";
    let (_, body) = server
        .ask(server.rest, "POST", path, "{}")
        .unwrap_or_default();
    let found: Value = serde_json::from_str(&body).unwrap_or_default();
    found["page"]["totalItems"].as_u64().unwrap_or_default()
}

/// Output of a server that does not start; `None` if it does.
fn refusal(data: &Path) -> Option<String> {
    let mut server = Command::new(env!("CARGO_BIN_EXE_skep"))
        .args(["serve", "--data"])
        .arg(data)
        .args(["--rest-port", "0", "--grpc-port", "0"])
        .args(["--management-port", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = std::time::Instant::now();
    while server.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            let _ = server.kill();
            support::end(&mut server);
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut said = String::new();
    let mut stderr = server.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    Some(said)
}

/// The data of a node, killed and damaged after all its instances could be found.
async fn damaged(how: Damage) -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let mut server = Server::start(data.path(), &[]).await;
    let client = server.client();
    ledger::deploy_one_task(&client).await;
    let request = CreateInstance::latest("one-task");
    for _ in 0..INSTANCES {
        client.create_instance(&request).await.unwrap();
    }
    eventually("all of it to be found by searches", async || {
        found(&server) == INSTANCES as u64
    })
    .await;
    server.kill();
    damage(data.path(), how);
    data
}

fn expect_cause_and_remedy(said: &str) {
    assert!(
        said.contains("acknowledged") && said.contains("backup"),
        "{said}"
    );
}

#[tokio::test]
async fn a_log_that_was_cut_is_no_torn_write_when_its_entries_were_exported() {
    let data = damaged(Damage::CutToHalf).await;
    expect_cause_and_remedy(&refusal(data.path()).expect("it starts as if nothing were missing"));
}

#[tokio::test]
async fn a_log_that_ends_in_zeros_is_no_torn_write_when_its_entries_were_exported() {
    let data = damaged(Damage::ZeroedFromHalf).await;
    expect_cause_and_remedy(&refusal(data.path()).expect("it starts as if nothing were missing"));
}

/// The last frames of a log hold the commit index, and no acknowledged work: the node starts without them. If an entry is damaged, it does
/// not.
#[tokio::test]
async fn a_damaged_end_of_the_log_is_refused_unless_it_held_nothing_that_was_acknowledged() {
    for before in [8, 60, 400] {
        let data = damaged(Damage::FlippedBeforeEnd(before)).await;
        if let Some(said) = refusal(data.path()) {
            expect_cause_and_remedy(&said);
            continue;
        }
        let server = Server::start(data.path(), &[]).await;
        let all = ActivateJobs::new("work", 2 * i32::try_from(INSTANCES).unwrap());
        let jobs = server.client().activate_jobs(&all).await.unwrap();
        assert_eq!(jobs.len(), INSTANCES, "{before} bytes before the end");
    }
}
