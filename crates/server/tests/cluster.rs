//! Three real nodes under load: leaders are killed, paused and stopped again and again, and all acknowledged work exists exactly once.
//!
//! `SKEP_CLUSTER_ROUNDS=50 cargo test --workspace --test cluster -- --nocapture` runs more rounds and prints how long no instances could be
//! created.

#[path = "cluster/backups.rs"]
mod backups;
#[path = "cluster/changes.rs"]
mod changes;
#[path = "cluster/clocks.rs"]
mod clocks;
#[path = "cluster/continuous.rs"]
mod continuous;
#[path = "cluster/documents.rs"]
mod documents;
#[path = "cluster/drills.rs"]
mod drills;
#[path = "cluster/dumps.rs"]
mod dumps;
#[path = "cluster/dying.rs"]
mod dying;
#[path = "cluster/faults.rs"]
mod faults;
#[path = "cluster/gateways.rs"]
mod gateways;
#[path = "cluster/hanging.rs"]
mod hanging;
#[path = "cluster/interrupted.rs"]
mod interrupted;
#[path = "cluster/lost.rs"]
mod lost;
#[path = "cluster/lost_files.rs"]
mod lost_files;
#[path = "cluster/majority.rs"]
mod majority;
#[path = "cluster/prepared.rs"]
mod prepared;
#[path = "cluster/purge.rs"]
mod purge;
#[path = "cluster/reads.rs"]
mod reads;
#[path = "cluster/restored.rs"]
mod restored;
#[path = "cluster/rolling.rs"]
mod rolling;
#[path = "cluster/room.rs"]
mod room;
#[path = "cluster/scaling.rs"]
mod scaling;
#[path = "cluster/secured.rs"]
mod secured;
#[path = "cluster/sessions.rs"]
mod sessions;
#[path = "cluster/stragglers.rs"]
mod stragglers;
#[path = "cluster/stranger.rs"]
mod stranger;
mod support;
#[path = "cluster/upgrade.rs"]
mod upgrade;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use skep_client::{ActivateJobs, Client, Code, CreateInstance};
use skep_testbed::free_ports;
use support::ledger::{self, Shared};
use support::{FREE_PORTS, Server, Start, eventually, leader_of};

const SIZE: usize = 3;

struct Nodes {
    data: tempfile::TempDir,
    ports: Vec<u16>,
    partitions: u32,
    /// Additional arguments of all nodes.
    more: Vec<String>,
}

impl Nodes {
    fn new(partitions: u32) -> Nodes {
        Nodes {
            data: tempfile::tempdir().unwrap(),
            // One more node may be added later.
            ports: free_ports(SIZE + 1).unwrap(),
            partitions,
            more: Vec::new(),
        }
    }

    fn directory(&self, node: usize) -> PathBuf {
        self.data.path().join(node.to_string())
    }

    fn arguments(&self, node: usize) -> Vec<String> {
        let points: Vec<String> = self
            .ports
            .iter()
            .take(SIZE)
            .map(|p| format!("127.0.0.1:{p}"))
            .collect();
        let set = |name: &str, value: String| {
            [
                "--set".to_string(),
                format!("camunda.cluster.{name}={value}"),
            ]
        };
        [
            set("node-id", node.to_string()),
            set("size", SIZE.max(node + 1).to_string()),
            set("replication-factor", SIZE.to_string()),
            set("partition-count", self.partitions.to_string()),
            set("initial-contact-points", points.join(",")),
            set("network.internal-api.port", self.ports[node].to_string()),
        ]
        .into_iter()
        .flatten()
        .chain(self.more.iter().cloned())
        .collect()
    }

    /// Starts a node in a thread, as it blocks: a new cluster waits for all of its nodes.
    fn start(&self, node: usize) -> tokio::task::JoinHandle<Server> {
        self.start_as(node, Path::new(env!("CARGO_BIN_EXE_skep")))
    }

    /// The same with the binary of another version.
    fn start_as(&self, node: usize, binary: &Path) -> tokio::task::JoinHandle<Server> {
        let (directory, arguments) = (self.directory(node), self.arguments(node));
        let (log, binary) = (self.log(node), binary.to_path_buf());
        tokio::spawn(async move {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let start = Start::new(&directory, &arguments).log_to(log);
            start.binary(&binary).ready().await
        })
    }

    fn log(&self, node: usize) -> PathBuf {
        self.data.path().join(format!("{node}.log"))
    }

    async fn all(&self) -> Vec<Server> {
        let starting: Vec<_> = (0..SIZE).map(|node| self.start(node)).collect();
        let mut servers = Vec::new();
        for server in starting {
            servers.push(server.await.unwrap());
        }
        servers
    }

    /// Waits until all nodes know that the cluster is complete.
    async fn are_formed(&self) {
        eventually("the cluster to be formed", async || {
            let formed = |node| {
                let file = std::fs::read_to_string(self.directory(node).join("cluster"));
                file.is_ok_and(|text| text.lines().any(|line| line == "formed"))
            };
            (0..SIZE).all(formed)
        })
        .await;
    }
}

