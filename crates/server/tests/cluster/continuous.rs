//! Continuous backups of real processes, whose leader is killed: the command line lists the moments, restores one, and verifies all of
//! them.

use std::collections::HashSet;
use std::process::Output;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use skep_client::{Client, CreateInstance};
use skep_testkit::sandbox::{self, FileSystem};

use super::backups::{PATH, ask_for, directory, instances, said, settings, skep, take};
use super::{Nodes, SIZE};
use crate::support::ledger::deploy_one_task;
use crate::support::{Server, eventually, leader_of};

pub fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_millis() as i64
}

pub fn instant(millis: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(millis).unwrap();
    time.to_string()
}

/// Acknowledged instances, with the times of request and answer.
#[derive(Default)]
pub struct Ledger(Vec<(i64, i64, i64)>);

impl Ledger {
    /// Repeats until one is acknowledged. Unanswered attempts may have created instances as well.
    async fn create(&mut self, client: &Client) {
        let mut sent = now();
        let request = CreateInstance::latest("one-task");
        eventually("an instance is created", async || {
            sent = now();
            match client.create_instance(&request).await {
                Ok(instance) => {
                    self.0.push((instance.process_instance_key, sent, now()));
                    true
                }
                Err(_) => false,
            }
        })
        .await;
    }

    /// The instances whose creation was answered before this time.
    pub fn acknowledged_before(&self, time: i64) -> HashSet<i64> {
        let all = self.0.iter();
        let before = all.filter(|(_, _, answered)| *answered < time);
        before.map(|(key, _, _)| *key).collect()
    }

    /// Creates instances until a marker later than now can be restored; returns its time.
    pub async fn create_until_marked(&mut self, server: &Server) -> i64 {
        let (client, from) = (server.client(), now());
        let began = Instant::now();
        loop {
            self.create(&client).await;
            let state = state(server);
            let newest = &state["checkpointStates"][0];
            if newest["checkpointType"] == "MARKER"
                && !state["ranges"].as_array().unwrap().is_empty()
            {
                let at = newest["checkpointId"].as_i64().unwrap();
                if at > from {
                    return at;
                }
            }
            assert!(began.elapsed().as_secs() < 180, "no marker: {state}");
        }
    }
}

