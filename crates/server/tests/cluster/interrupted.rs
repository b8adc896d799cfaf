//! A restore that is killed while objects come from the store, again and again: it starts over, as a part of the same restore.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use skep_testbed::{Proxy, S3Server};

use super::backups::{create, expect_searchable, said, settings, skep, take};
use super::continuous::out;
use crate::support::ledger::deploy_one_task;
use crate::support::{FREE_PORTS, PATIENCE};

const PARTITIONS: usize = 3;
/// How long each request to the store takes: an object that is on its way is noticed before it has arrived.
const WAY: Duration = Duration::from_millis(50);
/// Files that exist while something is fetched for them, or for a later partition, in the order of a restore.
const STAGES: [&str; 6] = [
    "restoring",
    "partitions/1/state",
    "partitions/1/query-copy-restored",
    "partitions/1/log",
    "partitions/2",
    "partitions/3/query-copy-restored",
];
const COMMAND: [&str; 3] = ["restore", "--backup", "1"];

fn arguments(endpoint: &str) -> Vec<String> {
    let backup = settings(&[
        ("store", "S3"),
        ("s3.bucket-name", "backups"),
        ("s3.endpoint", endpoint),
        ("s3.region", S3Server::REGION),
        ("s3.access-key", S3Server::ACCESS_KEY),
        ("s3.secret-key", S3Server::SECRET_KEY),
    ]);
    let partitions = ["--partitions".to_string(), PARTITIONS.to_string()];
    [backup, partitions.to_vec()].concat()
}

fn begin(data: &Path, arguments: &[String]) -> Child {
    let mut skep = Command::new(env!("CARGO_BIN_EXE_skep"));
    skep.args(COMMAND).arg("--data").arg(data).args(arguments);
    skep.stdout(Stdio::null()).stderr(Stdio::null());
    skep.spawn().unwrap()
}

/// Kills a restore (SIGKILL) once this file exists. The rest of the objects is held back then, so that it cannot end before.
fn kill_at(stage: &str, data: &Path, (arguments, store): (&[String], &Proxy)) {
    // What an attempt before has left must not be taken for the work of this one.
    let left = data.join("partitions/left");
    if data.join("partitions").exists() {
        std::fs::write(&left, "").unwrap();
    }
    let mut restore = begin(data, arguments);
    let began = Instant::now();
    while left.exists() || !data.join(stage).exists() {
        let ended = restore.try_wait().unwrap();
        assert!(ended.is_none(), "{stage}: it has ended: {ended:?}");
        assert!(began.elapsed() < PATIENCE, "{stage} never came");
        std::thread::sleep(Duration::from_millis(1));
    }
    store.hold(true);
    let ended = restore.try_wait().unwrap();
    assert!(ended.is_none(), "{stage}: it has ended: {ended:?}");
    restore.kill().unwrap();
    restore.wait().unwrap();
    store.hold(false);
    assert!(data.join("restoring").exists(), "{stage}: it was complete");
}

/// The rest of an attempt is not a data directory, and the refusal says what to do.
fn expect_no_start(data: &Path, arguments: &[String]) {
    let ports = FREE_PORTS.map(str::to_string);
    let started = skep(&["serve"], data, &[arguments, &ports[..]].concat());
    let text = said(&started);
    assert!(
        !started.status.success() && text.contains("run skep restore again"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_is_killed_while_objects_come_is_whole_when_it_is_run_again() {
    let Some(bucket) = S3Server::start_new() else {
        return;
    };
    bucket.make_bucket("backups").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let near = arguments(&bucket.endpoint());
    let server = crate::start(&directory.path().join("first"), &near, log.clone()).await;
    let client = server.client();
    deploy_one_task(&client).await;
    let mut kept = HashSet::new();
    for _ in 0..30 {
        kept.insert(create(&client).await);
    }
    take(&server, 1).await;
    let lost = create(&client).await;
    drop(server);

    let endpoint = bucket.endpoint();
    let (_, port) = endpoint.rsplit_once(':').unwrap();
    let store = Proxy::start(port.parse().unwrap(), WAY).unwrap();
    let far = arguments(&format!("http://127.0.0.1:{}", store.port()));
    let data = directory.path().join("restored");
    for stage in STAGES {
        kill_at(stage, &data, (far.as_slice(), &store));
        expect_no_start(&data, &near);
    }
    let restored = out(&skep(&COMMAND, &data, &near));
    assert!(
        restored.contains("This restore has the epoch 1024."),
        "all attempts are one restore: {restored}"
    );
    assert!(!data.join("partitions/left").exists());
    let server = crate::start(&data, &near, log).await;
    assert_eq!(expect_searchable(&server, kept.len()).await, kept);
    let new = create(&server.client()).await;
    assert!(new != lost && !kept.contains(&new), "a key was given twice");
}