async fn start(directory: &Path, arguments: &[String], log: PathBuf) -> Server {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Start::new(directory, &arguments).log_to(log).ready().await
}

/// A client that continues whatever happens, and notes the time of its last answer.
async fn create(
    client: Client,
    ledger: Shared,
    gap: Arc<std::sync::Mutex<Gap>>,
    stop: Arc<AtomicBool>,
) {
    let request = CreateInstance::latest("one-task").variables(r#"{"orderId":"A-17"}"#);
    while !stop.load(Ordering::Relaxed) {
        match client.create_instance(&request).await {
            Ok(instance) => {
                let key = instance.process_instance_key;
                let new = ledger.with(|ledger| ledger.created.insert(key));
                assert!(new, "key {key} was given twice");
                gap.lock().unwrap().answered();
            }
            Err(error) if error.is_ambiguous() || error.is_retryable() => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("refused: {error}"),
        }
    }
}

async fn work(client: Client, ledger: Shared, stop: Arc<AtomicBool>) {
    let request = ActivateJobs {
        timeout: Duration::from_secs(2),
        long_poll: Some(Duration::from_millis(200)),
        ..ActivateJobs::new("work", 16)
    };
    while !stop.load(Ordering::Relaxed) {
        let Ok(jobs) = client.activate_jobs(&request).await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        for job in jobs {
            ledger.with(|ledger| ledger.instance_of.insert(job.key, job.process_instance_key));
            match client.complete_job(job.key, None).await {
                Ok(()) => ledger.with(|ledger| {
                    assert!(
                        !ledger.completed.contains_key(&job.key),
                        "job {} was completed twice",
                        job.key
                    );
                    ledger.complete(&job);
                }),
                // The job is completed, or comes again after its time-out.
                Err(error) if error.code() == Some(Code::NotFound) => {}
                Err(error) if error.is_ambiguous() || error.is_retryable() => {}
                Err(error) => panic!("refused: {error}"),
            }
        }
    }
}

/// The longest time without any answer.
struct Gap {
    last: Instant,
    longest: Duration,
}

impl Gap {
    fn answered(&mut self) {
        self.longest = self.longest.max(self.last.elapsed());
        self.last = Instant::now();
    }
}

fn rounds() -> usize {
    let set = std::env::var("SKEP_CLUSTER_ROUNDS").ok();
    set.and_then(|n| n.parse().ok()).unwrap_or(6)
}

async fn leader(server: &Server) -> usize {
    let mut found = None;
    let client = server.client();
    eventually("a leader of partition 1", async || {
        found = client.topology().await.ok().and_then(|t| leader_of(&t, 1));
        found.is_some()
    })
    .await;
    found.unwrap()
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Kill,
    Pause,
    Stop,
}

async fn round(
    nodes: &Nodes,
    servers: &mut [Option<Server>],
    ledger: &Shared,
    fault: Fault,
) -> Duration {
    let victim = leader(servers[0].as_ref().unwrap()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let gap = Gap {
        last: Instant::now(),
        longest: Duration::ZERO,
    };
    let gap = Arc::new(std::sync::Mutex::new(gap));
    let mut clients = Vec::new();
    for (node, server) in servers.iter().flatten().enumerate() {
        if node != victim {
            let client = || server.client();
            clients.push(tokio::spawn(create(
                client(),
                ledger.clone(),
                gap.clone(),
                stop.clone(),
            )));
            clients.push(tokio::spawn(work(client(), ledger.clone(), stop.clone())));
        }
    }
    tokio::time::sleep(Duration::from_millis(400)).await;
    let before = ledger.created();
    match fault {
        Fault::Kill => drop(servers[victim].take()),
        Fault::Pause => servers[victim].as_ref().unwrap().stop(),
        Fault::Stop => {
            let mut server = servers[victim].take().unwrap();
            let code = tokio::task::spawn_blocking(move || server.terminate())
                .await
                .unwrap();
            assert_eq!(code, Some(0));
        }
    }
    let other = servers.iter().enumerate().find(|(node, _)| *node != victim);
    let other = other.unwrap().1.as_ref().unwrap().client();
    eventually("another leader", async || {
        let topology = other.topology().await.ok();
        topology
            .and_then(|t| leader_of(&t, 1))
            .is_some_and(|leader| leader != victim)
            && ledger.created() > before + 20
    })
    .await;
    match &servers[victim] {
        Some(paused) => paused.resume(),
        None => servers[victim] = Some(nodes.start(victim).await.unwrap()),
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    gap.lock().unwrap().longest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn acknowledged_commands_survive_killed_paused_and_stopped_leaders() {
    let nodes = Nodes::new(1);
    let mut servers: Vec<Option<Server>> = nodes.all().await.into_iter().map(Some).collect();
    ledger::deploy_one_task(&servers[1].as_ref().unwrap().client()).await;
    let ledger = Shared::default();
    let faults = [Fault::Kill, Fault::Pause, Fault::Stop];
    let mut gaps: [Vec<Duration>; 3] = Default::default();
    for n in 0..rounds() {
        let fault = faults[n % faults.len()];
        let gap = round(&nodes, &mut servers, &ledger, fault).await;
        gaps[n % faults.len()].push(gap);
    }
    for server in servers.iter().flatten() {
        ledger::expect_everything_acknowledged(server, &ledger).await;
    }
    println!(
        "{} rounds, {} acknowledged instances, {} acknowledged completions, nothing lost",
        rounds(),
        ledger.created(),
        ledger.completed()
    );
    for (fault, mut gaps) in faults.iter().zip(gaps) {
        gaps.sort();
        println!("{fault:?}: without an answer for {gaps:?}");
    }
    assert!(ledger.created() > 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn all_nodes_are_killed_at_once_and_nothing_acknowledged_is_lost() {
    let nodes = Nodes::new(3);
    let ledger = Shared::default();
    for round in 0..2 {
        let mut servers = nodes.all().await;
        if round == 0 {
            ledger::deploy_one_task(&servers[2].client()).await;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let gap = Gap {
            last: Instant::now(),
            longest: Duration::ZERO,
        };
        let gap = Arc::new(std::sync::Mutex::new(gap));
        let clients = servers.iter().map(|server| {
            tokio::spawn(create(
                server.client(),
                ledger.clone(),
                gap.clone(),
                stop.clone(),
            ))
        });
        let clients: Vec<_> = clients.collect();
        let wanted = ledger.created() + 100;
        eventually("instances", async || ledger.created() > wanted).await;
        for server in &mut servers {
            server.kill();
        }
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.await.unwrap();
        }
    }
    let servers = nodes.all().await;
    ledger::expect_everything_acknowledged(&servers[0], &ledger).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_node_that_has_lost_its_data_is_not_let_in() {
    let nodes = Nodes::new(1);
    let mut servers = nodes.all().await;
    ledger::deploy_one_task(&servers[0].client()).await;
    nodes.are_formed().await;
    servers[2].kill();
    std::fs::remove_dir_all(nodes.directory(2)).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_skep"))
        .args(["serve", "--data"])
        .arg(nodes.directory(2))
        .args(FREE_PORTS)
        .args(nodes.arguments(2))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("node 2 has no data"),
        "{said}"
    );
    let request = CreateInstance::latest("one-task");
    eventually("the others to go on", async || {
        servers[1].client().create_instance(&request).await.is_ok()
    })
    .await;
}

const CLUSTER: &str = "/actuator/cluster";

/// Requests a change of the cluster.
fn change(server: &Server, query: &str, body: &str) {
    let answer = server.manage("PATCH", &format!("{CLUSTER}{query}"), body);
    assert!(matches!(&answer, Some((202, _))), "{answer:?}");
}

/// Whether the change has ended, as seen by this node.
fn is_over(server: &Server, change: u32) -> bool {
    let path = format!("{CLUSTER}/changes/{change}");
    let answer = server.management("GET", &path);
    answer.is_some_and(|(_, body)| body.contains(r#""status":"COMPLETED""#))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_lost_disk_is_replaced_under_load_though_nodes_are_killed_meanwhile() {
    let nodes = Nodes::new(2);
    let mut servers = nodes.all().await;
    let ledger = Shared::default();
    ledger::deploy_one_task(&servers[0].client()).await;
    servers.pop().unwrap().kill();
    std::fs::remove_dir_all(nodes.directory(2)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let gap = Gap {
        last: Instant::now(),
        longest: Duration::ZERO,
    };
    let gap = Arc::new(std::sync::Mutex::new(gap));
    let clients = [
        tokio::spawn(create(
            servers[1].client(),
            ledger.clone(),
            gap.clone(),
            stop.clone(),
        )),
        tokio::spawn(work(servers[1].client(), ledger.clone(), stop.clone())),
    ];
    change(&servers[1], "?force=true", r#"{"brokers":{"remove":[2]}}"#);
    eventually("the lost node to be taken out", async || {
        servers.iter().all(|server| is_over(server, 1))
    })
    .await;
    let empty = nodes.start(2);
    change(
        &servers[1],
        "",
        r#"{"brokers":{"add":[2]},"partitions":{"replicationFactor":3}}"#,
    );
    // If this node was carrying out the change, another one continues it.
    servers[0].kill();
    servers[0] = nodes.start(0).await.unwrap();
    servers.push(empty.await.unwrap());
    // Its disk is empty: it finds what it was not there for, or says that it may lack it.
    let known: Vec<i64> = ledger.with(|ledger| ledger.created.iter().take(30).copied().collect());
    for key in known {
        reads::finds(&servers[2], key);
    }
    eventually("the node to be one of them again", async || {
        servers.iter().all(|server| is_over(server, 2))
    })
    .await;
    let wanted = ledger.created() + 50;
    eventually("instances", async || ledger.created() > wanted).await;
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    // The new node counts.
    servers[0].kill();
    let client = servers[2].client();
    eventually("leaders", async || {
        let topology = client.topology().await.unwrap();
        let led = |partition| leader_of(&topology, partition).is_some_and(|leader| leader != 0);
        (1..=2).all(led)
    })
    .await;
    ledger::expect_everything_acknowledged(&servers[2], &ledger).await;
}
