//! Nodes that lease their numbers from a bucket: real processes with a real store, all on one disk.

mod support;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use skep_client::{Client, CreateInstance};
use skep_testbed::{S3Server, free_ports};
use support::ledger::{self, Load, Shared};
use support::{Server, Start, eventually};
use tokio::task::JoinHandle;

const SIZE: usize = 3;
/// Number of addresses: for the initial cluster and for later processes.
const PLACES: usize = 5;

struct Cluster {
    store: S3Server,
    data: tempfile::TempDir,
    ports: Vec<u16>,
    lease: &'static str,
}

impl Cluster {
    /// `None`: there is no store here, which has been reported.
    fn new(lease: &'static str) -> Option<Cluster> {
        let store = S3Server::start_new()?;
        store.make_bucket("numbers").unwrap();
        Some(Cluster {
            store,
            data: tempfile::tempdir().unwrap(),
            ports: free_ports(PLACES).unwrap(),
            lease,
        })
    }

    fn arguments(&self, place: usize) -> Vec<String> {
        let points: Vec<String> = self
            .ports
            .iter()
            .map(|port| format!("127.0.0.1:{port}"))
            .collect();
        let s3 = |name: &str| format!("node-id-provider.s3.{name}");
        let settings = [
            ("size".to_string(), SIZE.to_string()),
            ("replication-factor".to_string(), SIZE.to_string()),
            ("partition-count".to_string(), SIZE.to_string()),
            ("initial-contact-points".to_string(), points.join(",")),
            (
                "network.internal-api.port".to_string(),
                self.ports[place].to_string(),
            ),
            ("node-id-provider.type".to_string(), "S3".to_string()),
            (s3("bucket-name"), "numbers".to_string()),
            (s3("endpoint"), self.store.endpoint()),
            (s3("region"), S3Server::REGION.to_string()),
            (s3("access-key"), S3Server::ACCESS_KEY.to_string()),
            (s3("secret-key"), S3Server::SECRET_KEY.to_string()),
            (s3("task-id"), format!("place-{place}")),
            (s3("lease-duration"), self.lease.to_string()),
        ];
        let settings = settings.into_iter();
        let settings = settings.flat_map(|(name, value)| {
            [
                "--set".to_string(),
                format!("camunda.cluster.{name}={value}"),
            ]
        });
        settings
            .chain(["--log-level".to_string(), "warn".to_string()])
            .collect()
    }

    fn log(&self, place: usize) -> PathBuf {
        self.data.path().join(format!("{place}.log"))
    }

    fn logged(&self, place: usize) -> String {
        std::fs::read_to_string(self.log(place)).unwrap_or_default()
    }

    fn start(&self, place: usize) -> JoinHandle<Server> {
        let (arguments, log) = (self.arguments(place), self.log(place));
        let data = self.data.path().join("data");
        tokio::spawn(async move {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            Start::new(&data, &arguments).log_to(log).ready().await
        })
    }

    async fn all(&self) -> Vec<Server> {
        let starting: Vec<_> = (0..SIZE).map(|place| self.start(place)).collect();
        let mut servers = Vec::new();
        for server in starting {
            servers.push(server.await.unwrap());
        }
        servers
    }
}

/// The number of a node and the version of its lease.
fn lease_of(server: &Server) -> (u64, u64) {
    let (_, body) = server.management("GET", "/actuator/health").unwrap();
    let health: serde_json::Value = serde_json::from_str(&body).unwrap();
    let lease = &health["components"]["nodeIdLease"];
    assert_eq!(lease["status"], "UP", "{body}");
    let number = |name: &str| lease["details"][name].as_u64().unwrap();
    (number("nodeId"), number("version"))
}

