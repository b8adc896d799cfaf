//! Backups of a cluster under load, and restores to other numbers of nodes, from a directory and from S3.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use skep_client::{Client, CreateInstance};
use skep_testbed::S3Server;
use tokio::task::JoinHandle;

use super::{Nodes, SIZE};
use crate::support::ledger::deploy_one_task;
use crate::support::{FREE_PORTS, Server, eventually};

pub const PATH: &str = "/actuator/backupRuntime";
const BACKUP: &str = "camunda.data.primary-storage.backup";

/// Settings for backups in a directory.
pub fn directory(store: &Path) -> Vec<String> {
    settings(&[
        ("store", "FILESYSTEM"),
        ("filesystem.base-path", &store.display().to_string()),
    ])
}

pub fn settings(settings: &[(&str, &str)]) -> Vec<String> {
    let settings = settings.iter();
    settings
        .flat_map(|(name, value)| ["--set".to_string(), format!("{BACKUP}.{name}={value}")])
        .collect()
}

pub fn skep(command: &[&str], data: &Path, arguments: &[String]) -> Output {
    let mut skep = Command::new(env!("CARGO_BIN_EXE_skep"));
    skep.args(command).arg("--data").arg(data).args(arguments);
    skep.output().unwrap()
}

fn restore(id: u64, data: &Path, arguments: &[String]) -> Output {
    skep(&["restore", "--backup", &id.to_string()], data, arguments)
}