pub fn state(server: &Server) -> Value {
    let (status, body) = server.management("GET", &format!("{PATH}/state")).unwrap();
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

pub fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_between_two_backups_is_restored_though_a_leader_was_killed() {
    let store = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(SIZE as u32);
    nodes.more = [
        directory(store.path()),
        settings(&[("continuous", "true"), ("checkpoint-interval", "PT1S")]),
    ]
    .concat();
    let mut servers = nodes.all().await;
    deploy_one_task(&servers[0].client()).await;
    let mut ledger = Ledger::default();
    ledger.create_until_marked(&servers[0]).await;
    let topology = servers[0].client().topology().await.unwrap();
    let leader = leader_of(&topology, 1).unwrap();
    servers[leader].kill();
    let lives = &servers[(leader + 1) % SIZE];
    let wanted = ledger.create_until_marked(lives).await;
    ledger.create_until_marked(lives).await;
    let state = state(lives);
    let ranges = state["ranges"].as_array().unwrap();
    assert_eq!(ranges.len(), SIZE, "one of each partition: {state}");
    let backup = state["backupStates"][0]["checkpointId"].as_u64().unwrap();
    assert_eq!(ranges[0]["start"]["checkpointId"], backup);
    let listed = skep_of(lives, &["backup", "list"]);
    let start = ranges[0]["start"]["checkpointTimestamp"].as_str().unwrap();
    assert!(
        listed.contains(&format!("Moments from {start} to ")),
        "{listed}"
    );
    let (status, body) = lives
        .management("POST", &format!("{PATH}/state/sync"))
        .unwrap();
    assert_eq!(status, 200, "{body}");
    let one = format!("{PATH}/{backup}");
    let (status, body) = lives.management("DELETE", &one).unwrap();
    assert!(
        status == 409 && body.contains("is continued"),
        "{status}: {body}"
    );
    let (status, body) = lives.manage("POST", PATH, &json!({}).to_string()).unwrap();
    assert_eq!(status, 202, "{body}");
    drop(servers);
    expect_command_line_restores(&nodes, store.path(), (backup, wanted), &ledger).await;
}

/// A command that queries a server.
fn skep_of(server: &Server, command: &[&str]) -> String {
    let management = format!("http://127.0.0.1:{}", server.management);
    let mut skep = std::process::Command::new(env!("CARGO_BIN_EXE_skep"));
    skep.args(command).args(["--management", &management]);
    out(&skep.output().unwrap())
}

async fn expect_command_line_restores(
    nodes: &Nodes,
    store: &std::path::Path,
    (backup, wanted): (u64, i64),
    ledger: &Ledger,
) {
    let arguments = [
        directory(store),
        vec!["--partitions".to_string(), SIZE.to_string()],
    ]
    .concat();
    let data = nodes.data.path().join("restored");
    expect_replay_to_pass_each_marker(store, backup, (data.as_path(), arguments.as_slice()));
    let early = skep(
        &["restore", "--to", "1971-01-01T00:00:00Z"],
        &data,
        &arguments,
    );
    assert_eq!(early.status.code(), Some(1));
    assert!(
        said(&early).contains("in none of the ranges"),
        "{}",
        said(&early)
    );
    let wrong = skep(&["restore", "--to", "yesterday"], &data, &arguments);
    assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));
    let to = instant(wanted);
    let dry = out(&skep(
        &["restore", "--to", &to, "--dry-run"],
        &data,
        &arguments,
    ));
    assert!(
        dry.contains(&format!(
            "Work after {to} is lost; the store has moments up to"
        )),
        "{dry}"
    );
    assert!(!data.exists(), "nothing was done");
    let latest = out(&skep(&["restore", "--dry-run"], &data, &arguments));
    assert!(!latest.contains("the store has moments up to"), "{latest}");
    let planned = skep(
        &["restore", "--to", &to, "--dry-run", "--json"],
        &data,
        &arguments,
    );
    let planned: Value = serde_json::from_str(&out(&planned)).unwrap();
    assert_eq!(
        (&planned["moment"], &planned["state"]),
        (&json!(to), &json!("PLANNED"))
    );
    out(&skep(&["restore", "--to", &to], &data, &arguments));
    let again = skep(&["restore", "--dry-run"], &data, &arguments);
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));
    assert!(
        said(&again).contains("has data already"),
        "{}",
        said(&again)
    );
    let log = nodes.data.path().join("restored.log");
    let server = crate::start(&data, &arguments, log).await;
    let used = skep(&["restore", "--dry-run"], &data, &arguments);
    assert!(
        said(&used).contains("error[DATA_IN_USE]"),
        "{}",
        said(&used)
    );
    expect_only_what_was_before(&server, wanted, ledger).await;
}

/// All objects are intact, but after a restore of the moment a key would be used twice: only a replay of the shipped log detects that.
fn expect_replay_to_pass_each_marker(
    store: &std::path::Path,
    backup: u64,
    (data, arguments): (&std::path::Path, &[String]),
) {
    let id = backup.to_string();
    let command = ["backup", "verify", id.as_str(), "--replay"];
    let verified = out(&skep(&command, data, arguments));
    assert!(
        verified.contains("was cut as recorded by the backup, and "),
        "{verified}"
    );
    let markers = store.join(format!("backups/{backup}/continued/markers"));
    let marker = std::fs::read_dir(markers).unwrap().next().unwrap();
    let marker = marker.unwrap().path();
    let whole = std::fs::read(&marker).unwrap();
    let mut other: Value = serde_json::from_slice(&whole).unwrap();
    let last_key = &mut other["cuts"]["1"]["lastKey"];
    *last_key = (last_key.as_u64().unwrap() - 1).into();
    std::fs::write(&marker, serde_json::to_vec(&other).unwrap()).unwrap();
    out(&skep(&command[..3], data, arguments));
    let replayed = skep(&command, data, arguments);
    let output = said(&replayed);
    assert_eq!(replayed.status.code(), Some(1), "{output}");
    assert!(
        output.contains("partition 1 ends with") && output.contains("the marker of"),
        "{output}"
    );
    std::fs::write(&marker, whole).unwrap();
}