/// What a server says of the leases of all numbers.
fn leases(server: &Server) -> serde_json::Value {
    let (status, body) = server.management("GET", "/actuator/leases").unwrap();
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// What `skep status` prints.
fn status(server: &Server) -> String {
    let mut skep = Command::new(env!("CARGO_BIN_EXE_skep"));
    let (rest, management) = (server.rest, server.management);
    skep.args(["status", "--address", &format!("http://127.0.0.1:{rest}")])
        .args(["--management", &format!("http://127.0.0.1:{management}")]);
    String::from_utf8_lossy(&skep.output().unwrap().stdout).into_owned()
}

/// In seconds, as in metrics.
fn age_of(server: &Server) -> u64 {
    let (_, body) = server.management("GET", "/actuator/prometheus").unwrap();
    let mut lines = body.lines();
    let line = lines.find(|line| line.starts_with("skep_lease_age_seconds{"));
    let line = line.unwrap_or_else(|| panic!("no age in {body}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

async fn create(client: &Client, ledger: &Shared, count: usize) {
    for _ in 0..count {
        eventually("an instance is created", async || {
            match client
                .create_instance(&CreateInstance::latest("one-task"))
                .await
            {
                Ok(instance) => {
                    let key = instance.process_instance_key;
                    ledger.with(|ledger| ledger.created.insert(key))
                }
                Err(_) => false,
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_take_the_numbers_of_those_that_ended() {
    let Some(cluster) = Cluster::new("15s") else {
        return;
    };
    let mut servers = cluster.all().await;
    let numbers = |servers: &[Server]| -> BTreeSet<u64> {
        servers.iter().map(|server| lease_of(server).0).collect()
    };
    assert_eq!(numbers(&servers), BTreeSet::from([0, 1, 2]));
    ledger::deploy_one_task(&servers[0].client()).await;
    let ledger = Shared::default();
    create(&servers[0].client(), &ledger, 20).await;

    let (number, version) = lease_of(&servers[0]);
    servers[0].kill();
    let killed = Instant::now();
    servers[0] = cluster.start(3).await.unwrap();
    println!("kill -9: the next one is up after {:?}", killed.elapsed());
    assert_eq!(lease_of(&servers[0]), (number, version + 1));
    create(&servers[0].client(), &ledger, 20).await;
    eventually("another node knows who has the number", async || {
        leases(&servers[2])[number.to_string()]["task"] == "place-3"
    })
    .await;
    let said = status(&servers[2]);
    let line = format!(
        "node {number}: 'place-3' has version {}, until ",
        version + 1
    );
    assert!(said.contains(&line), "{said}");

    let (number, version) = lease_of(&servers[1]);
    assert_eq!(servers[1].terminate(), Some(0));
    let ended = Instant::now();
    servers[1] = cluster.start(4).await.unwrap();
    println!("SIGTERM: the next one is up after {:?}", ended.elapsed());
    assert_eq!(lease_of(&servers[1]), (number, version + 1));
    assert_eq!(numbers(&servers), BTreeSet::from([0, 1, 2]));
    create(&servers[1].client(), &ledger, 20).await;
    ledger::expect_everything_acknowledged(&servers[1], &ledger).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_stops_while_the_bucket_is_away() {
    let Some(mut cluster) = Cluster::new("9s") else {
        return;
    };
    let mut servers = cluster.all().await;
    ledger::deploy_one_task(&servers[0].client()).await;
    let before: Vec<_> = servers.iter().map(lease_of).collect();
    cluster.store.kill();
    let ledger = Shared::default();
    eventually("all leases are long over", async || {
        create(&servers[0].client(), &ledger, 1).await;
        servers.iter().all(|server| age_of(server) >= 12)
    })
    .await;
    for server in &servers {
        create(&server.client(), &ledger, 5).await;
    }
    assert!(cluster.logged(0).contains("could not be renewed"));
    let known = leases(&servers[1]);
    let all = known.as_object().unwrap().values();
    assert!(
        all.clone().count() == SIZE
            && all
                .clone()
                .all(|lease| lease["isExpired"] == true && lease["message"].is_string()),
        "{known}"
    );
    cluster.store.start().unwrap();
    eventually("the leases are renewed", async || {
        servers.iter().all(|server| age_of(server) < 6)
    })
    .await;
    let after: Vec<_> = servers.iter().map(lease_of).collect();
    assert_eq!(before, after);
    ledger::expect_everything_acknowledged(&servers[2], &ledger).await;
    for server in &mut servers {
        assert_eq!(server.terminate(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_process_that_stood_still_ends_when_its_number_was_taken() {
    let Some(cluster) = Cluster::new("9s") else {
        return;
    };
    let mut servers = cluster.all().await;
    ledger::deploy_one_task(&servers[1].client()).await;
    let ledger = Shared::default();
    let load = Load::start(&servers[1], &ledger, 4, "{}");
    eventually("there is load", async || ledger.completed() > 20).await;
    let (number, version) = lease_of(&servers[0]);
    servers[0].stop();
    let next = cluster.start(3);
    eventually(
        "the number is taken, and the directory is waited for",
        async || cluster.logged(3).contains("holds the lock of its"),
    )
    .await;
    assert!(
        !next.is_finished(),
        "it does not act beside a process that may"
    );
    servers[0].resume();
    assert_eq!(servers[0].ends(), Some(1));
    let said = cluster.logged(0);
    assert!(
        said.contains("another process has taken the number"),
        "{said}"
    );
    let next = next.await.unwrap();
    assert_eq!(lease_of(&next), (number, version + 1));
    load.stop().await;
    ledger::expect_everything_acknowledged(&next, &ledger).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_whose_data_is_elsewhere_is_not_taken() {
    let Some(cluster) = Cluster::new("9s") else {
        return;
    };
    let mut servers = cluster.all().await;
    let number = lease_of(&servers[0]).0;
    assert_eq!(servers[0].terminate(), Some(0));
    let directory = cluster.data.path().join(format!("data/node-{number}"));
    let elsewhere = cluster.data.path().join("elsewhere");
    std::fs::rename(&directory, &elsewhere).unwrap();
    let mut arguments = cluster.arguments(3);
    arguments.truncate(arguments.len() - 1);
    let (data, log) = (cluster.data.path().join("data"), cluster.log(3));
    arguments.push("info".to_string());
    let next = tokio::spawn(async move {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Start::new(&data, &arguments).log_to(log).ready().await
    });
    let why = format!("the data of {number} is not in");
    eventually("it says what it waits for", async || {
        cluster.logged(3).contains(&why)
    })
    .await;
    assert!(!directory.exists() && !next.is_finished());
    std::fs::rename(&elsewhere, &directory).unwrap();
    assert_eq!(lease_of(&next.await.unwrap()).0, number);
}
