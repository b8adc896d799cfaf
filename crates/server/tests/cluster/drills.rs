//! Clusters beside a working one, with its id and its store: they write nothing there.

use std::path::Path;

use serde_json::Value;

use super::backups::{PATH, ask_for, directory, said, settings, skep, take};
use super::continuous::{Ledger, state};
use crate::support::Server;
use crate::support::ledger::deploy_one_task;

fn next_id() -> u64 {
    let now = jiff::Timestamp::now().as_millisecond();
    u64::try_from(now).unwrap()
}

fn owner(store: &Path) -> Value {
    let content = std::fs::read(store.join("cluster.json")).unwrap();
    serde_json::from_slice(&content).unwrap()
}

/// The backups in the store, by id.
fn backups(store: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(store.join("backups")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

struct Place {
    directory: tempfile::TempDir,
    store: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place {
            directory: tempfile::tempdir().unwrap(),
            store: tempfile::tempdir().unwrap(),
        }
    }

    fn arguments(&self) -> Vec<String> {
        [
            directory(self.store.path()),
            settings(&[("continuous", "true"), ("checkpoint-interval", "PT1S")]),
        ]
        .concat()
    }

    fn restore(&self, name: &str, command: &[&str]) {
        let data = self.directory.path().join(name);
        let restored = skep(command, &data, &self.arguments());
        assert!(restored.status.success(), "{}", said(&restored));
    }

    async fn start(&self, name: &str, more: &[String]) -> Server {
        let data = self.directory.path().join(name);
        let log = self.directory.path().join(format!("{name}.log"));
        let arguments = [self.arguments(), more.to_vec()].concat();
        crate::start(&data, &arguments, log).await
    }
}

fn delete(server: &Server, id: &str) -> (u16, String) {
    let path = format!("{PATH}/{id}");
    let (status, body) = server.management("DELETE", &path).expect("an answer");
    let body: Value = serde_json::from_str(&body).unwrap();
    (status, body["message"].as_str().unwrap().to_string())
}

/// It is refused a backup, and takes none by itself either.
fn expect_no_backup(server: &Server, store: &Path, reason: &str) {
    let before = backups(store);
    let (status, message) = ask_for(server, next_id());
    assert!(
        status == 400 && message.contains(reason),
        "{status}: {message}"
    );
    assert_eq!(backups(store), before);
    assert_eq!(owner(store)["restore"], 0);
}

/// It may not delete what the original has taken.
fn expect_no_deletion(server: &Server, store: &Path, reason: &str) {
    let before = backups(store);
    let (status, message) = delete(server, &before[0]);
    assert!(
        status == 400 && message.contains(reason),
        "{status}: {message}"
    );
    assert_eq!(backups(store), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_beside_the_original_writes_nothing_to_its_store() {
    let place = Place::new();
    let store = place.store.path();
    let original = place.start("original", &[]).await;
    deploy_one_task(&original.client()).await;
    let mut ledger = Ledger::default();
    ledger.create_until_marked(&original).await;
    take(&original, next_id()).await;
    ledger.create_until_marked(&original).await;

    place.restore("drill", &["restore", "--drill"]);
    let drill = place.start("drill", &[]).await;
    expect_no_backup(&drill, store, "restored for a drill");
    expect_no_deletion(&drill, store, "restored for a drill");
    drop(drill);

    place.restore("beside", &["restore"]);
    ledger.create_until_marked(&original).await;
    let beside = place.start("beside", &[]).await;
    expect_no_backup(&beside, store, "has written to it since");
    expect_no_deletion(&beside, store, "has written to it since");
    drop(beside);

    let id = owner(store)["clusterId"].as_str().unwrap().to_string();
    let same_id = format!("camunda.cluster.cluster-id={id}");
    let empty = place.start("empty", &["--set".to_string(), same_id]).await;
    expect_no_backup(&empty, store, "another cluster with the same id");
    expect_no_deletion(&empty, store, "another cluster with the same id");
    let (status, message) = delete(&empty, "state");
    assert!(
        status == 400 && message.contains("another cluster with the same id"),
        "{status}: {message}"
    );
    ledger.create_until_marked(&original).await;
    let ranges = state(&original)["ranges"].as_array().unwrap().len();
    assert_eq!(ranges, 1, "nobody broke it");
    drop((empty, original));

    place.restore("instead", &["restore"]);
    let instead = place.start("instead", &[]).await;
    ledger.create_until_marked(&instead).await;
    assert!(owner(store)["restore"].as_u64().unwrap() > 0);
}