/// Asserts that instances acknowledged before the moment exist, and that instances requested after it do not.
pub async fn expect_only_what_was_before(server: &Server, wanted: i64, ledger: &Ledger) {
    let before = ledger.acknowledged_before(wanted);
    // Once a new instance of each partition is found, all older ones are searchable as well.
    let mut new = Ledger::default();
    for _ in 0..SIZE * 2 {
        new.create(&server.client()).await;
    }
    eventually("new instances are found", async || {
        let there = instances(server);
        new.0.iter().all(|(key, _, _)| there.contains(key))
    })
    .await;
    let there = instances(server);
    assert!(there.is_superset(&before), "acknowledged before the moment");
    let mut after = ledger
        .0
        .iter()
        .filter(|(_, sent, _)| *sent > wanted)
        .peekable();
    assert!(after.peek().is_some());
    assert!(
        after.all(|(key, _, _)| !there.contains(key)),
        "asked for after the moment"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn after_its_state_was_deleted_another_range_begins() {
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = [
        directory(store.path()),
        settings(&[("continuous", "true"), ("checkpoint-interval", "PT1S")]),
    ]
    .concat();
    let server = crate::start(data.path(), &arguments, data.path().join("log")).await;
    deploy_one_task(&server.client()).await;
    Ledger::default().create_until_marked(&server).await;
    let before = state(&server);
    let first = before["backupStates"][0]["checkpointId"].as_u64().unwrap();
    assert_eq!(
        before["ranges"][0]["start"]["checkpointType"], "SCHEDULED_BACKUP",
        "{before}"
    );
    let one = format!("{PATH}/{first}");
    let (status, body) = server.management("DELETE", &one).unwrap();
    assert_eq!(status, 409, "{body}");
    let (status, body) = server
        .management("DELETE", &format!("{PATH}/state"))
        .unwrap();
    assert_eq!((status, body.as_str()), (204, ""));
    eventually("another range begins with another backup", async || {
        let state = state(&server);
        let start = state["ranges"][0]["start"]["checkpointId"].as_u64();
        assert!(start.is_none_or(|start| start > first), "{state}");
        start.is_some()
    })
    .await;
    let (status, body) = server.management("GET", &one).unwrap();
    assert_eq!(status, 200, "the backup itself stays: {body}");
    let (status, body) = server.management("DELETE", &one).unwrap();
    assert_eq!(status, 204, "nothing needs it any more: {body}");
}

#[test]
fn a_directory_without_its_mount_gets_nothing_and_its_range_goes_on_afterwards() {
    let name =
        "continuous::a_directory_without_its_mount_gets_nothing_and_its_range_goes_on_afterwards";
    sandbox::run(name, async |place| {
        let disk = FileSystem::ext4(&place, 96);
        let store = disk.root.join("store");
        let arguments = [
            directory(&store),
            settings(&[("continuous", "true"), ("checkpoint-interval", "PT1S")]),
        ]
        .concat();
        let (data, log) = (place.join("data"), place.join("log"));
        let server = crate::start(&data, &arguments, log).await;
        deploy_one_task(&server.client()).await;
        let mut ledger = Ledger::default();
        ledger.create_until_marked(&server).await;
        let before = state(&server);
        let first = &before["ranges"][0]["start"]["checkpointId"];

        disk.take_away();
        // The management port would create the directory.
        eventually("the shipper and the marker miss the mount", async || {
            ledger.create(&server.client()).await;
            let said = server.log();
            said.contains("the log cannot be shipped to the store")
                && said.contains("its mount is missing")
        })
        .await;
        assert!(!store.join("backups").exists() && !store.join("cluster.json").exists());
        disk.bring_back();

        ledger.create_until_marked(&server).await;
        let after = state(&server);
        let ranges = after["ranges"].as_array().unwrap();
        assert_eq!(ranges.len(), 1, "{after}");
        assert_eq!(&ranges[0]["start"]["checkpointId"], first, "{after}");
        let id = first.to_string();
        let verify = ["backup", "verify", id.as_str(), "--replay"];
        let verified = out(&skep(&verify, &data, &arguments));
        assert!(verified.contains("each partition was cut"), "{verified}");
    });
}

#[test]
fn a_node_that_starts_without_the_mount_of_its_store_takes_no_backup() {
    let name = "continuous::a_node_that_starts_without_the_mount_of_its_store_takes_no_backup";
    sandbox::run(name, async |place| {
        let disk = FileSystem::ext4(&place, 96);
        let store = disk.root.join("store");
        let arguments = directory(&store);
        let (data, log) = (place.join("data"), place.join("log"));
        let server = crate::start(&data, &arguments, log.clone()).await;
        take(&server, 1).await;
        drop(server);

        disk.take_away();
        let server = crate::start(&data, &arguments, log.clone()).await;
        let (status, message) = ask_for(&server, 2);
        assert!(
            status == 502 && message.contains("its mount is missing"),
            "{status}: {message}"
        );
        assert!(!store.join("backups").exists() && !store.join("cluster.json").exists());
        drop(server);

        disk.bring_back();
        let server = crate::start(&data, &arguments, log).await;
        take(&server, 2).await;
    });
}