pub fn expect_restored(id: u64, data: &Path, arguments: &[String]) {
    let output = restore(id, data, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Requests a backup; returns the status and the message of the answer.
pub fn ask_for(server: &Server, id: u64) -> (u16, String) {
    let (status, body) = server
        .manage("POST", PATH, &json!({ "backupId": id }).to_string())
        .expect("an answer");
    let body: Value = serde_json::from_str(&body).unwrap();
    (status, body["message"].as_str().unwrap().to_string())
}

fn find(server: &Server, id: u64) -> Option<Value> {
    let (status, body) = server.management("GET", &format!("{PATH}/{id}"))?;
    (status == 200).then(|| serde_json::from_str(&body).unwrap())
}

/// Takes a backup and waits until it is complete.
pub async fn take(server: &Server, id: u64) {
    let (status, message) = ask_for(server, id);
    assert_eq!(status, 202, "{message}");
    eventually("the backup is complete", async || {
        let found = find(server, id).expect("it is listed from the beginning");
        assert_ne!(found["state"], "FAILED", "{found}");
        found["state"] == "COMPLETED"
    })
    .await;
}

/// The type of the checkpoint of the newest complete backup.
fn newest_type(server: &Server) -> String {
    let (status, body) = server.management("GET", &format!("{PATH}/state")).unwrap();
    assert_eq!(status, 200, "{body}");
    let state: Value = serde_json::from_str(&body).unwrap();
    let found = state["backupStates"][0]["checkpointType"].as_str();
    found.unwrap_or_default().to_string()
}

pub async fn create(client: &Client) -> i64 {
    let request = CreateInstance::latest("one-task");
    let created = client.create_instance(&request).await;
    created.unwrap().process_instance_key
}

/// Keys of all instances found by a search.
pub fn instances(server: &Server) -> HashSet<i64> {
    let mut keys = HashSet::new();
    let mut page = json!({ "limit": 1000 });
    loop {
        let body = json!({ "page": page, "sort": [{ "field": "processInstanceKey" }] });
        let path = "/v2/process-instances/search";
        let (status, body) = server
            .ask(server.rest, "POST", path, &body.to_string())
            .expect("an answer");
        assert_eq!(status, 200, "{body}");
        let found: Value = serde_json::from_str(&body).unwrap();
        let items = found["items"].as_array().unwrap();
        if items.is_empty() {
            return keys;
        }
        keys.extend(items.iter().map(|item| {
            let key = item["processInstanceKey"].as_str().unwrap();
            key.parse::<i64>().unwrap()
        }));
        page = json!({ "limit": 1000, "after": found["page"]["endCursor"] });
    }
}

pub async fn expect_searchable(server: &Server, wanted: usize) -> HashSet<i64> {
    eventually("all instances can be searched", async || {
        instances(server).len() >= wanted
    })
    .await;
    instances(server)
}

/// A client that creates instances one after another, each on another partition: each one is a cause of the later ones.
struct Chain {
    keys: Arc<Mutex<Vec<i64>>>,
    task: JoinHandle<()>,
}

impl Chain {
    fn start(server: &Server) -> Chain {
        let keys = Arc::<Mutex<Vec<i64>>>::default();
        let (client, chain) = (server.client(), keys.clone());
        let task = tokio::spawn(async move {
            loop {
                // The leader may change; unacknowledged instances do not belong to the chain.
                let request = CreateInstance::latest("one-task");
                if let Ok(instance) = client.create_instance(&request).await {
                    chain.lock().unwrap().push(instance.process_instance_key);
                }
            }
        });
        Chain { keys, task }
    }

    fn len(&self) -> usize {
        self.keys.lock().unwrap().len()
    }

    async fn stop(self) -> Vec<i64> {
        self.task.abort();
        let _ = self.task.await;
        self.keys.lock().unwrap().clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_grow_and_a_deleted_backup_is_gone() {
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = crate::start(
        data.path(),
        &directory(store.path()),
        data.path().join("log"),
    )
    .await;
    deploy_one_task(&server.client()).await;
    take(&server, 20).await;
    for id in [20, 19] {
        let (status, message) = ask_for(&server, id);
        assert_eq!(status, 409, "{message}");
        assert!(message.contains("ids must increase"), "{message}");
    }
    for id in [json!(0), json!(-1), json!("x"), json!(1.5), Value::Null] {
        let body = json!({ "backupId": id }).to_string();
        let (status, body) = server.manage("POST", PATH, &body).unwrap();
        assert_eq!(status, 400, "{body}");
    }
    take(&server, 21).await;
    let listed = |pattern: &str| {
        let (status, body) = server
            .management("GET", &format!("{PATH}{pattern}"))
            .unwrap();
        assert_eq!(status, 200, "{body}");
        let listed: Value = serde_json::from_str(&body).unwrap();
        let ids = listed.as_array().unwrap().iter();
        ids.map(|it| it["backupId"].as_u64().unwrap())
            .collect::<Vec<u64>>()
    };
    assert_eq!(newest_type(&server), "MANUAL_BACKUP");
    assert_eq!(listed(""), [21, 20]);
    assert_eq!(listed("/2*"), [21, 20]);
    assert_eq!(listed("/20*"), [20]);
    eventually("both are counted", async || {
        let (_, metrics) = server.management("GET", "/actuator/prometheus").unwrap();
        let counted = |line: &&str| {
            line.starts_with("zeebe_backup_operations_total{")
                && line.contains("result=\"completed\"")
        };
        metrics
            .lines()
            .find(counted)
            .is_some_and(|line| line.ends_with(" 2"))
    })
    .await;
    let found = find(&server, 20).unwrap();
    assert_eq!(found["details"][0]["partitionId"], 1);
    assert_eq!(found["details"][0]["state"], "COMPLETED");
    let one = format!("{PATH}/20");
    assert_eq!(server.management("DELETE", &one).unwrap().0, 204);
    assert_eq!(server.management("GET", &one).unwrap().0, 404);
    assert_eq!(server.management("DELETE", &one).unwrap().0, 404);
    assert_eq!(listed(""), [21]);
    let left = store.path().join("backups/20");
    assert!(!left.join("manifest.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_is_consistent_and_one_node_can_restore_that_of_three() {
    let store = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(SIZE as u32);
    nodes.more = directory(store.path());
    let servers = nodes.all().await;
    deploy_one_task(&servers[0].client()).await;
    let chains: Vec<Chain> = servers.iter().cycle().take(6).map(Chain::start).collect();
    let mut known = Vec::new();
    for id in 1..=3 {
        eventually("every chain grows", async || {
            chains.iter().all(|chain| chain.len() >= id * 20)
        })
        .await;
        let before: Vec<usize> = chains.iter().map(Chain::len).collect();
        take(&servers[id % SIZE], id as u64).await;
        known.push(before);
    }
    let mut all = Vec::new();
    for chain in chains {
        all.push(chain.stop().await);
    }
    drop(servers);
    for (id, known) in (1..).zip(known) {
        let data = tempfile::tempdir().unwrap();
        let arguments = [
            directory(store.path()),
            vec!["--partitions".to_string(), SIZE.to_string()],
        ]
        .concat();
        expect_restored(id, data.path(), &arguments);
        let log = nodes.data.path().join(format!("restored-{id}.log"));
        let server = crate::start(data.path(), &arguments, log).await;
        let there = expect_searchable(&server, known.iter().sum()).await;
        for (chain, known) in all.iter().zip(known) {
            let is_there = |key: &&i64| there.contains(key);
            let first_lacking = chain.iter().position(|key| !there.contains(key));
            let held = first_lacking.unwrap_or(chain.len());
            // It contains everything acknowledged before the backup was requested.
            assert!(held >= known, "backup {id}: {held} of {known}");
            // It contains no effect without its cause.
            let later = chain[held..].iter().filter(is_there).count();
            assert_eq!(later, 0, "backup {id}: effects without their causes");
        }
        let key = create(&server.client()).await;
        assert!(!all.iter().flatten().any(|known| *known == key));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_restore_the_backup_of_one() {
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = [
        directory(store.path()),
        vec!["--partitions".to_string(), "2".to_string()],
    ]
    .concat();
    let log = data.path().join("log");
    let server = crate::start(data.path(), &arguments, log).await;
    deploy_one_task(&server.client()).await;
    let mut kept = HashSet::new();
    for _ in 0..10 {
        kept.insert(create(&server.client()).await);
    }
    // One part is in a checkpoint, the rest in the log.
    assert_eq!(
        server
            .management("POST", "/actuator/partitions/takeSnapshot")
            .unwrap()
            .0,
        200
    );
    for _ in 0..10 {
        kept.insert(create(&server.client()).await);
    }
    take(&server, 5).await;
    let lost = create(&server.client()).await;
    drop(server);
    let mut nodes = Nodes::new(2);
    nodes.more = directory(store.path());
    for node in 0..SIZE {
        expect_restored(5, &nodes.directory(node), &nodes.arguments(node));
    }
    let mut servers = nodes.all().await;
    assert_eq!(expect_searchable(&servers[1], kept.len()).await, kept);
    assert!(!kept.contains(&lost));
    // They form a cluster: it continues without one of them, and no key is used twice.
    servers[0].kill();
    let client = servers[2].client();
    eventually(
        "an instance is created without the first node",
        async || {
            let request = CreateInstance::latest("one-task");
            let created = client.create_instance(&request).await;
            created.is_ok_and(|instance| {
                let key = instance.process_instance_key;
                assert!(key != lost && !kept.contains(&key));
                true
            })
        },
    )
    .await;
    let jobs = skep_client::ActivateJobs {
        timeout: Duration::from_secs(60),
        ..skep_client::ActivateJobs::new("work", 100)
    };
    let mut worked = HashSet::new();
    eventually("the jobs of the backup are there", async || {
        let jobs = client.activate_jobs(&jobs).await.unwrap_or_default();
        worked.extend(jobs.iter().map(|job| job.process_instance_key));
        kept.is_subset(&worked)
    })
    .await;
}

fn one_object(store: &Path, part: &str) -> PathBuf {
    store.join(format!("backups/3/partition-1/{part}/000001"))
}

/// All objects are intact, but a key would be used twice: only a complete replay detects that.
fn expect_replay_to_notice_another_cut(store: &Path, data: &Path, arguments: &[String]) {
    let manifest = store.join("backups/3/manifest.json");
    let whole = std::fs::read(&manifest).unwrap();
    let mut other: Value = serde_json::from_slice(&whole).unwrap();
    let last_key = &mut other["partitions"][0]["cut"]["lastKey"];
    *last_key = (last_key.as_u64().unwrap() - 1).into();
    std::fs::write(&manifest, serde_json::to_vec(&other).unwrap()).unwrap();
    let verified = skep(&["backup", "verify", "3"], data, arguments);
    assert!(verified.status.success(), "{}", said(&verified));
    let replayed = skep(&["backup", "verify", "3", "--replay"], data, arguments);
    assert_eq!(replayed.status.code(), Some(1));
    let output = said(&replayed);
    assert!(
        output.contains("BACKUP_FAILED") && output.contains("partition 1 ends with"),
        "{output}"
    );
    std::fs::write(&manifest, whole).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_is_not_restored_and_half_a_directory_does_not_start() {
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = directory(store.path());
    let log = data.path().join("log");
    let server = crate::start(&data.path().join("first"), &arguments, log.clone()).await;
    deploy_one_task(&server.client()).await;
    let key = create(&server.client()).await;
    take(&server, 3).await;
    drop(server);
    let again = data.path().join("again");
    for part in ["state", "query", "log"] {
        let object = one_object(store.path(), part);
        let whole = std::fs::read(&object).unwrap();
        let mut damaged = whole.clone();
        let at = damaged.len() / 2;
        damaged[at] ^= 1;
        std::fs::write(&object, damaged).unwrap();
        for command in [
            &["backup", "verify", "3"][..],
            &["restore", "--backup", "3"],
        ] {
            let output = skep(command, &again, &arguments);
            assert_eq!(output.status.code(), Some(1), "{command:?}");
            let said = said(&output);
            assert!(
                said.contains("BACKUP_FAILED") && said.contains(part),
                "{said}"
            );
        }
        std::fs::write(&object, whole).unwrap();
    }
    expect_replay_to_notice_another_cut(store.path(), &again, &arguments);
    // The rest of the failed attempt is not a data directory.
    let ports = FREE_PORTS.map(str::to_string);
    let started = skep(
        &["serve"],
        &again,
        &[arguments.clone(), ports.to_vec()].concat(),
    );
    let output = said(&started);
    assert!(
        !started.status.success() && output.contains("run skep restore again"),
        "{output}"
    );
    expect_restored(3, &again, &arguments);
    let refused = restore(3, &again, &arguments);
    assert!(
        said(&refused).contains("has data already"),
        "{}",
        said(&refused)
    );
    let server = crate::start(&again, &arguments, log).await;
    assert_eq!(expect_searchable(&server, 1).await, [key].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_whose_node_is_killed_is_never_complete_and_the_next_one_is() {
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let slow = ["--set".to_string(), "skep.backup.max-rate=1KB".to_string()];
    let arguments = directory(store.path());
    let log = data.path().join("log");
    let slowly = [arguments.clone(), slow.to_vec()].concat();
    let mut server = crate::start(data.path(), &slowly, log.clone()).await;
    deploy_one_task(&server.client()).await;
    assert_eq!(ask_for(&server, 1).0, 202);
    let (status, message) = ask_for(&server, 2);
    assert_eq!(status, 409, "{message}");
    assert!(message.contains("another backup"), "{message}");
    let one = format!("{PATH}/1");
    let (status, message) = server.management("DELETE", &one).unwrap();
    assert!(
        status == 500 && message.contains("being taken"),
        "{status}: {message}"
    );
    server.kill();
    let server = crate::start(data.path(), &arguments, log).await;
    take(&server, 3).await;
    assert_ne!(find(&server, 1).unwrap()["state"], "COMPLETED");
    let restored = data.path().join("restored");
    let output = restore(1, &restored, &arguments);
    assert!(
        said(&output).contains("has no manifest"),
        "{}",
        said(&output)
    );
    expect_restored(3, &restored, &arguments);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_holds_backups_too() {
    let Some(bucket) = S3Server::start_new() else {
        return;
    };
    bucket.make_bucket("backups").unwrap();
    let arguments = settings(&[
        ("store", "S3"),
        ("s3.bucket-name", "backups"),
        ("s3.base-path", "some/where"),
        ("s3.endpoint", &bucket.endpoint()),
        ("s3.region", S3Server::REGION),
        ("s3.access-key", S3Server::ACCESS_KEY),
        ("s3.secret-key", S3Server::SECRET_KEY),
    ]);
    let data = tempfile::tempdir().unwrap();
    let log = data.path().join("log");
    let server = crate::start(&data.path().join("first"), &arguments, log.clone()).await;
    deploy_one_task(&server.client()).await;
    let key = create(&server.client()).await;
    take(&server, 1).await;
    drop(server);
    let again = data.path().join("again");
    let verified = skep(&["backup", "verify", "1", "--replay"], &again, &arguments);
    assert!(verified.status.success(), "{}", said(&verified));
    let output = String::from_utf8_lossy(&verified.stdout);
    assert!(
        output.contains("each partition ends where it was cut"),
        "{output}"
    );
    expect_restored(1, &again, &arguments);
    let server = crate::start(&again, &arguments, log).await;
    assert_eq!(expect_searchable(&server, 1).await, [key].into());
    assert_eq!(
        server.management("DELETE", &format!("{PATH}/1")).unwrap().0,
        204
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_has_one_cluster_and_a_damaged_object_of_one_backup_harms_no_other() {
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = directory(store.path());
    let log = data.path().join("log");
    let first = crate::start(&data.path().join("first"), &arguments, log.clone()).await;
    for id in [1, 2] {
        take(&first, id).await;
    }
    let other = crate::start(&data.path().join("other"), &arguments, log.clone()).await;
    let (status, message) = ask_for(&other, 3);
    assert_eq!(status, 400, "{message}");
    assert!(message.contains("base-path"), "{message}");
    drop(other);
    let begun = store.path().join("backups/2/begun.json");
    std::fs::write(&begun, "").unwrap();
    let found = find(&first, 2).unwrap();
    let reason = found["failureReason"].as_str().unwrap();
    assert!(reason.contains("backups/2/begun.json"), "{found}");
    take(&first, 3).await;
    let verified = skep(&["backup", "verify", "2"], data.path(), &arguments);
    assert_eq!(verified.status.code(), Some(1));
    assert!(said(&verified).contains("backups/2/begun.json"));
    // Even if it is not known which moment is the newest.
    std::fs::create_dir_all(store.path().join("backups/3/continued/markers")).unwrap();
    let marker = store.path().join("backups/3/continued/markers/x.json");
    std::fs::write(marker, "").unwrap();
    drop(first);
    let restored = data.path().join("restored");
    expect_restored(1, &restored, &arguments);
    let server = crate::start(&restored, &arguments, log).await;
    let one = format!("{PATH}/2");
    assert_eq!(server.management("DELETE", &one).unwrap().0, 204);
    // The restored cluster is the one that the store belongs to.
    take(&server, 4).await;
}

/// Prints an epoch: the number after these words.
fn epoch(output: &Output) -> u64 {
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, rest) = text.split_once("has the epoch ").unwrap();
    rest.split('.').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_one_restore_share_an_epoch_and_those_of_the_next_have_another() {
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = directory(store.path());
    let log = data.path().join("log");
    let server = crate::start(&data.path().join("first"), &arguments, log).await;
    take(&server, 1).await;
    drop(server);
    let size: [(&str, String); 3] = [
        ("camunda.cluster.size", 2.to_string()),
        ("camunda.cluster.replication-factor", 2.to_string()),
        (
            "camunda.cluster.initial-contact-points",
            "127.0.0.1:1,127.0.0.1:2".to_string(),
        ),
    ];
    let run = |node: u32, directory: &str, more: &[&str]| {
        let mut all = arguments.clone();
        for (name, value) in &size {
            all.extend(["--set".to_string(), format!("{name}={value}")]);
        }
        all.extend([
            "--set".to_string(),
            format!("camunda.cluster.node-id={node}"),
        ]);
        all.extend(more.iter().map(ToString::to_string));
        restore(1, &data.path().join(directory), &all)
    };
    let first = [run(0, "a0", &[]), run(1, "a1", &[])].map(|it| epoch(&it));
    // What would be done is what is done.
    let dry = epoch(&run(1, "b1", &["--dry-run"]));
    let second = [run(1, "b1", &[]), run(0, "b0", &[])];
    let note = String::from_utf8_lossy(&second[0].stdout).into_owned();
    let second = second.map(|it| epoch(&it));
    assert_eq!(first, [1024, 1024]);
    assert_eq!((dry, second), (2048, [2048, 2048]));
    assert!(
        note.contains("with the epoch 1024, on the nodes 0, 1"),
        "{note}"
    );
    let named = run(1, "c1", &["--epoch", "1024"]);
    assert_eq!(epoch(&named), 1024);
    let odd = run(1, "d1", &["--epoch", "1025"]);
    assert_eq!(odd.status.code(), Some(1));
    assert!(said(&odd).contains("3072 is free"), "{}", said(&odd));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_store_a_backup_is_refused_with_the_setting() {
    let data = tempfile::tempdir().unwrap();
    let server = crate::start(data.path(), &[], data.path().join("log")).await;
    let (status, message) = ask_for(&server, 1);
    assert_eq!(status, 400, "{message}");
    assert!(message.contains(&format!("{BACKUP}.store")), "{message}");
    for (method, path, expected) in [
        ("GET", PATH, 400),
        ("GET", "/actuator/backups", 400),
        ("GET", "/actuator/backupRuntime/x", 400),
        ("DELETE", "/actuator/backupRuntime/1*", 400),
        ("DELETE", "/actuator/backupRuntime/state", 400),
        ("PUT", "/actuator/backupRuntime/state", 405),
        ("GET", "/actuator/backupRuntime/1/2", 404),
        ("POST", "/actuator/backupHistory", 400),
    ] {
        let (status, body) = server.management(method, path).unwrap();
        assert_eq!(status, expected, "{method} {path}: {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn backups_are_taken_by_schedule_and_old_ones_go() {
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let arguments = [
        directory(store.path()),
        settings(&[
            ("schedule", "PT1S"),
            ("retention.window", "3s"),
            ("offset", "1000000"),
        ]),
    ]
    .concat();
    let server = crate::start(data.path(), &arguments, data.path().join("log")).await;
    let listed = || {
        let (status, body) = server.management("GET", PATH).unwrap();
        assert_eq!(status, 200, "{body}");
        let listed: Vec<Value> = serde_json::from_str(&body).unwrap();
        let ids = listed.iter().map(|it| it["backupId"].as_u64().unwrap());
        ids.collect::<Vec<u64>>()
    };
    eventually("two were taken", async || listed().len() >= 2).await;
    let first = *listed().last().unwrap();
    // Milliseconds since 1970, plus the offset.
    assert!(first > 1_700_000_000_000 + 1_000_000);
    eventually("the first is gone, and there are others", async || {
        let listed = listed();
        !listed.contains(&first) && !listed.is_empty()
    })
    .await;
    eventually(
        "the newest complete one says who asked for it",
        async || newest_type(&server) == "SCHEDULED_BACKUP",
    )
    .await;
    // A request without an id gets one.
    eventually("one is taken in between", async || {
        let (status, body) = server.manage("POST", PATH, "{}").unwrap();
        assert!(status == 202 || status == 409, "{body}");
        status == 202
    })
    .await;
}
